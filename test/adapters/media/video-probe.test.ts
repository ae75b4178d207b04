import { expect } from 'chai';
import { BOXES_A_TURN } from '../../../adapters/media/mp4-box.js';
import { BLOCK_BYTES, MAX_INDEX_BYTES } from '../../../adapters/media/mp4-outline.js';
import { MAX_BOXES, MAX_SAMPLES } from '../../../adapters/media/mp4-work.js';
import { SharpMediaProbe } from '../../../adapters/media/sharp-media-probe.js';
import { VideoProber, type VideoProberOptions } from '../../../adapters/media/video-prober.js';
import { MemoryBudget } from '../../../core/memory-budget.js';
import type { ProbedFile } from '../../../core/ports/media.js';
import { fileOf, inPieces } from '../../fixtures/byte-streams.js';
import { inTurns } from '../../fixtures/in-turns.js';
import { largeMp4 } from '../../fixtures/large-media.js';
import {
  box,
  lastIndex,
  longBox,
  muxedWithTags,
  withinBox,
  withinFragment,
  words,
} from '../../fixtures/tagged-videos.js';
import { mp4, mp4WithPcm } from '../../fixtures/videos.js';

// Goal: a video is probed by few, bounded reads of its stored file, whatever its length is and whatever its boxes say.
// Method: files that are made as they are read, with every read recorded; boxes whose counts are not bounded by any
// length. A demuxer that trusted them would not end, or would end the process.

const MIB = 1024 * 1024;
const LIMITS = { maxPixels: 1_000_000, decode: 'full', kind: 'video' } as const;
const FACTS = { kind: 'video', mediaType: 'video/mp4', widthPx: 64, heightPx: 48 } as const;
const TOO_MANY = { invalid: 'The index of the video has more entries than are allowed.' };
const MISPLACED = { invalid: 'The index of the video has boxes in places where they do not belong.' };
const SAMPLES = ['moov', 'trak', 'mdia', 'minf', 'stbl'];

interface Read {
  readonly from: number;
  readonly to: number;
}

/** The file, and every part of it that was read. */
function recorded(file: ProbedFile): ProbedFile & { readonly reads: Read[]; readBytes(): number } {
  const reads: Read[] = [];
  return {
    byteSize: file.byteSize,
    reads,
    readBytes: () => reads.reduce((sum, { from, to }) => sum + to - from, 0),
    read: async (range) => {
      reads.push(range ?? { from: 0, to: file.byteSize });
      return file.read(range);
    },
  };
}

/** Every probe of a video reads forwards and reads no byte twice. */
function expectForwards({ byteSize, reads }: ReturnType<typeof recorded>): void {
  for (const [index, { from, to }] of reads.entries()) {
    expect(from).to.be.at.least(index === 0 ? 0 : reads[index - 1]!.to);
    expect(to).to.be.within(from + 1, Math.min(byteSize, from + BLOCK_BYTES));
  }
  expect(reads.length).to.be.at.most(Math.ceil(byteSize / BLOCK_BYTES) + 1);
}

const MANY = 0xffff_ffff;

/** A box that says that it takes 2^60 bytes. */
function endless(type: string, content: Uint8Array): Buffer {
  const bytes = longBox(type, content);
  bytes.writeBigUInt64BE(2n ** 60n, 8);
  return bytes;
}

/** Boxes of a sample table that make a demuxer do more the larger a number in them is. */
const TABLES: Readonly<Record<string, Uint8Array>> = {
  'times of more samples than are allowed': box('stts', words(0, 2, MAX_SAMPLES, 0, 1, 0)),
  'times of four thousand million samples, with offsets': Buffer.concat([
    box('stts', words(0, 1, MANY, 0)),
    box('ctts', words(0, 1, 1, 0)),
  ]),
  'offsets of four thousand million samples': box('ctts', words(0, 1, MANY, 1)),
  'sizes of no bits': box('stz2', words(0, 0, MANY)),
  'chunks of four thousand million samples': box('stsc', words(0, 1, 1, MANY, 1)),
  'tables that each go on through all that follow': Buffer.concat([
    Buffer.alloc(16 * 100_000, box('stco', words(0, 200_000)).subarray(0, 16)),
    Buffer.alloc(800_000),
  ]),
  'tables of entries for no samples that each go on through all that follow': Buffer.concat([
    Buffer.alloc(16 * 50_000, box('stts', words(0, 100_000)).subarray(0, 16)),
    Buffer.alloc(800_000),
  ]),
  'a table whose size is beyond any file': Buffer.concat([
    box('ctts', words(0, 1, 1, 0)),
    endless('stts', words(0, 1, MANY, 0)),
  ]),
  'more boxes than are allowed': Buffer.alloc(8 * (MAX_BOXES + 1), box('edts')),
};

