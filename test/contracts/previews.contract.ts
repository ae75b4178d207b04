// Goal: a preview is a small upright picture without metadata, within its byte limit, and a file that cannot be shown
// has none; a thumbnail is one of a given size, in the colours of the file, and keeps transparency.
// Method: bytes that are not a picture first, then pictures of each kind and shape, checked with a decoder.
import { expect } from 'chai';
import sharp from 'sharp';
import { THUMBNAIL_SIDES_PX } from '../../core/generation/generation.js';
import { thumbnailSize } from '../../core/generation/thumbnails.js';
import type { Previews } from '../../core/ports/media.js';
import { breakingOff, bytesOf, fileOf, inPieces } from '../fixtures/byte-streams.js';
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

    describe('thumbnails', () => thumbnailsContract(previews));
  });
}

function thumbnailsContract(previews: () => Previews): void {
  const SIZE = { widthPx: 320, heightPx: 213 };
  const made = async (bytes: Uint8Array, size = SIZE): Promise<Buffer> => {
    const thumbnail = await previews().thumbnail(fileOf(bytes), size);
    if (typeof thumbnail === 'string') expect.fail(`The thumbnail is refused: ${thumbnail}.`);
    expect(thumbnail.mediaType).to.equal('image/webp');
    return Buffer.from(thumbnail.bytes);
  };
  /** Channels of the pixel in the middle. */
  const colourOf = async (webp: Buffer): Promise<number[]> => {
    const { data, info } = await sharp(webp).raw().toBuffer({ resolveWithObject: true });
    const at = (Math.floor(info.height / 2) * info.width + Math.floor(info.width / 2)) * info.channels;
    return [...data.subarray(at, at + info.channels)];
  };
  const plain = (background: string, channels: 3 | 4 = 3) =>
    sharp({ create: { width: 900, height: 600, channels, background } });

  const UNREADABLE: Readonly<Record<string, () => Promise<Uint8Array>>> = {
    'nothing at all': async () => new Uint8Array(),
    'a text': async () => bytesOf('hello'),
    'an SVG': async () => bytesOf('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>'),
    'a video': mp4,
    'a PNG that breaks off': async () => (await image('png', 200, 200)).subarray(0, 2_000),
    'a JPEG that breaks off': async () => (await image('jpeg', 200, 200)).subarray(0, 3_000),
    'a WebP that breaks off': async () => (await image('webp', 200, 200)).subarray(0, 3_000),
    'a JPEG that breaks off in its header': async () => (await image('jpeg', 200, 200)).subarray(0, 100),
  };
  for (const [what, bytes] of Object.entries(UNREADABLE))
    it(`refuse ${what}`, async () => {
      expect(await previews().thumbnail(fileOf(await bytes()), SIZE)).to.equal('unreadable');
    });

  it('refuse a picture that takes too much memory to decode, by its header', async () => {
    const png = Buffer.from(await image('png'));
    png.writeUInt32BE(60_000, 16);
    png.writeUInt32BE(60_000, 20);
    expect(await previews().thumbnail(fileOf(png), SIZE)).to.equal('too-large');
  });

  it('refuse a file that is too long, unread', async () => {
    const read = () => Promise.reject(new Error('The file must not be read.'));
    expect(await previews().thumbnail({ byteSize: 2 ** 40, read }, SIZE)).to.equal('too-large');
  });

  it('pass a failure of the file on, and make none for a call that is over', async () => {
    const bytes = await image('png', 200, 200);
    const failing = { byteSize: 500_000, read: async () => breakingOff(bytes.subarray(0, 2_000)) };
    for (const thumbnail of [
      previews().thumbnail(failing, SIZE),
      previews().thumbnail({ byteSize: 9, read: () => Promise.reject(new Error('no connection')) }, SIZE),
    ])
      expect(await thumbnail.catch((thrown: unknown) => thrown)).to.be.instanceOf(Error);
    const over = previews().thumbnail(fileOf(bytes), SIZE, TestedCall.over());
    expect(await over.catch((thrown: unknown) => thrown)).to.have.property('name', 'CallOver');
  });

  for (const format of ['png', 'jpeg', 'webp'] satisfies FixtureFormat[])
    it(`have exactly the size that is asked for, of a ${format.toUpperCase()} of any shape`, async () => {
      for (const [width, height] of [
        [2_000, 1_331],
        [333, 1_999],
        [1_300, 7],
        [1, 1],
      ] as const) {
        const bytes = await sharp({ create: { width, height, channels: 3, background: '#4080c0' } })
          .toFormat(format)
          .toBuffer();
        for (const sidePx of THUMBNAIL_SIDES_PX) {
          const size = thumbnailSize({ widthPx: width, heightPx: height }, sidePx);
          const shown = await sharp(await made(bytes, size)).metadata();
          expect([shown.width, shown.height]).to.deep.equal([size.widthPx, size.heightPx]);
        }
      }
    });

  it('are upright, and have the mark that they are given and no other metadata', async () => {
    const bytes = inserted(await image('jpeg', 600, 400), 2, exifSegment(orientationExif(6)));
    const mark = { sourceType: 'trainedAlgorithmicMedia', system: 'A & B' } as const;
    const marked = await previews().thumbnail(fileOf(bytes), { widthPx: 213, heightPx: 320, mark });
    if (typeof marked === 'string') expect.fail(marked);
    const { xmp, exif, icc, width, height } = await sharp(marked.bytes).metadata();
    expect([width, height, exif, icc]).to.deep.equal([213, 320, undefined, undefined]);
    expect(xmp?.toString()).to.include('/digitalsourcetype/trainedAlgorithmicMedia<').and.include('>A &amp; B<');
    const kept = await sharp(await made(bytes, { widthPx: 213, heightPx: 320 })).metadata();
    expect([kept.xmp, kept.exif, kept.iptc, kept.orientation]).to.deep.equal([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('turn a picture as browsers do, and so no WebP', async () => {
    const halves = await sharp({ create: { width: 600, height: 400, channels: 3, background: '#000000' } })
      .composite([
        { input: { create: { width: 300, height: 400, channels: 3, background: '#ffffff' } }, left: 0, top: 0 },
      ])
      .png()
      .toBuffer();
    const firstPixel = async (webp: Buffer) => (await sharp(webp).raw().toBuffer())[0];
    for (const [format, size, isTurned] of [
      ['jpeg', { widthPx: 200, heightPx: 300 }, true],
      ['png', { widthPx: 200, heightPx: 300 }, true],
      ['webp', { widthPx: 300, heightPx: 200 }, false],
    ] as const) {
      const bytes = await sharp(halves).toFormat(format).withMetadata({ orientation: 3 }).toBuffer();
      const upright = { widthPx: 300, heightPx: 200 };
      expect(await firstPixel(await made(bytes, upright)), format).to.be[isTurned ? 'below' : 'above'](
        isTurned ? 20 : 235,
      );
      const side = await sharp(halves).toFormat(format).withMetadata({ orientation: 6 }).toBuffer();
      // The white half is at the top once it was turned.
      const { data, info } = await sharp(await made(side, size))
        .raw()
        .toBuffer({ resolveWithObject: true });
      const lastOfFirstRow = data[(info.width - 1) * info.channels] ?? 0;
      expect(lastOfFirstRow > 235, format).to.equal(isTurned);
    }
  });

  it('are in sRGB, whatever the profile of the file', async () => {
    const wide = await plain('#00ff00').withIccProfile('p3').png().toBuffer();
    const [red = 255, green = 0, blue = 255] = await colourOf(await made(wide));
    // The same numbers as sRGB, which the profile has been converted from and the thumbnail to.
    expect([red, green, blue].map((value) => Math.round(value / 16))).to.deep.equal([0, 16, 0]);
    const untouched = await sharp(wide, { ignoreIcc: true }).raw().toBuffer();
    expect([...untouched.subarray(0, 3)], 'the numbers in the file are others').not.to.deep.equal([0, 255, 0]);
    const inks = await plain('#c03020').toColourspace('cmyk').withIccProfile('cmyk').jpeg({ quality: 95 }).toBuffer();
    expect((await sharp(inks).metadata()).space).to.equal('cmyk');
    const [inkRed = 0, inkGreen = 255, inkBlue = 255] = await colourOf(await made(inks));
    expect(inkRed).to.be.within(150, 215);
    expect(Math.max(inkGreen, inkBlue)).to.be.below(90);
  });

  it('of 16 bits, of grey and of a palette show the same', async () => {
    const deep = await plain('#4080c0').toColourspace('rgb16').png().toBuffer();
    expect((await sharp(deep).metadata()).depth).to.equal('ushort');
    const palette = await plain('#4080c0').png({ palette: true }).toBuffer();
    for (const bytes of [deep, palette]) {
      const [red = 0, green = 0, blue = 0] = await colourOf(await made(bytes));
      expect([red - 0x40, green - 0x80, blue - 0xc0].every((distance) => Math.abs(distance) < 6)).to.equal(true);
    }
    const grey = await plain('#808080').toColourspace('b-w').jpeg().toBuffer();
    const [red = 0, green = 255] = await colourOf(await made(grey));
    expect(Math.abs(red - 128) + Math.abs(green - 128)).to.be.below(8);
  });

  it('keep transparency', async () => {
    for (const clear of [
      await plain('#00ff0080', 4).png().toBuffer(),
      await plain('#00ff0080', 4).webp({ lossless: true }).toBuffer(),
    ]) {
      const [, , , alpha] = await colourOf(await made(clear));
      expect(alpha).to.be.within(0x7e, 0x82);
    }
    expect(await colourOf(await made(await image('png', 200, 200)))).to.have.length(3);
  });

  it('of an animation show the first frame', async () => {
    const { width, height, pages } = await sharp(
      await made(await animatedWebp(3), { widthPx: 24, heightPx: 16 }),
    ).metadata();
    expect([width, height, pages]).to.deep.equal([24, 16, undefined]);
  });

  it('are made of a picture with several MiB of colour profile', async () => {
    const part = Buffer.concat([Buffer.from('ICC_PROFILE\0\x01\x50', 'latin1'), Buffer.alloc(65_000)]);
    const parts = Array.from({ length: 80 }, (_, index) => {
      const segment = jpegSegment(0xe2, part);
      segment[16] = index + 1;
      return segment;
    });
    const { icc, width } = await sharp(
      await made(inserted(await image('jpeg', 300, 200), 2, Buffer.concat(parts))),
    ).metadata();
    expect([icc, width]).to.deep.equal([undefined, 320]);
  });
}
