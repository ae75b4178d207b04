// Goal: a provider that is full costs a generation nothing but time: no attempt is used up, nothing is held while it waits,
// each try has a token of its own, and the deadline holds.
// Method: a provider that refuses a number of times because it is full, with and without a time to come again.
import { expect } from 'chai';
import { cancelGeneration } from '../../../../core/generation/end-generation.js';
import { imageModel } from '../../../fixtures/core-models.js';
import type { SubmitScript } from '../../../fixtures/scripted-provider.js';
import { CoreHarness } from '../../../harness/core-harness.js';
import { CoreWorker, untilSettled } from '../../../harness/core-worker.js';

const FULL = { code: 'PROVIDER_UNAVAILABLE', message: 'The provider is full.', mayRetry: true } as const;

function full(retryAfterMs?: number): SubmitScript {
  return { refuse: retryAfterMs === undefined ? FULL : { ...FULL, retryAfterMs }, because: 'capacity' };
}

async function open(script: SubmitScript[]): Promise<CoreHarness> {
  const harness = await CoreHarness.open({ models: [imageModel({ maxAttempts: 1, onUnknownAcceptance: 'fail' })] });
  harness.provider.submitScript = script;
  return harness;
}

describe('a provider that is full', () => {
  it('is tried again with other tokens, and the attempt is still the first', async () => {
    const harness = await open([full(), full(), full(), full(), 'accept']);
    await CoreWorker.start(harness);
    const g = await untilSettled(harness, (await harness.create()).generationId);
    const { submissions } = harness.provider;
    expect([g.status, g.attemptsMade, g.chargedCredits]).to.deep.equal(['succeeded', 1, 10]);
    expect(new Set(submissions.map(({ token }) => token)).size).to.equal(5);
    expect(submissions.map(({ attempt }) => attempt)).to.deep.equal([1, 1, 1, 1, 1]);
  });

  it('is tried no sooner than it says', async () => {
    const harness = await open([full(90_000), 'accept']);
    await CoreWorker.start(harness);
    const times: number[] = [];
    harness.provider.onSubmit = () => void times.push(harness.clock.now());
    await untilSettled(harness, (await harness.create()).generationId);
    expect((times[1] ?? 0) - (times[0] ?? 0)).to.be.within(90_000, 91_000);
  });

  it('is tried less and less often when it does not say, and the generation fails without charge at its deadline', async () => {
    const harness = await open([full()]);
    await CoreWorker.start(harness);
    const g = await untilSettled(harness, (await harness.create()).generationId);
    expect([g.status, g.error?.code, g.error?.message, g.chargedCredits, g.attemptsMade]).to.deep.equal([
      'failed',
      'PROVIDER_UNAVAILABLE',
      'The provider is full.',
      0,
      1,
    ]);
    expect(harness.provider.submissions.length).to.be.within(10, 20);
  });

  it('leaves what waits for it without a lease and without an attempt', async () => {
    const harness = await open([full(60_000), 'accept']);
    await CoreWorker.start(harness);
    const first = await harness.create();
    await harness.clock.until(
      async () => (await harness.generation(first.generationId)).dueAt > harness.clock.now() + 50_000,
      'the first one waits',
    );
    const { lease, attempt, attemptsMade, status } = await harness.generation(first.generationId);
    expect([lease, attempt, attemptsMade, status]).to.deep.equal([undefined, undefined, 0, 'running']);
    expect((await untilSettled(harness, first.generationId)).status).to.equal('succeeded');
  });

  it('gets no task of another generation before it said that it has room', async () => {
    const harness = await open([full(60_000), 'accept']);
    await CoreWorker.start(harness);
    const first = await harness.create();
    await harness.clock.until(() => harness.provider.submissions.length === 1, 'the first one was refused');
    const second = await harness.create();
    await harness.clock.advance(59_000);
    expect(harness.provider.submissions).to.have.length(1);
    expect((await harness.generation(second.generationId)).status).to.equal('queued');
    for (const { generationId } of [first, second])
      expect((await untilSettled(harness, generationId)).status).to.equal('succeeded');
  });

  it('is not tried again after a cancel, which costs nothing', async () => {
    const harness = await open([full(60_000), 'accept']);
    await CoreWorker.start(harness);
    const { generationId } = await harness.create();
    await harness.clock.until(() => harness.provider.submissions.length === 1, 'it was submitted');
    await cancelGeneration(harness.context, harness.caller, generationId);
    const g = await untilSettled(harness, generationId);
    expect([g.status, g.chargedCredits, harness.provider.submissions.length]).to.deep.equal(['cancelled', 0, 1]);
  });
});
