// Goal: every cleaned file has exactly one mark or the provider's own manifest, never both, and ends where its content ends.
// Method: files of all formats with metadata, manifests, marks and other bytes at every place; what comes out is read by a
// reader that shares no code with the product, by decoders, and by a second cleaning, which must not change anything.
import { expect } from 'chai';
import fc from 'fast-check';
import sharp from 'sharp';
import { type AiMark, MAX_MARK_BYTES, MAX_SYSTEM_CHARACTERS } from '../../core/media/ai-mark.js';
import type { CleanOptions, MediaCleaner } from '../../core/ports/media.js';
import { bytesOf, collected, inPieces } from '../fixtures/byte-streams.js';
import { animatedWebp, type FixtureFormat, image } from '../fixtures/images.js';
import {
  COMPOSITE,
  countOf,
  formatOf,
  jpegXmp,
  mp4Xmp,
  packetOf,
  packetsIn,
  partsOf,
  pngXmp,
  TRAINED,
  webpXmp,
  withMark,
  withPartMoved,
} from '../fixtures/marked-media.js';
import { probed } from '../fixtures/media-probe.js';
import {
  encodedWithMetadata,
  exifTiff,
  jpegSegment,
  jumbfSegments,
  MARKER,
  pngChunk,
  TAGGED_IMAGES,
  webpCanvas,
  webpChunk,
  webpChunks,
  webpOf,
  withJpegSegments,
  withPngChunks,
} from '../fixtures/tagged-images.js';
import { box, endlessBox, lastIndex, muxedWithTags, packetsOf, TAGGED_VIDEOS } from '../fixtures/tagged-videos.js';
import { mp4 } from '../fixtures/videos.js';
import { contract, type ContractSubject } from './subject.js';
import { sizeOf } from '../harness/run-sizes.js';
import { forAll } from '../harness/for-all.js';

const KEEP: CleanOptions = { mark: TRAINED, manifests: 'keep' };
const DROP: CleanOptions = { mark: TRAINED, manifests: 'drop' };
const PACKET_ID = 'W5M0MpCehiHzreSzNTczkc9d';
const MANIFEST_UUID = Buffer.from('d8fec3d61b0e483c92975828877ec481', 'hex');
/** A part of a provider's manifest, with its text between other bytes. */
const SAYS_AI = `c2pa.actions ${'.'.repeat(50)} digitalSourceType http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia ${'.'.repeat(50)}`;
const SAYS_COMPOSITE = SAYS_AI.replace('trained', 'compositeWithTrained');
const SAYS_CAMERA = SAYS_AI.replace('trainedAlgorithmicMedia', 'digitalCapture');

const joined = (...parts: readonly Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts));

/** The visible content: every frame's pixels, or every sample with its time. The original may need a lenient decoder. */
async function shown(bytes: Uint8Array, failOn: 'none' | 'warning' = 'none'): Promise<unknown> {
  if (formatOf(bytes) === 'mp4') return packetsOf(bytes);
  const { data, info } = await sharp(bytes, { animated: true, failOn }).raw().toBuffer({ resolveWithObject: true });
  return { data: data.toString('base64'), info };
}

/** Files without metadata, one of each form that has its own place for the mark. */
const PLAIN: Readonly<Record<string, () => Promise<Uint8Array>>> = {
  'a PNG': () => image('png'),
  'a JPEG': () => image('jpeg'),
  'a JPEG with JFIF': async () =>
    withJpegSegments(await image('jpeg'), [jpegSegment(0xe0, 'JFIF\0\x01\x01\0\0\x01\0\x01\0\0')]),
  'a progressive JPEG': async () =>
    new Uint8Array(
      await sharp(await image('jpeg'))
        .jpeg({ progressive: true })
        .toBuffer(),
    ),
  'a grey JPEG': async () =>
    new Uint8Array(
      await sharp(await image('jpeg'))
        .grayscale()
        .jpeg()
        .toBuffer(),
    ),
  'a JPEG with fill bytes': async () => withJpegSegments(await image('jpeg'), [Buffer.of(0xff, 0xff, 0xff)]),
  'a WebP': () => image('webp'),
  'a lossless WebP': async () =>
    new Uint8Array(
      await sharp(await image('png'))
        .webp({ lossless: true })
        .toBuffer(),
    ),
  'a lossless WebP with alpha': async () =>
    new Uint8Array(
      await sharp(await image('png'))
        .ensureAlpha(0.5)
        .webp({ lossless: true })
        .toBuffer(),
    ),
  'a lossy WebP with alpha': async () =>
    new Uint8Array(
      await sharp(await image('png'))
        .ensureAlpha(0.5)
        .webp()
        .toBuffer(),
    ),
  'a WebP of one pixel': async () =>
    new Uint8Array(
      await sharp(await image('png', 1, 1))
        .webp()
        .toBuffer(),
    ),
  'an animated WebP': () => animatedWebp(3),
  'an MP4': () => mp4(),
  'an MP4 with its index last': () => lastIndex().then(withoutTags),
  'an MP4 with an index of fragments': () => muxedWithTags('fragmented', 'udta').then(withoutTags),
};

