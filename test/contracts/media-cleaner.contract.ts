// Goal: a cleaner removes metadata wherever tools write it, and nothing of the picture or the video; whatever it is
// given, what the probe accepts afterwards has none.
// Method: files with a marker at each such place, made by encoders and by hand, looked at with decoders before and
// after; the same files in other pieces, damaged and cut; and arbitrary bytes.
import { expect } from 'chai';
import fc from 'fast-check';
import sharp from 'sharp';
import type { CleanOptions, MediaCleaner } from '../../core/ports/media.js';
import { breakingOff, bytesOf, collected, inPieces } from '../fixtures/byte-streams.js';
import { animatedWebp, type FixtureFormat, image } from '../fixtures/images.js';
import { partsOf } from '../fixtures/marked-media.js';
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
import {
  box,
  lastIndex,
  muxedWithSubtitles,
  muxedWithTags,
  packetsOf,
  TAGGED_VIDEOS,
  withinBox,
  withTrack,
} from '../fixtures/tagged-videos.js';
import { mp4 } from '../fixtures/videos.js';
import { contract, type ContractSubject } from './subject.js';
import { sizeOf } from '../harness/run-sizes.js';
import { forAll } from '../harness/for-all.js';

const FORMATS: readonly FixtureFormat[] = ['png', 'jpeg', 'webp'];
const TAGGED = { ...TAGGED_IMAGES, ...TAGGED_VIDEOS };
/** Neither a mark nor a manifest that is left out. */
const UNMARKED: CleanOptions = { manifests: 'keep' };
const MANIFEST_UUID = Buffer.from('d8fec3d61b0e483c92975828877ec481', 'hex');
const MANIFEST = 'a manifest, which is longer than one part of it may be in a JPEG';
const joined = (...parts: readonly Uint8Array[]): Uint8Array => Buffer.concat(parts);
const has = (bytes: Uint8Array, content: string) => Buffer.from(bytes).includes(content);

/** The visible content: every frame's pixels, or every sample with its time. */
async function shown(bytes: Uint8Array): Promise<unknown> {
  if (has(bytes.subarray(4, 8), 'ftyp')) return packetsOf(bytes);
  const { data, info } = await sharp(bytes, { animated: true }).raw().toBuffer({ resolveWithObject: true });
  return { data: data.toString('base64'), info };
}

/** One value set, a range left out, or a range of the file put in again elsewhere. */
function damagedBy(
  before: Uint8Array,
  how: string,
  { place, from, bytes, value }: { place: number; from: number; bytes: number; value: number },
): Uint8Array {
  const at = Math.floor(place * before.byteLength);
  const source = Math.floor(from * before.byteLength);
  if (how === 'remove') return joined(before.subarray(0, at), before.subarray(at + bytes));
  const put = how === 'set' ? Uint8Array.of(value) : before.subarray(source, source + bytes);
  return joined(before.subarray(0, at), put, before.subarray(how === 'set' ? at + 1 : at));
}

/** Files with a manifest and nothing else that describes them. */
const WITH_MANIFEST: Readonly<Record<string, () => Promise<Uint8Array>>> = {
  PNG: async () => withPngChunks(await image('png'), [pngChunk('caBX', MANIFEST)]),
  JPEG: async () => withJpegSegments(await image('jpeg'), jumbfSegments('c2pa', MANIFEST, 3)),
  WebP: async () => webpOf(webpChunks(await image('webp')), webpChunk('C2PA', MANIFEST)),
  MP4: async () => joined(await mp4(), box('uuid', MANIFEST_UUID, MANIFEST)),
};

/** A sample entry without fields beside those of all entries. */
const sampleEntry = (type: string, ...contents: readonly (string | Uint8Array)[]) =>
  box(type, Buffer.from([0, 0, 0, 0, 0, 0, 0, 1]), ...contents);

/** Tracks that play beside the pictures, and whose samples are texts. */
const OTHER_TRACKS: readonly (readonly [what: string, handler: string, entry: Uint8Array])[] = [
  ['a track of text', 'text', sampleEntry('text', Buffer.alloc(51))],
  ['a track of subtitles', 'sbtl', sampleEntry('tx3g', Buffer.alloc(38))],
  ['a track of subtitles in XML', 'subt', sampleEntry('stpp', 'http://www.w3.org/ns/ttml\0\0\0')],
  ['a track of metadata in text', 'meta', sampleEntry('mett', '\0application/json\0')],
  ['a track of metadata in XML', 'meta', sampleEntry('metx', '\0\0urn:x\0\0')],
  ['a track of metadata by keys', 'mdta', sampleEntry('mebx')],
  ['a track of text that says it is video', 'vide', sampleEntry('mett', '\0text/plain\0')],
  ['a track of text that says it is sound', 'soun', sampleEntry('tx3g', Buffer.alloc(38))],
  ['a track of an unknown kind', 'zzzz', sampleEntry('avc1', Buffer.alloc(70))],
];