/** A table of four thousand million samples, and the boxes that make a demuxer read it. */
const WHOLE_TABLE = box(
  'stbl',
  TABLES['times of four thousand million samples, with offsets']!,
  box('stsz', words(0, 1, 1)),
  box('stsc', words(0, 1, 1, 1, 1)),
  box('stco', words(0, 1, 1_000)),
);
const PICTURES = box('hdlr', words(0, 0), 'vide', words(0, 0, 0), Buffer.alloc(1));

const probe = new SharpMediaProbe();
const probed = (bytes: Uint8Array) => probe.probe(fileOf(bytes), LIMITS);

describe('the probe of a video', () => {
  for (const index of ['first', 'last'] as const) {
    it(`reads at most two blocks of a file of 1,000 MiB whose index comes ${index}`, async () => {
      const file = recorded(await largeMp4(1_000 * MIB, index));
      expect(file.byteSize).to.be.above(999 * MIB);
      expect(await probe.probe(file, LIMITS)).to.deep.equal({
        ...FACTS,
        durationMs: 6_400,
        contentBytes: file.byteSize,
      });
      expectForwards(file);
      expect(file.reads).to.have.length(index === 'first' ? 1 : 2);
      expect(file.readBytes()).to.be.at.most(2 * BLOCK_BYTES);
    });
  }

  it('reads no byte of a fragmented file twice, however its fragments lie', async () => {
    const plain = Buffer.from(await muxedWithTags('fragmented', 'udta'));
    const fragments = plain.subarray(plain.indexOf('moof') - 4, plain.lastIndexOf('mfra') - 4);
    const start = plain.subarray(0, plain.indexOf('moof') - 4);
    const spaced = Array.from({ length: 12 }, (_, index) => [box('free', Buffer.alloc(index * 400_000)), fragments]);
    const file = recorded(fileOf(Buffer.concat([start, ...spaced.flat()])));
    expect(await probe.probe(file, LIMITS)).to.include(FACTS);
    expectForwards(file);
    expect(file.readBytes()).to.be.at.most(file.byteSize);
  });

  it('finds a box wherever a block ends', async () => {
    const whole = Buffer.from(await mp4());
    const indexAt = whole.indexOf('moov') - 4;
    for (let shift = -40; shift <= 40; shift += 1) {
      const spaceBytes = 2 * BLOCK_BYTES - indexAt - 8 + shift;
      const spaced = [whole.subarray(0, indexAt), box('free', Buffer.alloc(spaceBytes)), whole.subarray(indexAt)];
      const file = recorded(fileOf(Buffer.concat(spaced)));
      expect(await probe.probe(file, LIMITS), `${shift}`).to.deep.equal({
        ...FACTS,
        durationMs: 500,
        contentBytes: file.byteSize,
      });
      expectForwards(file);
    }
  });

  it('reads nothing of an index that is larger than the file, or than is allowed', async () => {
    const start = (await mp4()).subarray(0, 24);
    const declared = (bytes: number) => words(bytes, 0x6d6f6f76);
    const huge = recorded(fileOf(Buffer.concat([start, declared(0x7fff_ffff), Buffer.alloc(3 * MIB)])));
    expect(await probe.probe(huge, LIMITS)).to.deep.equal({ invalid: 'The file is damaged or incomplete.' });
    expect(huge.reads).to.have.length(1);
    const long = MAX_INDEX_BYTES + 8;
    const large = recorded(fileOf(Buffer.concat([start, declared(long), Buffer.alloc(long - 8)])));
    expect(await probe.probe(large, LIMITS)).to.deep.equal({
      invalid: 'The index of the video takes more than 16 MiB.',
    });
    expect(large.reads).to.have.length(1);
  });

  it('reads a file of a million small boxes once at most, and refuses it', async () => {
    const boxes = Buffer.alloc(8 * MIB, box('free'));
    const file = recorded(fileOf(Buffer.concat([await mp4(), boxes])));
    expect(await probe.probe(file, LIMITS))
      .to.have.property('invalid')
      .that.includes('16 MiB');
    expectForwards(file);
  });

  for (const [what, table] of Object.entries(TABLES)) {
    it(`refuses ${what}`, async () => {
      const bytes = withinBox(await lastIndex(), SAMPLES, table);
      for (const kind of ['video', 'image'] as const)
        expect(await probe.probe(fileOf(bytes), { ...LIMITS, kind })).to.deep.equal(TOO_MANY);
    });
  }

  it('yields to other work while it counts the boxes of the index', async () => {
    const bytes = withinBox(await lastIndex(), SAMPLES, TABLES['more boxes than are allowed']!);
    const { answer, turns } = await inTurns(probed(bytes));
    expect(answer).to.deep.equal(TOO_MANY);
    expect(turns).to.be.at.least(MAX_BOXES / BOXES_A_TURN);
  });

  it('yields to other work while it walks the boxes', async () => {
    const boxes = 40_000;
    const bytes = Buffer.concat([(await mp4()).subarray(0, 32), Buffer.alloc(boxes * 8, box('free')), box('moov')]);
    const { answer, turns } = await inTurns(probed(bytes));
    expect(answer).to.deep.equal({ invalid: 'The file has no video track.' });
    expect(turns).to.be.at.least(boxes / BOXES_A_TURN);
  });

  it('refuses a fragment of four thousand million samples that take no room', async () => {
    const bytes = await withinFragment(['moof', 'traf'], box('trun', words(0, MANY)));
    expect(await probed(bytes)).to.deep.equal(TOO_MANY);
  });

  it('refuses keys that lead back to themselves, and tables hidden in other boxes', async () => {
    const keys = box('meta', words(0), box('keys', words(0, MANY, 0, 0)));
    const hidden = box('edts', box('dinf', box('sinf', TABLES['sizes of no bits']!)));
    for (const [path, added] of [
      [['moov'], keys],
      [SAMPLES, hidden],
    ] as const)
      expect(await probed(withinBox(await lastIndex(), path, added))).to.deep.equal(TOO_MANY);
  });

  for (const [what, path, added] of [
    ['a table in a sample entry', [...SAMPLES, 'stsd', 'avc1'], WHOLE_TABLE],
    ['a table in a box of a sample entry', [...SAMPLES, 'stsd', 'avc1'], box('sinf', box('schi', WHOLE_TABLE))],
    ['a handler in a sample entry', [...SAMPLES, 'stsd', 'avc1'], PICTURES],
    ['a table outside of its track', ['moov', 'trak'], WHOLE_TABLE],
    ['a fragment in a track', ['moov', 'trak'], box('moof', box('traf', box('tfhd', words(0, 1)), box('stco')))],
    ['a track in a track', ['moov', 'trak'], box('trak', box('mdia', PICTURES))],
    ['an index of fragments in the movie', ['moov'], box('mfra')],
  ] as const)
    it(`refuses ${what}`, async () => {
      const bytes = withinBox(await lastIndex(), path, added);
      for (const kind of ['video', 'image'] as const) {
        const answer = await probe.probe(fileOf(bytes), { ...LIMITS, decode: 'header', kind });
        expect([TOO_MANY, MISPLACED]).to.deep.include(answer);
      }
    });

  it('refuses a fragment in the track of sound whose table is of the track of pictures', async () => {
    const bytes = Buffer.from(await mp4WithPcm(1));
    const fragment = box('moof', box('traf', box('tfhd', words(0, 1)), WHOLE_TABLE));
    const soundAt = bytes.lastIndexOf('trak') - 4;
    const movieAt = bytes.indexOf('moov') - 4;
    const movieEnd = movieAt + bytes.readUInt32BE(movieAt);
    for (const at of [movieAt, soundAt]) bytes.writeUInt32BE(bytes.readUInt32BE(at) + fragment.length, at);
    const whole = Buffer.concat([bytes.subarray(0, movieEnd), fragment, bytes.subarray(movieEnd)]);
    expect(await probed(whole)).to.deep.equal(MISPLACED);
  });

  describe('of a file with an index of fragments that names another place', () => {
    /** The parts of a whole file without fragments. */
    async function parts() {
      const bytes = Buffer.from(await lastIndex());
      const [movieAt, trackAt] = [bytes.indexOf('moov') - 4, bytes.indexOf('trak') - 4];
      const track = bytes.subarray(trackAt, trackAt + bytes.readUInt32BE(trackAt));
      return { start: bytes.subarray(0, movieAt), header: bytes.subarray(movieAt + 8, trackAt), track };
    }
    /** The box that tells a player that the file is fragmented. */
    const FRAGMENTED = box('mvex', box('trex', words(0, 1, 1, 1, 1, 0)));

    it('looks at no index that another box hides', async () => {
      const { start, header, track } = await parts();
      const hidden = box('mfra', withinBox(track, ['trak', 'mdia', 'minf', 'stbl'], WHOLE_TABLE.subarray(8)));
      const movie = box('moov', header, FRAGMENTED, box('free', hidden));
      const fromEnd = movie.length - movie.indexOf('mfra') + 4 + 24;
      const bytes = Buffer.concat([start, movie, box('mfra', box('mfro', words(0, fromEnd)))]);
      expect(bytes.toString('latin1', bytes.length - fromEnd + 4).slice(0, 4)).to.equal('mfra');
      expect(await probed(bytes)).to.deep.equal({ invalid: 'The file has no video track.' });
    });

    it('looks at no fragment that another box hides', async () => {
      const { start, header } = await parts();
      const plain = Buffer.from(await muxedWithTags('fragmented', 'udta'));
      const trackAt = plain.indexOf('trak') - 4;
      const track = plain.subarray(trackAt, trackAt + plain.readUInt32BE(trackAt));
      const samples = box('traf', box('tfhd', words(0x38, 1, 1, 1, 0)), box('trun', words(0, MANY)));
      const movie = box('moov', header, track, FRAGMENTED, box('free', box('moof', samples)));
      const at = start.length + movie.indexOf('moof') - 4;
      const places = box('tfra', words(0, 1, 0, 1, 0, at), Buffer.of(1, 1, 1));
      const index = box('mfra', places, box('mfro', words(0, 8 + places.length + 16)));
      const answer = await probed(Buffer.concat([start, movie, index]));
      expect(answer).to.have.property('invalid');
    });
  });

  it('refuses an encrypted video', async () => {
    const scheme = box('sinf', box('schm', words(0), 'cenc', words(0x10000)));
    for (const path of [
      [...SAMPLES, 'stsd', 'avc1'],
      ['moov', 'trak'],
    ])
      expect(await probed(withinBox(await lastIndex(), path, scheme))).to.deep.equal({
        invalid: 'The video is encrypted.',
      });
  });

  it('refuses sample entries that exceed their box, or are fewer than it declares', async () => {
    for (const [name, at, value] of [
      ['avc1', -4, 1_000],
      ['stsd', 8, 2],
    ] as const) {
      const bytes = Buffer.from(await mp4());
      bytes.writeUInt32BE(value, bytes.indexOf(name) + at);
      expect(await probed(bytes), name).to.deep.equal(MISPLACED);
    }
  });

  it('accepts the tables of a million samples, and reserves memory for them', async () => {
    const memory = new MemoryBudget(64 * MIB);
    const offsets = box('ctts', words(0, 1, MAX_SAMPLES, 0));
    const bytes = withinBox(await lastIndex(), SAMPLES, offsets);
    let waiting = 0;
    const blocked = memory.during(60 * MIB, async () => {
      const answer = new SharpMediaProbe({ memory }).probe(fileOf(bytes), LIMITS);
      for (let turn = 0; turn < 50 && waiting === 0; turn += 1) {
        await new Promise(setImmediate);
        waiting = memory.waiting;
      }
      return { answer };
    });
    const { answer } = await blocked;
    expect(waiting).to.equal(1);
    expect(await answer).to.include({ ...FACTS, durationMs: 1_000 });
    expect([memory.heldBytes, memory.waiting]).to.deep.equal([0, 0]);
  });

  for (const seconds of [5, 25])
    it(`accepts ${seconds} seconds of sound that is not compressed`, async () => {
      const bytes = await mp4WithPcm(seconds);
      expect(await probed(bytes)).to.include({ ...FACTS, durationMs: seconds * 1_000 });
    });

  it('reads no sample of sound, however many there are to be', async () => {
    const bytes = Buffer.from(await mp4WithPcm(1));
    // The track of sound is the last one. A table of times, and one of chunks, says how many samples its first entry stands for.
    bytes.writeUInt32BE(MANY, bytes.lastIndexOf('stts') + 12);
    bytes.writeUInt32BE(MANY, bytes.lastIndexOf('stsc') + 16);
    expect(await probed(bytes)).to.include({ ...FACTS, durationMs: 1_000 });
  });

  it('counts the samples of a track that says that it is of sound and of pictures', async () => {
    const bytes = Buffer.from(
      withinBox(await lastIndex(), SAMPLES, TABLES['offsets of four thousand million samples']!),
    );
    const sound = box('hdlr', words(0, 0), 'soun', words(0, 0, 0), Buffer.alloc(1));
    expect(await probed(withinBox(bytes, ['moov', 'trak', 'mdia'], sound))).to.deep.equal(TOO_MANY);
  });

  describe('of what a file says of its pictures', () => {
    /** A number of 32 bits behind the name of the first box of this type. */
    const numberIn = (bytes: Uint8Array, type: string, at: number) => {
      const all = Buffer.from(bytes);
      return all.readUInt32BE(all.indexOf(type) + 4 + at);
    };
    /** Edits of so many milliseconds of the movie, and where in the media they begin; -1 for an empty one. */
    const withEdits = async (edits: readonly (readonly [ms: number, from: number])[], isLong = false) => {
      const bytes = await lastIndex();
      const inMovie = numberIn(bytes, 'mvhd', 12) / 1_000;
      const entries = edits.flatMap(([ms, from]) => {
        const [high, low] = from < 0 ? [MANY, MANY] : [0, from];
        return isLong ? [0, ms * inMovie, high, low, 0x1_0000] : [ms * inMovie, low, 0x1_0000];
      });
      const list = box('elst', words(isLong ? 0x100_0000 : 0, edits.length, ...entries));
      return withinBox(bytes, ['moov', 'trak'], box('edts', list));
    };

    for (const isLong of [false, true])
      it(`uses only what its edit list shows, in ${isLong ? 64 : 32} bits`, async () => {
        for (const [edits, durationMs] of [
          [[400], 400],
          [[300, 400], 700],
          [[9_000], 1_000],
          [[0], 1_000],
        ] as const)
          expect(
            await probed(
              await withEdits(
                edits.map((ms) => [ms, 0]),
                isLong,
              ),
            ),
          ).to.deep.include({ durationMs });
      });

    it('does not count the time before its first picture', async () => {
      const late = await withEdits([
        [5_000, -1],
        [1_000, 0],
      ]);
      expect(await probed(late)).to.deep.include({ durationMs: 1_000 });
    });

    it('counts the fragments that follow the samples of the index', async () => {
      const first = withinBox(await lastIndex(), ['moov'], box('mvex', box('trex', words(0, 1, 1, 0, 0, 0))));
      const whole = Buffer.from(await muxedWithTags('fragmented', 'udta'));
      const fragments = Buffer.from(whole.subarray(whole.indexOf('moof') - 4, whole.lastIndexOf('mfra') - 4));
      const timeAt = fragments.indexOf('tfdt') + 8 + (fragments[fragments.indexOf('tfdt') + 4] === 1 ? 4 : 0);
      expect(fragments.readUInt32BE(timeAt), 'the fragment begins at 0').to.equal(0);
      expect(numberIn(first, 'mdhd', 12)).to.equal(numberIn(whole, 'mdhd', 12));
      fragments.writeUInt32BE(numberIn(first, 'mdhd', 12), timeAt);
      expect(await probed(first)).to.deep.include({ durationMs: 1_000 });
      expect(await probed(Buffer.concat([first, fragments]))).to.deep.include({ durationMs: 2_000 });
      // A run of no samples adds nothing.
      const empty = box(
        'moof',
        box('mfhd', words(0, 9)),
        box('traf', box('tfhd', words(0, 1)), box('trun', words(0, 0))),
      );
      expect(await probed(Buffer.concat([first, empty]))).to.deep.include({ durationMs: 1_000 });
    });

    it('refuses one whose times have no unit', async () => {
      for (const type of ['mdhd', 'mvhd']) {
        const bytes = Buffer.from(await lastIndex());
        bytes.writeUInt32BE(0, bytes.indexOf(type) + 4 + 12);
        expect(await probed(bytes), type).to.deep.equal({ invalid: 'The video has no usable duration.' });
      }
    });

    it('accepts the brands of videos for the players of Apple', async () => {
      for (const brand of ['M4V ', 'M4VH', 'M4VP']) {
        const bytes = Buffer.from(await mp4());
        bytes.write(brand, 8, 'latin1');
        expect(await probed(bytes), brand).to.include(FACTS);
      }
    });
  });

  it('does not collect what is neither a picture nor a video', async () => {
    for (const kind of ['image', 'video'] as const) {
      const text = Buffer.alloc(8 * MIB, 'text ');
      let given = 0;
      async function* counted(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
        for await (const piece of inPieces(bytes)) {
          given += piece.byteLength;
          yield piece;
        }
      }
      const file: ProbedFile = {
        byteSize: text.byteLength,
        read: async (range) => counted(text.subarray(range?.from, range?.to)),
      };
      expect(await probe.probe(file, { ...LIMITS, kind }))
        .to.have.property('invalid')
        .that.includes('is not');
      expect(given).to.be.at.most(BLOCK_BYTES + 64 * 1024);
    }
  });

  it('passes on a failure of any of its reads', async () => {
    const whole = await largeMp4(8 * MIB);
    for (const failing of [0, 1]) {
      let count = 0;
      const file: ProbedFile = {
        byteSize: whole.byteSize,
        read: async (range) => {
          count += 1;
          if (count > failing) throw new Error('the line broke');
          return whole.read(range);
        },
      };
      const outcome = await probe.probe(file, LIMITS).catch((error: Error) => error.message);
      expect(outcome).to.equal('the line broke');
    }
  });

  it('takes a store that gives less than was stored for an incomplete file', async () => {
    const whole = await largeMp4(8 * MIB);
    const file: ProbedFile = {
      byteSize: whole.byteSize,
      read: async ({ from, to } = { from: 0, to: whole.byteSize }) =>
        whole.read({ from, to: from + ((to - from) >> 1) }),
    };
    expect(await probe.probe(file, LIMITS)).to.deep.equal({ invalid: 'The file is damaged or incomplete.' });
  });
});

