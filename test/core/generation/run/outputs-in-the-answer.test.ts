import { expect } from 'chai';
import { StoreUnavailable } from '../../../../core/errors.js';
import type { ProviderCall, Submission, SubmitAnswer } from '../../../../core/ports/provider.js';
import { breakingOff, collected, readableAgain, streamOf } from '../../../fixtures/byte-streams.js';
import { imageModel } from '../../../fixtures/models.js';
import { plainImage } from '../../../fixtures/plain-media.js';
import { oneProvider, PROMISES, ScriptedProvider, type SubmitScript } from '../../../fixtures/scripted-provider.js';
import { CoreHarness, CoreWorker, Life, untilSettled } from '../../../harness/core-harness.js';
import { complete, prepare, send } from '../../uploads/upload-steps.js';

// Goal: what a provider delivers in its answer to a submission is stored before the attempt counts as accepted, and any
// worker finishes from there; until then its outcome is unknown, and nothing is submitted again but by the model's policy.
// Method: a provider that answers with files, whole, broken and too many, and workers that die or stop on the way.

async function open(script: SubmitScript[], policy: 'resubmit' | 'fail' = 'fail'): Promise<CoreHarness> {
  const harness = await CoreHarness.open({ models: [imageModel({ onUnknownAcceptance: policy })] });
  harness.provider.promised = { ...PROMISES, answersWithOutputs: true, isAskedBy: 'nothing', cancels: 'nothing' };
  harness.provider.recoverScript = 'unsupported';
  harness.provider.submitScript = script;
  return harness;
}

const pictures = (count: number): SubmitScript => ({
  deliver: Array.from({ length: count }, () => streamOf(plainImage())),
});

