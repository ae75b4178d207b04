// Goal: probing by sharp and mediabunny keeps the port's contract, holds no more bytes than allowed, and blocks other
// decoders.
// Method: the contract; sources that record when they are read and how much memory is held then; damaged files compared
// with a plain decode of them; an SVG opened with sharp itself.
import { expect } from 'chai';
import fc from 'fast-check';
import sharp from 'sharp';
import { CHUNKS_A_TURN } from '../../../adapters/media/png-file.js';
import { SharpMediaProbe } from '../../../adapters/media/sharp-media-probe.js';
import { MemoryBudget } from '../../../core/memory-budget.js';
import { mediaProbeContract } from '../../contracts/media-probe.contract.js';
import { breakingOff, fileOf, streamedFile } from '../../fixtures/byte-streams.js';
import { image } from '../../fixtures/images.js';
import { inTurns } from '../../fixtures/in-turns.js';
import { largeJpeg, SAMPLING_444 } from '../../fixtures/large-images.js';
import { pngChunk } from '../../fixtures/tagged-images.js';
import { longBox } from '../../fixtures/tagged-videos.js';
import { mp4 } from '../../fixtures/videos.js';

mediaProbeContract({
  name: 'sharp',
  open: async () => new SharpMediaProbe(),
  close: async () => undefined,
  supports: {},
});

const noise = async () => sharp(await image('png', 200, 300));
const FORMS: Readonly<Record<string, () => Promise<Uint8Array>>> = {
  'PNG': async () => (await noise()).png().toBuffer(),
  'interlaced PNG': async () => (await noise()).png({ progressive: true }).toBuffer(),
  'JPEG': async () => (await noise()).jpeg().toBuffer(),
  'progressive JPEG': async () => (await noise()).jpeg({ progressive: true }).toBuffer(),
  'WebP': async () => (await noise()).webp().toBuffer(),
  'lossless WebP': async () => (await noise()).webp({ lossless: true }).toBuffer(),
};

/** First warnings of a decoder of JPEG of what may be no damage of pixels. */
const CHANGES_NO_PIXEL = /Invalid SOS parameters|extraneous bytes|Unknown Adobe|unknown JFIF|Inconsistent progression/;

async function expectDamageFound(damaged: Uint8Array): Promise<void> {
  const isSound = await sharp(damaged, { failOn: 'warning' })
    .raw()
    .toBuffer()
    .then(
      () => true,
      ({ message }: Error) => CHANGES_NO_PIXEL.test(message),
    );
  const answer = await new SharpMediaProbe().probe(fileOf(damaged), { maxPixels: 1_000_000, decode: 'full' });
  if (!isSound) expect(answer).to.have.property('invalid');
}

/** IEND is as long. */
const EMPTY_CHUNK = pngChunk('teXt', new Uint8Array());

