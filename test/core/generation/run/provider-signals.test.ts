// Goal: the signal of a provider call is aborted once the answer is of no use; a submission is never aborted while its
// answer counts.
// Method: a provider whose calls hang, in runs that pass their deadline, lose their lease or are cancelled, or whose
// worker stops.
import { expect } from 'chai';
import { StoreUnavailable } from '../../../../core/errors.js';
import { cancelGeneration } from '../../../../core/generation/end-generation.js';
import type { Provider } from '../../../../core/ports/provider.js';
import { imageModel } from '../../../fixtures/core-models.js';
import type { Interceptor } from '../../../fixtures/intercepted.js';
import { imagesOf } from '../../../fixtures/scripted-provider.js';
import { CoreHarness } from '../../../harness/core-harness.js';
import { CoreWorker, untilSettled } from '../../../harness/core-worker.js';

const RUN_MS = 600_000;

/** The signals of the calls of one method, oldest first. */
function signalsOf({ provider }: CoreHarness, method: keyof Provider) {
  return provider.signals.filter((call) => call.method === method).map(({ signal }) => signal);
}

async function started(
  arrange: (harness: CoreHarness) => void,
  interceptor?: Interceptor,
  model: Parameters<typeof imageModel>[0] = {},
) {
  const harness = await CoreHarness.open({ models: [imageModel(model)] });
  arrange(harness);
  const worker = await CoreWorker.start(harness, 'first', interceptor);
  const { generationId } = await harness.create();
  await harness.clock.advance(1);
  return { harness, worker, generationId };
}

const hangingSubmit = ({ provider }: CoreHarness) => {
  provider.submitScript = ['hang', 'accept'];
};
const hangingPoll = ({ provider }: CoreHarness) => {
  provider.pollHangs = true;
  provider.newReport = () => ({ state: 'running' });
};

/** Fails every renewal, and nothing else. */
const withoutRenewals: Interceptor = async (call) => {
  const [next] = call.args as [{ lease?: { renewedAt: number; fence: number }; attempt?: { startedAt: number } }];
  if (
    call.name === 'generations.replace' &&
    next.lease !== undefined &&
    next.lease.renewedAt > (next.attempt?.startedAt ?? 0)
  )
    throw new StoreUnavailable('The store is away.');
  return call.proceed();
};

