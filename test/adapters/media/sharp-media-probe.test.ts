import { expect } from 'chai';
import fc from 'fast-check';
import { deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { MAX_SCANS } from '../../../adapters/media/jpeg-file.js';
import { CHUNKS_A_TURN } from '../../../adapters/media/png-file.js';
import { SharpMediaProbe } from '../../../adapters/media/sharp-media-probe.js';
import { SharpPreviews } from '../../../adapters/media/sharp-previews.js';
import { MAX_FRAMES } from '../../../adapters/media/webp-file.js';
import { MemoryBudget } from '../../../core/memory-budget.js';
import type { ProbeLimits } from '../../../core/ports/media.js';
import { mediaProbeContract } from '../../contracts/media-probe.contract.js';
import { previewsContract } from '../../contracts/previews.contract.js';
import { breakingOff, fileOf, inPieces, streamedFile } from '../../fixtures/byte-streams.js';
import { image } from '../../fixtures/images.js';
import { inTurns } from '../../fixtures/in-turns.js';
import { largeJpeg, SAMPLING_444 } from '../../fixtures/large-media.js';
import { MEDIA_PROBE } from '../../fixtures/media-probe.js';
import { pngChunk, webpChunk, webpOf, withPngChunks } from '../../fixtures/tagged-images.js';
import { longBox } from '../../fixtures/tagged-videos.js';
import { mp4 } from '../../fixtures/videos.js';

// Goal: probing by sharp and mediabunny keeps the port's contract, holds no more bytes than allowed, and blocks other
// decoders.
// Method: the contract; sources that record when they are read and how much memory is held then; damaged files compared
// with a plain decode of them; an SVG opened with sharp itself.

mediaProbeContract({
  name: 'sharp',
  open: async () => MEDIA_PROBE,
  close: async () => undefined,
  supports: {},
});

const HEADER = { maxPixels: 1_000, decode: 'header' } as const;
const PIXELS = { maxPixels: 1_000_000, decode: 'full' } as const;
const DAMAGED = { invalid: 'The file is damaged or incomplete.' };
const probed = (bytes: Uint8Array, limits: ProbeLimits = HEADER) => MEDIA_PROBE.probe(fileOf(bytes), limits);

const noise = async () => sharp(await image('png', 200, 300));
const FORMS: Readonly<Record<string, () => Promise<Uint8Array>>> = {
  'PNG': async () => (await noise()).png().toBuffer(),
  'interlaced PNG': async () => (await noise()).png({ progressive: true }).toBuffer(),
  'JPEG': async () => (await noise()).jpeg().toBuffer(),
  'progressive JPEG': async () => (await noise()).jpeg({ progressive: true }).toBuffer(),
  'WebP': async () => (await noise()).webp().toBuffer(),
  'lossless WebP': async () => (await noise()).webp({ lossless: true }).toBuffer(),
};

/** First warnings of a JPEG decoder that may not mean damaged pixels. */
const CHANGES_NO_PIXEL = /Invalid SOS parameters|extraneous bytes|Unknown Adobe|unknown JFIF|Inconsistent progression/;

async function expectDamageFound(damaged: Uint8Array): Promise<void> {
  const isSound = await sharp(damaged, { failOn: 'warning' })
    .raw()
    .toBuffer()
    .then(
      () => true,
      ({ message }: Error) => CHANGES_NO_PIXEL.test(message),
    );
  const answer = await probed(damaged, PIXELS);
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
      Array.from({ length: 10 }, async () => probe.probe(streamedFile(source(), whole.byteLength), HEADER)),
    );
    expect(most).to.equal(2);
  });

  it('yields to other work while it walks the millions of chunks of a PNG', async () => {
    const turns = 16;
    const chunks = Buffer.alloc(turns * CHUNKS_A_TURN * EMPTY_CHUNK.length, EMPTY_CHUNK);
    const bytes = Buffer.concat([(await image('png')).subarray(0, -EMPTY_CHUNK.length), chunks]);
    const walked = await inTurns(MEDIA_PROBE.probe(fileOf(bytes, bytes.length), HEADER));
    expect(walked.answer).to.deep.equal(DAMAGED);
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
      expect(await probed(bytes), what).to.deep.equal({
        invalid: 'The file starts like a PNG image but cannot be decoded.',
      });
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
    expect(await probed(split())).to.not.have.property('invalid');
    expect(await probed(split(pngChunk('tEXt', 'a\0text')))).to.deep.equal(DAMAGED);
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
    const probes = Promise.all(
      Array.from({ length: 8 }, () => probe.probe(streamedFile(source(), whole.byteLength), PIXELS)),
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
    const answers = await Promise.all(Array.from({ length: 4 }, () => probe.probe(fileOf(whole), PIXELS)));
    for (const answer of answers) expect(answer).to.have.property('kind', 'image');
    expect(memory.heldBytes).to.equal(0);
  });

  it('releases its memory when the source of the bytes fails', async () => {
    const memory = new MemoryBudget(1_000_000);
    const whole = await image('png');
    const outcome = await new SharpMediaProbe({ memory })
      .probe(streamedFile(breakingOff(whole), 100_000), PIXELS)
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
    const answer = await probed(whole, PIXELS);
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
      expect(await probed(bytes, PIXELS)).to.deep.equal(DAMAGED);
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
    const answer = await probed(animated, { ...HEADER, maxPixels: 24 * 16 * 99 });
    expect(answer).to.have.property('invalid').that.includes('100 frames');
  });
});

