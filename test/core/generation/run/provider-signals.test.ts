// Goal: the signal of a provider call is aborted once the answer is of no use, and a submission is never cut while its answer counts.
// Method: a provider whose calls hang, in runs whose time passes, whose lease is lost, which are cancelled, or whose worker stops.
import { expect } from 'chai';
import { cancelGeneration } from '../../../../core/generation/cancel-generation.js';
import type { Provider } from '../../../../core/ports/provider.js';
import { StoreUnavailable } from '../../../../core/errors.js';
import { CoreWorker, untilSettled } from '../../../fixtures/core-worker.js';
import { CoreWorld } from '../../../fixtures/core-world.js';
import { imageModel } from '../../../fixtures/core-models.js';
import type { Interceptor } from '../../../fixtures/intercepted.js';
import { imagesOf } from '../../../fixtures/scripted-provider.js';

const RUN_MS = 600_000;

/** The signals of the calls of one method, oldest first. */
function signalsOf({ provider }: CoreWorld, method: keyof Provider) {
  return provider.signals.filter((call) => call.method === method).map(({ signal }) => signal);
}

async function started(arrange: (world: CoreWorld) => void, interceptor?: Interceptor, model: Parameters<typeof imageModel>[0] = {}) {
  const world = await CoreWorld.open({ models: [imageModel(model)] });
  arrange(world);
  const worker = await CoreWorker.start(world, 'first', interceptor);
  const { generationId } = await world.create();
  await world.clock.advance(1);
  return { world, worker, generationId };
}

const hangingSubmit = ({ provider }: CoreWorld) => { provider.submitScript = ['hang', 'accept']; };
const hangingPoll = ({ provider }: CoreWorld) => {
  provider.pollHangs = true;
  provider.newReport = () => ({ state: 'running' });
};

/** Fails every renewal, and nothing else. */
const withoutRenewals: Interceptor = async (call) => {
  const [next] = call.args as [{ lease?: { renewedAt: number; fence: number }; attempt?: { startedAt: number } }];
  if (call.name === 'generations.replace' && next.lease !== undefined && next.lease.renewedAt > (next.attempt?.startedAt ?? 0)) throw new StoreUnavailable('The store is away.');
  return call.proceed();
};

