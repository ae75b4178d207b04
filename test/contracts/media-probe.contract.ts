// Goal: a probe reports what the bytes are, trusts no name, and refuses anything that does not begin with a whole image or
// video.
// Method: invalid bytes first, made from valid ones by cutting, joining and damaging; then each valid kind; then random
// damage.
import { expect } from 'chai';
import fc from 'fast-check';
import type { MediaProbe } from '../../core/ports/media.js';
import { breakingOff, bytesOf, fileOf, streamedFile } from '../fixtures/byte-streams.js';
import { animatedWebp, type FixtureFormat, image } from '../fixtures/images.js';
import { largeJpeg, largePng, SAMPLING_444 } from '../fixtures/large-media.js';
import { mp4 } from '../fixtures/videos.js';
import { realImagesContract } from './real-images.contract.js';
import { contract, type ContractSubject } from './subject.js';
import { forAll } from '../harness/for-all.js';

const LIMITS = { maxPixels: 1_000_000, decode: 'full' } as const;
const FORMATS: readonly FixtureFormat[] = ['png', 'jpeg', 'webp'];
const joined = (...parts: readonly Uint8Array[]) => new Uint8Array(Buffer.concat(parts));

/** A PNG whose header says another size; its checksum is left wrong, as an attacker might. */
async function pngClaiming(widthPx: number, heightPx: number): Promise<Uint8Array> {
  const bytes = Buffer.from(await image('png'));
  bytes.writeUInt32BE(widthPx, 16);
  bytes.writeUInt32BE(heightPx, 20);
  return bytes;
}

const IMPOSTORS: readonly { readonly what: string; readonly bytes: () => Promise<Uint8Array> }[] = [
  { what: 'nothing at all', bytes: async () => new Uint8Array() },
  {
    what: 'an SVG',
    bytes: async () =>
      bytesOf('<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>'),
  },
  { what: 'an HTML page', bytes: async () => bytesOf('<!doctype html><script>alert(1)</script>') },
  { what: 'a PDF', bytes: async () => bytesOf('%PDF-1.7\n1 0 obj\n<<>>\nendobj\n%%EOF') },
  {
    what: 'a GIF',
    bytes: async () => Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64'),
  },
  { what: 'the PNG signature alone', bytes: async () => (await image('png')).subarray(0, 8) },
  {
    what: 'text after the JPEG signature',
    bytes: async () => joined(Uint8Array.of(0xff, 0xd8, 0xff, 0xe0), bytesOf('hello')),
  },
  { what: 'a PNG header of 60,000 by 60,000', bytes: async () => pngClaiming(60_000, 60_000) },
  { what: 'a PNG header of no width', bytes: async () => pngClaiming(0, 10) },
  { what: 'an MP4 without its index', bytes: async () => (await mp4()).subarray(0, 48) },
];

