import { expect } from 'chai';
import fc from 'fast-check';
import { deflateSync } from 'node:zlib';
import sharp, { type Channels } from 'sharp';
import { MAX_REMOVED_BYTES } from '../../../adapters/media/cleaning/edits.js';
import { afterScan } from '../../../adapters/media/jpeg-file.js';
import { standsAlone } from '../../../core/media/image-header.js';
import { isSoundSmallPng } from '../../../adapters/media/png-file.js';
import { StreamingMediaCleaner } from '../../../adapters/media/streaming-media-cleaner.js';
import { xmpPacket } from '../../../adapters/media/xmp-packet.js';
import type { CleanOptions } from '../../../core/ports/media.js';
import { mediaCleanerContract } from '../../contracts/media-cleaner.contract.js';
import { mediaMarksContract } from '../../contracts/media-marks.contract.js';
import { collected, inPieces } from '../../fixtures/byte-streams.js';
import { image } from '../../fixtures/images.js';
import { TRAINED, withMark } from '../../fixtures/marked-media.js';
import {
  exifTiff,
  pngChunk,
  webpCanvas,
  webpChunk,
  webpChunks,
  webpOf,
  withPngChunks,
} from '../../fixtures/tagged-images.js';
import { box } from '../../fixtures/tagged-videos.js';
import { mp4 } from '../../fixtures/videos.js';

// Goal: the streaming cleaner keeps the port's contract in bounded memory, whatever a file has or claims to have.
// Method: the contract; sources that compare their input with the output; metadata without end.

const KIB = 1024;
const PIECE_BYTES = 16 * KIB;

for (const contract of [mediaCleanerContract, mediaMarksContract])
  contract({
    name: 'streaming',
    open: async () => new StreamingMediaCleaner(),
    close: async () => undefined,
    supports: {},
  });

/** The most bytes that were given and had not come out, of a file that keeps its length. */
async function mostHeldBytes(
  bytes: Uint8Array,
  options: CleanOptions = { manifests: 'keep' },
  addedBytes = 0,
): Promise<number> {
  let givenBytes = 0;
  let takenBytes = 0;
  let mostBytes = 0;
  async function* source(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.byteLength; at += PIECE_BYTES) {
      mostBytes = Math.max(mostBytes, givenBytes - takenBytes);
      const piece = bytes.subarray(at, at + PIECE_BYTES);
      givenBytes += piece.byteLength;
      yield piece;
    }
  }
  for await (const piece of new StreamingMediaCleaner().clean(source(), options).bytes) takenBytes += piece.byteLength;
  expect(takenBytes).to.equal(bytes.byteLength + addedBytes);
  return mostBytes;
}

