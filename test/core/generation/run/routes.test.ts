// Goal: a model with several providers goes on to the next one when one certainly does not make the task, and never while
// one may have it; limits hold for all workers together; a provider that does not work is left alone for a while.
// Method: two scripted providers, one or two workers, a manual clock.
import { expect } from 'chai';
import { cancelGeneration } from '../../../../core/generation/end-generation.js';
import type { Generation } from '../../../../core/generation/generation.js';
import type { ProviderLimits } from '../../../../core/providers/provider-use.js';
import { connectedProviders } from '../../../fixtures/connected-providers.js';
import { imageModel } from '../../../fixtures/core-models.js';
import { PROMISES, ScriptedProvider } from '../../../fixtures/scripted-provider.js';
import { CoreHarness } from '../../../harness/core-harness.js';
import { CoreWorker, untilSettled } from '../../../harness/core-worker.js';

const FAILURE = { code: 'MODEL_UNAVAILABLE', message: 'The model is no longer offered.', mayRetry: false } as const;
const FULL = {
  refuse: { code: 'PROVIDER_UNAVAILABLE', message: 'It is full.', mayRetry: true, retryAfterMs: 30_000 },
  because: 'capacity',
} as const;
const NOT_HERE = { refuse: FAILURE, because: 'not-here' } as const;

interface Opened {
  readonly harness: CoreHarness;
  readonly first: ScriptedProvider;
  readonly second: ScriptedProvider;
}

async function open(limits: Readonly<Record<string, ProviderLimits>> = {}, workers = 1): Promise<Opened> {
  const first = new ScriptedProvider();
  const second = new ScriptedProvider();
  const route = ['first', 'second'].map((provider, index) => ({
    provider,
    settings: { of: provider },
    weight: index === 0 ? 1 : 0,
  }));
  const harness = await CoreHarness.open({
    models: [imageModel({ route, onUnknownAcceptance: 'fail' })],
    ports: { providers: connectedProviders({ first, second }, limits) },
  });
  for (let count = 0; count < workers; count += 1) await CoreWorker.start(harness, `worker-${count}`);
  return { harness, first, second };
}

async function settled(harness: CoreHarness): Promise<Generation> {
  return untilSettled(harness, (await harness.create()).generationId);
}

/** Who still has its task, of those that are not over. */
function runningTasks(provider: ScriptedProvider): number {
  return [...provider.tasks.values()].filter(({ report }) => report.state === 'running').length;
}

/** The most of these times that lie within any 60 seconds. */
function mostInMinute(at: readonly number[]): number {
  return Math.max(...at.map((time) => at.filter((other) => other >= time && other < time + 60_000).length));
}

describe('a model with several providers', () => {
  it('is made by the first one, with the settings for it', async () => {
    const { harness, first, second } = await open();
    const g = await settled(harness);
    expect([g.status, g.attempt?.provider, second.submissions.length]).to.deep.equal(['succeeded', 'first', 0]);
    expect(first.submissions[0]?.settings).to.deep.equal({ of: 'first' });
  });

  for (const [why, script] of [
    ['is full', FULL],
    ['cannot make it', NOT_HERE],
  ] as const) {
    it(`is made by the next one, immediately, when one ${why}`, async () => {
      const { harness, first, second } = await open();
      first.submitScript = [script];
      const startedAt = harness.clock.now();
      const g = await settled(harness);
      expect([g.status, g.attempt?.provider, g.attemptsMade, g.chargedCredits]).to.deep.equal([
        'succeeded',
        'second',
        1,
        10,
      ]);
      expect((g.completedAt ?? Infinity) - startedAt).to.be.below(5_000);
      expect(second.submissions[0]?.token).to.not.equal(first.submissions[0]?.token);
      expect(second.submissions[0]?.settings).to.deep.equal({ of: 'second' });
    });
  }

  it('fails without charge, in the words of the last one, when none can make it', async () => {
    const { harness, first, second } = await open();
    first.submitScript = [NOT_HERE];
    second.submitScript = [NOT_HERE];
    const g = await settled(harness);
    expect([
      g.status,
      g.error?.code,
      g.chargedCredits,
      first.submissions.length,
      second.submissions.length,
    ]).to.deep.equal(['failed', 'MODEL_UNAVAILABLE', 0, 1, 1]);
  });

  it('is never given to the next one while one may have it', async () => {
    const { harness, first, second } = await open();
    first.submitScript = ['take-and-throw'];
    first.recoverScript = 'unsupported';
    const g = await settled(harness);
    expect([g.status, g.chargedCredits, first.submissions.length, second.submissions.length]).to.deep.equal([
      'failed',
      0,
      1,
      0,
    ]);
  });

  it('waits for the one that has room first when all are full', async () => {
    const { harness, first, second } = await open();
    first.submitScript = [{ ...FULL, refuse: { ...FULL.refuse, retryAfterMs: 60_000 } }, 'accept'];
    second.submitScript = [FULL, 'accept'];
    const startedAt = harness.clock.now();
    const g = await settled(harness);
    expect([g.status, g.attempt?.provider, g.attemptsMade]).to.deep.equal(['succeeded', 'second', 1]);
    expect((g.completedAt ?? 0) - startedAt).to.be.within(30_000, 35_000);
  });

  it('passes by a provider that has answered nothing several times, until it works again', async () => {
    const { harness, first, second } = await open();
    first.promised = { ...PROMISES, settleMs: 1_000_000 };
    first.submitScript = ['throw', 'throw', 'throw', 'throw', 'throw', 'accept'];
    const lost = await Promise.all(Array.from({ length: 5 }, () => harness.create()));
    await harness.clock.until(() => first.submissions.length === 5, 'five submissions were lost');
    expect((await settled(harness)).attempt?.provider).to.equal('second');
    await harness.clock.advance(120_000);
    expect((await settled(harness)).attempt?.provider).to.equal('first');
    expect(second.submissions).to.have.length(1);
    expect(lost).to.have.length(5);
  });
});

