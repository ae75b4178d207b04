// Goal: a probe accepts pictures as phones, cameras and editors write them, shows their size as a browser does, and
// still refuses what is damaged or what no later step could decode.
// Method: plain pictures that are changed by hand, in each way that real files differ from them; what Chromium reports for such
// files (`naturalWidth`, `naturalHeight`) is written down here.
import { expect } from 'chai';
import fc from 'fast-check';
import sharp, { type Sharp } from 'sharp';
import type { MediaProbe } from '../../core/ports/media.js';
import { fileOf } from '../fixtures/byte-streams.js';
import { animatedWebp, type FixtureFormat, image } from '../fixtures/images.js';
import {
  chunkOfPng,
  exifSegment,
  inserted,
  jpegSegment,
  oddJpeg,
  orientationExif,
  segmentsAt,
  webpWithExif,
} from '../fixtures/real-images.js';
import { lastIndex } from '../fixtures/tagged-videos.js';
import { mp4 } from '../fixtures/videos.js';
import { contract, type ContractSubject } from './subject.js';
import { forAll } from '../harness/for-all.js';

const FORMATS: readonly FixtureFormat[] = ['png', 'jpeg', 'webp'];
const DECODES = ['header', 'full'] as const;
const [WIDTH, HEIGHT] = [24, 16];

/** A lossless WebP of one colour: nothing is left of it but the header and five prefix codes. */
const SHORT_WEBP = Buffer.from('5249464614000000574542505650384c080000002f3fc00f10888808', 'hex');

const progressive = async () =>
  sharp(await image('png'))
    .jpeg({ progressive: true })
    .toBuffer();

/** Oddities of a JPEG that decoders warn about, though no pixel depends on them. */
const HARMLESS: Readonly<Record<string, () => Promise<Uint8Array>>> = {
  'zeros as parameters of its scan': async () => {
    const jpeg = Buffer.from(await image('jpeg'));
    const at = segmentsAt(jpeg, 0xda)[0]!;
    const end = at + 2 + jpeg.readUInt16BE(at + 2);
    return jpeg.fill(0, end - 3, end);
  },
  'an Adobe segment with an unknown transform': async () =>
    inserted(await image('jpeg'), 2, jpegSegment(0xee, 'Adobe\0d\0\0\0\0\x09')),
  'an unknown version of JFIF': async () =>
    inserted(await image('jpeg'), 2, jpegSegment(0xe0, 'JFIF\0\x07\x07\0\0\x01\0\x01\0\0')),
  'EXIF data that is none': async () => inserted(await image('jpeg'), 2, jpegSegment(0xe1, 'Exif\0\0no TIFF at all')),
  'a colour profile that is none': async () =>
    inserted(await image('jpeg'), 2, jpegSegment(0xe2, 'ICC_PROFILE\0\x01\x01no profile at all')),
  'one of five parts of a colour profile': async () =>
    inserted(await image('jpeg'), 2, jpegSegment(0xe2, 'ICC_PROFILE\0\x01\x05no profile at all')),
  'a restart marker between segments': async () => {
    const jpeg = await image('jpeg');
    return inserted(jpeg, segmentsAt(jpeg, 0xda)[0]!, Buffer.of(0xff, 0xd0));
  },
  'a first scan twice': async () => {
    const jpeg = await progressive();
    const [first, second] = segmentsAt(jpeg).filter((at) => at >= segmentsAt(jpeg, 0xda)[0]!);
    return inserted(jpeg, second!, jpeg.subarray(first, second));
  },
};

/** Damage of coded data: a decoder guesses pixels. */
const HARMFUL: Readonly<Record<string, (jpeg: Buffer) => Uint8Array>> = {
  'coded data that breaks off': (jpeg) => Buffer.concat([jpeg.subarray(0, -40), Buffer.of(0xff, 0xd9)]),
  'codes that no table has': (jpeg) => {
    const at = segmentsAt(jpeg, 0xda)[0]!;
    return jpeg.fill(0xfe, at + 40, at + 60);
  },
};

