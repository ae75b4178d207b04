import { expect } from 'chai';
import type { Context } from '../../../core/context.js';
import { ServiceError, StoreUnavailable } from '../../../core/errors.js';
import type { Created } from '../../../core/generation/create-generation.js';
import { Gate, type Interceptor } from '../../fixtures/intercepted.js';
import { codeOf } from '../../fixtures/memory-stores.js';
import { expectAtRest, recoverAll } from '../../fixtures/recovery-passes.js';
import { CoreHarness, cutting } from '../../harness/core-harness.js';

// Goal: wherever a create is interrupted, a retry of its key leads to one generation and one hold, and nothing stays
// stuck.
// Method: every store call of a create fails once, before and after its effect, with the process dying or surviving;
// the key is retried until it is answered, the clock is moved on and recovery runs; then everything is counted.

async function untilAnswered(harness: CoreHarness, context = harness.context): Promise<Created> {
  for (let tries = 0; tries < 100; tries += 1) {
    try {
      return await harness.post('k', harness.body({ count: 2 }), { context });
    } catch (error) {
      const mayRetry =
        error instanceof StoreUnavailable ||
        (error instanceof ServiceError && error.code === 'IDEMPOTENCY_IN_PROGRESS');
      if (!mayRetry) throw error;
      await harness.clock.advance(2_000);
    }
  }
  throw new Error('The key was not answered.');
}

async function callsOfOneCreate(): Promise<string[]> {
  const harness = await CoreHarness.open();
  const names: string[] = [];
  await harness.post('k', harness.body({ count: 2 }), {
    context: harness.process(cutting(Infinity, 'before', { dies: false, names })),
  });
  return names;
}

describe('createGeneration, delayed by its provider', () => {
  it('has claimed its key: repetitions are in progress, then replayed, and one price is held', async () => {
    const harness = await CoreHarness.open();
    harness.provider.acceptanceDelay = 5_000;
    const first = harness.post('k');
    await harness.clock.advance(0);
    expect(await codeOf(harness.post('k'))).to.equal('IDEMPOTENCY_IN_PROGRESS');
    expect(await codeOf(harness.post('k', harness.body({ count: 2 })))).to.equal('IDEMPOTENCY_PAYLOAD_MISMATCH');
    expect((await harness.account()).reserved).to.equal(0);
    await harness.clock.advance(5_000);
    const { generation, replayed } = await first;
    expect(replayed).to.equal(false);
    expect(await harness.post('k')).to.deep.equal({ generation, replayed: true });
    await expectAtRest(harness, 1);
    expect((await harness.account()).available).to.equal(990);
  });

  it('holds nothing and frees its key if its caller is refused after the delay', async () => {
    const harness = await CoreHarness.open();
    harness.provider.acceptanceDelay = 5_000;
    const requireAllowed = () => Promise.reject(new ServiceError('DEVELOPER_TOKEN_REVOKED'));
    const refused = codeOf(harness.post('k', harness.body(), { requireAllowed }));
    await harness.clock.advance(5_000);
    expect(await refused).to.equal('DEVELOPER_TOKEN_REVOKED');
    expect([(await harness.account()).reserved, await harness.generations()]).to.deep.equal([0, []]);
    harness.provider.acceptanceDelay = 0;
    expect(await codeOf(harness.post('k'))).to.equal('OK');
  });

  it('frees its key if it is refused after the delay', async () => {
    const harness = await CoreHarness.open({ credits: 15 });
    harness.provider.acceptanceDelay = 5_000;
    const [one, other] = ['a', 'b'].map((key) => codeOf(harness.post(key)));
    await harness.clock.advance(5_000);
    expect([await one, await other]).to.have.members(['CREDITS_INSUFFICIENT', 'OK']);
    harness.provider.acceptanceDelay = 0;
    await harness.grant(100, 'more');
    const { length } = await harness.generations();
    for (const key of ['a', 'b']) expect(await codeOf(harness.post(key))).to.equal('OK');
    expect([length, (await harness.generations()).length]).to.deep.equal([1, 2]);
  });
});