describe('the limits of a provider', () => {
  it('hold for the tasks of all workers together, and everything is made in the end', async () => {
    const { harness, first, second } = await open({ first: { maxConcurrent: 3 }, second: { maxConcurrent: 1 } }, 3);
    const most = [0, 0];
    for (const [index, provider] of [first, second].entries()) {
      provider.newReport = () => ({ state: 'running' });
      provider.onSubmit = ({ token }) => {
        harness.clock.after(20_000, () => {
          const task = [...provider.tasks.values()].find(({ submission }) => submission.token === token);
          if (task) task.report = { state: 'succeeded', outputs: [{ kind: 'image', mediaType: 'image/png' }] };
        });
        // The one that is submitted is about to run.
        most[index] = Math.max(most[index]!, runningTasks(provider) + 1);
      };
    }
    const all = await Promise.all(Array.from({ length: 14 }, () => harness.create()));
    for (const { generationId } of all)
      expect((await untilSettled(harness, generationId)).status, generationId).to.equal('succeeded');
    expect(runningTasks(first) + runningTasks(second)).to.equal(0);
    expect(most, 'all that each may have, and no more').to.deep.equal([3, 1]);
    expect(first.tasks.size + second.tasks.size, 'each was made once').to.equal(14);
    expect([first.tasks.size > 3, second.tasks.size > 1]).to.deep.equal([true, true]);
  });

  it('bound the submissions of a minute', async () => {
    const { harness, first } = await open({ first: { maxSubmissionsPerMinute: 8 } }, 2);
    harness.models = harness.models.map((model) => ({ ...model, route: model.route.slice(0, 1) }));
    const at: number[] = [];
    first.onSubmit = () => void at.push(harness.clock.now());
    const all = await Promise.all(Array.from({ length: 20 }, () => harness.create()));
    for (const { generationId } of all)
      expect((await untilSettled(harness, generationId)).status).to.equal('succeeded');
    // The bucket refills more slowly than the limit, for clocks that differ.
    expect(mostInMinute(at)).to.be.within(6, 8);
  });

  it('bound the submissions of a minute also where tasks are submitted again and again', async () => {
    const { harness, first } = await open({ first: { maxSubmissionsPerMinute: 8 } }, 2);
    harness.models = harness.models.map((model) => ({
      ...model,
      route: model.route.slice(0, 1),
      onUnknownAcceptance: 'resubmit' as const,
    }));
    first.submitScript = ['throw'];
    first.recoverScript = 'unsupported';
    const at: number[] = [];
    first.onSubmit = () => void at.push(harness.clock.now());
    await Promise.all(Array.from({ length: 8 }, () => harness.create()));
    await harness.clock.advance(300_000);
    expect(at.length).to.be.above(8);
    // The bucket refills more slowly than the limit, for clocks that differ.
    expect(mostInMinute(at)).to.be.within(6, 8);
  });

  it('leave a submission for a task that was certainly not taken', async () => {
    const { harness, first } = await open({ first: { maxSubmissionsPerMinute: 60 } });
    first.submitScript = ['throw', 'accept'];
    const g = await settled(harness);
    expect([g.status, g.attemptsMade, first.submissions.length]).to.deep.equal(['succeeded', 1, 2]);
  });

  it('let a generation that waits for room be cancelled, without charge', async () => {
    const { harness, first, second } = await open({ first: { maxConcurrent: 1 }, second: { maxConcurrent: 1 } });
    for (const provider of [first, second]) provider.newReport = () => ({ state: 'running' });
    const all = [await harness.create(), await harness.create(), await harness.create()];
    await harness.clock.until(() => first.tasks.size + second.tasks.size === 2, 'two are made');
    const waiting = all.find(({ generationId }) =>
      [...first.submissions, ...second.submissions].every((one) => one.generationId !== generationId),
    )!;
    expect((await harness.generation(waiting.generationId)).status).to.equal('queued');
    await cancelGeneration(harness.context, harness.caller, waiting.generationId);
    const g = await untilSettled(harness, waiting.generationId);
    expect([g.status, g.chargedCredits]).to.deep.equal(['cancelled', 0]);
    expect(first.tasks.size + second.tasks.size).to.equal(2);
  });

  it('are given back by a worker that stops', async () => {
    const { harness, first } = await open({ first: { maxConcurrent: 2 } }, 0);
    const worker = await CoreWorker.start(harness);
    await harness.create();
    await harness.clock.until(() => first.submissions.length === 1, 'one is submitted');
    expect((await harness.ports.providerUses.read('first'))?.shares[0]?.slots).to.be.above(0);
    let hasStopped: boolean | undefined;
    void worker.dispatcher.stop(10_000).then((ended) => (hasStopped = ended));
    await harness.clock.until(() => hasStopped !== undefined, 'the worker has stopped');
    expect((await harness.ports.providerUses.read('first'))?.shares).to.deep.equal([]);
  });

  it('are given up by a worker that has nothing to do', async () => {
    const { harness } = await open({ first: { maxConcurrent: 2 } });
    await settled(harness);
    await harness.clock.advance(60_000);
    expect((await harness.ports.providerUses.read('first'))?.shares).to.deep.equal([]);
  });
});