const REFUSED: readonly (readonly [what: string, jpeg: Buffer, sentence: RegExp])[] = [
  ['a lossless JPEG of 16 bits', oddJpeg({ frame: 0xc3, bits: 16 }), /lossless or hierarchical.*send a baseline/],
  ['a lossless JPEG of 8 bits', oddJpeg({ frame: 0xc3 }), /lossless or hierarchical.*send a baseline/],
  ['a hierarchical JPEG', oddJpeg({ frame: 0xc5 }), /lossless or hierarchical.*send a baseline/],
  ['a JPEG of 12 bits', oddJpeg({ frame: 0xc1, bits: 12 }), /12 bits per sample.*with 8 bits per sample/],
  ['a progressive JPEG of 12 bits', oddJpeg({ frame: 0xc2, bits: 12 }), /12 bits per sample.*with 8 bits per sample/],
  ['an arithmetic JPEG', oddJpeg({ frame: 0xc9 }), /coded arithmetically/],
  ['a JPEG-LS', oddJpeg({ frame: 0xf7 }), /JPEG-LS.*send a baseline/],
  ['a JPEG of two components', oddJpeg({ frame: 0xc0, components: 2 }), /2 components; send one of 1, 3 or 4/],
  [
    'a JPEG that does not state its height',
    oddJpeg({ frame: 0xc0, heightPx: 0 }),
    /height before its pixels; send one/,
  ],
];

/** Headers of a JPEG that no decoder reads, though each segment is whole. */
const UNREADABLE: Readonly<Record<string, (jpeg: Buffer) => Uint8Array>> = {
  'a sampling factor of none': (jpeg) => {
    jpeg[segmentsAt(jpeg, 0xc0)[0]! + 11] = 0x01;
    return jpeg;
  },
  'a quantization table that is missing': (jpeg) => {
    jpeg[segmentsAt(jpeg, 0xc0)[0]! + 12] = 3;
    return jpeg;
  },
  'a scan of a component that it does not have': (jpeg) => {
    jpeg[segmentsAt(jpeg, 0xda)[0]! + 5] = 77;
    return jpeg;
  },
  'a table of codes that is none': (jpeg) =>
    jpeg.fill(0xff, segmentsAt(jpeg, 0xc4)[0]! + 5, segmentsAt(jpeg, 0xc4)[0]! + 20),
  'two frame headers': (jpeg) => {
    const at = segmentsAt(jpeg, 0xc0)[0]!;
    return inserted(jpeg, at, jpeg.subarray(at, at + 2 + jpeg.readUInt16BE(at + 2)));
  },
  'a marker that no decoder knows': (jpeg) => inserted(jpeg, segmentsAt(jpeg, 0xda)[0]!, jpegSegment(0x02, 'what')),
};

const raw = (channels: 1 | 2 | 3 | 4, alphaAt?: number) => {
  const pixels = Buffer.alloc(WIDTH * HEIGHT * channels, 0xff);
  if (alphaAt !== undefined) pixels[alphaAt * channels + channels - 1] = 0xfe;
  return sharp(pixels, { raw: { width: WIDTH, height: HEIGHT, channels } });
};
const deep = (channels: 2 | 4, alpha: number) => {
  const pixels = new Uint16Array(WIDTH * HEIGHT * channels).fill(0xffff);
  pixels[7 * channels + channels - 1] = alpha;
  return sharp(pixels, { raw: { width: WIDTH, height: HEIGHT, channels } }).toColourspace(
    channels === 2 ? 'grey16' : 'rgb16',
  );
};
const withTransparency = async (picture: Sharp, content: readonly number[]) => {
  const png = await picture.png().toBuffer();
  return inserted(png, png.indexOf('IDAT') - 4, chunkOfPng('tRNS', Buffer.from(content)));
};