describe('StreamingMediaCleaner', () => {
  it('holds 80 KiB at most, however long a file and its metadata are', async () => {
    const long = new Uint8Array(4 * KIB * KIB).fill(0x41);
    const picture = webpChunks(await image('webp', 60, 40));
    const files = [
      Buffer.concat([await mp4(), box('mdat', long), box('udta', long), box('uuid', long)]),
      Buffer.concat([await mp4(), box('moov', box('trak', box('udta', long)), box('note', long), long)]),
      webpOf(webpCanvas(0x0c), webpChunk('ICCP', long), picture, webpChunk('EXIF', Buffer.concat([exifTiff(6), long]))),
      webpOf(webpCanvas(0x0c), webpChunk('note', long), picture, webpChunk('XMP ', long)),
    ];
    for (const bytes of files) expect(await mostHeldBytes(bytes)).to.be.at.most(64 * KIB + PIECE_BYTES);
  });

  it('gives a store few pieces, however many small parts a file has', async () => {
    const boxes = Buffer.concat(Array.from({ length: 20_000 }, () => box('free')));
    const bytes = Buffer.concat([await mp4(), boxes]);
    let pieces = 0;
    for await (const piece of new StreamingMediaCleaner().clean(inPieces(bytes, PIECE_BYTES), { manifests: 'keep' })
      .bytes)
      pieces += Math.sign(piece.byteLength);
    expect(pieces).to.be.at.most(16 * Math.ceil(bytes.byteLength / PIECE_BYTES));
  });

  it('ends the output, and closes the source, where metadata does not end', async () => {
    const text = Buffer.alloc(12 + 0xffff);
    text.writeUInt32BE(0xffff);
    text.write('tEXt', 4);
    let givenBytes = 0;
    let isClosed = false;
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        yield (await image('png')).subarray(0, 33);
        for (;;) {
          givenBytes += text.byteLength;
          yield text;
        }
      } finally {
        isClosed = true;
      }
    }
    let takenBytes = 0;
    for await (const piece of new StreamingMediaCleaner().clean(endless(), { manifests: 'keep' }).bytes)
      takenBytes += piece.byteLength;
    expect([takenBytes, isClosed]).to.deep.equal([33, true]);
    expect(givenBytes).to.be.within(MAX_REMOVED_BYTES, MAX_REMOVED_BYTES + 2 * text.byteLength);
  });

  for (const [what, make] of [
    ['a PNG', () => image('png')],
    ['a JPEG', () => image('jpeg')],
    ['a WebP', () => image('webp')],
    ['an MP4', () => mp4()],
  ] as const) {
    it(`reads what follows ${what} to its end, up to a bound, and delivers the file`, async () => {
      const bytes = await make();
      const junk = new Uint8Array(KIB * KIB).fill(0x41);
      for (const junkPieces of [3, Infinity]) {
        let givenBytes = 0;
        let isClosed = false;
        let isReadToItsEnd = false;
        async function* withTail(): AsyncGenerator<Uint8Array> {
          try {
            yield bytes;
            for (let piece = 0; piece < junkPieces; piece += 1) {
              givenBytes += junk.byteLength;
              yield junk;
            }
            isReadToItsEnd = true;
          } finally {
            isClosed = true;
          }
        }
        const { bytes: cleaned } = new StreamingMediaCleaner().clean(withTail(), { mark: TRAINED, manifests: 'keep' });
        expect(await collected(cleaned)).to.deep.equal(withMark(bytes));
        expect([isReadToItsEnd, isClosed]).to.deep.equal([junkPieces === 3, true]);
        expect(givenBytes).to.be.at.most(MAX_REMOVED_BYTES + 2 * junk.byteLength);
      }
    });
  }

  it('holds some hundred KiB at most where it has to see what follows a box', async () => {
    const size = 60 * KIB;
    const boxes = [box('mfra', new Uint8Array(size)), box('junk', new Uint8Array(size))];
    const bytes = Buffer.concat([await mp4(), ...boxes, ...boxes, box('mdat', new Uint8Array(KIB * KIB))]);
    expect(await mostHeldBytes(bytes, { mark: TRAINED, manifests: 'keep' }, 464)).to.be.at.most(200 * KIB);
  });
});

// Goal: the packet of a mark has the bytes that readers know, and no text of an operator changes its structure.
// Method: its length and parts as the page about marks gives them; texts with every kind of character.

