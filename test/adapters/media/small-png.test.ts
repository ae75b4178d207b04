// Goal: what the check of small PNGs calls sound, libvips decodes without a warning; and it knows the small PNGs that encoders
// write.
// Method: PNGs of random sizes and pixels as sharp encodes them, and others built chunk by chunk with random faults whose
// checksums are right, so that each fault reaches the part of the check that is meant for it.
import { expect } from 'chai';
import fc from 'fast-check';
import { deflateSync } from 'node:zlib';
import sharp, { type Channels } from 'sharp';
import { isSoundSmallPng } from '../../../adapters/media/png-file.js';
import { image } from '../../fixtures/images.js';
import { pngChunk, withPngChunks } from '../../fixtures/tagged-images.js';

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');

async function isDecoded(bytes: Uint8Array): Promise<boolean> {
  return sharp(bytes, { failOn: 'warning', limitInputPixels: false })
    .raw()
    .toBuffer()
    .then(
      () => true,
      () => false,
    );
}

interface Header {
  readonly widthPx: number;
  readonly heightPx: number;
  readonly bitDepth: number;
  readonly colourType: number;
  readonly methods: readonly number[];
}

function headerChunk({ widthPx, heightPx, bitDepth, colourType, methods }: Header): Buffer {
  const content = Buffer.alloc(13);
  content.writeUInt32BE(widthPx, 0);
  content.writeUInt32BE(heightPx, 4);
  content.set([bitDepth, colourType, ...methods], 8);
  return pngChunk('IHDR', content);
}

/** Mostly what is right, and now and then any of the others. */
function mostly<T>(right: T, ...others: readonly T[]): fc.Arbitrary<T> {
  return fc.oneof({ weight: 12, arbitrary: fc.constant(right) }, { weight: 1, arbitrary: fc.constantFrom(...others) });
}

const CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
const PARTS = {
  widthPx: fc.integer({ min: 1, max: 12 }),
  heightPx: fc.integer({ min: 1, max: 12 }),
  colourType: fc.constantFrom(0, 2, 3, 4, 6),
  bitDepth: mostly(8, 1, 4, 16, 7),
  methods: mostly([0, 0, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 2]),
  claimedPx: mostly(0, 1, -1, 300),
  seed: fc.uint8Array({ minLength: 600, maxLength: 600 }),
  filter: mostly(0, 1, 2, 3, 4, 5, 255),
  more: mostly(0, 1, 40, -1, -20),
  cut: mostly(0, 1, 5),
  extra: mostly('', 'x', 'xxxxxxxx'),
  parts: fc.integer({ min: 1, max: 3 }),
  between: mostly('', 'tEXt', 'pHYs', 'IHDR', 'ABCD', 'PLTE'),
  amid: mostly('', 'pHYs', 'tEXt'),
  atEnd: mostly('', 'pHYs', 'tEXt', 'IDAT'),
  endBytes: mostly('', 'x'),
  flipped: mostly(-1, 9, 20, 37, 45, 60),
};

interface Built {
  readonly bytes: Uint8Array;
  /** A PNG without any fault of a form that the check knows. */
  readonly isPlain: boolean;
}