// Goal: a small file cannot make a decoder hold much memory or work for long: the cost of an upload is bounded by its
// size.
// Method: files whose structure declares more than encoders write, each just within the bound and just beyond it.

const MIB = 1024 * 1024;

describe('the probe of an image that costs more than its size', () => {
  for (const decode of ['header', 'full'] as const) {
    const probedSo = (bytes: Uint8Array) => probed(bytes, { ...PIXELS, decode });

    describe(`with ${decode === 'full' ? 'all its pixels' : 'its header'} looked at`, () => {
      const text = (type: 'zTXt' | 'iTXt', byteSize: number) => {
        const compressed = deflateSync(Buffer.alloc(byteSize), { level: 9 });
        const before = type === 'zTXt' ? 'k\0\0' : 'k\0\u0001\0\0\0';
        return pngChunk(type, Buffer.concat([Buffer.from(before, 'latin1'), compressed]));
      };
      const LONG = { invalid: 'The image has compressed texts that may take more memory than is allowed.' };

      it('refuses a PNG with many long texts that are compressed', async () => {
        for (const type of ['zTXt', 'iTXt'] as const) {
          const one = text(type, 8 * MIB - 1);
          expect(one.length).to.be.below(10_000);
          const withTexts = async (count: number) =>
            withPngChunks(
              await image('png'),
              Array.from({ length: count }, () => one),
            );
          expect(await probedSo(await withTexts(4))).to.include({ kind: 'image' });
          expect(await probedSo(await withTexts(5))).to.deep.equal(LONG);
        }
      });

      it('accepts a PNG with a long text that is not compressed', async () => {
        const long = pngChunk('iTXt', Buffer.concat([Buffer.from('k\0\0\0\0\0', 'latin1'), Buffer.alloc(MIB, 'x')]));
        expect(await probedSo(withPngChunks(await image('png'), [long]))).to.include({ kind: 'image' });
      });

      it('refuses a WebP with more frames than are allowed, and one whose frames have too many pixels', async () => {
        const frame = await frameOf(1, 1);
        const animation = (frames: number, side = 1) =>
          webpOf(
            webpChunk('VP8X', Uint8Array.of(2, 0, 0, 0, side - 1, 0, 0, side - 1, 0, 0)),
            webpChunk('ANIM', new Uint8Array(6)),
            ...Array.from({ length: frames }, () => frame),
          );
        expect(await probedSo(animation(MAX_FRAMES))).to.include({ kind: 'image' });
        expect(await probedSo(animation(MAX_FRAMES + 1))).to.deep.equal({
          invalid: 'The image has more than 1,000 frames.',
        });
        expect(await probedSo(animation(200, 100)))
          .to.have.property('invalid')
          .which.matches(/pixels/);
      });

      it('refuses a JPEG with more scans than are allowed', async () => {
        const jpeg = Buffer.from(
          await sharp({ create: { width: 64, height: 64, channels: 3, background: 'grey' } })
            .jpeg({ progressive: true })
            .toBuffer(),
        );
        const scanAt = jpeg.lastIndexOf(Buffer.from([0xff, 0xda]));
        const scans = [...jpeg].filter((byte, at) => byte === 0xff && jpeg[at + 1] === 0xda).length;
        const withScans = (count: number) =>
          Buffer.concat([
            jpeg.subarray(0, -2),
            ...Array.from({ length: count - scans }, () => jpeg.subarray(scanAt, -2)),
            jpeg.subarray(-2),
          ]);
        expect(await probedSo(withScans(scans))).to.include({ kind: 'image' });
        expect(await probedSo(withScans(MAX_SCANS + 1))).to.deep.equal({
          invalid: 'The image has more than 100 scans.',
        });
      });

      it('refuses a JPEG that is coded arithmetically', async () => {
        const jpeg = Buffer.from(await image('jpeg'));
        jpeg[jpeg.indexOf(Buffer.from([0xff, 0xc0])) + 1] = 0xc9;
        expect(await probedSo(jpeg)).to.deep.equal({
          invalid: 'The image is coded arithmetically, which few programs read.',
        });
      });
    });
  }
});