const LAST = WIDTH * HEIGHT - 1;
const TRANSPARENCY: readonly (readonly [what: string, bytes: () => Promise<Uint8Array>, isTransparent: boolean])[] = [
  ['a JPEG', () => image('jpeg'), false],
  ['a PNG without alpha', () => image('png'), false],
  ['an opaque RGBA PNG', () => raw(4).png().toBuffer(), false],
  ['an RGBA PNG with one pixel that is not quite opaque', () => raw(4, LAST).png().toBuffer(), true],
  ['an interlaced RGBA PNG with one such pixel', () => raw(4, 5).png({ progressive: true }).toBuffer(), true],
  ['an opaque PNG of grey and alpha', () => raw(2).toColourspace('b-w').png().toBuffer(), false],
  ['a PNG of grey and alpha with one such pixel', () => raw(2, LAST).toColourspace('b-w').png().toBuffer(), true],
  ['an opaque PNG of 16 bits', () => deep(4, 0xffff).png().toBuffer(), false],
  ['a PNG of 16 bits with the least transparency', () => deep(4, 0xfffe).png().toBuffer(), true],
  ['a grey PNG of 16 bits with the least transparency', () => deep(2, 0xfffe).png().toBuffer(), true],
  ['a PNG with a transparent colour', () => withTransparency(raw(3), [0, 255, 0, 255, 0, 255]), true],
  ['a PNG with a transparent colour that it does not use', () => withTransparency(raw(3), [0, 1, 0, 2, 0, 3]), false],
  ['a grey PNG with a transparent colour', () => withTransparency(raw(1).toColourspace('b-w'), [0, 255]), true],
  ['a PNG with a palette that has alpha', () => raw(4, 9).png({ palette: true, quality: 100 }).toBuffer(), true],
  ['a PNG with an opaque palette', () => raw(3).png({ palette: true }).toBuffer(), false],
  ['a lossy WebP', () => image('webp'), false],
  ['a lossy WebP with alpha', () => raw(4, 3).webp({ alphaQuality: 100 }).toBuffer(), true],
  ['a lossless WebP with alpha', () => raw(4, LAST).webp({ lossless: true }).toBuffer(), true],
  ['an opaque animation', () => animatedWebp(2), false],
  ['the shortest WebP', async () => SHORT_WEBP, true],
];

