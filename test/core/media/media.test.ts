import { expect } from 'chai';
import fc from 'fast-check';
import sharp from 'sharp';
import { DEFAULT_MARK_POLICY, DIGITAL_SOURCE_TYPES, markOf } from '../../../core/media/ai-mark.js';
import {
  decodeBytesOf,
  formatFault,
  type ImageHeader,
  MAX_HEADER_BYTES,
  readImageHeader,
} from '../../../core/media/image-header.js';
import { animatedWebp, image } from '../../fixtures/images.js';
import { largeJpeg, type LargeJpeg, largePng, SAMPLING_444 } from '../../fixtures/large-media.js';
import { forAllSync } from '../../harness/for-all.js';

// Goal: the memory that decoding needs follows from the first bytes of a file, for every way in which an image can be
// stored.
// Method: files written by hand and by sharp, whose cost is computed here; then truncated and damaged headers.

const [W, H] = [640, 480];
const jpeg = (more: Partial<LargeJpeg>) =>
  largeJpeg({ widthPx: W, heightPx: H, sampling: SAMPLING_444, scans: 'baseline', ...more });
const png = (depth: 8 | 16, channels: 3 | 4, isInterlaced: boolean) =>
  largePng({ widthPx: W, heightPx: H, depth, channels, isInterlaced });
const CMYK = [
  [1, 1],
  [1, 1],
  [1, 1],
  [1, 1],
] as const;

const FILES: readonly {
  readonly of: string;
  readonly bytes: () => Promise<Uint8Array> | Uint8Array;
  readonly header: Omit<ImageHeader, 'widthPx' | 'heightPx'>;
}[] = [
  {
    of: 'a baseline JPEG',
    bytes: () => jpeg({}),
    header: { form: 'JPEG', rowPixelBytes: 3, heldBytes: 0, mayHaveAlpha: false },
  },
  {
    of: 'a progressive JPEG',
    bytes: () => jpeg({ scans: 'progressive' }),
    header: { form: 'progressive JPEG', rowPixelBytes: 3, heldBytes: W * H * 3 * 2, mayHaveAlpha: false },
  },
  {
    of: 'a baseline JPEG with a scan a component',
    bytes: () => jpeg({ scans: 'separate' }),
    header: { form: 'progressive JPEG', rowPixelBytes: 3, heldBytes: W * H * 3 * 2, mayHaveAlpha: false },
  },
  {
    of: 'a progressive JPEG of four channels',
    bytes: () => jpeg({ scans: 'progressive', sampling: CMYK }),
    header: { form: 'progressive JPEG', rowPixelBytes: 4, heldBytes: W * H * 4 * 2, mayHaveAlpha: false },
  },
  {
    of: 'a progressive JPEG with fewer colours than pixels',
    bytes: () =>
      jpeg({
        scans: 'progressive',
        sampling: [
          [2, 2],
          [1, 1],
          [1, 1],
        ],
      }),
    header: { form: 'progressive JPEG', rowPixelBytes: 3, heldBytes: W * H * 1.5 * 2, mayHaveAlpha: false },
  },
  {
    of: 'a progressive JPEG behind an EXIF segment',
    bytes: () => jpeg({ scans: 'progressive', orientation: 6 }),
    header: { form: 'progressive JPEG', rowPixelBytes: 3, heldBytes: W * H * 3 * 2, mayHaveAlpha: false },
  },
  {
    of: 'a progressive JPEG by sharp',
    bytes: () => sized().jpeg({ progressive: true, chromaSubsampling: '4:4:4' }).toBuffer(),
    header: { form: 'progressive JPEG', rowPixelBytes: 3, heldBytes: W * H * 3 * 2, mayHaveAlpha: false },
  },
  {
    of: 'a PNG',
    bytes: () => png(8, 4, false),
    header: { form: 'PNG', rowPixelBytes: 4, heldBytes: 0, mayHaveAlpha: true },
  },
  {
    of: 'an interlaced PNG',
    bytes: () => png(8, 4, true),
    header: { form: 'interlaced PNG', rowPixelBytes: 4, heldBytes: W * H * 4, mayHaveAlpha: true },
  },
  {
    of: 'an interlaced PNG of 16 bits',
    bytes: () => png(16, 4, true),
    header: { form: 'interlaced PNG', rowPixelBytes: 8, heldBytes: W * H * 8, mayHaveAlpha: true },
  },
  {
    of: 'a PNG with a palette',
    bytes: () => sized().png({ palette: true }).toBuffer(),
    header: { form: 'PNG', rowPixelBytes: 4, heldBytes: 0, mayHaveAlpha: true },
  },
  {
    of: 'a lossy WebP',
    bytes: () => sized().webp().toBuffer(),
    header: { form: 'WebP', rowPixelBytes: 0, heldBytes: W * H * 4, mayHaveAlpha: false },
  },
  {
    of: 'a lossless WebP',
    bytes: () => sized().webp({ lossless: true }).toBuffer(),
    header: { form: 'WebP', rowPixelBytes: 0, heldBytes: W * H * 4, mayHaveAlpha: false },
  },
  {
    of: 'a WebP with transparency',
    bytes: () => sized(4).webp().toBuffer(),
    header: { form: 'WebP', rowPixelBytes: 0, heldBytes: W * H * 4, mayHaveAlpha: true },
  },
  {
    of: 'an animated WebP',
    bytes: () => animatedWebp(3, W, H),
    header: { form: 'WebP', rowPixelBytes: 0, heldBytes: W * H * 8, mayHaveAlpha: true },
  },
];

