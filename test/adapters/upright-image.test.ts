/**
 * Goal: whatever decodes a picture turns it as browsers do, and so as its reported width and height say. Method: files whose EXIF
 * data browsers and the decoder treat differently, compared with what the probe measures.
 */
import { expect } from 'chai';
import { SharpMediaProbe } from '../../adapters/media/sharp-media-probe.js';
import { SharpPreviews } from '../../adapters/media/sharp-previews.js';
import { keptMasked, splitMasked } from '../../adapters/providers/shared/masked-reference.js';
import { isShownUpright, openUpright } from '../../adapters/upright-image.js';
import { MemoryBudget } from '../../core/memory-budget.js';
import { collected, fileOf, inPieces } from '../fixtures/byte-streams.js';
import { image } from '../fixtures/images.js';
import { decodedPicture, HEIGHT_PX, maskedPicture, maskedReference, WIDTH_PX } from '../fixtures/marked-media.js';
import { chunkOfPng, exifSegment, inserted, orientationExif } from '../fixtures/real-images.js';

const MASKED: Readonly<Record<string, (exif: Buffer) => Promise<Uint8Array>>> = {
  'a PNG': async (exif) => withChunk(chunkOfPng('eXIf', exif)),
  'a PNG whose EXIF data has another checksum': async (exif) => {
    const chunk = Buffer.from(chunkOfPng('eXIf', exif));
    chunk[chunk.length - 1]! ^= 1;
    return withChunk(chunk);
  },
  'a PNG with EXIF data behind the pixels': async (exif) => withChunk(chunkOfPng('eXIf', exif), 'IEND'),
  'a PNG with two orientations': async (exif) =>
    withChunk(Buffer.concat([chunkOfPng('eXIf', exif), chunkOfPng('eXIf', orientationExif(1))])),
  'a WebP': (exif) =>
    maskedPicture()
      .webp({ lossless: true, exact: true })
      .withMetadata({ orientation: exif.readUInt16BE(18) })
      .toBuffer(),
};

async function withChunk(chunk: Buffer, before = 'IDAT'): Promise<Uint8Array> {
  const png = await maskedPicture().png().toBuffer();
  return inserted(png, png.indexOf(before) - 4, chunk);
}

const probe = new SharpMediaProbe();
const memory = new MemoryBudget(64 * 1024 * 1024);
const splitting = () => ({ memory, signal: new AbortController().signal });

async function shownSize(bytes: Uint8Array): Promise<readonly [number, number]> {
  const facts = await probe.probe(fileOf(bytes), { maxPixels: 1e6, maxDecodeBytes: 1e8, decode: 'full' });
  if ('invalid' in facts || facts.kind !== 'image') throw new Error('The fixture is no picture.');
  return [facts.widthPx, facts.heightPx];
}

describe('a picture that is opened upright', () => {
  for (const [what, make] of Object.entries(MASKED))
    it(`has the sides that the probe reports, in all that is made of it: ${what}`, async () => {
      const bytes = await make(orientationExif(6));
      const mediaType = what.includes('WebP') ? 'image/webp' : 'image/png';
      const size = await shownSize(bytes);
      const isTurned = what === 'a PNG' || what === 'a PNG with two orientations';
      expect(size).to.deep.equal(isTurned ? [HEIGHT_PX, WIDTH_PX] : [WIDTH_PX, HEIGHT_PX]);
      expect(isShownUpright(bytes)).to.equal(!isTurned);
      const split = await splitMasked(maskedReference(bytes, mediaType), 'white', splitting());
      const kept = await keptMasked(maskedReference(bytes, mediaType), 4_000_000, splitting());
      expect(kept.colours.byteSize === bytes.byteLength, 'is sent as it is').to.equal(!isTurned);
      // The new files have no orientation, so they are stored upright.
      const made = isTurned ? [split.colours, split.mask, kept.colours, kept.mask] : [split.colours, split.mask];
      for (const file of made) {
        const { widthPx, heightPx } = await decodedPicture(await collected(await file.open()));
        expect([widthPx, heightPx]).to.deep.equal(size);
      }
      await split.close();
      await kept.close();
      const preview = await new SharpPreviews().ofImage(inPieces(bytes, 1_000), {
        sourceBytes: bytes.byteLength,
        maxBytes: 1_000_000,
      });
      const { widthPx, heightPx } = await decodedPicture(preview!.bytes);
      expect([widthPx, heightPx]).to.deep.equal(size);
    });

  it('is not turned by an orientation of a JPEG that browsers do not read', async () => {
    const jpeg = await image('jpeg');
    const found = [
      [exifSegment(orientationExif(6)), true],
      [exifSegment(orientationExif(6, { type: 4 })), false],
      [exifSegment(orientationExif(9)), false],
      [Buffer.concat([exifSegment(orientationExif(1)), exifSegment(orientationExif(6))]), false],
    ] as const;
    for (const [segments, isTurned] of found) {
      const bytes = inserted(jpeg, 2, segments);
      const { width, height } = (
        await openUpright(bytes, { failOn: 'error' }).raw().toBuffer({ resolveWithObject: true })
      ).info;
      expect([width, height]).to.deep.equal(await shownSize(bytes));
      expect(isShownUpright(bytes)).to.equal(!isTurned);
    }
  });
});