describe('outputs in the answer to a submission', () => {
  it('are delivered and charged, and the provider is asked nothing more', async () => {
    const harness = await open([pictures(2)]);
    await CoreWorker.start(harness);
    const g = await untilSettled(harness, (await harness.create({ count: 2 })).generationId);
    expect([g.status, g.outputs.length, g.chargedCredits]).to.deep.equal(['succeeded', 2, 20]);
    expect(new Set(harness.provider.signals.map(({ method }) => method))).to.deep.equal(new Set(['submit']));
  });

  it('are delivered and charged as far as they were paid for', async () => {
    const harness = await open([pictures(4)]);
    await CoreWorker.start(harness);
    const g = await untilSettled(harness, (await harness.create({ count: 1 })).generationId);
    expect([g.outputs.length, g.chargedCredits]).to.deep.equal([1, 10]);
  });

  it('are left out when they are not what was asked for, and the others are delivered', async () => {
    const harness = await open([{ deliver: [streamOf(plainImage()), streamOf(new Uint8Array(90))] }]);
    await CoreWorker.start(harness);
    const g = await untilSettled(harness, (await harness.create({ count: 2 })).generationId);
    expect([g.status, g.outputs.length, g.chargedCredits]).to.deep.equal(['succeeded', 1, 10]);
  });

  it('may take longer to come than another call may', async () => {
    const harness = await open([pictures(1)]);
    await CoreWorker.start(harness);
    const { providerCallMs } = harness.settings;
    const { provider, clock } = harness;
    const submit = provider.submit.bind(provider);
    provider.submit = async (...args) => {
      await new Promise<void>((resolve) => void clock.after(3 * providerCallMs, resolve));
      return submit(...args);
    };
    const g = await untilSettled(harness, (await harness.create()).generationId);
    expect([g.status, provider.submissions.length]).to.deep.equal(['succeeded', 1]);
  });

  it('are delivered and charged though a cancel was asked for and its grace is over', async () => {
    const harness = await open([pictures(1)]);
    await CoreWorker.start(harness);
    const { cancelGraceMs } = harness.settings;
    const { provider, clock } = harness;
    const submit = provider.submit.bind(provider);
    provider.submit = async (...args) => {
      await new Promise<void>((resolve) => void clock.after(3 * cancelGraceMs, resolve));
      return submit(...args);
    };
    const { generationId } = await harness.create();
    await clock.advance(1_000);
    await harness.cancel(generationId);
    const g = await untilSettled(harness, generationId);
    expect([g.status, g.chargedCredits, provider.submissions.length]).to.deep.equal(['succeeded', 10, 1]);
  });

  it('are delivered by another worker when the one that stored them dies', async () => {
    const harness = await open([pictures(1)]);
    const life = new Life();
    await CoreWorker.start(harness, 'first', async (call) => {
      const done = await life.interceptor(call);
      const { attempt } = (call.args[0] as { readonly attempt?: { readonly delivered?: unknown } } | undefined) ?? {};
      if (call.name === 'generations.replace' && attempt?.delivered !== undefined) life.isDead = true;
      return done;
    });
    const { generationId } = await harness.create();
    await harness.clock.until(() => life.isDead, 'the first worker has died');
    await harness.clock.advance(harness.settings.leaseMs + 1);
    void CoreWorker.idle(harness, 'second').dispatcher.deliver(generationId);
    const g = await untilSettled(harness, generationId);
    expect([g.status, g.outputs.length, harness.provider.submissions.length]).to.deep.equal(['succeeded', 1, 1]);
  });

  it('that all break off leave the outcome unknown, and the model decides', async () => {
    for (const [policy, status, submissions] of [
      ['fail', 'failed', 1],
      ['resubmit', 'succeeded', 2],
    ] as const) {
      const broken = { deliver: [breakingOff(plainImage().subarray(0, 20)), breakingOff(new Uint8Array(0))] };
      const harness = await open([broken, pictures(2)], policy);
      await CoreWorker.start(harness);
      const g = await untilSettled(harness, (await harness.create({ count: 2 })).generationId);
      expect([g.status, harness.provider.submissions.length], policy).to.deep.equal([status, submissions]);
      expect(g.chargedCredits).to.equal(status === 'failed' ? 0 : 20);
    }
  });

  it('are delivered and charged without the one that breaks off', async () => {
    const harness = await open([{ deliver: [breakingOff(plainImage().subarray(0, 20)), streamOf(plainImage())] }]);
    await CoreWorker.start(harness);
    const g = await untilSettled(harness, (await harness.create({ count: 2 })).generationId);
    expect([g.status, g.outputs.length, g.chargedCredits]).to.deep.equal(['succeeded', 1, 10]);
    expect(harness.provider.submissions).to.have.length(1);
  });

  for (const [what, call] of [
    ['stored once our object store works again', 'objects.write'],
    ['recorded once our database works again', 'generations.replace'],
  ] as const) {
    it(`are ${what}, and nothing is submitted twice or held against the provider`, async () => {
      const harness = await open([{ deliver: [readableAgain(plainImage())] }]);
      let failures = 0;
      const worker = await CoreWorker.start(harness, 'worker', async (made) => {
        if (made.name !== call || harness.provider.submissions.length === 0 || failures === 6) return made.proceed();
        failures += 1;
        // Every other time it has done its work, and its answer is lost.
        if (failures % 2 === 0 && call === 'objects.write') await made.proceed();
        throw new StoreUnavailable('The store is away.');
      });
      const g = await untilSettled(harness, (await harness.create()).generationId);
      expect([g.status, failures, harness.provider.submissions.length]).to.deep.equal(['succeeded', 6, 1]);
      const [seen] = worker.context.providerGates.seen;
      expect([seen?.circuit, seen?.lastError]).to.deep.equal(['closed', undefined]);
    });
  }

  for (const isWritten of [false, true]) {
    it(`are stored though the database is away as well, and its lost answer was to a write that was ${isWritten ? '' : 'not '}done`, async () => {
      const harness = await open([{ deliver: [readableAgain(plainImage())] }]);
      const { clock, provider } = harness;
      let [isAway, failures] = [false, 0];
      await CoreWorker.start(harness, 'worker', async (call) => {
        if (call.name === 'objects.write' && failures === 0) {
          isAway = true;
          clock.after(15_000, () => void (isAway = false));
        }
        if (!isAway) return call.proceed();
        failures += 1;
        if (isWritten && call.name === 'generations.replace') await call.proceed();
        throw new StoreUnavailable('The store is away.');
      });
      const g = await untilSettled(harness, (await harness.create()).generationId);
      expect(failures).to.be.above(2);
      expect([g.status, g.chargedCredits, provider.submissions.length]).to.deep.equal(['succeeded', 10, 1]);
    });
  }

  it('that cannot be read a second time leave the outcome unknown, and nothing is submitted twice', async () => {
    const harness = await open([{ deliver: [streamOf(plainImage())] }]);
    let failures = 0;
    await CoreWorker.start(harness, 'worker', async (call) => {
      const done = await call.proceed();
      if (call.name !== 'objects.write' || failures === 1) return done;
      failures += 1;
      throw new StoreUnavailable('The store did not answer.');
    });
    const g = await untilSettled(harness, (await harness.create()).generationId);
    expect([g.status, g.chargedCredits, harness.provider.submissions.length]).to.deep.equal(['failed', 0, 1]);
  });

  it('are closed once they are stored, and when they cannot be', async () => {
    for (const deliver of [[streamOf(plainImage())], [breakingOff(new Uint8Array(0))]]) {
      const harness = await open([{ deliver }]);
      const closed: string[] = [];
      const { provider } = harness;
      const submit = provider.submit.bind(provider);
      provider.submit = async (...args) => {
        const answer = await submit(...args);
        return { ...answer, close: () => void closed.push('closed') };
      };
      await CoreWorker.start(harness);
      await untilSettled(harness, (await harness.create()).generationId);
      expect(closed).to.deep.equal(['closed']);
    }
  });

  it('are all stored though the lease lapses meanwhile, as long as no other worker has taken it', async () => {
    const harness = await open([pictures(2)]);
    const { clock, settings, provider } = harness;
    let [isAway, written] = [false, 0];
    await CoreWorker.start(harness, 'worker', async (call) => {
      if (isAway && call.name.startsWith('generations.')) throw new StoreUnavailable('The store is away.');
      if (call.name !== 'objects.write') return call.proceed();
      written += 1;
      if (written < 2) return call.proceed();
      isAway = true;
      await new Promise<void>((resolve) => void clock.after(2 * settings.leaseMs, resolve));
      isAway = false;
      return call.proceed();
    });
    const g = await untilSettled(harness, (await harness.create({ count: 2 })).generationId);
    expect([g.status, g.outputs.length, g.chargedCredits]).to.deep.equal(['succeeded', 2, 20]);
    expect([provider.submissions.length, written]).to.deep.equal([1, 2]);
  });

  it('are waited for by a worker that stops', async () => {
    const harness = await open([pictures(1)]);
    const worker = await CoreWorker.start(harness);
    const { provider, clock } = harness;
    const submit = provider.submit.bind(provider);
    provider.submit = async (...args) => {
      const answer = await submit(...args);
      await new Promise<void>((resolve) => void clock.after(5_000, resolve));
      return answer;
    };
    const { generationId } = await harness.create();
    await clock.until(() => provider.submissions.length === 1, 'it was submitted');
    let hasStopped: boolean | undefined;
    void worker.dispatcher.stop(10_000).then((ended) => (hasStopped = ended));
    await clock.until(() => hasStopped !== undefined, 'the worker has stopped');
    expect(hasStopped).to.equal(true);
    expect((await harness.generation(generationId)).attempt?.delivered).to.have.length(1);
    await harness.clock.advance(harness.settings.leaseMs + 1);
    void CoreWorker.idle(harness, 'second').dispatcher.deliver(generationId);
    const g = await untilSettled(harness, generationId);
    expect([g.status, provider.submissions.length]).to.deep.equal(['succeeded', 1]);
  });

  it('bring the cost of the attempt, which stays with the generation', async () => {
    const cost = { inputTokens: 12, outputTokens: 4_160, money: { micros: 42_000, currency: 'USD' } };
    const harness = await open([{ deliver: [streamOf(plainImage())], cost }]);
    await CoreWorker.start(harness);
    const g = await untilSettled(harness, (await harness.create()).generationId);
    expect(g.costs).to.deep.equal([{ ...cost, attempt: 1, provider: 'scripted' }]);
  });
});

