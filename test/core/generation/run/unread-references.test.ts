// Goal: while our object store does not give a reference, a generation waits for it within its deadline: no attempt is used up,
// and the provider is not taken for full.
// Method: a provider that reads the references of each submission and refuses those that it did not get whole, before an
// object store that is unavailable when a reference is opened, or in the middle of it.
import { expect } from 'chai';
import { StoreUnavailable } from '../../../../core/errors.js';
import { createGeneration } from '../../../../core/generation/create-generation.js';
import type { ProviderCall, Submission, SubmitAnswer } from '../../../../core/ports/provider.js';
import { collected } from '../../../fixtures/byte-streams.js';
import { oneProvider } from '../../../fixtures/connected-providers.js';
import { imageModel } from '../../../fixtures/core-models.js';
import { plainImage } from '../../../fixtures/plain-media.js';
import { ScriptedProvider } from '../../../fixtures/scripted-provider.js';
import { CoreHarness } from '../../../harness/core-harness.js';
import { CoreWorker, untilSettled } from '../../../harness/core-worker.js';
import { complete, prepare, send } from '../../uploads/upload-steps.js';

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

/** A generation with a reference that is read while `fails` says how. */
async function open(fails: { how: 'opening' | 'midway' | 'not' }) {
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
  const { generation } = await createGeneration(harness.context, harness.caller, 'k', body);
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
      const { harness, provider, generationId } = await open(fails);
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
    const { harness, provider, generationId } = await open({ how: 'opening' });
    const g = await untilSettled(harness, generationId);
    expect([g.status, g.error?.code, g.chargedCredits]).to.deep.equal(['failed', 'PROVIDER_UNAVAILABLE', 0]);
    expect(provider.tokens.length, 'less and less often').to.be.within(8, 40);
  });

  it('does not save a task that its provider refuses for good', async () => {
    const fails = { how: 'opening' } as const;
    const { harness, provider, generationId } = await open(fails);
    provider.refusal = { ...CUT_SHORT, mayRetry: false as never };
    const g = await untilSettled(harness, generationId);
    expect([g.status, provider.tokens.length]).to.deep.equal(['failed', 1]);
  });
});
