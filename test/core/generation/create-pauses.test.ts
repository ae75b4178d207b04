// Goal: a process that pauses anywhere in a create, and resumes after another process took over, changes nothing.
// Method: the first process pauses before or after each of its store calls in turn, until its claim lapses; a second
// process answers the key, or recovery cleans up, or both; then the first resumes and finishes, and everything is
// counted.
import { expect } from 'chai';
import type { Context } from '../../../core/context.js';
import { grantCredits } from '../../../core/credits/operate.js';
import { ServiceError } from '../../../core/errors.js';
import { type Created, createGeneration } from '../../../core/generation/create-generation.js';
import { Gate, type Interceptor } from '../../fixtures/intercepted.js';
import { expectAtRest, recoverAll } from '../../fixtures/recovery-passes.js';
import { CoreHarness } from '../../harness/core-harness.js';

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
  return createGeneration(context, harness.caller, 'k', harness.body()).catch((error: unknown) => {
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
  // A client that was told to wait retries once.
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
      const spend = () => createGeneration(harness.context, harness.caller, harness.ports.ids.uuid(), harness.body());
      for (let left = (await harness.account()).available; left >= 10; left -= 10) await spend();
      expect(
        await harness.clock.run(create(harness.process(), harness)),
        'its hold, if any, was released by the retry',
      ).to.satisfy((answer: Created | ServiceError) =>
        sleepsAt === 'accounts.apply'
          ? answer instanceof ServiceError && answer.code === 'CREDITS_INSUFFICIENT'
          : !(answer instanceof ServiceError),
      );
      await grantCredits(harness.context, {
        accountId: harness.caller.accountId,
        operationId: 'more',
        credits: 100,
        reason: 'r',
      });
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
