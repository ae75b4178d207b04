import { expect } from 'chai';
import { StoreUnavailable } from '../../../../core/errors.js';
import { cancelGeneration } from '../../../../core/generation/end-generation.js';
import type { Generation } from '../../../../core/generation/generation.js';
import type { ProviderCalls } from '../../../../core/generation/run/provider-calls.js';
import { handOff, submissionOf } from '../../../../core/generation/run/submit-attempt.js';
import { notTakenAt } from '../../../../core/generation/run/run-state.js';
import type { ProviderReference, ProviderReport } from '../../../../core/ports/provider.js';
import { Recovery } from '../../../../core/recovery/recover.js';
import { DEFAULT_SETTINGS } from '../../../../core/settings.js';
import { collected, streamOf } from '../../../fixtures/byte-streams.js';
import type { PortCall } from '../../../fixtures/intercepted.js';
import { expectBooksRight } from '../../../fixtures/ledgers.js';
import { imageModel } from '../../../fixtures/models.js';
import { imagesOf, PROMISES } from '../../../fixtures/scripted-provider.js';
import { CoreHarness, CoreWorker, Life, untilEnded, untilSettled, outcomeOf } from '../../../harness/core-harness.js';

// Goal: every generation and its hold end within the deadline, plus one period for a last poll and downloads, plus one pass
// of recovery, however the provider behaves. A result that became ready in the meantime is delivered.
// Method: providers that never finish, ask for extreme waits, or never end an output; with and without workers.

const RUN_MS = 600_000;
/** One call for the last poll, and one for the one output. */
const LAST_PERIOD_MS = 2 * DEFAULT_SETTINGS.providerCallMs;

async function expectTimedOut(harness: CoreHarness, generationId: string, withinMs: number): Promise<void> {
  await harness.clock.advance(withinMs);
  const g = await harness.generation(generationId);
  expect(outcomeOf(harness, g), `after ${withinMs} ms`).to.include({
    status: 'failed',
    code: 'TASK_TIMEOUT',
    chargedCredits: 0,
  });
  expect(g.settledAt).not.to.equal(undefined);
  expect((await harness.account()).holds.size).to.equal(0);
}