function sized(channels: 3 | 4 = 3) {
  return sharp({ create: { width: W, height: H, channels, background: { r: 9, g: 99, b: 199, alpha: 0.4 } } });
}

describe('the cost of decoding a picture', () => {
  for (const { of, bytes, header } of FILES) {
    it(`of ${of} is known from its header`, async () => {
      const whole = await bytes();
      expect(readImageHeader(whole)).to.deep.equal({ ...header, widthPx: W, heightPx: H });
      expect(decodeBytesOf(whole)).to.equal(header.heldBytes + W * header.rowPixelBytes * Math.min(2 * H, 1_600));
    });

    it(`of ${of} is unknown before the header is complete, and then does not change`, async () => {
      const whole = await bytes();
      const answers = Array.from({ length: Math.min(2_000, whole.byteLength) }, (_, kept) =>
        readImageHeader(whole.subarray(0, kept)),
      );
      const known = answers.findIndex((answer) => answer !== 'more');
      expect(known).to.be.greaterThan(0);
      for (const answer of answers.slice(known)) expect(answer).to.deep.equal(readImageHeader(whole));
    });
  }

  it('is zero for a file that is not a picture, and unbounded for an endless header', () => {
    expect(decodeBytesOf(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'))).to.equal(0);
    const padding = Buffer.concat([Buffer.of(0xff, 0xe1, 0xff, 0xff), Buffer.alloc(0xfffd)]);
    expect(
      decodeBytesOf(
        Buffer.concat([Buffer.of(0xff, 0xd8), ...Array.from({ length: 5 }, () => padding)]).subarray(
          0,
          MAX_HEADER_BYTES,
        ),
      ),
    ).to.equal(Infinity);
  });

  it('is a number for any bytes', async () => {
    const heads = [
      ...(await Promise.all((['png', 'jpeg', 'webp'] as const).map((format) => image(format)))),
      jpeg({ scans: 'progressive' }).subarray(0, 200),
    ];
    const damage = fc.array(fc.tuple(fc.nat(199), fc.integer({ min: 0, max: 255 })), { maxLength: 12 });
    forAllSync(2_000, [fc.constantFrom(...heads), damage, fc.nat(200)], (head, changes, kept) => {
      const damaged = Uint8Array.from(head.subarray(0, kept));
      for (const [at, byte] of changes) if (at < damaged.byteLength) damaged[at] = byte;
      expect(decodeBytesOf(damaged)).to.be.at.least(0);
    });
  });
});

// Goal: a format that no output can have is known by its name before anything is made, and no other is refused.
// Method: names, extensions and media types as providers write them.

const CASES: readonly (readonly [format: string, image: 'taken' | 'refused', video: 'taken' | 'refused'])[] = [
  ['png', 'taken', 'refused'],
  ['JPEG', 'taken', 'refused'],
  ['.jpg', 'taken', 'refused'],
  ['image/webp', 'taken', 'refused'],
  ['mp4', 'refused', 'taken'],
  ['video/mp4', 'refused', 'taken'],
  ['video/mp4; codecs="avc1.64001f"', 'refused', 'taken'],
  ['video/mp4; codecs="hvc1.1.6.L93.B0"', 'refused', 'refused'],
  ['video/h264-mp4', 'refused', 'taken'],
  ['video/nvenc_hevc-mp4', 'refused', 'refused'],
  ['video/av1-mp4', 'refused', 'taken'],
  ['video/mp4; codecs="vp09.00.10.08"', 'refused', 'taken'],
  ['video/mp4; codecs="av01.0.04M.08"', 'refused', 'taken'],
  ['vp8', 'refused', 'refused'],
  ['webm', 'refused', 'refused'],
  ['video/webm', 'refused', 'refused'],
  ['.AVI', 'refused', 'refused'],
  ['video/x-matroska', 'refused', 'refused'],
  ['image/gif', 'refused', 'refused'],
  ['auto', 'taken', 'taken'],
  ['', 'taken', 'taken'],
  ['constructor', 'taken', 'taken'],
];

describe('formatFault', () => {
  for (const [format, ofImage, video] of CASES) {
    it(`of "${format}": ${ofImage} for an image, ${video} for a video`, () => {
      const answer = (modality: 'image' | 'video') =>
        formatFault(format, modality) === undefined ? 'taken' : 'refused';
      expect([answer('image'), answer('video')]).to.deep.equal([ofImage, video]);
    });
  }

  it('without a modality refuses what no output can have, and nothing else', () => {
    const refused = CASES.filter(([format]) => formatFault(format) !== undefined).map(([format]) => format);
    expect(refused).to.deep.equal(
      CASES.filter(([, ofImage, video]) => ofImage === 'refused' && video === 'refused').map(([format]) => format),
    );
  });

  it('names the format and what is delivered', () => {
    expect(formatFault('webm', 'video')).to.equal(
      '"webm" cannot be delivered: a video is delivered as MP4 with H.264, AV1 or VP9.',
    );
    expect(formatFault('.avi')).to.equal(
      '".avi" cannot be delivered: an image is delivered as PNG, JPEG or WebP, a video is delivered as MP4 with H.264, AV1 or VP9.',
    );
  });
});

// Goal: the mark of an output says what the operator, the model's entry and the generation say, in that order.
// Method: each of them with each of its values.

const MODEL = { displayName: 'Studio still' };
const [FROM_WORDS, FROM_FILES] = [{ references: [] }, { references: ['a file'] }];

describe('the mark of an output', () => {
  it('says by the references how it came into being, and names nothing by default', () => {
    expect(markOf(DEFAULT_MARK_POLICY, MODEL, FROM_WORDS)).to.deep.equal({ sourceType: 'trainedAlgorithmicMedia' });
    expect(markOf(DEFAULT_MARK_POLICY, MODEL, FROM_FILES)).to.deep.equal({
      sourceType: 'compositeWithTrainedAlgorithmicMedia',
    });
  });

  it('has the source type and the names that the catalog entry gives', () => {
    for (const source of DIGITAL_SOURCE_TYPES)
      for (const g of [FROM_WORDS, FROM_FILES])
        expect(markOf(DEFAULT_MARK_POLICY, { ...MODEL, mark: { source } }, g)).to.deep.equal({ sourceType: source });
    const named = { source: 'by-references', system: 'Imager', systemVersion: '2' } as const;
    expect(markOf(DEFAULT_MARK_POLICY, { ...MODEL, mark: named }, FROM_WORDS)).to.deep.equal({
      sourceType: 'trainedAlgorithmicMedia',
      system: 'Imager',
      systemVersion: '2',
    });
  });

  it('names the model where the operator wants it, and the entry names no system', () => {
    const policy = { ...DEFAULT_MARK_POLICY, namesModel: true };
    expect(markOf(policy, MODEL, FROM_WORDS)).to.include({ system: 'Studio still' });
    expect(markOf(policy, { ...MODEL, mark: { source: 'by-references', system: 'Imager' } }, FROM_WORDS)).to.include({
      system: 'Imager',
    });
  });

  it('is not written where the operator or the entry of the model says so', () => {
    expect(markOf({ ...DEFAULT_MARK_POLICY, isWritten: false }, MODEL, FROM_WORDS)).to.equal(undefined);
    expect(markOf(DEFAULT_MARK_POLICY, { ...MODEL, mark: { source: 'none' } }, FROM_FILES)).to.equal(undefined);
  });
});