export function mediaProbeContract(subject: ContractSubject<MediaProbe>): void {
  realImagesContract(subject);
  contract('MediaProbe contract', subject, (probe) => {
    const asked = async (bytes: Uint8Array, limits: Partial<Parameters<MediaProbe['probe']>[1]> = {}) =>
      probe().probe(fileOf(bytes, 1000), { ...LIMITS, ...limits });
    async function refuses(bytes: Uint8Array, limits: Partial<Parameters<MediaProbe['probe']>[1]> = {}): Promise<void> {
      const answer = await asked(bytes, limits);
      expect(answer).to.have.property('invalid');
      expect((answer as { invalid: string }).invalid).to.match(/^[A-Z].*\.$/);
    }

    for (const { what, bytes } of IMPOSTORS) {
      for (const decode of ['header', 'full'] as const) {
        it(`refuses ${what} (${decode})`, async () => refuses(await bytes(), { decode }));
      }
    }

    it('names only the accepted kinds', async () => {
      for (const [kind, sentence] of [
        ['image', 'The file is not a PNG, JPEG or WebP image.'],
        ['video', 'The file is not an MP4 video.'],
      ] as const)
        expect(await asked(bytesOf('no picture at all'), { kind })).to.deep.equal({ invalid: sentence });
    });

    for (const format of FORMATS) {
      it(`refuses a ${format} truncated anywhere`, async () => {
        const whole = await image(format);
        for (const kept of [0.3, 0.6, 0.9])
          await refuses(whole.subarray(0, Math.floor(whole.byteLength * kept)), { decode: 'header' });
        await refuses(whole.subarray(0, whole.byteLength - 1), { decode: 'header' });
      });

      it(`refuses a ${format} beyond the limits, and accepts it at them`, async () => {
        const whole = await image(format);
        await refuses(whole, { maxPixels: 24 * 16 - 1, decode: 'header' });
        expect(await asked(whole, { maxPixels: 24 * 16 })).to.not.have.property('invalid');
      });

      for (const decode of ['header', 'full'] as const) {
        it(`reports the size of a ${format} (${decode})`, async () => {
          const whole = await image(format);
          expect(await asked(whole, { decode })).to.deep.equal({
            kind: 'image',
            mediaType: `image/${format}`,
            widthPx: 24,
            heightPx: 16,
            contentBytes: whole.byteLength,
          });
        });
      }
    }

    it('finds damage inside the pixels when it decodes them', async () => {
      const damaged = Uint8Array.from(await image('png'));
      for (let at = 100; at < 140; at += 1) damaged[at] = 0x55;
      await refuses(damaged);
    });

    it('refuses a file that takes too much memory to decode despite few pixels, and names an acceptable kind', async () => {
      const size = { widthPx: 640, heightPx: 480 };
      const costs: readonly (readonly [Uint8Array, number, RegExp])[] = [
        [
          largeJpeg({ ...size, sampling: SAMPLING_444, scans: 'progressive' }),
          640 * 480 * 6 + 640 * 3 * 960,
          /is a progressive JPEG of 640x480 pixels.*not progressive\.$/,
        ],
        [
          await largePng({ ...size, depth: 16, channels: 4, isInterlaced: true }),
          640 * 480 * 8 + 640 * 8 * 960,
          /is an interlaced PNG of 640x480 pixels.*not interlaced\.$/,
        ],
        [await image('webp', 640, 480), 640 * 480 * 4, /is a WebP of 640x480 pixels.*fewer pixels\.$/],
      ];
      for (const [bytes, decodeBytes, sentence] of costs) {
        for (const decode of ['header', 'full'] as const) {
          await refuses(bytes, { maxDecodeBytes: decodeBytes - 1, decode });
          expect(await asked(bytes, { maxDecodeBytes: decodeBytes - 1, decode }))
            .to.have.property('invalid')
            .that.matches(sentence);
          expect(await asked(bytes, { maxDecodeBytes: decodeBytes, decode })).to.include({ kind: 'image', ...size });
        }
      }
      const baseline = largeJpeg({ ...size, sampling: SAMPLING_444, scans: 'baseline' });
      expect(await asked(baseline, { maxDecodeBytes: 640 * 3 * 960 }), 'the same pixels').to.include({
        kind: 'image',
        ...size,
      });
    });

    it('counts every frame of an animation against the pixels allowed', async () => {
      const animation = await animatedWebp(4);
      await refuses(animation, { maxPixels: 24 * 16 * 4 - 1, decode: 'header' });
      expect(await asked(animation, { maxPixels: 24 * 16 * 4 })).to.deep.equal({
        kind: 'image',
        mediaType: 'image/webp',
        widthPx: 24,
        heightPx: 16,
        contentBytes: animation.byteLength,
      });
    });

    it('refuses an MP4 beyond the limits', async () => {
      await refuses(await mp4(), { maxPixels: 64 * 48 - 1 });
    });

    it('reports the size and duration of an MP4', async () => {
      const whole = await mp4(5);
      expect(await asked(whole)).to.deep.equal({
        kind: 'video',
        mediaType: 'video/mp4',
        widthPx: 64,
        heightPx: 48,
        durationMs: 500,
        contentBytes: whole.byteLength,
      });
    });

    it('stops reading as soon as there are too many bytes', async () => {
      let given = 0;
      let closed = false;
      const first = new Uint8Array(1000);
      first.set((await image('png')).subarray(0, 100));
      async function* endless(): AsyncGenerator<Uint8Array> {
        try {
          for (;;) {
            given += 1000;
            yield given === 1000 ? first : new Uint8Array(1000);
          }
        } finally {
          closed = true;
        }
      }
      expect(await probe().probe(streamedFile(endless(), 5000), LIMITS))
        .to.have.property('invalid')
        .that.includes('5000 bytes');
      expect(given).to.equal(6000);
      expect(closed).to.equal(true);
    });

    it('passes on a failure of the source, and keeps working', async () => {
      const whole = await image('png');
      for (let i = 0; i < 5; i += 1) {
        const outcome = await probe()
          .probe(streamedFile(breakingOff(whole), 100_000), LIMITS)
          .then(
            () => 'answered',
            (error: Error) => error.message,
          );
        expect(outcome).to.equal('the line broke');
      }
      expect(await asked(whole)).to.have.property('kind', 'image');
    });

    it('answers many probes concurrently', async () => {
      const whole = await image('jpeg');
      const answers = await Promise.all(Array.from({ length: 20 }, async () => asked(whole)));
      for (const answer of answers) expect(answer).to.have.property('kind', 'image');
    });

    it('never throws for damaged bytes', async () => {
      const wholes = [...(await Promise.all(FORMATS.map(async (format) => image(format)))), await mp4(2)];
      const damage = fc.array(
        fc.tuple(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), fc.integer({ min: 0, max: 255 })),
        { minLength: 1, maxLength: 8 },
      );
      await forAll(150, [fc.constantFrom(...wholes), damage], async (whole, changes) => {
        const damaged = Uint8Array.from(whole);
        for (const [where, byte] of changes) damaged[Math.floor(where * damaged.byteLength)] = byte;
        const answer = await asked(damaged);
        expect('invalid' in answer || answer.widthPx * answer.heightPx <= LIMITS.maxPixels).to.equal(true);
      });
    });
  });
}