export function mediaCleanerContract(subject: ContractSubject<MediaCleaner>): void {
  contract('MediaCleaner contract', subject, (cleaner) => {
    const cleaned = async (bytes: Uint8Array, pieceBytes = 1_000) =>
      collected(cleaner().clean(inPieces(bytes, pieceBytes), UNMARKED).bytes);

    for (const [what, bytes] of Object.entries(TAGGED)) {
      it(`removes all metadata of ${what}, and shows it the same`, async () => {
        const before = await bytes();
        expect(has(before, MARKER), 'the file is tagged').to.equal(true);
        const after = await cleaned(before);
        expect(has(after, MARKER)).to.equal(false);
        expect(await probed(after)).to.not.have.property('invalid');
        expect(await shown(after)).to.deep.equal(await shown(before));
      });
    }

    it('changes nothing that is clean already', async () => {
      for (const bytes of Object.values(TAGGED)) {
        const once = await cleaned(await bytes());
        expect(await cleaned(once)).to.deep.equal(once);
      }
    });

    it('changes no file that has no metadata', async () => {
      const files = [
        await animatedWebp(3),
        await mp4(),
        ...(await Promise.all(FORMATS.map((format) => image(format)))),
      ];
      for (const bytes of files) expect(await cleaned(bytes)).to.deep.equal(bytes);
    });

    for (const format of FORMATS) {
      it(`keeps the colour profile and each orientation of a ${format.toUpperCase()}`, async () => {
        for (let orientation = 1; orientation <= 8; orientation += 1) {
          const before = await encodedWithMetadata(format, orientation);
          const after = await cleaned(before);
          const [had, kept] = [await sharp(before).metadata(), await sharp(after).metadata()];
          expect([kept.orientation ?? 1, kept.icc, kept.xmp, has(after, MARKER)]).to.deep.equal([
            orientation,
            had.icc,
            undefined,
            false,
          ]);
        }
      });
    }

    it('keeps an orientation in either order of bytes, with or without a prefix', async () => {
      for (const order of ['BE', 'LE'] as const) {
        const exif = exifTiff(6, order);
        const prefixed = joined(bytesOf('Exif\0\0'), exif);
        const [png, jpeg, webp] = [await image('png'), await image('jpeg'), webpChunks(await image('webp', 60, 40))];
        for (const bytes of [
          withPngChunks(png, [pngChunk('eXIf', exif)]),
          withJpegSegments(jpeg, [jpegSegment(0xe1, prefixed)]),
          withJpegSegments(jpeg, [jpegSegment(0xe1, joined(Buffer.from('Exif\0\xff', 'latin1'), exif))]),
          webpOf(webpCanvas(0x08), webp, webpChunk('EXIF', exif)),
          webpOf(webpCanvas(0x08), webp, webpChunk('EXIF', prefixed)),
        ]) {
          const after = await cleaned(bytes);
          expect(has(after, MARKER)).to.equal(false);
          expect(await sharp(after).metadata()).to.have.property('orientation', 6);
        }
      }
    });

    it('keeps of several orientations of a PNG the one that browsers take', async () => {
      const [upright, turned] = [pngChunk('eXIf', exifTiff(1)), pngChunk('eXIf', exifTiff(6))];
      const damaged = Buffer.from(turned);
      damaged[damaged.length - 1]! ^= 1;
      for (const [chunks, kept] of [
        [[upright, turned], 1],
        [[damaged], 1],
        [[damaged, turned], 6],
        [[turned, upright], 6],
      ] as const) {
        const after = await cleaned(withPngChunks(await image('png', 60, 40), chunks));
        expect((await sharp(after).metadata()).orientation ?? 1).to.equal(kept);
        expect(partsOf(after).filter(({ type }) => type === 'eXIf').length).to.equal(kept === 1 ? 0 : 1);
      }
    });

    it('removes all but pixels, an orientation and a manifest behind the pixels of a PNG', async () => {
      const kept = [pngChunk('eXIf', exifTiff(6)), pngChunk('caBX', MANIFEST)];
      const removed = ['TEXT', 'PLTE', 'IHDR', 'gAMA'].map((type) => pngChunk(type, MARKER.slice(0, 4)));
      const png = await image('png');
      const after = await cleaned(withPngChunks(png, [], [...removed.slice(0, 2), ...kept, ...removed.slice(2)]));
      expect(partsOf(after).map(({ type }) => type)).to.deep.equal(
        partsOf(png).flatMap(({ type }) => (type === 'IEND' ? ['eXIf', type] : [type])),
      );
      expect(await probed(after)).to.not.have.property('invalid');
    });

    it('removes all but the picture of a WebP that begins with it', async () => {
      const before = webpOf(webpChunks(await image('webp')), webpChunk('ICCP', MARKER), webpChunk('ANIM', 'class_'));
      const after = await cleaned(before);
      expect(partsOf(after).map(({ type }) => type)).to.deep.equal(['VP8 ', 'JUNK', 'JUNK']);
      expect([has(after, 'class_'), await shown(after)]).to.deep.equal([false, await shown(before)]);
    });

    it('removes texts from boxes of a video of which other bytes are kept', async () => {
      const url = box('url ', Buffer.of(0, 0, 0, 1), MARKER);
      const inTrack = ['moov', 'trak'];
      const inMedia = [...inTrack, 'mdia', 'minf'];
      const inEntry = [...inMedia, 'stbl', 'stsd', 'avc1'];
      for (const [path, added] of [
        [inMedia, box('dinf', box('dref', Buffer.of(0, 0, 0, 0, 0, 0, 0, 1), url))],
        [inMedia, box('gmhd', box('tmcd', box('tcmi', MARKER)))],
        [inTrack, box('tapt', box('name', MARKER))],
        [inEntry, box('sinf', box('frma', 'avc1'), box('schi', box('name', MARKER)))],
        [inEntry, box('sv3d', box('svhd', Buffer.alloc(4), MARKER))],
      ] as const) {
        const before = withinBox(await lastIndex(), path, added);
        const after = await cleaned(before);
        expect(has(after, MARKER), added.toString('latin1', 4, 8)).to.equal(false);
        expect(await probed(after)).to.not.have.property('invalid');
        expect(await shown(after)).to.deep.equal(await shown(before));
        expect(await cleaned(after)).to.deep.equal(after);
      }
    });

    for (const [format, bytes] of Object.entries(WITH_MANIFEST)) {
      it(`keeps the C2PA manifest of a ${format}`, async () => {
        const before = await bytes();
        expect(await probed(before)).to.not.have.property('invalid');
        expect(await cleaned(before)).to.deep.equal(before);
      });
    }

    it('keeps the short name that a program gives a track, as a manifest covers it', async () => {
      const after = await cleaned(await muxedWithTags('index first', 'mdta', 'VideoHandler'));
      expect([has(after, 'VideoHandler'), has(after, MARKER)]).to.deep.equal([true, false]);
    });

    it('keeps what determines how a PNG is shown', async () => {
      const chunks = [
        pngChunk('sRGB', '\0'),
        pngChunk('gAMA', '\0\0\xb1\x8f'),
        pngChunk('pHYs', '\0\0\0\x01\0\0\0\x01\0'),
        pngChunk('acTL', '\0\0\0\x01\0\0\0\0'),
      ];
      const before = withPngChunks(await image('png'), chunks);
      expect(await cleaned(before)).to.deep.equal(before);
    });

    it('leaves no text in the index of a video from where it cannot be read', async () => {
      for (const size of [0, 7, 0x7fffffff]) {
        const unreadable = Buffer.from(box('udta', MARKER));
        unreadable.writeUInt32BE(size);
        for (const path of [['moov'], ['moov', 'trak'], ['moov', 'trak', 'mdia', 'minf', 'stbl']]) {
          const after = await cleaned(withinBox(await lastIndex(), path, unreadable));
          expect(has(after, MARKER)).to.equal(false);
          expect(await probed(after)).to.not.have.property('invalid');
        }
      }
    });

    for (const [what, handler, entry] of OTHER_TRACKS) {
      it(`leaves ${what} to the probe, which refuses the video`, async () => {
        const before = await withTrack(handler, entry);
        expect(await shown(before), 'it plays').to.deep.equal(await shown(await lastIndex()));
        expect(await probed(await cleaned(before)))
          .to.have.property('invalid')
          .that.matches(/neither pictures nor sound/);
      });
    }

    it('keeps the codec of sound and removes other boxes beside it, in every version of its fields', async () => {
      for (const [version, fieldBytes] of [
        [0, 28],
        [1, 44],
        [2, 64],
      ] as const) {
        const fields = Buffer.alloc(fieldBytes - 8);
        fields.writeUInt16BE(version);
        const [codec, text] = [box('esds', 'a codec'), box('udta', 'a text of the entry')];
        const after = await cleaned(await withTrack('soun', sampleEntry('mp4a', fields, codec, text, codec)));
        const freed = Buffer.concat([codec, box('free', Buffer.alloc(text.length - 8)), codec]);
        expect(Buffer.from(after).includes(freed), `version ${version}`).to.equal(true);
      }
    });

    it('leaves subtitles that an encoder added to the probe, which refuses the video', async () => {
      for (const form of ['index first', 'index last', 'fragmented'] as const) {
        const before = await muxedWithSubtitles(form);
        expect(has(before, MARKER)).to.equal(true);
        expect(await probed(await cleaned(before)))
          .to.have.property('invalid')
          .that.matches(/neither pictures nor sound/);
      }
    });

    it('makes no segment of bytes that a removed one kept apart', async () => {
      const headless = jpegSegment(0xe1, MARKER).subarray(1);
      const apart = [Buffer.of(0xff), jpegSegment(0xfe, 'a comment'), headless];
      const jpeg = await image('jpeg');
      for (const bytes of [withJpegSegments(jpeg, apart), withJpegSegments(jpeg, [], apart)]) {
        const after = await cleaned(bytes);
        expect(partsOf(after).map(({ type }) => type)).to.deep.equal(partsOf(jpeg).map(({ type }) => type));
        expect(has(after, MARKER)).to.equal(false);
        expect(await probed(after)).to.not.have.property('invalid');
      }
    });

    it('passes other bytes through', async () => {
      for (const bytes of ['', 'GIF89a', '<svg>class_type</svg>', 'RIFF0000AVI LIST', '\x1aE\xdf\xa3webm'].map(bytesOf))
        expect(await cleaned(bytes)).to.deep.equal(bytes);
    });

    it('gives the same bytes whatever the pieces are', async () => {
      const files = await Promise.all(Object.values(TAGGED).map((bytes) => bytes()));
      const whole = await Promise.all(files.map((bytes) => cleaned(bytes, Infinity)));
      const sizes = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 60 });
      await forAll(300, [fc.nat({ max: files.length - 1 }), sizes], async (index, pieceSizes) => {
        async function* pieces(): AsyncGenerator<Uint8Array> {
          let at = 0;
          for (const size of pieceSizes) yield files[index]!.subarray(at, (at += size));
          yield files[index]!.subarray(at);
        }
        expect(await collected(cleaner().clean(pieces(), UNMARKED).bytes)).to.deep.equal(whole[index]);
      });
      for (const [index, bytes] of files.entries()) expect(await cleaned(bytes, 1)).to.deep.equal(whole[index]);
    });

    it('leaves no metadata in any damaged file that is still accepted', async () => {
      const files = await Promise.all(Object.values(TAGGED).map((bytes) => bytes()));
      const place = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
      const damage = fc.record({ place, from: place, bytes: fc.integer({ min: 1, max: 200 }), value: fc.nat(255) });
      const kind = fc.constantFrom('set', 'remove', 'repeat');
      const damages = fc.array(fc.tuple(kind, damage), { minLength: 1, maxLength: 3 });
      await forAll(sizeOf('damagedFiles'), [fc.constantFrom(...files), damages], async (bytes, changes) => {
        const damaged = changes.reduce((before, [how, change]) => damagedBy(before, how, change), bytes);
        const after = await cleaned(damaged);
        // A marker that was itself damaged may be anywhere and is not recognised.
        if (has(after, MARKER)) expect(await probed(after)).to.have.property('invalid');
      });
    });

    it('never makes a file complete that was cut', async () => {
      for (const what of ['a PNG from', 'a JPEG from', 'a WebP from', 'an MP4 (index last) with tags (mdta)']) {
        const [, make] = Object.entries(TAGGED).find(([name]) => name.startsWith(what))!;
        const bytes = await make();
        for (let cut = 1; cut <= 80; cut += 1) {
          const kept = bytes.subarray(0, bytes.byteLength - cut);
          if ('invalid' in (await probed(kept)))
            expect(await probed(await cleaned(kept)), `${what}, ${cut} bytes less`).to.have.property('invalid');
        }
      }
    });

    it('never throws for any bytes', async () => {
      const starts = ['', '\x89PNG\r\n\x1a\n', '\xff\xd8\xff', 'RIFF\xff\xff\0\0WEBP', '\0\0\0\x10ftypisom\0\0\0\0'];
      const start = fc.constantFrom(...starts.map((text) => Buffer.from(text, 'latin1')));
      await forAll(500, [start, fc.uint8Array({ maxLength: 300 })], async (first, rest) => {
        await cleaned(joined(first, rest), 7);
      });
    });

    it('passes a failure of the source on', async () => {
      const outcome = await collected(cleaner().clean(breakingOff(await image('png')), UNMARKED).bytes).catch(
        (error: Error) => error.message,
      );
      expect(outcome).to.equal('the line broke');
    });

    it('closes the source when the reader stops', async () => {
      const bytes = await image('png');
      let isClosed = false;
      async function* endless(): AsyncGenerator<Uint8Array> {
        try {
          for (;;) yield bytes;
        } finally {
          isClosed = true;
        }
      }
      for await (const piece of cleaner().clean(endless(), UNMARKED).bytes) if (piece.byteLength > 0) break;
      expect(isClosed).to.equal(true);
    });
  });
}
