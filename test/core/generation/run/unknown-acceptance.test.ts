import { expect } from 'chai';
import { StoreUnavailable } from '../../../../core/errors.js';
import type { Provider } from '../../../../core/ports/provider.js';
import type { Interceptor } from '../../../fixtures/intercepted.js';
import { imageModel } from '../../../fixtures/models.js';
import { imagesOf, PROMISES } from '../../../fixtures/scripted-provider.js';
import { CoreHarness, CoreWorker, Life, untilSettled, outcomeOf } from '../../../harness/core-harness.js';

// Goal: an attempt that may or may not have been accepted is never simply resubmitted: the provider is queried by the
// attempt's token where possible, otherwise the model's policy decides.
// Method: submissions interrupted before and after the provider accepted them, with providers that can and cannot
// answer the query.

const SETTLE_MS = 10_000;

async function start(policy: 'resubmit' | 'fail'): Promise<CoreHarness> {
  const harness = await CoreHarness.open({ models: [imageModel({ onUnknownAcceptance: policy })] });
  await CoreWorker.start(harness);
  return harness;
}

describe('a submission of unknown outcome', () => {
  for (const policy of ['resubmit', 'fail'] as const) {
    it(`continues the task when the provider has it (${policy})`, async () => {
      const harness = await start(policy);
      harness.provider.submitScript = ['take-and-throw'];
      const g = await untilSettled(harness, (await harness.create()).generationId);
      expect(outcomeOf(harness, g)).to.include({ status: 'succeeded', attemptsMade: 1, submissions: 1, tasks: 1 });
    });

    it(`hands the task over again, under the same token, when the provider does not have it (${policy})`, async () => {
      const harness = await start(policy);
      harness.provider.submitScript = ['throw', 'accept'];
      const g = await untilSettled(harness, (await harness.create()).generationId);
      expect(outcomeOf(harness, g)).to.include({ status: 'succeeded', attemptsMade: 1, submissions: 2, tasks: 1 });
      expect(new Set(harness.provider.submissions.map(({ token }) => token)).size).to.equal(1);
    });

    it(`asks about the last of many submissions that were lost, before it gives the attempt up (${policy})`, async () => {
      for (const lost of [5, 9]) {
        const harness = await start(policy);
        harness.provider.submitScript = [...Array.from({ length: lost }, () => 'throw' as const), 'take-and-throw'];
        const g = await untilSettled(harness, (await harness.create()).generationId);
        expect(outcomeOf(harness, g)).to.include({ status: 'succeeded', attemptsMade: 1, submissions: lost + 1 });
      }
    });

    it(`gives an attempt up that was lost ten times (${policy})`, async () => {
      const harness = await CoreHarness.open({ models: [imageModel({ onUnknownAcceptance: policy, maxAttempts: 1 })] });
      await CoreWorker.start(harness);
      harness.provider.submitScript = ['throw'];
      const g = await untilSettled(harness, (await harness.create()).generationId);
      expect([g.status, g.chargedCredits, harness.provider.submissions.length]).to.deep.equal(['failed', 0, 10]);
    });

    it(`continues when a submission never answers (${policy})`, async () => {
      const harness = await start(policy);
      harness.provider.submitScript = ['hang', 'accept'];
      const g = await untilSettled(harness, (await harness.create()).generationId);
      expect([g.status, harness.provider.tasks.size]).to.deep.equal(['succeeded', 1]);
    });
  }

  // docs/catalog.md promises this also for a provider with recovery that needs time until its "not found" is certain.
  for (const [policy, asked, waitsMs] of [
    ['resubmit', 1, 0],
    ['fail', 3, 2 * SETTLE_MS],
  ] as const) {
    it(`is handed over again after ${asked === 1 ? 'one' : 'a certain'} "not found" (${policy})`, async () => {
      const harness = await start(policy);
      harness.provider.promised = { ...PROMISES, settleMs: SETTLE_MS };
      harness.provider.submitScript = ['throw', 'accept'];
      const at: number[] = [];
      harness.provider.onSubmit = () => void at.push(harness.clock.now());
      const g = await untilSettled(harness, (await harness.create()).generationId);
      expect([g.status, at.length, harness.provider.recovers]).to.deep.equal(['succeeded', 2, asked]);
      expect((at[1] ?? 0) - (at[0] ?? 0)).to.be.within(waitsMs, waitsMs + 1_000);
    });
  }

  it('ends within the grace after a cancel, and costs nothing, while the provider does not even say whether it has the task', async () => {
    const harness = await start('resubmit');
    harness.provider.recoverScript = 'throw';
    harness.provider.submitScript = ['take-and-throw'];
    const { generationId } = await harness.create();
    await harness.clock.until(() => harness.provider.recovers > 0, 'the provider was asked');
    await harness.cancel(generationId);
    const cancelledAt = harness.clock.now();
    const g = await untilSettled(harness, generationId);
    expect([g.status, g.chargedCredits]).to.deep.equal(['cancelled', 0]);
    expect(harness.clock.now() - cancelledAt).to.be.at.most(harness.settings.cancelGraceMs + harness.settings.leaseMs);
  });

  it('hands it over again, under the same token, when the provider cannot tell and the model allows', async () => {
    const harness = await start('resubmit');
    harness.provider.recoverScript = 'unsupported';
    harness.provider.submitScript = ['take-and-throw', 'accept'];
    const g = await untilSettled(harness, (await harness.create()).generationId);
    expect(outcomeOf(harness, g)).to.include({ status: 'succeeded', submissions: 2, tasks: 1 });
  });

  for (const policy of ['fail', 'resubmit'] as const) {
    it(`asks again until the provider knows, however often it answers not yet, and continues its task (${policy})`, async () => {
      const harness = await start(policy);
      harness.provider.submitScript = ['take-and-throw', 'accept'];
      harness.provider.recoverScript = { found: 'not-yet', retryAfterMs: 7_000 };
      const { generationId } = await harness.create();
      await harness.clock.advance(200_000);
      expect(harness.provider.recovers, 'asked more often than a silent provider is').to.be.within(28, 30);
      harness.provider.recoverScript = 'answer';
      const g = await untilSettled(harness, generationId);
      expect([g.status, g.attemptsMade, harness.provider.submissions.length]).to.deep.equal(['succeeded', 1, 1]);
    });

    it(`hands nothing over again, and charges nothing, when the provider does not know before the deadline (${policy})`, async () => {
      const harness = await start(policy);
      harness.provider.submitScript = ['take-and-throw', 'accept'];
      harness.provider.recoverScript = { found: 'not-yet' };
      const g = await untilSettled(harness, (await harness.create()).generationId);
      expect(outcomeOf(harness, g)).to.include({
        status: 'failed',
        code: 'TASK_TIMEOUT',
        chargedCredits: 0,
        submissions: 1,
      });
      expect(g.completedAt).to.equal((g.runDeadlineAt ?? 0) + 1);
    });
  }

  it('hands it over again once a provider that did not know yet says that it has no such task', async () => {
    const harness = await start('fail');
    harness.provider.submitScript = ['throw', 'accept'];
    harness.provider.recoverScript = { found: 'not-yet', retryAfterMs: 5_000 };
    const { generationId } = await harness.create();
    await harness.clock.advance(20_000);
    expect(harness.provider.submissions).to.have.length(1);
    harness.provider.recoverScript = 'answer';
    const g = await untilSettled(harness, generationId);
    expect([g.status, g.attemptsMade, harness.provider.submissions.length]).to.deep.equal(['succeeded', 1, 2]);
  });

  it('is queried again within the cap of the settings, for any wait the provider asks for, and never in a tight loop', async () => {
    const waits = [Number.NaN, -1, 0, 1, 86_400_000, 2 ** 60];
    for (const retryAfterMs of waits) {
      const harness = await start('fail');
      harness.provider.submitScript = ['take-and-throw'];
      harness.provider.recoverScript = { found: 'not-yet', retryAfterMs };
      await harness.create();
      await harness.clock.advance(300_000);
      const { retryBaseMs, retryAfterCapMs } = harness.settings;
      const waitMs = retryAfterMs > retryBaseMs ? retryAfterCapMs : retryBaseMs;
      expect(harness.provider.recovers, `a wait of ${retryAfterMs} ms`).to.be.within(
        Math.floor(300_000 / waitMs),
        Math.floor(300_000 / waitMs) + 1,
      );
    }
  });

  it('ends within the grace after a cancel, and costs nothing, while the provider does not know yet', async () => {
    const harness = await start('resubmit');
    harness.provider.recoverScript = { found: 'not-yet' };
    harness.provider.submitScript = ['take-and-throw'];
    const { generationId } = await harness.create();
    await harness.clock.until(() => harness.provider.recovers > 0, 'the provider was asked');
    await harness.cancel(generationId);
    const g = await untilSettled(harness, generationId);
    expect([g.status, g.chargedCredits, harness.provider.submissions.length]).to.deep.equal(['cancelled', 0, 1]);
    expect((g.completedAt ?? 0) - (g.cancelRequestedAt ?? 0)).to.be.at.most(
      harness.settings.cancelGraceMs + harness.settings.leaseMs,
    );
  });

  it('after a cancel is queried until it is known, and then stopped', async () => {
    const harness = await start('resubmit');
    harness.provider.recoverScript = { found: 'not-yet', retryAfterMs: 5_000 };
    harness.provider.submitScript = ['take-and-throw'];
    harness.provider.newReport = () => ({ state: 'running' });
    const { generationId } = await harness.create();
    await harness.clock.until(() => harness.provider.recovers > 0, 'the provider was asked');
    await harness.cancel(generationId);
    await harness.clock.advance(6_000);
    harness.provider.recoverScript = 'answer';
    expect((await untilSettled(harness, generationId)).status).to.equal('cancelled');
    expect(harness.provider.onlyTask.cancels).to.equal(1);
  });

  it('fails without charge, and is never handed over again, when the provider cannot tell and the model says so', async () => {
    const harness = await start('fail');
    harness.provider.recoverScript = 'unsupported';
    harness.provider.submitScript = ['take-and-throw', 'accept'];
    const g = await untilSettled(harness, (await harness.create()).generationId);
    expect(outcomeOf(harness, g)).to.include({
      status: 'failed',
      code: 'PROVIDER_UNAVAILABLE',
      chargedCredits: 0,
      submissions: 1,
    });
  });

  it('fails without charge, and is never handed over again, when the provider stays silent and the model says so', async () => {
    const harness = await start('fail');
    harness.provider.recoverScript = 'throw';
    harness.provider.submitScript = ['take-and-throw', 'accept'];
    const g = await untilSettled(harness, (await harness.create()).generationId);
    expect(outcomeOf(harness, g)).to.include({
      status: 'failed',
      code: 'TASK_TIMEOUT',
      chargedCredits: 0,
      submissions: 1,
    });
  });

  it('does not retry in a tight loop at a provider that accepts nothing', async () => {
    const harness = await start('resubmit');
    harness.provider.submitScript = ['throw'];
    const times: number[] = [];
    harness.provider.onSubmit = () => {
      times.push(harness.clock.now());
    };
    const g = await untilSettled(harness, (await harness.create()).generationId);
    expect([g.status, g.chargedCredits]).to.deep.equal(['failed', 0]);
    for (const at of times)
      expect(
        times.filter((other) => other >= at && other < at + 1_000).length,
        'submissions within a second',
      ).to.be.at.most(3);
  });

  it('is resolved by the next worker when the first one died in between', async () => {
    const harness = await CoreHarness.open();
    const life = new Life();
    await CoreWorker.start(harness, 'dying', life.interceptor);
    harness.provider.onSubmit = () => {
      life.isDead = true;
    };
    const { generationId } = await harness.create();
    await harness.clock.advance(1_000);
    expect((await harness.generation(generationId)).attempt?.phase).to.equal('submitting');
    harness.provider.onSubmit = () => undefined;
    await harness.clock.advance(harness.settings.leaseMs);
    const second = CoreWorker.idle(harness, 'second');
    await second.dispatcher.deliver(generationId);
    const g = await untilSettled(harness, generationId);
    expect(outcomeOf(harness, g)).to.include({ status: 'succeeded', attemptsMade: 1, submissions: 1, tasks: 1 });
  });
});

// Goal: the signal of a provider call is aborted once the answer is of no use; a submission is never aborted while its
// answer counts.
// Method: a provider whose calls hang, in runs that pass their deadline, lose their lease or are cancelled, or whose
// worker stops.

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
    await harness.cancel(generationId);
    await harness.clock.advance(harness.settings.leaseMs / 3 + 1);
    expect(signalsOf(harness, 'poll')[0]?.aborted).to.equal(true);
    expect(harness.provider.onlyTask.cancels).to.equal(1);
  });

  it('is not aborted for a submission by a cancel: an accepted task would be lost', async () => {
    const { harness, generationId } = await started(hangingSubmit);
    await harness.cancel(generationId);
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
      // The third read is the run's first read of its leased generation: the process was delayed before it.
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
