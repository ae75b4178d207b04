// Goal: the streaming cleaner keeps the port's contract in bounded memory, whatever a file has or claims to have.
// Method: the contract; sources that compare what they gave with what came out; metadata without end.
import { expect } from 'chai';
import { MAX_REMOVED_BYTES } from '../../../adapters/media/cleaning/edits.js';
import { StreamingMediaCleaner } from '../../../adapters/media/streaming-media-cleaner.js';
import type { CleanOptions } from '../../../core/ports/media.js';
import { mediaCleanerContract } from '../../contracts/media-cleaner.contract.js';
import { mediaMarksContract } from '../../contracts/media-marks.contract.js';
import { collected, inPieces } from '../../fixtures/byte-streams.js';
import { image } from '../../fixtures/images.js';
import { TRAINED, withMark } from '../../fixtures/marked-media.js';
import { exifTiff, webpCanvas, webpChunk, webpChunks, webpOf } from '../../fixtures/tagged-images.js';
import { box } from '../../fixtures/tagged-videos.js';
import { mp4 } from '../../fixtures/videos.js';

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
