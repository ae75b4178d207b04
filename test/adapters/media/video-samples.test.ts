// Goal: a video is accepted only if it has every sample that its index names, and its size is what Chromium shows.
// Method: a whole file whose tables, boxes and headers are changed one at a time; the sizes are what Chromium reported as
// `videoWidth` and `videoHeight` for files with the same headers.
import { expect } from 'chai';
import fc from 'fast-check';
import { BufferTarget, EncodedPacket, EncodedVideoPacketSource, Mp4OutputFormat, Output } from 'mediabunny';
import { SharpMediaProbe } from '../../../adapters/media/sharp-media-probe.js';
import { fileOf } from '../../fixtures/byte-streams.js';
import { box, endlessBox, lastIndex, muxedWithTags, withinBox, words } from '../../fixtures/tagged-videos.js';
import { mp4WithPcm } from '../../fixtures/videos.js';

const LIMITS = { maxPixels: 1_000_000, decode: 'full', kind: 'video' } as const;
const FACTS = { kind: 'video', mediaType: 'video/mp4', widthPx: 64, heightPx: 48, durationMs: 1_000 } as const;
const MISSING = { invalid: 'The file does not have all samples that the index of the video names.' };
const ENTRY = ['moov', 'trak', 'mdia', 'minf', 'stbl', 'stsd', 'avc1'];

const probe = new SharpMediaProbe();
const probed = (bytes: Uint8Array) => probe.probe(fileOf(bytes), LIMITS);
/** A copy whose first (or last) box of a type has a number of 32 bits replaced, `at` behind its name. */
function withNumber(
  bytes: Uint8Array,
  type: string,
  at: number,
  value: number,
  which: 'first' | 'last' = 'first',
): Buffer {
  const copy = Buffer.from(bytes);
  const found = which === 'first' ? copy.indexOf(type) : copy.lastIndexOf(type);
  copy.writeUInt32BE(value >>> 0, found + 4 + at);
  return copy;
}
const numberIn = (bytes: Uint8Array, type: string, at: number): number => {
  const copy = Buffer.from(bytes);
  return copy.readUInt32BE(copy.indexOf(type) + 4 + at);
};
const [FIRST_PLACE, PLACES] = [8, 4];

/** A video of this codec with samples that cannot be decoded. */
async function muxed(codec: 'av1' | 'vp9', codecString: string): Promise<Uint8Array> {
  const target = new BufferTarget();
  const output = new Output({ format: new Mp4OutputFormat(), target });
  const source = new EncodedVideoPacketSource(codec);
  output.addVideoTrack(source);
  await output.start();
  const colorSpace = { primaries: 'bt709', transfer: 'bt709', matrix: 'bt709', fullRange: false } as const;
  const decoderConfig = { codec: codecString, codedWidth: 64, codedHeight: 48, colorSpace };
  for (let at = 0; at < 1; at += 0.1)
    await source.add(new EncodedPacket(new Uint8Array(40).fill(0x12), 'key', at, 0.1), { decoderConfig });
  await output.finalize();
  return new Uint8Array(target.buffer!);
}