// Goal: while our object store does not give a reference, a generation waits for it within its deadline: no attempt is used up,
// and the provider is not taken for full.
// Method: a provider that reads the references of each submission and refuses those that it did not get whole, before an
// object store that is unavailable when a reference is opened, or in the middle of it.

const CUT_SHORT = { code: 'PROVIDER_UNAVAILABLE', message: 'A reference did not arrive.', mayRetry: true } as const;

class ReadingProvider extends ScriptedProvider {
  readonly tokens: string[] = [];
  refusal = CUT_SHORT;

  override async submit(submission: Submission, call: ProviderCall): Promise<SubmitAnswer> {
    this.tokens.push(submission.token);
    try {
      for (const reference of submission.references) await collected(await reference.open());
    } catch {
      return { accepted: false, failure: this.refusal };
    }
    return super.submit(submission, call);
  }
}

/** A generation whose reference fails to be read as `fails` says. */
async function openUnread(fails: { how: 'opening' | 'midway' | 'not' }) {
  const provider = new ReadingProvider();
  const harness = await CoreHarness.open({
    models: [imageModel({ maxAttempts: 2 })],
    ports: { providers: oneProvider(provider) },
  });
  const bytes = plainImage();
  const prepared = await prepare(harness, bytes);
  const { uploadId } = prepared.upload;
  send(harness, prepared, bytes);
  await complete(harness, uploadId);
  await CoreWorker.start(harness, 'worker', async (call) => {
    if (call.name !== 'objects.read' || fails.how === 'not') return call.proceed();
    if (fails.how === 'opening') throw new StoreUnavailable('No answer.');
    return midway((await call.proceed()) as AsyncIterable<Uint8Array>);
  });
  const body = harness.body({}, { reference_upload_ids: [uploadId] });
  const { generation } = await harness.post('k', body);
  return { harness, provider, generationId: generation.generationId };
}