describe('deadlines', () => {
  it('end a run whose provider never finishes, and ask it to stop', async () => {
    const harness = await CoreHarness.open();
    await CoreWorker.start(harness);
    harness.provider.newReport = () => ({ state: 'running' });
    const { generationId } = await harness.create();
    await expectTimedOut(harness, generationId, RUN_MS + 10_000);
    expect(harness.provider.onlyTask.cancels).to.equal(1);
  });

  const waits: readonly (readonly [string, number])[] = [
    ['far beyond the deadline', 10 * RUN_MS],
    ['longer than a timer can', 2 ** 40],
    ['not a number', Number.NaN],
    ['in the past', -5],
  ];
  for (const [what, pollAfterMs] of waits) {
    it(`end a run whose provider asks for a wait that is ${what}, by the same worker`, async () => {
      const harness = await CoreHarness.open();
      await CoreWorker.start(harness);
      harness.provider.newReport = (): ProviderReport => ({ state: 'running', pollAfterMs });
      const { generationId } = await harness.create();
      await expectTimedOut(harness, generationId, RUN_MS + 10_000);
      expect((await harness.generation(generationId)).fence, 'no other holder was needed').to.equal(1);
      expect(harness.provider.onlyTask.polls, 'the provider is not hammered').to.be.at.most(RUN_MS / 1_000 + 2);
    });
  }

  it('end a run that waits for an output that never ends', async () => {
    const harness = await CoreHarness.open();
    const worker = await CoreWorker.start(harness);
    harness.provider.onOutput = () => new Promise(() => undefined);
    const { generationId } = await harness.create();
    const recovery = new Recovery(harness.context);
    await harness.clock.advance(RUN_MS);
    await harness.clock.run(recovery.pass());
    await expectTimedOut(harness, generationId, LAST_PERIOD_MS + 1_000);
    expect(worker.dispatcher.counts, 'its place is free again').to.deep.equal({ running: 0, waiting: 0 });
  });

  it('end a generation that no worker takes, by recovery', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ queueTimeoutMs: 100_000 })] });
    const { generationId } = await harness.create();
    await harness.clock.advance(100_001);
    await harness.clock.run(new Recovery(harness.context).pass());
    await expectTimedOut(harness, generationId, 0);
  });

  it('end a generation that a worker gets to too late', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ queueTimeoutMs: 100_000 })] });
    const { generationId } = await harness.create();
    await harness.clock.advance(100_001);
    await CoreWorker.start(harness);
    await expectTimedOut(harness, generationId, 1_000);
    expect(harness.provider.submissions).to.have.length(0);
  });

  it('end a generation whose worker died, by recovery', async () => {
    const harness = await CoreHarness.open();
    const life = new Life();
    const worker = await CoreWorker.start(harness, 'dying', life.interceptor);
    harness.provider.newReport = () => ({ state: 'running' });
    const { generationId } = await harness.create();
    await harness.clock.advance(5_000);
    expect(worker.dispatcher.counts.running).to.equal(1);
    life.isDead = true;
    await harness.clock.advance(RUN_MS);
    const recovery = new Recovery(harness.context);
    await harness.clock.run(recovery.pass());
    expect((await harness.generation(generationId)).status, 'a worker may still collect a result').to.equal('running');
    await harness.clock.advance(LAST_PERIOD_MS + 1_000);
    await harness.clock.run(recovery.pass());
    await expectTimedOut(harness, generationId, 0);
  });

  it('deliver a result that became ready while no worker ran, after one more poll', async () => {
    const harness = await CoreHarness.open();
    const life = new Life();
    const dying = await CoreWorker.start(harness, 'dying', life.interceptor);
    harness.provider.newReport = () => ({ state: 'running' });
    const { generationId } = await harness.create();
    await harness.clock.advance(5_000);
    await dying.context.wakeUps.stop();
    life.isDead = true;
    await harness.clock.advance(10 * RUN_MS);
    const task = harness.provider.onlyTask;
    const { polls } = task;
    task.report = { state: 'succeeded', outputs: imagesOf(1) };
    await CoreWorker.start(harness, 'second');
    await harness.clock.run(new Recovery(harness.context).pass());
    const g = await untilSettled(harness, generationId);
    expect([g.status, g.chargedCredits, task.polls - polls, harness.provider.submissions.length]).to.deep.equal([
      'succeeded',
      10,
      1,
      1,
    ]);
  });

  it('poll a task exactly once more, and then fail it', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ runTimeoutMs: 10_000, pollIntervalMs: 60_000 })] });
    await CoreWorker.start(harness);
    harness.provider.newReport = () => ({ state: 'running' });
    const g = await untilSettled(harness, (await harness.create()).generationId);
    expect([g.status, g.error?.code]).to.deep.equal(['failed', 'TASK_TIMEOUT']);
    expect(harness.provider.onlyTask.polls, 'one at the start, and the last one').to.equal(2);
  });

  it('deliver a result whose download fails until the deadline and then succeeds', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ runTimeoutMs: 10_000 })] });
    await CoreWorker.start(harness);
    const { onOutput } = harness.provider;
    const beganAt = harness.clock.now();
    harness.provider.onOutput = async (task, index) => {
      if (harness.clock.now() < beganAt + 30_000) throw new Error('The file is not there yet.');
      return onOutput(task, index);
    };
    const g = await untilSettled(harness, (await harness.create()).generationId);
    expect([g.status, g.chargedCredits, harness.provider.submissions.length]).to.deep.equal(['succeeded', 10, 1]);
  });

  it('give the last period of downloads no more than its time', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ runTimeoutMs: 10_000 })] });
    await CoreWorker.start(harness);
    harness.provider.onOutput = async () => {
      throw new Error('The file is not there.');
    };
    const { generationId } = await harness.create();
    const g = await untilSettled(harness, generationId);
    const endedAt = (g.completedAt ?? 0) - (g.runDeadlineAt ?? 0);
    expect([g.error?.code, g.error?.message]).to.deep.equal([
      'TASK_TIMEOUT',
      'The result of the provider could not be fetched before the deadline.',
    ]);
    expect(endedAt).to.be.within(LAST_PERIOD_MS, LAST_PERIOD_MS + 1_000);
  });

  it('postpone no attempt beyond themselves', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ runTimeoutMs: 2_500, maxAttempts: 9 })] });
    await CoreWorker.start(harness);
    harness.provider.submitScript = [{ refuse: { code: 'PROVIDER_UNAVAILABLE', message: 'Busy.', mayRetry: true } }];
    const g = await untilSettled(harness, (await harness.create()).generationId);
    expect([g.status, g.error?.code, g.attemptsMade]).to.deep.equal(['failed', 'PROVIDER_UNAVAILABLE', 2]);
  });

  it('follow the clock when it goes back, and leave nothing stuck', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ runTimeoutMs: 10_000, maxAttempts: 9 })] });
    harness.provider.submitScript = [
      { refuse: { code: 'PROVIDER_UNAVAILABLE', message: 'Busy.', mayRetry: true } },
      'accept',
    ];
    const worker = CoreWorker.idle(harness);
    const { generationId } = await harness.create();
    await worker.dispatcher.deliver(generationId);
    await harness.clock.advance(500);
    // Another machine, whose clock is ahead, takes the lease for a moment; ours comes back to before the deadline.
    harness.clock.jump(20_000);
    const ahead = CoreWorker.idle(harness, 'ahead', async (call) => {
      const answer = await call.proceed();
      if (call.name === 'generations.replace') harness.clock.jump(-19_000);
      return answer;
    });
    await ahead.dispatcher.deliver(generationId);
    await harness.clock.advance(60_000);
    const g = await harness.generation(generationId);
    expect([g.status, g.settledAt !== undefined]).to.deep.equal(['succeeded', true]);
  });

  it('of a lease left by a clock that was set far back do not delay other work', async () => {
    const harness = await CoreHarness.open();
    harness.provider.newReport = () => ({ state: 'running' });
    const dead = CoreWorker.idle(harness, 'dead', async (call) =>
      call.name === 'generations.replace' &&
      (call.args[0] as Generation).fence === 1 &&
      (call.args[0] as Generation).attempt?.phase === 'submitted'
        ? new Promise(() => undefined)
        : call.proceed(),
    );
    harness.clock.jump(86_400_000 / 48);
    const { generationId } = await harness.create();
    await dead.dispatcher.deliver(generationId);
    await harness.clock.advance(100);
    harness.clock.jump(-86_400_000 / 48);
    harness.provider.newReport = () => ({ state: 'succeeded', outputs: imagesOf(1) });
    for (const task of harness.provider.tasks.values()) task.report = { state: 'succeeded', outputs: imagesOf(1) };
    const other = CoreWorker.idle(harness, 'other');
    await other.dispatcher.deliver(generationId);
    expect((await untilSettled(harness, generationId)).status).to.equal('succeeded');
  });
});