describe('the samples of a video', () => {
  it('are refused where the index names a place outside of the media data', async () => {
    const whole = Buffer.from(await lastIndex());
    const dataAt = whole.indexOf('mdat') + 4;
    const dataEnd = dataAt - 8 + whole.readUInt32BE(dataAt - 8);
    for (const place of [0, dataAt - 1, dataEnd, dataEnd - 1, whole.indexOf('moov'), whole.length, 0xffff_ffff])
      expect(await probed(withNumber(whole, 'stco', FIRST_PLACE, place)), `${place}`).to.deep.equal(MISSING);
    expect(await probed(withNumber(whole, 'stco', PLACES, 0)), 'no chunks').to.deep.equal(MISSING);
    expect(await probed(withNumber(whole, 'stsz', 12, 0x00ff_ffff)), 'a large sample').to.deep.equal(MISSING);
  });

  it('are all looked at, not the first one alone', async () => {
    const whole = await lastIndex();
    const chunks = numberIn(whole, 'stco', PLACES);
    const samples = numberIn(whole, 'stsz', 8);
    await fc.assert(
      fc.asyncProperty(fc.nat(chunks - 1), fc.nat(samples - 1), fc.boolean(), async (chunk, sample, isPlace) => {
        const moved = isPlace
          ? withNumber(whole, 'stco', FIRST_PLACE + 4 * chunk, whole.byteLength)
          : withNumber(whole, 'stsz', 12 + 4 * sample, whole.byteLength);
        expect(await probed(moved)).to.deep.equal(MISSING);
      }),
      { numRuns: 30 },
    );
  });

  it('may be empty, but not all of them', async () => {
    const whole = await lastIndex();
    const samples = numberIn(whole, 'stsz', 8);
    expect(await probed(withNumber(whole, 'stsz', 12 + 4 * (samples - 1), 0))).to.include(FACTS);
    let empty: Uint8Array = whole;
    for (let sample = 0; sample < samples; sample += 1) empty = withNumber(empty, 'stsz', 12 + 4 * sample, 0);
    expect(await probed(empty)).to.have.property('invalid');
    expect(await probed(withNumber(whole, 'stsz', 8, 0))).to.have.property('invalid');
  });

  it('of sound are looked at, too', async () => {
    const whole = await mp4WithPcm(1);
    expect(await probed(whole)).to.include({ kind: 'video' });
    const last = Buffer.from(whole).lastIndexOf('stco') + 4;
    const chunks = Buffer.from(whole).readUInt32BE(last + PLACES);
    const moved = withNumber(whole, 'stco', FIRST_PLACE + 4 * (chunks - 1), whole.byteLength - 10, 'last');
    expect(await probed(moved)).to.deep.equal(MISSING);
  });

  it('of fragments are looked at, too', async () => {
    const whole = await muxedWithTags('fragmented', 'udta');
    expect(await probed(whole)).to.include(FACTS);
    const flags = numberIn(whole, 'trun', 0) & 0xffffff;
    expect(flags & 1, 'a run says where it begins').to.equal(1);
    for (const place of [-5_000_000, 0, whole.byteLength, 0x7fff_ffff])
      expect(await probed(withNumber(whole, 'trun', 8, place, 'last')), `${place}`).to.deep.equal(MISSING);
    const cut = Buffer.from(whole).lastIndexOf('mdat');
    const shorter = withNumber(whole, 'mdat', -8, 9, 'last').subarray(0, cut + 5);
    expect(await probed(shorter)).to.deep.equal(MISSING);
  });

  it('are refused where they are said to be in another file', async () => {
    const whole = await lastIndex();
    const flagsAt = Buffer.from(whole).indexOf('url ') + 4;
    const elsewhere = Buffer.from(whole);
    elsewhere.writeUInt32BE(0, flagsAt);
    // Without the flag there is an address, which takes room.
    const external = withinBox(
      whole,
      ['moov', 'trak', 'mdia', 'minf', 'dinf', 'dref'],
      box('url ', words(0), 'http://x.example/v.mp4'),
    );
    expect(await probed(elsewhere), 'a box without an address names no other file').to.include(FACTS);
    expect(await probed(external)).to.deep.equal(MISSING);
  });

  it('of millions are checked in bounded time', async () => {
    const whole = await lastIndex();
    // One size for all, so that the number is all there is.
    const many = withNumber(withNumber(whole, 'stsz', 4, 1), 'stsz', 8, 1_000_000);
    expect(await probed(many)).to.have.property('invalid');
  });
});

describe('the end of a video', () => {
  it('is refused where the last box states no size, and is before trailing zeros', async () => {
    const whole = await lastIndex();
    for (const type of ['mdat', 'free', 'moov'])
      expect(await probed(Buffer.concat([whole, endlessBox(type, 'x')])), type).to.deep.equal({
        invalid: 'The last box of the video does not state its size; send a file in which every box does.',
      });
    expect(await probed(Buffer.concat([whole, Buffer.alloc(5_000)]))).to.include({ contentBytes: whole.byteLength });
  });

  it('is behind small boxes that players do not know, and before anything else', async () => {
    const whole = Buffer.from(await lastIndex());
    const indexAt = whole.indexOf('moov') - 4;
    const unknown = box('abcd', Buffer.alloc(1_000));
    const between = Buffer.concat([whole.subarray(0, indexAt), unknown, whole.subarray(indexAt)]);
    expect(await probed(between)).to.include({ ...FACTS, contentBytes: between.length });
    const large = box('abcd', Buffer.alloc(100_000));
    expect(await probed(Buffer.concat([whole, large]))).to.include({ ...FACTS, contentBytes: whole.length });
    const before = Buffer.concat([whole.subarray(0, indexAt), large, whole.subarray(indexAt)]);
    expect(await probed(before)).to.deep.equal({ invalid: 'The file is damaged or incomplete.' });
  });

  it('is not within a box that is cut', async () => {
    const whole = await lastIndex();
    for (const type of ['free', 'uuid', 'mdat', 'moof', 'mfra'])
      expect(await probed(Buffer.concat([whole, box(type, Buffer.alloc(100)).subarray(0, 60)])), type).to.deep.equal({
        invalid: 'The file is damaged or incomplete.',
      });
  });
});