async function* midway(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of bytes) {
    yield piece.subarray(0, 1);
    throw new StoreUnavailable('No answer.');
  }
}

describe('a reference that our object store does not give', () => {
  for (const how of ['opening', 'midway'] as const) {
    it(`is waited for, and uses up no attempt (${how})`, async () => {
      const fails: { how: 'opening' | 'midway' | 'not' } = { how };
      const { harness, provider, generationId } = await openUnread(fails);
      await harness.clock.until(() => provider.tokens.length === 5, 'it was tried five times');
      expect(await harness.generation(generationId)).to.include({ status: 'running', attemptsMade: 0 });
      expect(harness.context.providerGates.seen.map(({ circuit }) => circuit)).to.not.include('paused');
      fails.how = 'not';
      const g = await untilSettled(harness, generationId);
      expect([g.status, g.attemptsMade]).to.deep.equal(['succeeded', 1]);
      expect(new Set(provider.tokens).size, 'each try has a token of its own').to.equal(6);
    });
  }

  it('fails without charge at the deadline', async () => {
    const { harness, provider, generationId } = await openUnread({ how: 'opening' });
    const g = await untilSettled(harness, generationId);
    expect([g.status, g.error?.code, g.chargedCredits]).to.deep.equal(['failed', 'PROVIDER_UNAVAILABLE', 0]);
    expect(provider.tokens.length, 'less and less often').to.be.within(8, 40);
  });

  it('does not save a task that its provider refuses for good', async () => {
    const fails = { how: 'opening' } as const;
    const { harness, provider, generationId } = await openUnread(fails);
    provider.refusal = { ...CUT_SHORT, mayRetry: false as never };
    const g = await untilSettled(harness, generationId);
    expect([g.status, provider.tokens.length]).to.deep.equal(['failed', 1]);
  });
});