describe('the signal of a provider call', () => {
  it('is not aborted while the call is answered', async () => {
    const { harness, generationId } = await started(() => undefined);
    expect((await untilSettled(harness, generationId)).status).to.equal('succeeded');
    expect(harness.provider.signals.map(({ method }) => method)).to.include.members(['submit', 'poll', 'output']);
    expect(harness.provider.signals.filter(({ signal }) => signal.aborted)).to.deep.equal([]);
  });

  for (const [method, arrange] of [
    ['submit', hangingSubmit],
    ['poll', hangingPoll],
  ] as const) {
    it(`is aborted once ${method} has taken the time of a call`, async () => {
      const { harness } = await started(arrange);
      const [signal] = signalsOf(harness, method);
      await harness.clock.advance(harness.settings.providerCallMs - 2);
      expect(signal?.aborted).to.equal(false);
      await harness.clock.advance(2);
      expect(signal?.aborted).to.equal(true);
      expect(String(signal?.reason)).to.include(`No answer to ${method} within`);
    });

    it(`is aborted for ${method} when the run's deadline passes`, async () => {
      const { harness, generationId } = await started(arrange, undefined, { runTimeoutMs: 20_000 });
      await harness.clock.advance(19_990);
      const signal = signalsOf(harness, method).at(-1);
      expect(signal?.aborted).to.equal(false);
      await harness.clock.advance(20);
      expect(signal?.aborted).to.equal(true);
      expect((await untilSettled(harness, generationId)).error?.code).to.equal('TASK_TIMEOUT');
    });

    it(`is aborted for ${method} when another worker has the lease`, async () => {
      const { harness, generationId } = await started(arrange);
      harness.clock.jump(harness.settings.leaseMs + 1);
      harness.provider.pollHangs = false;
      const other = CoreWorker.idle(harness, 'second');
      await harness.clock.run(other.dispatcher.deliver(generationId));
      const [signal] = signalsOf(harness, method);
      expect(signal?.aborted, 'before the renewal').to.equal(false);
      await harness.clock.advance(harness.settings.leaseMs);
      expect([signal?.aborted, String(signal?.reason)]).to.deep.equal([
        true,
        `CallGivenUp: The call ${method} was aborted: lease lost.`,
      ]);
    });
  }

  it("is aborted for outputs when the run's deadline passes", async () => {
    const { harness } = await started(({ provider }) => {
      provider.onOutput = () => new Promise(() => undefined);
    });
    await harness.clock.advance(RUN_MS - 10);
    const [signal] = signalsOf(harness, 'output');
    expect(signal?.aborted).to.equal(false);
    await harness.clock.advance(20);
    expect(signal?.aborted).to.equal(true);
  });

  it('is aborted for a submission once the lease has lapsed unrenewed, as another worker may then hand the task over', async () => {
    const { harness } = await started(hangingSubmit, withoutRenewals);
    const [signal] = signalsOf(harness, 'submit');
    await harness.clock.advance(harness.settings.leaseMs - 10);
    expect(signal?.aborted).to.equal(false);
    await harness.clock.advance(20);
    expect([signal?.aborted, String(signal?.reason)]).to.deep.equal([
      true,
      'CallGivenUp: The call submit was aborted: lease lapsed.',
    ]);
  });

  it('is aborted for a poll as soon as a cancel is known, and the provider is asked to stop', async () => {
    const { harness, generationId } = await started(hangingPoll);
    await cancelGeneration(harness.context, harness.caller, generationId);
    await harness.clock.advance(harness.settings.leaseMs / 3 + 1);
    expect(signalsOf(harness, 'poll')[0]?.aborted).to.equal(true);
    expect(harness.provider.onlyTask.cancels).to.equal(1);
  });

  it('is not aborted for a submission by a cancel: an accepted task would be lost', async () => {
    const { harness, generationId } = await started(hangingSubmit);
    await cancelGeneration(harness.context, harness.caller, generationId);
    await harness.clock.advance(harness.settings.providerCallMs - 10);
    expect(signalsOf(harness, 'submit')[0]?.aborted).to.equal(false);
  });

  it('is aborted for a poll by a stop, and the lease is handed back at once', async () => {
    const { harness, worker, generationId } = await started(hangingPoll);
    const at = harness.clock.now();
    expect(await harness.clock.run(worker.dispatcher.stop(10_000))).to.equal(true);
    expect(harness.clock.now() - at).to.equal(0);
    expect(signalsOf(harness, 'poll')[0]?.aborted).to.equal(true);
    expect((await harness.generation(generationId)).lease).to.equal(undefined);
  });

  it('is aborted for a submission by a stop only when the grace is over', async () => {
    const { harness, worker } = await started(hangingSubmit);
    const [signal] = signalsOf(harness, 'submit');
    const stopped = worker.dispatcher.stop(10_000);
    await harness.clock.advance(9_999);
    expect(signal?.aborted).to.equal(false);
    expect(await harness.clock.run(stopped)).to.equal(false);
    expect(signal?.aborted).to.equal(true);
  });

  it('leaves an aborted submission a moment to report that it was accepted, and that answer counts', async () => {
    const harness = await CoreHarness.open();
    const { provider } = harness;
    const submit = provider.submit.bind(provider);
    provider.submit = (submission, call) =>
      new Promise((resolve, reject) => {
        call.signal.addEventListener('abort', () => {
          submit(submission, { signal: new AbortController().signal }).then(resolve, reject);
        });
      });
    provider.recoverScript = 'unsupported';
    await CoreWorker.start(harness);
    const g = await untilSettled(harness, (await harness.create()).generationId);
    expect([g.status, g.attemptsMade, provider.submissions.length, provider.recovers]).to.deep.equal([
      'succeeded',
      1,
      1,
      0,
    ]);
  });
});

describe('a submission', () => {
  it('does not begin under a lease that has lapsed by the clock', async () => {
    const harness = await CoreHarness.open();
    let reads = 0;
    await CoreWorker.start(harness, 'slow', async (call) => {
      // The third read is the run's first read of what it leased: the process was delayed before it.
      if (call.name === 'generations.read' && (reads += 1) === 3) harness.clock.jump(harness.settings.leaseMs + 1);
      return call.proceed();
    });
    const { generationId } = await harness.create();
    await harness.clock.advance(harness.settings.retryBaseMs);
    expect(harness.provider.submissions).to.have.length(0);
    harness.provider.newReport = () => ({ state: 'succeeded', outputs: imagesOf(1) });
    expect((await untilSettled(harness, generationId)).status).to.equal('succeeded');
    expect(harness.provider.submissions).to.have.length(1);
  });
});