describe('the size of a video', () => {
  const UNIT = 0x1_0000;
  const tkhd = (bytes: Uint8Array, widthPx: number, heightPx: number) =>
    withNumber(withNumber(bytes, 'tkhd', 76, widthPx * UNIT), 'tkhd', 80, heightPx * UNIT);
  const matrix = (bytes: Uint8Array, [a, b, c, d]: readonly [number, number, number, number], header = 'tkhd') => {
    const at = header === 'tkhd' ? 40 : 36;
    return [a, b, c, d].reduce<Uint8Array>(
      (copy, value, index) => withNumber(copy, header, at + [0, 4, 12, 16][index]!, Math.round(value * UNIT)),
      Buffer.from(bytes),
    );
  };
  const pasp = (bytes: Uint8Array, width: number, height: number) =>
    withinBox(bytes, ENTRY, box('pasp', words(width, height)));
  const QUARTER = [0, 1, -1, 0] as const;

  const SIZES: readonly (readonly [what: string, change: (bytes: Uint8Array) => Uint8Array, size: string])[] = [
    ['wide pixels', (bytes) => pasp(bytes, 12, 11), '70x48'],
    ['narrow pixels', (bytes) => pasp(bytes, 10, 11), '64x53'],
    ['a shape of 0', (bytes) => pasp(bytes, 0, 1), '64x48'],
    ['a shape without a denominator', (bytes) => pasp(bytes, 1, 0), '64x48'],
    ['wide pixels, and a track header of another size', (bytes) => tkhd(pasp(bytes, 2, 1), 99, 48), '128x48'],
    ['square pixels, and a track header of another size', (bytes) => tkhd(pasp(bytes, 1, 1), 99, 48), '64x48'],
    ['a track header that is wider', (bytes) => tkhd(bytes, 128, 48), '128x48'],
    ['a track header with a fraction of a pixel', (bytes) => tkhd(bytes, 69.8, 48), '69x48'],
    ['a track header that is narrower', (bytes) => tkhd(bytes, 32, 48), '64x96'],
    ['a track header of the same shape', (bytes) => tkhd(bytes, 640, 480), '64x48'],
    ['a track header without a size', (bytes) => tkhd(bytes, 0, 0), '64x48'],
    ['a matrix that widens', (bytes) => matrix(bytes, [2, 0, 0, 1]), '128x48'],
    ['a matrix that widens, and square pixels', (bytes) => matrix(pasp(bytes, 1, 1), [2, 0, 0, 1]), '64x48'],
    ['a matrix that enlarges', (bytes) => matrix(bytes, [2, 0, 0, 2]), '64x48'],
    ['a quarter turn', (bytes) => matrix(bytes, QUARTER), '48x64'],
    ['a quarter turn the other way', (bytes) => matrix(bytes, [0, -1, 1, 0]), '48x64'],
    ['a half turn', (bytes) => matrix(bytes, [-1, 0, 0, -1]), '64x48'],
    ['a quarter turn that mirrors', (bytes) => matrix(bytes, [0, 1, 1, 0]), '48x64'],
    ['a quarter turn of wide pixels', (bytes) => matrix(pasp(bytes, 2, 1), QUARTER), '48x128'],
    ['a quarter turn of the movie', (bytes) => matrix(bytes, QUARTER, 'mvhd'), '48x64'],
    [
      'a quarter turn of the movie and of the track',
      (bytes) => matrix(matrix(bytes, QUARTER, 'mvhd'), QUARTER),
      '64x48',
    ],
    ['an eighth of a turn', (bytes) => matrix(bytes, [0.7, 0.7, -0.7, 0.7]), '64x48'],
    ['a matrix of zeros', (bytes) => matrix(bytes, [0, 0, 0, 0]), '64x48'],
    ['another size in its sample entry', (bytes) => withNumber(bytes, 'avc1', 24, (120 << 16) | 60, 'last'), '64x72'],
  ];
  for (const [what, change, size] of SIZES)
    it(`is ${size} with ${what}`, async () => {
      const answer = await probed(change(await lastIndex()));
      expect('invalid' in answer ? answer.invalid : `${answer.widthPx}x${answer.heightPx}`).to.equal(size);
    });

  it('is limited by its stored pixels, and by the longest side that is shown', async () => {
    const bytes = pasp(await lastIndex(), 100, 1);
    expect(await probe.probe(fileOf(bytes), { ...LIMITS, maxPixels: 64 * 48 })).to.include({ widthPx: 6_400 });
    expect(await probed(pasp(await lastIndex(), 2_000, 1))).to.deep.equal({
      invalid: 'The file has no usable width and height.',
    });
  });
});

describe('the codec of a video', () => {
  for (const [codec, codecString] of [
    ['av1', 'av01.0.04M.08'],
    ['vp9', 'vp09.00.10.08'],
  ] as const)
    it(`may be ${codec}`, async () => {
      expect(await probed(await muxed(codec, codecString))).to.include({ kind: 'video', widthPx: 64, heightPx: 48 });
    });

  it('may come with a colour box that is shorter than its kind is, wherever it is', async () => {
    const short = [
      box('colr', 'nclx', Buffer.alloc(6)),
      box('colr', 'nclx', Buffer.alloc(3)),
      box('colr', 'nclc', Buffer.alloc(2)),
      box('colr', 'nclx'),
      box('colr'),
    ];
    for (const colours of short)
      for (const more of [Buffer.alloc(0), box('pasp', words(1, 1))])
        expect(await probed(withinBox(await lastIndex(), ENTRY, Buffer.concat([colours, more])))).to.include(FACTS);
  });
});