describe('createGeneration, interrupted at any store call', () => {
  for (const cut of ['before', 'after'] as const) {
    for (const dies of [true, false]) {
      it(`${cut} the call, the process ${dies ? 'dying' : 'surviving'}: leaves one generation, one hold, nothing stuck`, async () => {
        const names = await callsOfOneCreate();
        expect(names).to.include.members([
          'claims.insert',
          'accounts.read',
          'accounts.apply',
          'generations.insert',
          'wakeUps.schedule',
        ]);
        for (let index = 0; index < names.length; index += 1) {
          const harness = await CoreHarness.open();
          const broken = harness.process(cutting(index, cut, { dies }));
          await harness.post('k', harness.body({ count: 2 }), { context: broken }).catch(() => undefined);
          const answered = await untilAnswered(harness, dies ? harness.context : broken);
          await recoverAll(harness);
          await expectAtRest(harness, 1);
          expect((await harness.generations())[0]?.generationId, `${cut} ${names[index]}`).to.equal(
            answered.generation.generationId,
          );
          expect((await harness.account()).available).to.equal(980);
        }
      });
    }
  }

  it('and never retried: leaves one generation with its hold, or neither', async () => {
    const names = await callsOfOneCreate();
    for (const cut of ['before', 'after'] as const) {
      for (let index = 0; index < names.length; index += 1) {
        const harness = await CoreHarness.open();
        await harness
          .post('k', harness.body({ count: 2 }), { context: harness.process(cutting(index, cut, { dies: true })) })
          .catch(() => undefined);
        await recoverAll(harness);
        const { length } = await harness.generations();
        await expectAtRest(harness, length);
        expect((await harness.account()).available).to.equal(1_000 - 20 * length);
      }
    }
  });
});

// Goal: a process that pauses anywhere in a create, and resumes after another process took over, changes nothing.
// Method: the first process pauses before or after each of its store calls in turn, until its claim lapses; a second
// process answers the key, or recovery cleans up, or both; then the first resumes and finishes, and everything is
// counted.

const MAX_CALLS = 12;

function sleeping(index: number, side: 'before' | 'after', gate: Gate): Interceptor {
  let calls = 0;
  return async (call) => {
    const isIt = calls === index;
    calls += 1;
    if (isIt && side === 'before') await gate.wait();
    const answer = await call.proceed();
    if (isIt && side === 'after') await gate.wait();
    return answer;
  };
}

function create(context: Context, harness: CoreHarness): Promise<Created | ServiceError> {
  return harness.post('k', harness.body(), { context }).catch((error: unknown) => {
    if (error instanceof ServiceError) return error;
    throw error;
  });
}

async function sleepThrough(
  index: number,
  side: 'before' | 'after',
  meanwhile: readonly ('retry' | 'recover')[],
): Promise<boolean> {
  const harness = await CoreHarness.open();
  const gate = new Gate();
  const first = create(harness.process(sleeping(index, side, gate)), harness);
  await harness.clock.advance(harness.settings.claimLeaseMs + 1);
  const answers: (Created | ServiceError)[] = [];
  for (const act of meanwhile) {
    if (act === 'retry') answers.push(await harness.clock.run(create(harness.process(), harness)));
    else await recoverAll(harness);
  }
  gate.open();
  answers.push(await harness.clock.run(first));
  // A client that was asked to wait retries once.
  await harness.clock.advance(harness.settings.claimLeaseMs + 1);
  answers.push(await harness.clock.run(create(harness.process(), harness)));
  await recoverAll(harness);
  const ids = new Set(
    answers.flatMap((answer) => (answer instanceof ServiceError ? [] : [answer.generation.generationId])),
  );
  expect(ids, `all answers name one generation (call ${index}, ${side}, ${meanwhile.join()})`).to.have.property(
    'size',
    1,
  );
  await expectAtRest(harness, 1);
  expect((await harness.generations())[0]?.generationId).to.equal([...ids][0]);
  return gate.reached;
}