// Goal: a video that makes the demuxer take more memory or time than any valid one costs its own answer only.
// Method: videos as the demuxer is given them, without the checks before it, in threads with small limits.

const UNREADABLE = { invalid: 'The file starts like an MP4 video but cannot be read.' };
const WHOLE_FACTS = { kind: 'video', mediaType: 'video/mp4', widthPx: 64, heightPx: 48, durationMs: 500 };
/** Four thousand million samples, all of which the demuxer makes. */
const ENDLESS_MEMORY = Buffer.concat([box('stts', words(0, 1, MANY, 0)), box('ctts', words(0, 1, 1, 0))]);
/** The same number of samples in one chunk, whose sizes the demuxer sums. */
const ENDLESS_TIME = box('stsc', words(0, 1, 1, MANY, 1));

describe('VideoProber', () => {
  const answerOf = async (prober: VideoProber, bytes: Uint8Array) =>
    prober.probe({ byteSize: bytes.byteLength, parts: [{ at: 0, bytes }] }, LIMITS);

  const cases: readonly (readonly [string, Uint8Array, VideoProberOptions])[] = [
    ['memory', ENDLESS_MEMORY, { maxHeapMib: 96 }],
    ['time', ENDLESS_TIME, { maxBusyMs: 500 }],
  ];
  for (const [what, table, options] of cases)
    it(`refuses a video that takes endless ${what}, and probes the others that wait`, async () => {
      const prober = new VideoProber(options);
      const bytes = withinBox(await lastIndex(), SAMPLES, table);
      const answers = await Promise.all(
        [mp4(), bytes, mp4(), bytes, mp4()].map(async (video) => answerOf(prober, await video)),
      );
      const found = { ...WHOLE_FACTS, contentBytes: (await mp4()).byteLength };
      expect(answers).to.deep.equal([found, UNREADABLE, found, UNREADABLE, found]);
    });

  it('throws where its thread cannot start, as that is not the fault of a video', async () => {
    const prober = new VideoProber({ module: new URL('./no-thread.js', import.meta.url) });
    const error = await answerOf(prober, await mp4()).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(Error).and.have.property('message', 'The thread that probes videos cannot start.');
  });

  it('yields to other work while a video is probed', async () => {
    const prober = new VideoProber({ maxBusyMs: 500 });
    let turns = 0;
    const answer = answerOf(prober, withinBox(await lastIndex(), SAMPLES, ENDLESS_TIME)).finally(
      () => (turns = -turns),
    );
    while (turns >= 0) {
      turns += 1;
      await new Promise(setImmediate);
    }
    expect(await answer).to.deep.equal(UNREADABLE);
    expect(-turns).to.be.above(100);
  });
});
