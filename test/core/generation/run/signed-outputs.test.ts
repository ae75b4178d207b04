// Goal: a signer signs each output once, after its metadata is gone; a signer that fails, waits or breaks a file costs
// nobody an output; and nothing but the delivered objects is left at rest.
// Method: signers that add bytes, refuse, never answer, answer with junk, or meet a store that fails.
import { expect } from 'chai';
import { StoreUnavailable } from '../../../../core/errors.js';
import type { Generation } from '../../../../core/generation/generation.js';
import { outputKey } from '../../../../core/generation/run/collect-outputs.js';
import type { OutputSigner, UnsignedFile } from '../../../../core/ports/output-signer.js';
import { bytesOf, collected, streamOf } from '../../../fixtures/byte-streams.js';
import type { Interceptor } from '../../../fixtures/intercepted.js';
import { plainImage } from '../../../fixtures/plain-media.js';
import { CoreHarness } from '../../../harness/core-harness.js';
import { CoreWorker, untilSettled } from '../../../harness/core-worker.js';

const SIGNATURE = ' signed';

/** Appends a signature, and records what it was given. */
class AppendingSigner implements OutputSigner {
  readonly given: { readonly file: UnsignedFile; readonly text: string }[] = [];

  async sign(file: UnsignedFile): Promise<AsyncIterable<Uint8Array>> {
    const bytes = await collected(await file.open());
    this.given.push({ file, text: Buffer.from(bytes).toString() });
    return streamOf(Buffer.concat([bytes, bytesOf(SIGNATURE)]));
  }
}

async function run(
  outputSigner: OutputSigner,
  { count = 2, interceptor }: { count?: number; interceptor?: Interceptor } = {},
): Promise<{ harness: CoreHarness; g: Generation; texts: string[] }> {
  const harness = await CoreHarness.open();
  let outputs = 0;
  harness.provider.onOutput = async () => streamOf(plainImage(64, 64, 'image/png', `output ${(outputs += 1)}`));
  const worker = CoreWorker.idle(harness, 'worker', interceptor, { outputSigner });
  await worker.context.wakeUps.start(({ id }) => worker.dispatcher.deliver(id), 10_000);
  const g = await untilSettled(harness, (await harness.create({ count })).generationId);
  const texts: string[] = [];
  for (const { objectKey, byteSize, sha256 } of g.outputs) {
    const bytes = await collected((await harness.ports.objects.read(objectKey)) ?? streamOf(new Uint8Array()));
    expect(await harness.ports.digests.ofBytes(streamOf(bytes))).to.deep.equal({ byteSize, sha256 });
    texts.push(Buffer.from(bytes).toString());
  }
  expect([g.status, g.outputs.length, g.chargedCredits, harness.provider.submissions.length]).to.deep.equal([
    'succeeded',
    count,
    10 * count,
    1,
  ]);
  return { harness, g, texts };
}

const plain = (index: number) => `PLAIN image/png 64x64 output ${index}`;

describe('a signer of outputs', () => {
  it('signs each output once, and the signed files are delivered', async () => {
    const signer = new AppendingSigner();
    const { harness, g, texts } = await run(signer);
    expect(texts).to.deep.equal([plain(1) + SIGNATURE, plain(2) + SIGNATURE]);
    expect(signer.given.map(({ text }) => text)).to.deep.equal([plain(1), plain(2)]);
    for (const { file } of signer.given) {
      expect(file).to.include({ mediaType: 'image/png' });
      expect(file.mark).to.deep.equal({ sourceType: 'trainedAlgorithmicMedia' });
    }
    const stored: string[] = [];
    for (let fence = 0; fence <= g.fence; fence += 1)
      for (let index = 0; index < 2; index += 1) {
        const key = outputKey(g.generationId, fence, index);
        if ((await harness.ports.objects.stat(key)) !== null) stored.push(key);
      }
    expect(stored.toSorted(), 'no unsigned file is left').to.deep.equal(
      g.outputs.map(({ objectKey }) => objectKey).toSorted(),
    );
  });

  const FAILING: readonly (readonly [what: string, signer: OutputSigner])[] = [
    ['signs nothing', { sign: async () => null }],
    [
      'fails',
      {
        sign: async () => {
          throw new Error('The key has expired.');
        },
      },
    ],
    ['never answers', { sign: async () => new Promise(() => undefined) }],
    ['answers with other media', { sign: async () => streamOf(plainImage(32, 32)) }],
    ['answers with junk', { sign: async () => streamOf(bytesOf('junk')) }],
    ['adds more than a signature may have', { sign: async () => streamOf(new Uint8Array(2 * 1024 * 1024)) }],
  ];
  for (const [what, signer] of FAILING) {
    it(`costs no output where it ${what}`, async () => {
      const { harness, texts } = await run(signer);
      expect(texts).to.deep.equal([plain(1), plain(2)]);
      const warnings = harness.warnings.filter(({ event }) => event === 'output not signed');
      expect(warnings).to.have.length(what === 'signs nothing' ? 0 : 2);
    });
  }

  it('waits for the store: an output whose signed file cannot be stored now is stored again', async () => {
    const signer = new AppendingSigner();
    let failures = 2;
    const { texts } = await run(signer, {
      count: 1,
      interceptor: async (call) => {
        if (call.name === 'objects.write' && signer.given.length > 0 && failures > 0) {
          failures -= 1;
          throw new StoreUnavailable('The store is full.');
        }
        return call.proceed();
      },
    });
    expect(failures).to.equal(0);
    expect(texts[0]).to.match(/^PLAIN image\/png 64x64 output \d signed$/);
  });
});
