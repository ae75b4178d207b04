// Goal: a provider that does not have a task is believed only when nothing of ours can be on its way any more, and it has
// said so twice, a settle time apart; a task that arrives late is found and made once.
// Method: a model whose policy is `fail`, a provider with a settle time of 20 s, and submissions that end without an
// answer, end with their worker, or arrive while the service asks.
import { expect } from 'chai';
import { handOver, type ProviderCalls, submissionOf } from '../../../../core/generation/run/provider-calls.js';
import { notTakenAt } from '../../../../core/generation/run/run-state.js';
import type { ProviderReference } from '../../../../core/ports/provider.js';
import { collected, streamOf } from '../../../fixtures/byte-streams.js';
import { imageModel } from '../../../fixtures/core-models.js';
import { PROMISES } from '../../../fixtures/scripted-provider.js';
import { CoreHarness } from '../../../harness/core-harness.js';
import { CoreWorker, untilSettled } from '../../../harness/core-worker.js';
import { Life } from '../../../harness/cut-processes.js';

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
      expect([g.status, harness.provider.submissions.length, harness.provider.tasks.size]).to.deep.equal([
        'succeeded',
        1,
        1,
      ]);
    });
  }

  it('is believed to be absent by the clock of whoever asks, whatever another process recorded', async () => {
    const harness = await open();
    const { generation } = await harness.create().then(async ({ generationId }) => ({
      generation: await harness.generation(generationId),
    }));
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
    expect([g.status, g.error?.code, g.chargedCredits, harness.provider.submissions.length]).to.deep.equal([
      'failed',
      'TASK_TIMEOUT',
      0,
      1,
    ]);
  });

  it('gets no more of its references once the time of the submission is over', async () => {
    const { context, clock, create } = await withReference();
    const g = await create();
    const opened = (endsAt: number, isOver = () => clock.now() >= endsAt) =>
      submissionOf(context, g, {
        attempt: { number: 1, token: 't' },
        settings: {},
        inputSchema: {},
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
      await handOver(context, { submit }, { settings: {}, model: { inputSchema: {}, displayName: 'm' } }, g, of).catch(
        () => undefined,
      );
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