const built: fc.Arbitrary<Built> = fc.record(PARTS).map((made) => {
  const { widthPx, heightPx, colourType, bitDepth, methods, seed, filter, more, cut, extra, parts } = made;
  const rowBytes = 1 + widthPx * CHANNELS[colourType]!;
  const rows = Buffer.alloc(Math.max(1, rowBytes * heightPx + more));
  for (let at = 0; at < rows.length; at += 1) rows[at] = at % rowBytes === 0 ? filter : seed[at % seed.length]!;
  const deflated = deflateSync(rows);
  const data = Buffer.concat([deflated.subarray(0, deflated.length - cut), Buffer.from(extra)]);
  const part = Math.ceil(data.length / parts);
  const bytes = Buffer.concat([
    SIGNATURE,
    headerChunk({ widthPx, heightPx: Math.max(0, heightPx + made.claimedPx), bitDepth, colourType, methods }),
    made.between === '' ? Buffer.alloc(0) : pngChunk(made.between, seed.subarray(0, 9)),
    ...Array.from({ length: parts }, (_, index) =>
      pngChunk('IDAT', data.subarray(index * part, (index + 1) * part)),
    ).flatMap((chunk, index) =>
      made.amid === '' || index === 0 ? [chunk] : [pngChunk(made.amid, seed.subarray(0, 9)), chunk],
    ),
    made.atEnd === '' ? Buffer.alloc(0) : pngChunk(made.atEnd, seed.subarray(0, 9)),
    pngChunk('IEND', made.endBytes),
  ]);
  if (made.flipped >= 0) bytes[made.flipped]! ^= 1;
  const isRight =
    bitDepth === 8 &&
    methods.every((method) => method === 0) &&
    [made.claimedPx, more, cut].every((count) => count === 0) &&
    [extra, made.between, made.amid, made.atEnd, made.endBytes].every((text) => text === '') &&
    made.flipped < 0;
  return { bytes, isPlain: isRight && colourType !== 3 && filter < 5 };
});

describe('isSoundSmallPng', () => {
  it('says so of nothing that libvips does not decode, and of each plain PNG', async () => {
    const seen = { plain: 0, sound: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(built, async ({ bytes, isPlain }) => {
        const isSound = isSoundSmallPng(bytes);
        if (isPlain) expect(isSound, 'plain').to.equal(true);
        if (isSound) expect(await isDecoded(bytes), 'decoded').to.equal(true);
        seen.plain += Number(isPlain);
        seen.sound += Number(isSound);
        seen.refused += Number(!isSound);
      }),
      { numRuns: 1_500 },
    );
    expect(seen.plain).to.be.greaterThan(50);
    expect(seen.refused).to.be.greaterThan(300);
  });

  it('finds any changed byte of a PNG that sharp has written', async () => {
    const whole = await image('png', 8, 8);
    expect(isSoundSmallPng(whole)).to.equal(true);
    for (let at = 8; at < whole.byteLength; at += 1) {
      const damaged = Uint8Array.from(whole);
      damaged[at]! ^= 0x20;
      expect(isSoundSmallPng(damaged), `byte ${at}`).to.equal(false);
    }
    for (let end = 0; end < whole.byteLength; end += 1)
      expect(isSoundSmallPng(whole.subarray(0, end)), `cut at ${end}`).to.equal(false);
  });

  it('knows what sharp writes, of each number of channels and up to 64 x 64 pixels', async () => {
    for (const channels of [1, 2, 3, 4] satisfies Channels[]) {
      for (const [width, height] of [
        [1, 1],
        [8, 8],
        [24, 16],
        [64, 64],
      ] as const) {
        const pixels = Buffer.from(Array.from({ length: width * height * channels }, (_, at) => (at * 89) % 251));
        const png = await sharp(pixels, { raw: { width, height, channels } }).png().toBuffer();
        expect(isSoundSmallPng(png), `${channels} channels, ${width} x ${height}`).to.equal(true);
      }
    }
  });

  it('leaves to the decoder what is larger, animated, or has chunks that a decoder may warn of', async () => {
    const small = await image('png', 8, 8);
    expect(isSoundSmallPng(await image('png', 75, 75))).to.equal(false);
    expect(isSoundSmallPng(await image('jpeg', 8, 8))).to.equal(false);
    const long = withPngChunks(
      small,
      Array.from({ length: 2_000 }, () => pngChunk('pHYs', Buffer.alloc(9))),
    );
    expect(isSoundSmallPng(long)).to.equal(false);
    const density = pngChunk('pHYs', Buffer.alloc(9));
    expect(isSoundSmallPng(withPngChunks(small, [density])), 'a second density').to.equal(false);
    for (const type of ['acTL', 'iCCP', 'tRNS', 'sRGB', 'tEXt'])
      expect(isSoundSmallPng(withPngChunks(small, [pngChunk(type, 'x')])), type).to.equal(false);
  });
});