// Goal: a provider's statement that it does not have a task is believed only when none of our requests can still be on
// the way and the provider has said so twice, a settle time apart; a task that arrives late is found and made once.
// Method: a model whose policy is `fail`, a provider with a settle time of 20 s, and submissions that end without an
// answer, end with their worker, or arrive while the service asks.

const SETTLE_MS = 20_000;

async function open(): Promise<CoreHarness> {
  const harness = await CoreHarness.open({ models: [imageModel({ onUnknownAcceptance: 'fail' })] });
  harness.provider.promised = { ...PROMISES, settleMs: SETTLE_MS, takesTokenOnce: false };
  harness.provider.knowsTokens = false;
  return harness;
}

/** When each submission arrived, since the harness began. */
function timesOf(harness: CoreHarness): number[] {
  const times: number[] = [];
  const beganAt = harness.clock.now();
  harness.provider.onSubmit = () => void times.push(harness.clock.now() - beganAt);
  return times;
}

describe('a task that its provider does not have', () => {
  it('is submitted again, with the same token, two settle times after our call has ended', async () => {
    const harness = await open();
    await CoreWorker.start(harness);
    const times = timesOf(harness);
    harness.provider.submitScript = ['throw', 'accept'];
    const g = await untilSettled(harness, (await harness.create()).generationId);
    expect([g.status, g.attemptsMade, harness.provider.tasks.size]).to.deep.equal(['succeeded', 1, 1]);
    const [first = 0, second = 0, ...others] = times;
    expect(others).to.deep.equal([]);
    expect(second - first).to.be.within(2 * SETTLE_MS, 2 * SETTLE_MS + 1_000);
    expect(new Set(harness.provider.submissions.map(({ token }) => token)).size).to.equal(1);
  });

  for (const afterMs of [0, 1, SETTLE_MS - 1]) {
    it(`is made once when it arrives ${afterMs} ms after our call has ended`, async () => {
      const harness = await open();
      await CoreWorker.start(harness);
      harness.provider.submitScript = ['throw', 'accept'];
      harness.provider.onSubmit = (submission) => {
        harness.clock.after(afterMs, () => void harness.provider.take(submission));
      };
      const g = await untilSettled(harness, (await harness.create()).generationId);
      expect(outcomeOf(harness, g)).to.include({ status: 'succeeded', submissions: 1, tasks: 1 });
    });
  }

  it('is believed to be absent by the clock of whoever asks, whatever another process recorded', async () => {
    const harness = await open();
    const { generation } = await harness
      .create()
      .then(async ({ generationId }) => ({ generation: await harness.generation(generationId) }));
    const begunAt = harness.clock.now();
    const { boot, settings } = harness.context;
    const rules = { settleMs: SETTLE_MS, longestSubmitMs: settings.providerCallMs, boot, settings };
    const run = { begunAt, submittedAt: undefined, submissionEndedAt: undefined };
    const overAt = begunAt;
    for (const bootId of [boot.id, 'another']) {
      const attempt = { number: 1, phase: 'submitting', token: 't', provider: 'p', bootId } as const;
      const g = { ...generation, attempt: { ...attempt, startedAt: begunAt - 60_000, endedAt: begunAt - 50_000 } };
      const at = (askedAt: number) => ({ askedAt, at: askedAt });
      const notFound = [at(overAt + SETTLE_MS), at(overAt + 2 * SETTLE_MS)];
      const monotonic = overAt + 2 * SETTLE_MS;
      const time = { now: monotonic, monotonic, leaseHeldUntil: monotonic };
      expect(notTakenAt(g, { ...run, notFound }, time, rules), bootId).to.equal(monotonic);
      const early = [at(overAt + SETTLE_MS - 1), at(overAt + 2 * SETTLE_MS - 1)];
      expect(notTakenAt(g, { ...run, notFound: early }, time, rules), bootId).to.be.above(monotonic);
    }
  });

  it('is not believed to be absent while the worker that submits it may be alive', async () => {
    const harness = await open();
    const times = timesOf(harness);
    harness.provider.submitScript = ['hang', 'accept'];
    const life = new Life();
    await CoreWorker.start(harness, 'first', life.interceptor);
    const { generationId } = await harness.create();
    await harness.clock.until(() => times.length === 1, 'the task was submitted');
    life.isDead = true;
    await harness.clock.advance(harness.settings.leaseMs + 1);
    void CoreWorker.idle(harness, 'second').dispatcher.deliver(generationId);
    const g = await untilSettled(harness, generationId);
    expect([g.status, times.length]).to.deep.equal(['succeeded', 2]);
    const { providerCallMs } = harness.settings;
    expect((times[1] ?? 0) - (times[0] ?? 0)).to.be.at.least(providerCallMs + 2 * SETTLE_MS);
  });

  it('is asked about no longer than the run may last, and then fails without charge', async () => {
    const harness = await open();
    harness.provider.promised = { ...PROMISES, settleMs: 3_600_000 };
    await CoreWorker.start(harness);
    harness.provider.submitScript = ['throw'];
    const g = await untilSettled(harness, (await harness.create()).generationId);
    expect(outcomeOf(harness, g)).to.include({
      status: 'failed',
      code: 'TASK_TIMEOUT',
      chargedCredits: 0,
      submissions: 1,
    });
  });

  it('gets no more of its references once the time of the submission is over', async () => {
    const { context, clock, create } = await withReference();
    const g = await create();
    const opened = (endsAt: number, isOver = () => clock.now() >= endsAt) =>
      submissionOf(context, g, {
        attempt: { number: 1, token: 't' },
        settings: {},
        inputSchema: {},
        promptRule: 'required',
        timeLeftMs: 9,
        isOver,
        onUnread: () => {},
      }).references[0]!;
    expect(await sizeOf(opened(clock.now() + 1))).to.equal(2);
    expect(await sizeOf(opened(clock.now()))).to.equal('The time of the submission is over.');
  });

  it('gets no more of its references once its call has failed, and all of them, at any time, once it was taken', async () => {
    const { context, clock, create } = await withReference();
    const g = await create();
    const attempt = { number: 1, phase: 'submitting', token: 't', startedAt: clock.now() } as const;
    for (const [outcome, size] of [
      ['fails', 'The time of the submission is over.'],
      ['is taken', 2],
    ] as const) {
      let reference: ProviderReference | undefined;
      const submit: ProviderCalls['submit'] = async (submission, _, receive) => {
        [reference] = submission.references;
        if (outcome === 'fails') throw new Error('The line broke.');
        return receive({ accepted: true, reference: 'r' }, { signal: new AbortController().signal });
      };
      const endsAt = { wall: clock.now() + 1_000, monotonic: clock.monotonic() + 1_000 };
      const of = { attempt, timeLeftMs: 9_000, endsAt, otherKeys: async () => g };
      await handOff(
        context,
        { submit },
        { settings: {}, model: { inputSchema: {}, promptRule: 'required', displayName: 'm' } },
        g,
        of,
      ).catch(() => undefined);
      await clock.advance(60_000);
      expect(await sizeOf(reference!), outcome).to.equal(size);
    }
  });
});