describe('SharpMediaProbe', () => {
  it('reads no more sources concurrently than its limit', async () => {
    const probe = new SharpMediaProbe({ concurrency: 2 });
    const whole = await image('png');
    let open = 0;
    let most = 0;
    async function* source(): AsyncGenerator<Uint8Array> {
      open += 1;
      most = Math.max(most, open);
      yield whole;
      await new Promise(setImmediate);
      open -= 1;
    }
    await Promise.all(
      Array.from({ length: 10 }, async () =>
        probe.probe(streamedFile(source(), whole.byteLength), { maxPixels: 1000, decode: 'header' }),
      ),
    );
    expect(most).to.equal(2);
  });

  it('lets other work in while it walks the chunks of a PNG, of which there may be millions', async () => {
    const turns = 16;
    const chunks = Buffer.alloc(turns * CHUNKS_A_TURN * EMPTY_CHUNK.length, EMPTY_CHUNK);
    const bytes = Buffer.concat([(await image('png')).subarray(0, -EMPTY_CHUNK.length), chunks]);
    const walked = await inTurns(
      new SharpMediaProbe().probe(fileOf(bytes, bytes.length), { maxPixels: 1000, decode: 'header' }),
    );
    expect(walked.answer).to.deep.equal({ invalid: 'The file is damaged or incomplete.' });
    expect(walked.turns).to.be.at.least(turns);
  });

  it('refuses a PNG whose header no decoder reads, though its chunks are whole', async () => {
    const whole = Buffer.from(await image('png'));
    const pixelsAt = whole.indexOf('IDAT') - 4;
    const damaged = {
      'without pixels': Buffer.concat([whole.subarray(0, pixelsAt), whole.subarray(-EMPTY_CHUNK.length)]),
      'with another first chunk': Buffer.from(whole),
      'of three bits': Buffer.from(whole),
    };
    damaged['with another first chunk'].write('IHDX', 12, 'latin1');
    damaged['of three bits'][24] = 3;
    for (const [what, bytes] of Object.entries(damaged))
      expect(
        await new SharpMediaProbe().probe(fileOf(bytes), { maxPixels: 1000, decode: 'header' }),
        what,
      ).to.deep.equal({ invalid: 'The file starts like a PNG image but cannot be decoded.' });
  });

  it('refuses a PNG whose pixels are not in one piece, as decoders take the first alone', async () => {
    const whole = Buffer.from(await image('png'));
    const pixelsAt = whole.indexOf('IDAT') - 4;
    const pixels = whole.subarray(pixelsAt + 8, pixelsAt + 8 + whole.readUInt32BE(pixelsAt));
    const split = (...between: readonly Uint8Array[]) =>
      Buffer.concat([
        whole.subarray(0, pixelsAt),
        pngChunk('IDAT', pixels.subarray(0, 9)),
        ...between,
        pngChunk('IDAT', pixels.subarray(9)),
        whole.subarray(-EMPTY_CHUNK.length),
      ]);
    const probed = async (bytes: Uint8Array) =>
      new SharpMediaProbe().probe(fileOf(bytes), { maxPixels: 1000, decode: 'header' });
    expect(await probed(split())).to.not.have.property('invalid');
    expect(await probed(split(pngChunk('tEXt', 'a\0text')))).to.deep.equal({
      invalid: 'The file is damaged or incomplete.',
    });
  });

  it('reserves memory for bytes and pixels while it holds them, and none while it waits', async () => {
    const memory = new MemoryBudget(8 * 1024 * 1024);
    const probe = new SharpMediaProbe({ memory, concurrency: 4 });
    const held: number[] = [];
    const whole = largeJpeg({ widthPx: 640, heightPx: 480, sampling: SAMPLING_444, scans: 'progressive' });
    async function* source(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < whole.byteLength; at += 500) {
        if (at > 1_000) held.push(memory.heldBytes);
        yield whole.subarray(at, at + 500);
      }
    }
    const limits = { maxPixels: 1_000_000, decode: 'full' } as const;
    const probes = Promise.all(
      Array.from({ length: 8 }, () => probe.probe(streamedFile(source(), whole.byteLength), limits)),
    );
    for (const facts of await probes) expect(facts).to.include({ kind: 'image', widthPx: 640 });
    const oneBytes = whole.byteLength + 640 * 480 * 6 + 640 * 3 * 960;
    for (const bytes of held) expect(bytes % oneBytes, 'whole jobs are held, whoever reads').to.equal(0);
    expect(Math.max(...held), 'two fit, a third does not').to.equal(2 * oneBytes);
    expect([memory.heldBytes, memory.waiting]).to.deep.equal([0, 0]);
  });

  it('runs a probe that needs more than all memory alone', async () => {
    const memory = new MemoryBudget(1_000);
    const probe = new SharpMediaProbe({ memory });
    const whole = await image('webp');
    const limits = { maxPixels: 1_000, decode: 'full' } as const;
    const answers = await Promise.all(Array.from({ length: 4 }, () => probe.probe(fileOf(whole), limits)));
    for (const answer of answers) expect(answer).to.have.property('kind', 'image');
    expect(memory.heldBytes).to.equal(0);
  });

  it('releases its memory when the source of the bytes fails', async () => {
    const memory = new MemoryBudget(1_000_000);
    const whole = await image('png');
    const outcome = await new SharpMediaProbe({ memory })
      .probe(streamedFile(breakingOff(whole), 100_000), { maxPixels: 1_000, decode: 'full' })
      .catch((error: Error) => error.message);
    expect([outcome, memory.heldBytes]).to.deep.equal(['the line broke', 0]);
  });

  for (const [form, encode] of Object.entries(FORMS)) {
    it(`finds every damage to a ${form} that decoding every pixel finds`, async () => {
      const whole = await encode();
      const damage = fc.array(
        fc.tuple(fc.double({ min: 0.1, max: 1, maxExcluded: true, noNaN: true }), fc.integer({ min: 1, max: 255 })),
        { minLength: 1, maxLength: 6 },
      );
      await fc.assert(
        fc.asyncProperty(damage, async (changes) => {
          const damaged = Uint8Array.from(whole);
          for (const [where, change] of changes) damaged[Math.floor(where * damaged.byteLength)]! ^= change;
          await expectDamageFound(damaged);
        }),
        { numRuns: 60 },
      );
    });
  }

  for (const form of ['JPEG', 'progressive JPEG'])
    it(`finds every damage to the scan headers of a ${form} that decoding every pixel finds`, async () => {
      const whole = Buffer.from(await FORMS[form]!());
      const headers: number[] = [];
      for (let at = whole.indexOf('ffda', 0, 'hex'); at !== -1; at = whole.indexOf('ffda', at + 2, 'hex'))
        for (let byte = 2; byte < 2 + whole.readUInt16BE(at + 2); byte += 1) headers.push(at + byte);
      const damage = fc.tuple(fc.constantFrom(...headers), fc.integer({ min: 1, max: 255 }));
      await fc.assert(
        fc.asyncProperty(damage, async ([at, change]) => {
          const damaged = Uint8Array.from(whole);
          damaged[at]! ^= change;
          await expectDamageFound(damaged);
        }),
        { numRuns: 150, examples: headers.slice(0, 12).map((at) => [[at, 12]]) },
      );
    });

  it('accepts a JPEG whose components share one identifier', async () => {
    const whole = Buffer.from(await FORMS['JPEG']!());
    const frameAt = whole.indexOf('ffc0', 0, 'hex');
    const scanAt = whole.indexOf('ffda', 0, 'hex');
    for (const component of [0, 1, 2]) {
      whole[frameAt + 10 + 3 * component] = 1;
      whole[scanAt + 5 + 2 * component] = 1;
    }
    const answer = await new SharpMediaProbe().probe(fileOf(whole), { maxPixels: 1_000_000, decode: 'full' });
    expect(answer).to.include({ kind: 'image', widthPx: 200, heightPx: 300 });
  });

  it('blocks all decoders of other kinds in the process', async () => {
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>');
    const outcome = await sharp(svg)
      .metadata()
      .then(
        () => 'opened',
        () => 'refused',
      );
    expect(outcome).to.equal('refused');
  });

  it('refuses a PNG whose last chunk has content, and an MP4 box that is shorter than its header', async () => {
    const endingWith = async (chunk: Uint8Array) => Buffer.concat([(await image('png')).subarray(0, -12), chunk]);
    const short = longBox('free').fill(12, 15);
    for (const bytes of [await endingWith(pngChunk('IEND', 'text')), Buffer.concat([await mp4(), short])]) {
      const limits = { maxPixels: 100_000, decode: 'full' } as const;
      const answer = await new SharpMediaProbe().probe(fileOf(bytes), limits);
      expect(answer).to.deep.equal({ invalid: 'The file is damaged or incomplete.' });
    }
  });

  it('counts the frames of an animated PNG', async () => {
    const plain = Buffer.from(await image('png'));
    const control = Buffer.concat([
      Buffer.from([0, 0, 0, 8]),
      Buffer.from('acTL'),
      Buffer.from([0, 0, 0, 100, 0, 0, 0, 0]),
      Buffer.alloc(4),
    ]);
    const animated = Buffer.concat([plain.subarray(0, 33), control, plain.subarray(33)]);
    const answer = await new SharpMediaProbe().probe(fileOf(animated), {
      maxPixels: 24 * 16 * 99,
      decode: 'header',
    });
    expect(answer).to.have.property('invalid').that.includes('100 frames');
  });
});