/** A frame of an animation, of one still picture. */
async function frameOf(widthPx: number, heightPx: number): Promise<Buffer> {
  const still = await sharp({ create: { width: widthPx, height: heightPx, channels: 3, background: 'grey' } })
    .webp()
    .toBuffer();
  const head = Buffer.alloc(16);
  head.writeUIntLE(widthPx - 1, 6, 3);
  head.writeUIntLE(heightPx - 1, 9, 3);
  head.writeUIntLE(40, 12, 3);
  return webpChunk('ANMF', Buffer.concat([head, still.subarray(12)]));
}

// Goal: previews by sharp keep the port's contract, and hold no more memory than they reserved.
// Method: the contract; pictures whose headers promise more than may be decoded; a budget that is looked at meanwhile.

previewsContract({
  name: 'sharp',
  open: async () => new SharpPreviews(),
  close: async () => undefined,
  supports: {},
});

describe('SharpPreviews', () => {
  it('does not decode a picture whose header promises more than is allowed', async () => {
    const bytes = Buffer.from(await image('png'));
    bytes.writeUInt32BE(60_000, 16);
    bytes.writeUInt32BE(60_000, 20);
    const memory = new MemoryBudget(1);
    const limits = { sourceBytes: bytes.byteLength, maxBytes: 100_000 };
    expect(await new SharpPreviews({ memory }).ofImage(inPieces(bytes), limits)).to.equal(null);
  });

  it('makes none while a hundred others wait, and leaves no source open', async () => {
    const memory = new MemoryBudget(1_000_000);
    const bytes = await image('png', 200, 200);
    const limits = { sourceBytes: bytes.byteLength, maxBytes: 100_000 };
    let release: () => void = () => undefined;
    const held = memory.during(1_000_000, () => new Promise<void>((resolve) => (release = resolve)));
    const previews = new SharpPreviews({ memory, concurrency: 1 });
    const waiting = Array.from({ length: 101 }, () => previews.ofImage(inPieces(bytes), limits));
    let isClosed = false;
    async function* watched(): AsyncGenerator<Uint8Array> {
      try {
        yield* inPieces(bytes);
      } finally {
        isClosed = true;
      }
    }
    const source = watched();
    await source.next();
    expect(await previews.ofImage(source, limits)).to.equal(null);
    expect(isClosed).to.equal(true);
    release();
    await held;
    expect((await Promise.all(waiting)).every((preview) => preview !== null)).to.equal(true);
  });

  it('waits for memory that others hold, and gives it back', async () => {
    const memory = new MemoryBudget(1_000_000);
    const bytes = await image('png', 200, 200);
    let release: () => void = () => undefined;
    const held = memory.during(1_000_000, () => new Promise<void>((resolve) => (release = resolve)));
    const making = new SharpPreviews({ memory }).ofImage(inPieces(bytes), {
      sourceBytes: bytes.byteLength,
      maxBytes: 1e5,
    });
    while (memory.waiting === 0) await new Promise(setImmediate);
    release();
    await held;
    expect((await making)?.mediaType).to.equal('image/jpeg');
    expect(memory.heldBytes).to.equal(0);
  });
});
