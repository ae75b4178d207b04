// Goal: a preview is a small upright picture without metadata, within its byte limit, and a file that cannot be shown
// has none.
// Method: bytes that are not a picture first, then pictures of each kind and shape, checked with a decoder.
import { expect } from 'chai';
import sharp from 'sharp';
import type { Previews } from '../../core/ports/media.js';
import { breakingOff, bytesOf, inPieces } from '../fixtures/byte-streams.js';
import { TestedCall } from '../fixtures/cancellation.js';
import { animatedWebp, type FixtureFormat, image } from '../fixtures/images.js';
import { exifSegment, inserted, jpegSegment, orientationExif, segmentsAt } from '../fixtures/real-images.js';
import { mp4 } from '../fixtures/videos.js';
import { contract, type ContractSubject } from './subject.js';

const MAX_BYTES = 100_000;

export function previewsContract(subject: ContractSubject<Previews>): void {
  contract('Previews contract', subject, (previews) => {
    const made = (bytes: Uint8Array, maxBytes = MAX_BYTES) =>
      previews().ofImage(inPieces(bytes, 1_000), { sourceBytes: bytes.byteLength, maxBytes });

    const NOTHING: Readonly<Record<string, () => Promise<Uint8Array>>> = {
      'nothing at all': async () => new Uint8Array(),
      'a text': async () => bytesOf('hello'),
      'an SVG': async () => bytesOf('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>'),
      'a video': mp4,
      'a picture that breaks off': async () => (await image('png', 200, 200)).subarray(0, 2_000),
    };
    for (const [what, bytes] of Object.entries(NOTHING)) {
      it(`has none of ${what}`, async () => {
        expect(await made(await bytes())).to.equal(null);
      });
    }

    it('has none where no small picture is small enough', async () => {
      expect(await made(await image('png', 300, 300), 500)).to.equal(null);
    });

    it('has none of a file that is longer than was said', async () => {
      const bytes = await image('png', 200, 200);
      const said = { sourceBytes: bytes.byteLength - 1, maxBytes: MAX_BYTES };
      expect(await previews().ofImage(inPieces(bytes, 1_000), said)).to.equal(null);
    });

    it('passes a failure of the source on', async () => {
      const error = await previews()
        .ofImage(breakingOff((await image('png', 200, 200)).subarray(0, 2_000)), {
          sourceBytes: 500_000,
          maxBytes: MAX_BYTES,
        })
        .catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(Error);
    });

    it('makes none for a call that is over', async () => {
      const bytes = await image('png', 200, 200);
      const limits = { sourceBytes: bytes.byteLength, maxBytes: MAX_BYTES };
      const error = await previews()
        .ofImage(inPieces(bytes), limits, TestedCall.over())
        .catch((thrown: unknown) => thrown);
      expect(error).to.have.property('name', 'CallOver');
    });

    for (const format of ['png', 'jpeg', 'webp'] satisfies FixtureFormat[]) {
      it(`makes a small JPEG of a large ${format.toUpperCase()}`, async () => {
        const preview = await made(await image(format, 1_600, 800), 400_000);
        const { format: shown, width, height } = await sharp(preview?.bytes).metadata();
        expect([preview?.mediaType, shown, width, height]).to.deep.equal(['image/jpeg', 'jpeg', 768, 384]);
      });
    }

    it('has the mark that it is given, and no other metadata', async () => {
      const bytes = inserted(await image('jpeg', 300, 200), 2, exifSegment(orientationExif(6)));
      const mark = { sourceType: 'trainedAlgorithmicMedia', system: 'A & B' } as const;
      const limits = { sourceBytes: bytes.byteLength, maxBytes: MAX_BYTES };
      const marked = await previews().ofImage(inPieces(bytes), { ...limits, mark });
      const { xmp, exif, icc, width, height } = await sharp(marked?.bytes).metadata();
      expect([width, height, exif, icc]).to.deep.equal([200, 300, undefined, undefined]);
      expect(xmp?.toString()).to.include('/digitalsourcetype/trainedAlgorithmicMedia<').and.include('>A &amp; B<');
      const plain = await previews().ofImage(inPieces(bytes), limits);
      expect((await sharp(plain?.bytes).metadata()).xmp).to.equal(undefined);
    });

    it('is made of a picture with several MiB of colour profile, without it', async () => {
      const jpeg = await image('jpeg', 300, 200);
      const part = Buffer.concat([Buffer.from('ICC_PROFILE\0\x01\x50', 'latin1'), Buffer.alloc(65_000)]);
      const parts = Array.from({ length: 80 }, (_, index) => {
        const segment = jpegSegment(0xe2, part);
        segment[16] = index + 1;
        return segment;
      });
      const preview = await made(inserted(jpeg, 2, Buffer.concat(parts)));
      const { icc, width } = await sharp(preview?.bytes).metadata();
      expect([icc, width]).to.deep.equal([undefined, 300]);
    });

    it('is made of a picture that a decoder only warns about', async () => {
      const jpeg = await image('jpeg', 300, 200);
      expect(await made(inserted(jpeg, segmentsAt(jpeg, 0xc0)[0]!, Buffer.of(1, 2, 3)))).to.have.property('bytes');
    });

    it('does not enlarge', async () => {
      const { width, height } = await sharp((await made(await image('png', 24, 16)))?.bytes).metadata();
      expect([width, height]).to.deep.equal([24, 16]);
    });

    it('takes a smaller form where a larger one has too many bytes', async () => {
      const bytes = await image('png', 1_000, 1_000);
      const [wide, narrow] = [await made(bytes, 1_000_000), await made(bytes, 100_000)];
      expect((await sharp(wide?.bytes).metadata()).width).to.equal(768);
      expect((await sharp(narrow?.bytes).metadata()).width).to.be.below(768);
      expect(narrow?.bytes.byteLength).to.be.at.most(100_000);
    });

    it('shows what is transparent as white, and of an animation the first frame', async () => {
      const clear = await sharp({ create: { width: 8, height: 8, channels: 4, background: '#00000000' } })
        .png()
        .toBuffer();
      const { data } = await sharp((await made(clear))?.bytes)
        .raw()
        .toBuffer({ resolveWithObject: true });
      expect([...data].every((value) => value > 250)).to.equal(true);
      const { width, height, pages } = await sharp((await made(await animatedWebp(3)))?.bytes).metadata();
      expect([width, height, pages]).to.deep.equal([24, 16, undefined]);
    });

    it('is upright and carries no metadata', async () => {
      const turned = await sharp(await image('jpeg', 60, 30))
        .withMetadata({ orientation: 6, exif: { IFD0: { Copyright: 'somebody' } } })
        .toBuffer();
      const shown = await sharp((await made(turned))?.bytes).metadata();
      expect([shown.width, shown.height, shown.exif, shown.orientation]).to.deep.equal([30, 60, undefined, undefined]);
    });
  });
}
