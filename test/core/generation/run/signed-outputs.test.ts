// Goal: a signer signs each output once, after its metadata is gone; a signer that fails, waits or breaks a file costs
// nobody an output; and nothing but the delivered objects is left at rest.
// Method: signers that add bytes, refuse, never answer, answer with junk, or meet a store that fails.
import { expect } from 'chai';
import { StoreUnavailable } from '../../../../core/errors.js';
import type { Generation } from '../../../../core/generation/generation.js';
import { outputKey } from '../../../../core/generation/run/collect-outputs.js';
import type { OutputSigner, UnsignedFile } from '../../../../core/ports/output-signer.js';
import { bytesOf, collected, readableAgain, streamOf } from '../../../fixtures/byte-streams.js';
import { imageModel } from '../../../fixtures/core-models.js';
import type { Interceptor } from '../../../fixtures/intercepted.js';
import { plainImage } from '../../../fixtures/plain-media.js';
import { PROMISES } from '../../../fixtures/scripted-provider.js';
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

interface RunOptions {
  readonly count?: number;
  readonly interceptor?: Interceptor;
  /** Whether the provider answers the submission with the outputs. */
  readonly isInTheAnswer?: boolean;
  readonly runTimeoutMs?: number;
}

async function run(
  outputSigner: OutputSigner,
  { count = 2, interceptor, isInTheAnswer = false, runTimeoutMs }: RunOptions = {},
): Promise<{ harness: CoreHarness; g: Generation; texts: string[] }> {
  const harness = await CoreHarness.open(
    runTimeoutMs === undefined ? {} : { models: [imageModel({ runTimeoutMs, maxAttempts: 1 })] },
  );
  let outputs = 0;
  const output = () => plainImage(64, 64, 'image/png', `output ${(outputs += 1)}`);
  harness.provider.onOutput = async () => streamOf(output());
  if (isInTheAnswer) {
    harness.provider.promised = { ...PROMISES, answersWithOutputs: true, isAskedBy: 'nothing', cancels: 'nothing' };
    harness.provider.submitScript = [{ deliver: Array.from({ length: count }, () => readableAgain(output())) }];
  }
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

  for (const isInTheAnswer of [false, true]) {
    const where = isInTheAnswer ? 'in the answer' : 'fetched';

    it(`stores no file of a signer that returns it too late, and frees it (${where})`, async () => {
      const late: (() => void)[] = [];
      let freed = 0;
      const signer: OutputSigner = {
        sign: (file) =>
          new Promise((resolve) => {
            const signed = async function* () {
              try {
                yield await collected(await file.open());
                yield bytesOf(SIGNATURE);
              } finally {
                freed += 1;
              }
            };
            late.push(() => resolve(signed()));
          }),
      };
      const { harness, g, texts } = await run(signer, { isInTheAnswer });
      expect(texts).to.deep.equal([plain(1), plain(2)]);
      for (const resolve of late) resolve();
      await harness.clock.advance(0);
      expect(freed).to.equal(2);
      expect((await harness.generation(g.generationId)).fence).to.equal(g.fence);
    });

    it(`keeps an output whose unsigned file cannot be removed (${where})`, async () => {
      let removals = 0;
      const { texts } = await run(new AppendingSigner(), {
        isInTheAnswer,
        interceptor: async (call) => {
          if (call.name !== 'objects.remove') return call.proceed();
          removals += 1;
          throw new StoreUnavailable('The line broke.');
        },
      });
      expect([texts, removals]).to.deep.equal([[plain(1) + SIGNATURE, plain(2) + SIGNATURE], 2]);
    });
  }

  it('costs no output of an answer where it hangs until the time of the task is over', async () => {
    const signer: OutputSigner = { sign: async () => new Promise(() => undefined) };
    const { texts } = await run(signer, { isInTheAnswer: true, count: 4, runTimeoutMs: 40_000 });
    expect(texts).to.deep.equal([1, 2, 3, 4].map(plain));
  });

  it('signs an output of an answer once the store is back', async () => {
    const signer = new AppendingSigner();
    let failures = 2;
    const { texts } = await run(signer, {
      isInTheAnswer: true,
      interceptor: async (call) => {
        if (call.name !== 'objects.write' || signer.given.length === 0 || failures === 0) return call.proceed();
        failures -= 1;
        throw new StoreUnavailable('The store is full.');
      },
    });
    expect(failures).to.equal(0);
    expect(texts).to.deep.equal([plain(1) + SIGNATURE, plain(2) + SIGNATURE]);
  });

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