/** Cleans a file: free boxes replace its tags. */
let plainCleaner: MediaCleaner | undefined;
async function withoutTags(bytes: Uint8Array): Promise<Uint8Array> {
  return collected(plainCleaner!.clean(inPieces(bytes), { manifests: 'keep' }).bytes);
}

function fragmentIndex(size = 24): Uint8Array {
  const end = Buffer.alloc(8);
  end.writeUInt32BE(size, 4);
  return box('mfra', box('mfro', end));
}

/** The file with a manifest and nothing else that describes it, before the pixels or behind them. */
const WITH_MANIFEST: Readonly<Record<string, (manifest: string) => Promise<Uint8Array>>> = {
  'a PNG': async (manifest) => withPngChunks(await image('png'), [pngChunk('caBX', manifest)]),
  'a PNG behind its pixels': async (manifest) => withPngChunks(await image('png'), [], [pngChunk('caBX', manifest)]),
  'a JPEG': async (manifest) => withJpegSegments(await image('jpeg'), jumbfSegments('c2pa', manifest, 3)),
  'a JPEG in short parts': async (manifest) =>
    withJpegSegments(await image('jpeg'), jumbfSegments('c2pa', manifest, 3, 37)),
  'a JPEG behind its tables': async (manifest) => {
    const jpeg = await image('jpeg');
    const { at } = partsOf(jpeg).find(({ type }) => type === 'ffc0')!;
    return joined(jpeg.subarray(0, at), ...jumbfSegments('c2pa', manifest, 3), jpeg.subarray(at));
  },
  'a WebP': async (manifest) => webpOf(webpChunks(await image('webp')), webpChunk('C2PA', manifest)),
  'an extended WebP': async (manifest) =>
    webpOf(webpCanvas(0), webpChunks(await image('webp', 60, 40)), webpChunk('C2PA', manifest)),
  'an MP4': async (manifest) => joined(await mp4(), box('uuid', MANIFEST_UUID, manifest)),
  'an MP4 with an index of fragments': async (manifest) =>
    joined(await mp4(), box('uuid', MANIFEST_UUID, manifest), fragmentIndex()),
};

/** Adds metadata that is removed and does not affect the manifest. */
function withText(bytes: Uint8Array): Uint8Array {
  switch (formatOf(bytes)) {
    case 'png':
      return withPngChunks(bytes, [], [pngChunk('tEXt', `prompt\0${MARKER}`)]);
    case 'jpeg':
      return withJpegSegments(bytes, [], [jpegSegment(0xfe, MARKER)]);
    case 'webp':
      return webpOf(webpChunks(bytes), webpChunk('note', MARKER));
    case 'mp4':
      return joined(bytes, box('udta', MARKER));
  }
}