describe('createGeneration, paused at any store call', () => {
  it('and resumed after its retry was refused: creates nothing and charges nothing that was refused to the client', async () => {
    for (const sleepsAt of ['accounts.apply', 'generations.insert']) {
      const harness = await CoreHarness.open({ credits: 20 });
      const gate = new Gate();
      const slow = create(
        harness.process(async (call) => {
          if (call.name === sleepsAt && !gate.reached) await gate.wait();
          return call.proceed();
        }),
        harness,
      );
      await harness.clock.advance(harness.settings.claimLeaseMs + 1);
      const spend = () => harness.post(harness.ports.ids.uuid());
      for (let left = (await harness.account()).available; left >= 10; left -= 10) await spend();
      expect(
        await harness.clock.run(create(harness.process(), harness)),
        'its hold, if any, was released by the retry',
      ).to.satisfy((answer: Created | ServiceError) =>
        sleepsAt === 'accounts.apply'
          ? answer instanceof ServiceError && answer.code === 'CREDITS_INSUFFICIENT'
          : !(answer instanceof ServiceError),
      );
      await harness.grant(100, 'more');
      const before = (await harness.generations()).length;
      gate.open();
      expect(await harness.clock.run(slow))
        .to.be.instanceOf(ServiceError)
        .with.property('code', 'IDEMPOTENCY_IN_PROGRESS');
      expect(await harness.generations()).to.have.length(before);
      expect((await harness.account()).holds.size).to.equal(before);
    }
  });

  it('and inserting at the very moment another precludes it: keeps the generation with its hold', async () => {
    const harness = await CoreHarness.open();
    const gates = [new Gate(), new Gate()] as const;
    const [first, second] = gates.map((gate) =>
      harness.process(async (call) => {
        if (call.name === 'generations.insert' && !gate.reached) await gate.wait();
        return call.proceed();
      }),
    ) as [Context, Context];
    const slow = create(first, harness);
    await harness.clock.advance(harness.settings.claimLeaseMs + 1);
    const late = create(second, harness);
    await harness.clock.advance(1);
    expect(gates.map(({ reached }) => reached)).to.deep.equal([true, true]);
    gates[0].open();
    await harness.clock.run(slow);
    gates[1].open();
    const answers = [await slow, await harness.clock.run(late)];
    const ids = answers.map((answer) =>
      answer instanceof ServiceError ? answer.code : answer.generation.generationId,
    );
    expect(ids[0]).to.equal(ids[1]);
    expect((await harness.account()).holds.has(ids[0] ?? '')).to.equal(true);
    await recoverAll(harness);
    await expectAtRest(harness, 1);
  });

  for (const meanwhile of [['retry'], ['recover'], ['recover', 'retry'], ['retry', 'recover']] as const) {
    it(`while others ${meanwhile.join(' and ')}: leaves one generation, one hold`, async () => {
      let reached = 0;
      for (let index = 0; index < MAX_CALLS; index += 1) {
        for (const side of ['before', 'after'] as const) reached += Number(await sleepThrough(index, side, meanwhile));
      }
      expect(reached, 'the create was held at its calls').to.be.at.least(10);
    });
  }
});

// Goal: of requests that come at the same time under one key, one is accepted and the others are answered from it, all
// together: how many they are does not multiply what the account's writer does.
// Method: hundreds of creates at once in one process on memory adapters, where each call takes a millisecond; the calls and the
// time are counted.

const TWINS = 300;
const CALL_MS = 1;

describe('creates under one key at the same time', () => {
  let harness: CoreHarness;
  const calls = new Map<string, number>();

  beforeEach(() => calls.clear());

  /** A process whose calls on stores take time, and are counted. */
  function counting() {
    return harness.process(async (call) => {
      calls.set(call.name, (calls.get(call.name) ?? 0) + 1);
      await new Promise<void>((resolve) => {
        harness.clock.after(CALL_MS, resolve);
      });
      return call.proceed();
    });
  }

  it('are one generation, and all answered in the time of a few calls', async () => {
    harness = await CoreHarness.open();
    const context = counting();
    const beganAt = harness.clock.now();
    const created = await harness.clock.run(
      Promise.all(Array.from({ length: TWINS }, () => harness.post('k', harness.body(), { context }))),
    );
    expect(new Set(created.map(({ generation }) => generation.generationId)).size).to.equal(1);
    expect(created.filter(({ replayed }) => !replayed)).to.have.length(1);
    expect([calls.get('accounts.apply'), calls.get('generations.insert')]).to.deep.equal([1, 1]);
    // The first claims it for its acceptance, and each of the others finds it claimed, once.
    expect(calls.get('claims.insert')).to.equal(TWINS);
    expect(harness.clock.now() - beganAt).to.be.at.most(20 * CALL_MS);
  });

  it('are refused together where another process has the key, with another request', async () => {
    harness = await CoreHarness.open();
    await harness.post('k', harness.body({ count: 2 }));
    const context = counting();
    const beganAt = harness.clock.now();
    const codes = await harness.clock.run(
      Promise.all(Array.from({ length: TWINS }, () => codeOf(harness.post('k', harness.body(), { context })))),
    );
    expect(new Set(codes)).to.deep.equal(new Set(['IDEMPOTENCY_PAYLOAD_MISMATCH']));
    expect([calls.get('accounts.apply'), calls.get('generations.insert')]).to.deep.equal([undefined, undefined]);
    expect(calls.get('claims.insert')).to.equal(TWINS + 1);
    expect(harness.clock.now() - beganAt).to.be.at.most(20 * CALL_MS);
  });

  it('leave those of other keys to be accepted', async () => {
    harness = await CoreHarness.open();
    const context = counting();
    const keys = Array.from({ length: TWINS }, (_, index) => `k${index % 30}`);
    const created = await harness.clock.run(
      Promise.all(keys.map((key) => harness.post(key, harness.body(), { context }))),
    );
    for (const [index, { generation }] of created.entries())
      expect(generation.generationId).to.equal(created[index % 30]?.generation.generationId);
    expect(new Set(created.map(({ generation }) => generation.generationId)).size).to.equal(30);
    expect((await harness.account()).holds.size).to.equal(30);
  });
});