export function realImagesContract(subject: ContractSubject<MediaProbe>): void {
  contract('MediaProbe contract, real pictures', subject, (probe) => {
    const asked = async (bytes: Uint8Array, limits: Partial<Parameters<MediaProbe['probe']>[1]> = {}) =>
      probe().probe(fileOf(bytes, 1000), { maxPixels: 1_000_000, decode: 'full', ...limits });
    const sized = async (bytes: Uint8Array) => {
      const answer = await asked(bytes);
      return 'invalid' in answer ? answer.invalid : `${answer.widthPx}x${answer.heightPx}`;
    };
    const refuses = async (bytes: Uint8Array, what: string, decode: (typeof DECODES)[number] = 'full') =>
      expect(await asked(bytes, { decode }), what).to.have.property('invalid');

    for (const format of [...FORMATS, 'mp4'] as const) {
      const whole = async () => (format === 'mp4' ? lastIndex() : image(format));

      it(`says where a ${format} ends, whatever is behind it`, async () => {
        const bytes = await whole();
        const facts = await asked(bytes);
        expect(facts).to.include({ contentBytes: bytes.byteLength });
        // With a first byte of 0, bytes may be a box of an MP4, which is part of it.
        const tails = fc
          .uint8Array({ minLength: 1, maxLength: 3_000 })
          .filter((tail) => format !== 'mp4' || tail.length < 8 || tail[0] !== 0);
        await forAll(60, [tails, fc.constantFrom(...DECODES)], async (tail, decode) => {
          expect(await asked(Buffer.concat([bytes, tail]), { decode })).to.deep.equal(facts);
        });
        for (const tail of [await image('jpeg'), Buffer.alloc(70_000), Buffer.from('\n'), await image('png')])
          expect(await asked(Buffer.concat([bytes, tail]))).to.deep.equal(facts);
      });

      it(`refuses a ${format} without any of its last bytes`, async () => {
        const bytes = await whole();
        for (let kept = bytes.byteLength - 1; kept >= 0; kept -= 1)
          await refuses(bytes.subarray(0, kept), `${kept} bytes`, 'header');
      });
    }

    it('takes the first picture of a photo with a second one, or with a video, behind it', async () => {
      const first = await image('jpeg');
      for (const more of [await image('jpeg', 90, 70), await mp4(), await progressive()])
        for (const decode of DECODES)
          expect(await asked(Buffer.concat([first, more]), { decode })).to.include({
            widthPx: WIDTH,
            heightPx: HEIGHT,
            contentBytes: first.byteLength,
          });
    });

    it('skips bytes between the segments of a JPEG', async () => {
      const stray = fc
        .uint8Array({ minLength: 1, maxLength: 40 })
        .map((bytes) => Uint8Array.from(bytes, (byte) => (byte === 0xff ? 0xfe : byte)));
      const jpegs = await Promise.all([image('jpeg'), progressive()]);
      // Before the second segment at the earliest, and the end of the header at the latest.
      const places = jpegs.map((jpeg) =>
        segmentsAt(jpeg).slice(1, segmentsAt(jpeg).indexOf(segmentsAt(jpeg, 0xda)[0]!) + 1),
      );
      await forAll(
        60,
        [fc.nat(1), fc.nat(), stray, fc.constantFrom(...DECODES)],
        async (which, place, bytes, decode) => {
          const at = places[which]![place % places[which]!.length]!;
          const more = Buffer.concat([bytes, Buffer.of(0xff, 0x00)]);
          for (const between of [bytes, more]) {
            const odd = inserted(jpegs[which]!, at, between);
            expect(await asked(odd, { decode })).to.include({ kind: 'image', contentBytes: odd.length });
          }
        },
      );
    });

    for (const [what, jpeg] of Object.entries(HARMLESS))
      it(`accepts a JPEG with ${what}`, async () => {
        for (const decode of DECODES) {
          const bytes = await jpeg();
          expect(await asked(bytes, { decode })).to.include({
            widthPx: WIDTH,
            heightPx: HEIGHT,
            contentBytes: bytes.byteLength,
          });
        }
      });

    for (const [what, damage] of Object.entries(HARMFUL))
      it(`refuses a JPEG with ${what}, whatever a decoder warns about before`, async () => {
        const damaged = damage(Buffer.from(await image('jpeg', 64, 48)));
        await refuses(damaged, what);
        await refuses(inserted(damaged, segmentsAt(damaged, 0xc0)[0]!, Buffer.of(1, 2, 3)), what);
        await refuses(inserted(damaged, 2, jpegSegment(0xee, 'Adobe\0d\0\0\0\0\x09')), what);
      });

    for (const [what, jpeg, sentence] of REFUSED)
      it(`refuses ${what}, and says what to send`, async () => {
        for (const decode of DECODES)
          expect(await asked(jpeg, { decode }))
            .to.have.property('invalid')
            .that.matches(sentence);
      });

    for (const [what, damage] of Object.entries(UNREADABLE))
      it(`refuses a JPEG with ${what} by its header`, async () => {
        for (const decode of DECODES) await refuses(damage(Buffer.from(await image('jpeg'))), what, decode);
      });

    it('refuses a PNG whose pixels have another checksum', async () => {
      const png = Buffer.from(await image('png'));
      png[png.indexOf('IEND') - 5]! ^= 1;
      for (const decode of DECODES) await refuses(png, 'another checksum', decode);
    });

    it('accepts a WebP of 28 bytes', async () => {
      for (const decode of DECODES)
        expect(await asked(SHORT_WEBP, { decode })).to.deep.equal({
          kind: 'image',
          mediaType: 'image/webp',
          widthPx: 64,
          heightPx: 64,
          contentBytes: 28,
        });
    });

    for (const orientation of [1, 2, 3, 4, 5, 6, 7, 8]) {
      const expected = orientation < 5 ? `${WIDTH}x${HEIGHT}` : `${HEIGHT}x${WIDTH}`;
      it(`reports ${expected} for a JPEG and a PNG of orientation ${orientation}`, async () => {
        for (const isLittleEndian of [false, true]) {
          const tiff = orientationExif(orientation, { isLittleEndian });
          expect(await sized(inserted(await image('jpeg'), 2, exifSegment(tiff)))).to.equal(expected);
          const png = Buffer.from(await image('png'));
          expect(await sized(inserted(png, png.indexOf('IDAT') - 4, chunkOfPng('eXIf', tiff)))).to.equal(expected);
        }
      });
    }

    it('follows Chromium in where it looks for an orientation', async () => {
      const [turned, upright] = [exifSegment(orientationExif(6)), exifSegment(orientationExif(1))];
      const jpeg = await image('jpeg');
      const png = Buffer.from(await image('png'));
      const [pixelsAt, endAt] = [png.indexOf('IDAT') - 4, png.indexOf('IEND') - 4];
      const chunk = chunkOfPng('eXIf', orientationExif(6));
      const otherChecksum = Buffer.from(chunk);
      otherChecksum[otherChecksum.length - 1]! ^= 1;
      const found: readonly (readonly [what: string, bytes: Uint8Array, isTurned: boolean])[] = [
        ['behind the frame header', inserted(jpeg, segmentsAt(jpeg, 0xda)[0]!, turned), true],
        ['behind the scan', inserted(jpeg, jpeg.byteLength - 2, turned), false],
        ['behind the picture', Buffer.concat([jpeg, turned]), false],
        ['the first of two', inserted(jpeg, 2, Buffer.concat([turned, upright])), true],
        ['the second of two', inserted(jpeg, 2, Buffer.concat([upright, turned])), false],
        ['of 32 bits', inserted(jpeg, 2, exifSegment(orientationExif(6, { type: 4 }))), false],
        ['of an unknown value', inserted(jpeg, 2, exifSegment(orientationExif(9))), false],
        ['behind the pixels of a PNG', inserted(png, endAt, chunk), false],
        ['with another checksum', inserted(png, pixelsAt, otherChecksum), false],
        ['with the prefix of a JPEG', inserted(png, pixelsAt, chunkOfPng('eXIf', turned.subarray(4))), false],
        ['of a WebP', await webpWithExif(WIDTH, HEIGHT, orientationExif(6)), false],
      ];
      for (const [what, bytes, isTurned] of found)
        expect(await sized(bytes), what).to.equal(isTurned ? `${HEIGHT}x${WIDTH}` : `${WIDTH}x${HEIGHT}`);
    });

    for (const [what, bytes, isTransparent] of TRANSPARENCY)
      it(`finds ${isTransparent ? 'a transparent pixel' : 'no transparent pixel'} in ${what}`, async () => {
        for (const decode of DECODES)
          expect(await asked(await bytes(), { decode, findsTransparency: true })).to.include({ isTransparent });
        expect(await asked(await bytes(), { decode: 'header' })).to.not.have.property('isTransparent');
      });

    it('refuses a picture with alpha whose pixels cannot be decoded, when it looks for transparency', async () => {
      const png = await raw(4, 3).png().toBuffer();
      const pixelsAt = png.indexOf('IDAT') - 4;
      const broken = Buffer.concat([
        png.subarray(0, pixelsAt),
        chunkOfPng('IDAT', Buffer.alloc(90, 7)),
        png.subarray(-12),
      ]);
      expect(await asked(broken, { decode: 'header', findsTransparency: true })).to.deep.equal({
        invalid: 'The file starts like a PNG image but cannot be decoded.',
      });
    });
  });
}