async function withReference() {
  const harness = await open();
  const { context, clock } = harness;
  const reference = {
    uploadId: 'u',
    role: 'reference_image',
    objectKey: 'ready/one',
    mediaType: 'image/png',
    byteSize: 2,
    sha256: 's',
  } as const;
  await context.objects.write(reference.objectKey, streamOf(new Uint8Array(2)), {
    mediaType: 'image/png',
    maxBytes: 10,
  });
  return { context, clock, create: async () => ({ ...(await harness.create()), references: [reference] }) };
}

async function sizeOf(reference: ProviderReference): Promise<number | string> {
  try {
    return (await collected(await reference.open())).byteLength;
  } catch (error) {
    return (error as Error).message;
  }
}

// Goal: a generation whose settling failed is settled soon and without recovery, so that no credits stay reserved.
// Method: a process that loses every race for the account, or whose store answers nothing, for a while; then time passes
// while no recovery runs.

/** More than the twelve times that one command is tried. */
const RACES_LOST = 20;
const SOON_MS = 4_000;

function losing(times: number): (call: PortCall) => Promise<unknown> {
  let left = times;
  return async (call) => {
    if (call.name !== 'accounts.apply' || left === 0) return call.proceed();
    left -= 1;
    return 'conflict';
  };
}

async function expectSettledSoon(
  harness: CoreHarness,
  generationId: string,
  credits: number,
  openHolds = 0,
): Promise<void> {
  const { completedAt = 0 } = await untilEnded(harness, generationId);
  const { settledAt = Infinity, chargedCredits } = await untilSettled(harness, generationId);
  expect(settledAt - completedAt).to.be.within(1, SOON_MS);
  expect(chargedCredits).to.equal(credits);
  const account = await harness.account();
  expectBooksRight(account, await harness.entries());
  expect(account.holds.size).to.equal(openHolds);
  expect(harness.warnings.map(({ event }) => event)).to.include('generation not settled yet');
}