describe('the signal of a provider call', () => {
  it('is not aborted while the call is answered', async () => {
    const { world, generationId } = await started(() => undefined);
    expect((await untilSettled(world, generationId)).status).to.equal('succeeded');
    expect(world.provider.signals.map(({ method }) => method)).to.include.members(['submit', 'poll', 'output']);
    expect(world.provider.signals.filter(({ signal }) => signal.aborted)).to.deep.equal([]);
  });

  for (const [method, arrange] of [['submit', hangingSubmit], ['poll', hangingPoll]] as const) {
    it(`is aborted once ${method} has taken the time of a call`, async () => {
      const { world } = await started(arrange);
      const [signal] = signalsOf(world, method);
      await world.clock.advance(world.settings.providerCallMs - 2);
      expect(signal?.aborted).to.equal(false);
      await world.clock.advance(2);
      expect(signal?.aborted).to.equal(true);
      expect(String(signal?.reason)).to.include(`No answer to ${method} within`);
    });

    it(`is aborted for ${method} when the run's deadline passes`, async () => {
      const { world, generationId } = await started(arrange, undefined, { runTimeoutMs: 20_000 });
      await world.clock.advance(19_990);
      expect(signalsOf(world, method).at(-1)?.aborted).to.equal(false);
      await world.clock.advance(20);
      expect(signalsOf(world, method).at(-1)?.aborted).to.equal(true);
      expect((await untilSettled(world, generationId)).error?.code).to.equal('TASK_TIMEOUT');
    });

    it(`is aborted for ${method} when another worker has the lease`, async () => {
      const { world, generationId } = await started(arrange);
      world.clock.jump(world.settings.leaseMs + 1);
      world.provider.pollHangs = false;
      const other = CoreWorker.idle(world, 'second');
      await world.clock.run(other.dispatcher.deliver(generationId));
      const [signal] = signalsOf(world, method);
      expect(signal?.aborted, 'before the renewal').to.equal(false);
      await world.clock.advance(world.settings.leaseMs);
      expect([signal?.aborted, String(signal?.reason)]).to.deep.equal([true, `CallGivenUp: The call ${method} was aborted: lease lost.`]);
    });
  }

  it('is aborted for outputs when the run\'s deadline passes', async () => {
    const { world } = await started(({ provider }) => { provider.onOutput = () => new Promise(() => undefined); });
    await world.clock.advance(RUN_MS - 10);
    const [signal] = signalsOf(world, 'output');
    expect(signal?.aborted).to.equal(false);
    await world.clock.advance(20);
    expect(signal?.aborted).to.equal(true);
  });

  it('is aborted for a submission once the lease has lapsed unrenewed, as another worker may hand the task over then', async () => {
    const { world } = await started(hangingSubmit, withoutRenewals);
    const [signal] = signalsOf(world, 'submit');
    await world.clock.advance(world.settings.leaseMs - 10);
    expect(signal?.aborted).to.equal(false);
    await world.clock.advance(20);
    expect([signal?.aborted, String(signal?.reason)]).to.deep.equal([true, 'CallGivenUp: The call submit was aborted: lease lapsed.']);
  });

  it('is aborted for a poll as soon as a cancel is known, and the provider is asked to stop', async () => {
    const { world, generationId } = await started(hangingPoll);
    await cancelGeneration(world.context, world.caller, generationId);
    await world.clock.advance(world.settings.leaseMs / 3 + 1);
    expect(signalsOf(world, 'poll')[0]?.aborted).to.equal(true);
    expect(world.provider.onlyTask.cancels).to.equal(1);
  });

  it('is not aborted for a submission by a cancel: what the provider took would be lost', async () => {
    const { world, generationId } = await started(hangingSubmit);
    await cancelGeneration(world.context, world.caller, generationId);
    await world.clock.advance(world.settings.providerCallMs - 10);
    expect(signalsOf(world, 'submit')[0]?.aborted).to.equal(false);
  });

  it('is aborted for a poll by a stop, and the lease is handed back at once', async () => {
    const { world, worker, generationId } = await started(hangingPoll);
    const at = world.clock.now();
    expect(await world.clock.run(worker.dispatcher.stop(10_000))).to.equal(true);
    expect(world.clock.now() - at).to.equal(0);
    expect(signalsOf(world, 'poll')[0]?.aborted).to.equal(true);
    expect((await world.generation(generationId)).lease).to.equal(undefined);
  });

  it('is aborted for a submission by a stop only when the grace is over', async () => {
    const { world, worker } = await started(hangingSubmit);
    const [signal] = signalsOf(world, 'submit');
    const stopped = worker.dispatcher.stop(10_000);
    await world.clock.advance(9_999);
    expect(signal?.aborted).to.equal(false);
    expect(await world.clock.run(stopped)).to.equal(false);
    expect(signal?.aborted).to.equal(true);
  });

  it('that is aborted leaves a submission a moment to say that it was taken, and that answer counts', async () => {
    const world = await CoreWorld.open();
    const { provider } = world;
    const submit = provider.submit.bind(provider);
    provider.submit = (submission, call) => new Promise((resolve, reject) => {
      call.signal.addEventListener('abort', () => { submit(submission, { signal: new AbortController().signal }).then(resolve, reject); });
    });
    provider.recoverScript = 'unsupported';
    await CoreWorker.start(world);
    const g = await untilSettled(world, (await world.create()).generationId);
    expect([g.status, g.attemptsMade, provider.submissions.length, provider.recovers]).to.deep.equal(['succeeded', 1, 1, 0]);
  });
});

describe('a submission', () => {
  it('does not begin under a lease that has lapsed by the clock', async () => {
    const world = await CoreWorld.open();
    let reads = 0;
    await CoreWorker.start(world, 'slow', async (call) => {
      // The third read is the run's first look at what it leased: the process was held up before it.
      if (call.name === 'generations.read' && (reads += 1) === 3) world.clock.jump(world.settings.leaseMs + 1);
      return call.proceed();
    });
    const { generationId } = await world.create();
    await world.clock.advance(world.settings.retryBaseMs);
    expect(world.provider.submissions).to.have.length(0);
    world.provider.newReport = () => ({ state: 'succeeded', outputs: imagesOf(1) });
    expect((await untilSettled(world, generationId)).status).to.equal('succeeded');
    expect(world.provider.submissions).to.have.length(1);
  });
});