describe('xmpPacket', () => {
  it('has 440 bytes for pictures from words, and 453 for those with references', () => {
    const packet = xmpPacket({ sourceType: 'trainedAlgorithmicMedia' });
    expect(packet).to.have.length(440);
    expect(packet.toString()).to.match(/^<\?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"\?>/);
    expect(packet.toString()).to.include(
      '<Iptc4xmpExt:DigitalSourceType>http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia</',
    );
    expect(packet.toString()).to.match(/<\?xpacket end="r"\?>$/);
    expect(xmpPacket({ sourceType: 'compositeWithTrainedAlgorithmicMedia' })).to.have.length(453);
  });

  it('escapes the names of the system, and leaves out what XML does not allow', () => {
    const packet = xmpPacket({
      sourceType: 'trainedAlgorithmicMedia',
      system: '</rdf:RDF>&\u0000\u000b\ud800\uffff😀',
      systemVersion: '1 < 2',
    }).toString();
    expect(packet).to.include('<Iptc4xmpExt:AISystemUsed>&lt;/rdf:RDF&gt;&amp;😀</Iptc4xmpExt:AISystemUsed>');
    expect(packet).to.include('<Iptc4xmpExt:AISystemVersionUsed>1 &lt; 2</Iptc4xmpExt:AISystemVersionUsed>');
  });

  it('has the same bytes for equal marks', () => {
    const mark = { sourceType: 'algorithmicMedia', system: 's', systemVersion: 'v' } as const;
    expect(xmpPacket({ ...mark })).to.deep.equal(xmpPacket({ ...mark }));
  });
});

// Goal: the end of a JPEG's entropy-coded data is found as the standard says.
// Method: a property over bytes of the values that matter, against a reading of one byte after another.

/** ITU T.81, B.1.1.2 and B.1.1.5: stuffed bytes, restart markers and fill bytes are part of the data. */
function plainly(bytes: Buffer, from: number): number {
  for (let at = from; at + 1 < bytes.length; at += 1) {
    const following = bytes[at + 1]!;
    if (bytes[at] === 0xff && following !== 0x00 && following !== 0xff && !standsAlone(following)) return at;
  }
  return bytes.length;
}

describe('afterScan', () => {
  it('finds the first marker that is none of the data', () => {
    const byte = fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(0xff, 0x00) },
      fc.constantFrom(0xd0, 0xd9, 0x01, 0x80),
    );
    fc.assert(
      fc.property(fc.array(byte, { maxLength: 40 }), fc.nat(40), (values, from) => {
        const bytes = Buffer.from(values);
        expect(afterScan(bytes, from)).to.equal(plainly(bytes, from));
      }),
      { numRuns: 2_000 },
    );
  });
});

// Goal: what the check of small PNGs calls sound, libvips decodes without a warning; and it knows the small PNGs that encoders
// write.
// Method: PNGs of random sizes and pixels as sharp encodes them, and others built chunk by chunk with random faults whose
// checksums are right, so that each fault reaches the part of the check that is meant for it.

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

/** Mostly the right value, and now and then one of the others. */
function mostly<T>(right: T, ...others: readonly T[]): fc.Arbitrary<T> {
  return fc.oneof({ weight: 12, arbitrary: fc.constant(right) }, { weight: 1, arbitrary: fc.constantFrom(...others) });
}

const XMP = 'XML:com.adobe.xmp\0\0\0\0\0<x:xmpmeta/>';
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
  isMarked: fc.boolean(),
  between: mostly('', 'iTXt', 'tEXt', 'pHYs', 'IHDR', 'ABCD', 'PLTE'),
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
    made.isMarked ? pngChunk('iTXt', XMP) : Buffer.alloc(0),
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
      { numRuns: 750 },
    );
    expect(seen.plain).to.be.greaterThan(25);
    expect(seen.refused).to.be.greaterThan(150);
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

  it('knows a picture with our mark, and leaves other texts to the decoder', async () => {
    const small = await image('png', 8, 8);
    const text = (content: string) => withPngChunks(small, [pngChunk('iTXt', content)]);
    const marked = await collected(
      new StreamingMediaCleaner().clean(inPieces(small, 100), { manifests: 'keep', mark: TRAINED }).bytes,
    );
    expect(marked.byteLength).to.be.greaterThan(small.byteLength);
    for (const png of [marked, text(XMP)]) {
      expect(isSoundSmallPng(png)).to.equal(true);
      expect(await isDecoded(png)).to.equal(true);
    }
    for (const [what, content] of [
      ['compressed', XMP.replace('\0\0', '\0\x01')],
      ['cut', XMP.slice(0, 20)],
      ['with a zero', `${XMP}\0`],
      ['another keyword', XMP.replace('XML', 'xml')],
    ] as const)
      expect(isSoundSmallPng(text(content)), what).to.equal(false);
    const twice = withPngChunks(small, [pngChunk('iTXt', XMP), pngChunk('iTXt', XMP)]);
    expect(isSoundSmallPng(twice), 'two').to.equal(false);
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