export function mediaMarksContract(subject: ContractSubject<MediaCleaner>): void {
  contract('MediaCleaner contract, marks', subject, (cleaner) => {
    beforeEach(() => {
      plainCleaner = cleaner();
    });

    /** Cleans as core does: once more if the first pass asks for it. */
    async function cleanedTwice(bytes: Uint8Array, options: CleanOptions, pieceBytes = 1_000) {
      const first = cleaner().clean(inPieces(bytes, pieceBytes), options);
      const once = await collected(first.bytes);
      const again = first.secondPass();
      if (again === undefined) return { after: once, passes: 1 };
      const second = cleaner().clean(inPieces(once, pieceBytes), again);
      const after = await collected(second.bytes);
      expect(second.secondPass(), 'a third pass').to.equal(undefined);
      return { after, passes: 2 };
    }
    const cleaned = async (bytes: Uint8Array, options = KEEP, pieceBytes?: number) =>
      (await cleanedTwice(bytes, options, pieceBytes)).after;

    async function expectMarked(after: Uint8Array, { sourceType }: AiMark = TRAINED): Promise<void> {
      expect(packetsIn(after)).to.deep.equal([String(Buffer.from(packetOf(sourceType)))]);
      expect([countOf(after, PACKET_ID), countOf(after, 'jumd'), countOf(after, MARKER)]).to.deep.equal([1, 0, 0]);
      expect(await probed(after)).to.not.have.property('invalid');
      if (formatOf(after) === 'mp4') return;
      const { xmp } = await sharp(after).metadata();
      expect(xmp && String(xmp)).to.equal(String(Buffer.from(packetOf(sourceType))));
    }

    for (const [what, make] of Object.entries(PLAIN)) {
      it(`adds the mark alone to ${what}, and shows it the same`, async () => {
        const before = await make();
        for (const mark of [TRAINED, COMPOSITE]) {
          const { after, passes } = await cleanedTwice(before, { mark, manifests: 'keep' });
          expect(after).to.deep.equal(withMark(before, mark));
          expect(passes).to.equal(1);
          await expectMarked(after, mark);
          expect(await shown(after)).to.deep.equal(await shown(before));
          for (const manifests of ['keep', 'drop'] as const)
            expect((await cleanedTwice(after, { mark, manifests })).after).to.deep.equal(after);
        }
        expect(await cleaned(before, { manifests: 'keep' })).to.deep.equal(before);
      });
    }

    it('makes a file longer by what the formats need for a packet of 440 bytes', async () => {
      const grown = async (what: string) => {
        const before = await PLAIN[what]!();
        return (await cleaned(before)).byteLength - before.byteLength;
      };
      const names = ['a PNG', 'a JPEG', 'a WebP', 'a lossy WebP with alpha', 'an MP4'];
      expect(packetOf('trainedAlgorithmicMedia').byteLength).to.equal(440);
      expect(packetOf('compositeWithTrainedAlgorithmicMedia').byteLength).to.equal(453);
      expect(await Promise.all(names.map(grown))).to.deep.equal([474, 473, 466, 448, 464]);
    });

    for (const [what, make] of Object.entries({ ...TAGGED_IMAGES, ...TAGGED_VIDEOS })) {
      it(`gives ${what} one mark in place of its metadata`, async () => {
        const before = await make();
        const after = await cleaned(before);
        await expectMarked(after);
        expect((await cleanedTwice(before, KEEP)).passes).to.equal(1);
        expect(await shown(after)).to.deep.equal(await shown(before));
        expect(await cleaned(after)).to.deep.equal(after);
        const remarked = await cleaned(after, { mark: COMPOSITE, manifests: 'keep' });
        await expectMarked(remarked, COMPOSITE);
        expect(await cleaned(remarked, { mark: COMPOSITE, manifests: 'keep' })).to.deep.equal(remarked);
        expect([countOf(await cleaned(after, { manifests: 'keep' }), PACKET_ID)]).to.deep.equal([0]);
      });
    }

    for (const format of ['png', 'jpeg', 'webp'] as const) {
      it(`marks a ${format.toUpperCase()} with a colour profile and each orientation`, async () => {
        for (let orientation = 1; orientation <= 8; orientation += 1) {
          const before = await encodedWithMetadata(format, orientation);
          const after = await cleaned(before);
          await expectMarked(after);
          const [had, kept] = [await sharp(before).metadata(), await sharp(after).metadata()];
          expect([kept.orientation ?? 1, kept.icc]).to.deep.equal([orientation, had.icc]);
        }
      });
    }

    it('names the system and its version, escaped, and without what XML does not allow', async () => {
      const mark = { ...TRAINED, system: 'A & B <"C">\0\ufffe\ud800', systemVersion: "2'é😀" };
      const names =
        '<Iptc4xmpExt:AISystemUsed>A &amp; B &lt;"C"&gt;</Iptc4xmpExt:AISystemUsed>' +
        "<Iptc4xmpExt:AISystemVersionUsed>2'é😀</Iptc4xmpExt:AISystemVersionUsed>";
      for (const make of Object.values(PLAIN))
        expect(packetsIn(await cleaned(await make(), { mark, manifests: 'keep' }))).to.deep.equal([
          String(Buffer.from(packetOf('trainedAlgorithmicMedia', names))),
        ]);
    });

    it('makes no file longer than a mark may, with the longest names', async () => {
      for (const character of ['&', '"', '<', '😀', 'é']) {
        const name = character.repeat(MAX_SYSTEM_CHARACTERS);
        const mark: AiMark = { ...COMPOSITE, system: name, systemVersion: name };
        for (const [what, make] of Object.entries(PLAIN)) {
          const before = await make();
          const after = await cleaned(before, { mark, manifests: 'keep' });
          expect(packetsIn(after), what).to.have.length(1);
          expect(after.byteLength - before.byteLength, `${what}, ${character}`).to.be.within(800, MAX_MARK_BYTES);
        }
      }
    });

    it('leaves one mark of several, wherever they are', async () => {
      const packet = packetOf('trainedAlgorithmicMedia');
      const [png, jpeg, webp, video] = [
        await image('png'),
        await image('jpeg'),
        await image('webp', 60, 40),
        await mp4(),
      ];
      const exif = jpegSegment(0xe1, joined(bytesOf('Exif\0\0'), exifTiff(6)));
      const [ours, app] = [jpegXmp(packet), jpegSegment(0xe2, `ICC_PROFILE\0\x01\x01${'.'.repeat(200)}`)];
      const files: Readonly<Record<string, Uint8Array>> = {
        'a PNG first': withPngChunks(png, [pngXmp(packet), pngChunk('gAMA', '\0\0\xb1\x8f')]),
        'a PNG twice': withPngChunks(png, [pngXmp(packet), pngXmp(packet)]),
        'a PNG behind its pixels': withPngChunks(png, [], [pngXmp(packet)]),
        'a PNG at both places': withPngChunks(png, [pngXmp(packet)], [pngXmp(packet)]),
        'a JPEG before EXIF': withJpegSegments(jpeg, [ours, exif]),
        'a JPEG behind others': withJpegSegments(jpeg, [app, ours]),
        'a JPEG twice': withJpegSegments(jpeg, [ours, ours]),
        'a JPEG behind its scan': withJpegSegments(jpeg, [], [ours]),
        'a WebP before its picture': webpOf(webpCanvas(0x04), webpXmp(packet), webpChunks(webp)),
        'a WebP twice': webpOf(webpCanvas(0x04), webpChunks(webp), webpXmp(packet), webpXmp(packet)),
        'a WebP without its flag': webpOf(webpCanvas(0), webpChunks(webp), webpXmp(packet)),
        'a WebP without a canvas': webpOf(webpChunks(webp), webpXmp(packet)),
        'a WebP before other bytes': webpOf(
          webpCanvas(0x04),
          webpChunks(webp),
          webpXmp(packet),
          webpChunk('note', MARKER),
        ),
        'a WebP with the flag alone': webpOf(webpCanvas(0x04), webpChunks(webp)),
        'an MP4 before others': joined(video, mp4Xmp(packet), box('free', bytesOf('1234'))),
        'an MP4 twice': joined(video, mp4Xmp(packet), mp4Xmp(packet)),
        'an MP4 behind its index': joined(video, fragmentIndex(), mp4Xmp(packet)),
        'an MP4 before its index': joined(video, mp4Xmp(packet), fragmentIndex()),
      };
      for (const [what, before] of Object.entries(files)) {
        for (const manifests of ['keep', 'drop'] as const) {
          const after = await cleaned(before, { mark: TRAINED, manifests });
          expect([what, packetsIn(after).length, countOf(after, PACKET_ID)]).to.deep.equal([what, 1, 1]);
          await expectMarked(after);
          expect(await shown(after), what).to.deep.equal(await shown(before));
          expect(await cleaned(after), what).to.deep.equal(after);
        }
      }
    });

    it('leaves a file that has the mark and nothing else as it is', async () => {
      const png = withPngChunks(await image('png'), [
        pngXmp(packetOf('trainedAlgorithmicMedia')),
        pngChunk('sRGB', '\0'),
      ]);
      const files = [png, ...(await Promise.all(Object.values(PLAIN).map(async (make) => withMark(await make()))))];
      for (const bytes of files) {
        const { after, passes } = await cleanedTwice(bytes, KEEP);
        expect(after).to.deep.equal(bytes);
        // The length of a WebP is stated before its mark is found.
        expect(passes).to.equal(formatOf(bytes) === 'webp' ? 2 : 1);
      }
    });

    it('removes XMP of other writers at every place where readers look', async () => {
      const [png, jpeg] = [await image('png'), await image('jpeg')];
      const xmp = bytesOf(`<x:xmpmeta>${MARKER} digitalCapture</x:xmpmeta>`);
      for (const before of [
        withPngChunks(png, [pngChunk('tEXt', `Raw profile type xmp\0\nxmp\n ${MARKER}`)], [pngXmp(xmp)]),
        withPngChunks(png, [pngXmp(xmp), pngXmp(xmp), pngChunk('zTXt', `Raw profile type xmp\0\0${MARKER}`)]),
        withJpegSegments(jpeg, [jpegXmp(xmp), jpegSegment(0xe1, `http://ns.adobe.com/xmp/extension/\0${MARKER}`)]),
      ])
        await expectMarked(await cleaned(before));
    });

    for (const [what, make] of Object.entries(WITH_MANIFEST)) {
      it(`keeps ${what} with a manifest that says AI byte for byte, and without a mark`, async () => {
        for (const manifest of [SAYS_AI, SAYS_COMPOSITE]) {
          const before = await make(manifest);
          expect(await probed(before)).to.not.have.property('invalid');
          for (const pieceBytes of [1, 7, 1_000, Infinity])
            expect(await cleaned(before, KEEP, pieceBytes)).to.deep.equal(before);
          expect(await cleaned(before, { manifests: 'keep' })).to.deep.equal(before);
        }
      });

      it(`drops the manifest of ${what} where something else is removed, where it does not say AI, or where the options say so`, async () => {
        const [ai, camera, damaged] = [await make(SAYS_AI), await make(SAYS_CAMERA), withText(await make(SAYS_AI))];
        const ours = withMarkInside(ai);
        for (const [before, options] of [
          [damaged, KEEP],
          [camera, KEEP],
          [ours, KEEP],
          [ai, DROP],
          [damaged, DROP],
        ] as const) {
          const after = await cleaned(before, options);
          await expectMarked(after);
          expect(countOf(after, 'digitalSourceType')).to.equal(0);
          expect(await shown(after)).to.deep.equal(await shown(before));
          expect(await cleaned(after)).to.deep.equal(after);
          expect(await cleaned(before, options, 1)).to.deep.equal(after);
        }
        for (const before of [damaged, camera]) {
          const after = await cleaned(before, { manifests: 'keep' });
          expect([countOf(after, 'jumd'), countOf(after, 'digitalSource'), countOf(after, PACKET_ID)]).to.deep.equal([
            0, 0, 0,
          ]);
          expect(await probed(after)).to.not.have.property('invalid');
        }
      });
    }

    /** Another Darkroom's mark beside a manifest, which is not alone then. */
    function withMarkInside(bytes: Uint8Array): Uint8Array {
      const packet = packetOf('trainedAlgorithmicMedia');
      switch (formatOf(bytes)) {
        case 'png':
          return withPngChunks(bytes, [pngXmp(packet)]);
        case 'jpeg':
          return withJpegSegments(bytes, [jpegXmp(packet)]);
        case 'webp':
          return webpOf(webpChunks(bytes), webpXmp(packet));
        case 'mp4':
          return joined(bytes, mp4Xmp(packet));
      }
    }

    it('drops both of two manifests, as readers take neither for valid', async () => {
      const [png, webp] = [await image('png'), webpChunks(await image('webp', 60, 40))];
      const [caBX, c2pa] = [pngChunk('caBX', SAYS_AI), webpChunk('C2PA', SAYS_AI)];
      const jumbf = [1, 2].flatMap((number) => jumbfSegments('c2pa', SAYS_AI, number));
      for (const before of [
        withPngChunks(png, [caBX, caBX]),
        withPngChunks(png, [caBX], [caBX]),
        webpOf(webpCanvas(0), webp, c2pa, c2pa),
        withJpegSegments(await image('jpeg'), jumbf),
      ])
        await expectMarked(await cleaned(before));
    });

    it('asks for one pass alone where the manifest comes before the place of the mark', async () => {
      for (const [what, passes] of [
        ['a PNG', 1],
        ['a PNG behind its pixels', 2],
        ['a JPEG', 1],
        ['a JPEG behind its tables', 2],
        ['a WebP', 2],
        ['an MP4', 1],
      ] as const)
        expect([what, (await cleanedTwice(await WITH_MANIFEST[what]!(SAYS_AI), KEEP)).passes]).to.deep.equal([
          what,
          passes,
        ]);
    });

    it('finds the words of a manifest across the parts of a JPEG', async () => {
      for (let partBytes = 20; partBytes < 60; partBytes += 1) {
        const before = withJpegSegments(await image('jpeg'), jumbfSegments('c2pa', SAYS_COMPOSITE, 3, partBytes));
        expect(await cleaned(before)).to.deep.equal(before);
      }
    });

    for (const [what, junk] of Object.entries({
      'a line feed': bytesOf('\n'),
      'zeros': new Uint8Array(3_000),
      'a text': bytesOf(`${MARKER} and more of it`),
      'bytes like a marker': Uint8Array.of(0xff, 0xd8, 0xff, 0xe1, 0, 4, 1, 2, 0xff, 0xd9),
    })) {
      it(`cuts ${what} behind the end of a file`, async () => {
        for (const make of Object.values(PLAIN)) {
          const plain = await make();
          for (const options of [KEEP, { manifests: 'keep' } as const])
            expect(await cleaned(joined(plain, junk), options)).to.deep.equal(await cleaned(plain, options));
        }
      });
    }

    it('cuts another file behind the end of a picture, and drops a manifest with it', async () => {
      const formats: readonly FixtureFormat[] = ['png', 'jpeg', 'webp'];
      for (const format of formats) {
        const plain = await image(format);
        for (const other of [await mp4(), await image('jpeg'), await image('png')])
          expect(await cleaned(joined(plain, other))).to.deep.equal(withMark(plain));
      }
      for (const make of Object.values(WITH_MANIFEST))
        await expectMarked(await cleaned(joined(await make(SAYS_AI), bytesOf('\n'))));
    });

    it('removes bytes between the segments of a JPEG', async () => {
      const jpeg = await image('jpeg');
      const parts = partsOf(jpeg);
      const stray = joined(bytesOf('some bytes of a camera'), Uint8Array.of(0xff, 0, 0xff, 0, 1, 0xff, 0xff, 0, 7));
      for (const { at } of parts) {
        const before = joined(jpeg.subarray(0, at), stray, jpeg.subarray(at));
        const after = await cleaned(before);
        await expectMarked(after);
        expect(countOf(after, 'camera')).to.equal(0);
        expect(await shown(after, 'warning')).to.deep.equal(await shown(before));
        expect(await cleaned(after)).to.deep.equal(after);
        expect(await cleaned(before, KEEP, 1)).to.deep.equal(after);
      }
    });

    for (const [what, spoil] of Object.entries<(jpeg: Buffer, of: ReturnType<typeof partsOf>) => Uint8Array>({
      'a scan header with other coefficients': (jpeg, parts) => {
        jpeg.set([1, 0, 0x21], parts.at(-1)!.end - 3);
        return jpeg;
      },
      'an Adobe transform that is unknown': (jpeg) =>
        withJpegSegments(jpeg, [jpegSegment(0xee, 'Adobe\0\x64\0\0\0\0\x09')]),
      'an Adobe transform of four components': (jpeg) =>
        withJpegSegments(jpeg, [jpegSegment(0xee, 'Adobe\0\x64\0\0\0\0\x02')]),
      'an unknown Adobe transform behind the frame': (jpeg, parts) =>
        joined(
          jpeg.subarray(0, parts.at(-1)!.at),
          jpegSegment(0xee, 'Adobe\0\x64\0\0\0\0\x05'),
          jpeg.subarray(parts.at(-1)!.at),
        ),
      'a JFIF version of the future': (jpeg) =>
        withJpegSegments(jpeg, [jpegSegment(0xe0, 'JFIF\0\x07\x01\0\0\x01\0\x01\0\0')]),
    })) {
      it(`corrects ${what}, which a decoder warns about and does not use`, async () => {
        const jpeg = await image('jpeg');
        const before = spoil(Buffer.from(jpeg), partsOf(jpeg));
        expect(await shown(before, 'warning').catch(() => 'a warning'), 'it warns').to.equal('a warning');
        const after = await cleaned(before);
        await expectMarked(after);
        expect(await shown(after, 'warning')).to.deep.equal(await shown(before));
        expect(await cleaned(after)).to.deep.equal(after);
      });
    }

    it('corrects an unknown Adobe transform of four components', async () => {
      const cmyk = new Uint8Array(
        await sharp(await image('png'))
          .toColourspace('cmyk')
          .jpeg()
          .toBuffer(),
      );
      const adobe = partsOf(cmyk).find(({ type }) => type === 'ffee')!;
      for (const transform of [1, 7]) {
        const before = Uint8Array.from(cmyk);
        before[adobe.at + 15] = transform;
        expect(await shown(before, 'warning').catch(() => 'a warning'), 'it warns').to.equal('a warning');
        const after = await cleaned(before);
        expect(packetsIn(after)).to.have.length(1);
        expect(await shown(after, 'warning')).to.deep.equal(await shown(before));
        expect(await cleaned(after)).to.deep.equal(after);
      }
    });

    it('marks a WebP whose last chunk is not padded', async () => {
      for (const sides of [
        [10, 10],
        [11, 10],
        [12, 11],
        [13, 17],
        [15, 16],
      ] as const) {
        const plain = await image('webp', ...sides);
        const odd = partsOf(webpOf(webpChunks(plain), webpChunk('note', 'odd')));
        expect(odd.at(-1)!.data.length % 2).to.equal(1);
        const padded = Buffer.from(webpOf(webpChunks(plain), webpChunk('note', 'odd')));
        const unpadded = Buffer.from(padded.subarray(0, -1));
        unpadded.writeUInt32LE(unpadded.length - 8, 4);
        await expectMarked(await cleaned(unpadded));
        expect(await cleaned(unpadded)).to.deep.equal(await cleaned(padded));
      }
    });

    it('leaves a WebP to the probe whose stated size is short by as much as the mark is long', async () => {
      const markBytes = webpXmp(packetOf('trainedAlgorithmicMedia')).length;
      const picture = webpChunks(await image('webp', 60, 40));
      for (const [chunks, shortBytes] of [
        [[webpCanvas(0), webpChunk('note', new Uint8Array(500)), picture], markBytes],
        [[picture, webpChunk('note', new Uint8Array(500))], markBytes + 18],
        [[webpCanvas(0), picture, webpChunk('C2PA', SAYS_AI), webpChunk('note', new Uint8Array(500))], markBytes],
      ] as const) {
        const before = Buffer.from(webpOf(...chunks));
        before.writeUInt32LE(before.length - 8 - shortBytes, 4);
        expect(await probed(before)).to.have.property('invalid');
        for (const options of [KEEP, DROP])
          expect(await probed(await cleaned(before, options))).to.have.property('invalid');
      }
    });

    it('makes an unknown small box between others free, and ends the video at anything else', async () => {
      const video = await mp4();
      const small = box('junk', MARKER);
      const free = box('free', new Uint8Array(small.length - 8));
      const large = box('junk', new Uint8Array(70_000));
      const tail = box('free', new Uint8Array(8));
      const index = await lastIndex();
      const indexAt = partsOf(index).find(({ type }) => type === 'moov')!.at;
      const beforeIndex = (bytes: Uint8Array) => joined(index.subarray(0, indexAt), bytes, index.subarray(indexAt));
      for (const [before, plain] of [
        [joined(video, small), joined(video, free)],
        [joined(video, small, tail), joined(video, free, tail)],
        [joined(video, tail, small.subarray(0, -1)), joined(video, tail)],
        [joined(video, large, tail), video],
        [joined(video, box('ju\0k', MARKER), tail), video],
        [joined(video, endlessBox('junk', MARKER)), video],
      ] as const) {
        const after = await cleaned(before);
        expect(after).to.deep.equal(withMark(plain));
        await expectMarked(after);
      }
      const after = await cleaned(beforeIndex(small));
      expect(after).to.deep.equal(await cleaned(beforeIndex(free)));
      await expectMarked(after);
    });

    it('writes the mark before a last index of fragments alone', async () => {
      const video = await mp4();
      const large = box('mfra', box('mfro', new Uint8Array(70_000)));
      const freed = (bytes: Uint8Array) => box('free', new Uint8Array(bytes.length - 8));
      for (const [before, plain] of [
        [joined(video, fragmentIndex()), joined(video, fragmentIndex())],
        [joined(video, fragmentIndex(), bytesOf('\n')), joined(video, fragmentIndex())],
        [joined(video, fragmentIndex(), box('free')), joined(video, freed(fragmentIndex()), box('free'))],
        [joined(video, large), joined(video, freed(large))],
      ] as const)
        expect(await cleaned(before)).to.deep.equal(withMark(plain));
    });

    it('writes no mark where the last box of a video has no size, which would have the mark in it', async () => {
      const [video, index] = [await mp4(), await lastIndex()];
      const size0 = (bytes: Uint8Array, type: string) => {
        const { at } = partsOf(bytes).findLast((part) => part.type === type)!;
        const open = Buffer.from(bytes);
        open.writeUInt32BE(0, at);
        return open;
      };
      for (const before of [
        joined(video, endlessBox('udta', 'a text')),
        joined(video, endlessBox('free', 'a text')),
        size0(index, 'moov'),
        size0(joined(video, box('mdat', 'more')), 'mdat'),
      ]) {
        const after = await cleaned(before);
        expect([
          after.byteLength,
          packetsIn(after).length,
          countOf(after, PACKET_ID),
          countOf(after, 'a text'),
        ]).to.deep.equal([before.byteLength, 0, 0, 0]);
      }
    });

    it('never makes a file complete that was cut, by the mark', async () => {
      for (const [what, make] of Object.entries(PLAIN)) {
        const bytes = await make();
        for (let cut = 1; cut <= 80; cut += 1) {
          const kept = bytes.subarray(0, bytes.byteLength - cut);
          if (!('invalid' in (await probed(kept)))) continue;
          const after = await cleaned(kept);
          const isRefused = 'invalid' in (await probed(after));
          // A video is complete without the last box, of which too little was left to be one.
          if (!isRefused) expect(await shown(after), `${what}, ${cut} bytes less`).to.deep.equal(await shown(bytes));
          expect(isRefused || formatOf(bytes) === 'mp4', `${what}, ${cut} bytes less`).to.equal(true);
        }
      }
      const video = await mp4();
      for (let missing = 1; missing < 500; missing += 7) {
        const before = joined(video, box('free', new Uint8Array(500)).subarray(0, -missing));
        expect(await cleaned(before), `a box without its last ${missing} bytes`).to.deep.equal(before);
      }
    });

    it('gives an accepted file one mark or its manifest, whatever is damaged and however it comes', async () => {
      const manifests = Object.values(WITH_MANIFEST).flatMap((make) => [make(SAYS_AI), make(SAYS_CAMERA)]);
      const tagged = Object.values({ ...PLAIN, ...TAGGED_IMAGES }).map(async (make) => make());
      const files = await Promise.all([...manifests, ...tagged]);
      const place = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
      const damage = fc.option(fc.record({ place, value: fc.nat(255), bytes: fc.integer({ min: 0, max: 40 }) }));
      const move = fc.record({ from: place, to: place, isCopy: fc.boolean(), isCounted: fc.boolean() });
      const options = fc.record({
        mark: fc.constantFrom(TRAINED, COMPOSITE),
        manifests: fc.constantFrom('keep' as const, 'drop' as const),
      });
      await forAll(
        sizeOf('damagedFiles'),
        [
          fc.constantFrom(...files),
          fc.boolean(),
          fc.array(move, { maxLength: 2 }),
          fc.array(damage, { maxLength: 2 }),
          options,
          fc.integer({ min: 1, max: 900 }),
        ],
        async (file, isMarkedBefore, moves, damages, how, pieceBytes) => {
          const made = isMarkedBefore ? await cleaned(file, { mark: COMPOSITE, manifests: 'keep' }) : file;
          let before = moves.reduce((bytes, one) => withPartMoved(bytes, one), made);
          for (const one of damages) {
            if (one === null) continue;
            const at = Math.floor(one.place * before.byteLength);
            before = joined(before.subarray(0, at), Uint8Array.of(one.value), before.subarray(at + one.bytes));
          }
          const after = await cleaned(before, how, pieceBytes);
          expect(await cleaned(before, how, Infinity)).to.deep.equal(after);
          if ('invalid' in (await probed(after))) return;
          expect(await cleaned(after, how)).to.deep.equal(after);
          const isKept =
            how.manifests === 'keep' && Buffer.from(after).equals(before) && countOf(after, PACKET_ID) === 0;
          if (isKept) expect(after).to.satisfy((bytes: Uint8Array) => countOf(bytes, 'AlgorithmicMedia') > 0);
          else await expectMarked(after, how.mark);
        },
      );
    });
  });
}