describe('settling that failed is tried again soon', () => {
  it('after a worker lost every race for the account of a run', async () => {
    const harness = await CoreHarness.open();
    await CoreWorker.start(harness, 'worker', losing(RACES_LOST));
    const { generationId } = await harness.create({ count: 2 });
    await expectSettledSoon(harness, generationId, 20);
  });

  it('in another worker, although the first one never wins', async () => {
    const harness = await CoreHarness.open();
    const first = await CoreWorker.start(harness, 'first', losing(Infinity));
    const { generationId } = await harness.create({ count: 2 });
    await untilEnded(harness, generationId);
    await first.context.wakeUps.stop();
    await CoreWorker.start(harness, 'second');
    await expectSettledSoon(harness, generationId, 20);
  });

  it('after the store was unavailable', async () => {
    const harness = await CoreHarness.open();
    let isAway = true;
    await CoreWorker.start(harness, 'worker', async (call) => {
      if (call.name !== 'accounts.apply' || !isAway) return call.proceed();
      isAway = false;
      throw new StoreUnavailable('away');
    });
    const { generationId } = await harness.create();
    await expectSettledSoon(harness, generationId, 10);
  });

  it('of one that a client cancelled, far behind in the line of its model', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ concurrency: 1 })], credits: 10_000 });
    harness.provider.newReport = () => ({ state: 'running' });
    const worker = await CoreWorker.start(harness);
    // The wake-ups of this many at most are held by who waits, and are not delivered again meanwhile.
    for (let n = 0; n < 501; n += 1) await harness.create();
    const { generationId } = await harness.create();
    await harness.clock.advance(1_000);
    expect(worker.dispatcher.counts).to.deep.equal({ running: 1, waiting: 501 });
    const front = harness.process(losing(12));
    await harness.clock.run(cancelGeneration(front, harness.caller, generationId));
    await expectSettledSoon(harness, generationId, 0, 501);
  });
});
