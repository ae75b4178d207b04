import { setImmediate } from 'node:timers/promises';
import { boxesOf, BOXES_A_TURN } from './mp4-box.js';
import type { Mp4Outline } from './mp4-outline.js';

/** Of all tracks and fragments together: four hours of pictures and sound. */
export const MAX_SAMPLES = 2 ** 20;
/** Of `moof` boxes, and of the entries that say where they are: four hours in fragments of a second. */
export const MAX_FRAGMENTS = 2 ** 14;
export const MAX_TRACKS = 128;
/** Of all kinds, within the boxes that say where samples are: six for each fragment, and more. A demuxer parses them without a pause. */
export const MAX_BOXES = 2 ** 17;
/** To find a sample, a demuxer adds the sizes of all samples of its chunk. */
export const MAX_STEPS = 2 ** 30;
/** Where a chunk has more samples than the file, most of them have no size, which takes longer to find out. */
const MAX_STEPS_BEYOND = 2 ** 24;

const MOST: Readonly<Record<string, number>> = { moof: MAX_FRAGMENTS, trak: MAX_TRACKS, box: MAX_BOXES };

/** What a demuxer makes of an entry of a table, and of a sample. */
const ENTRY_TIMES = 8;
const SAMPLE_BYTES = 160;

/** The boxes in which a demuxer looks for tables. */
const CONTAINERS = new Set('moof traf mfra mvex trak mdia minf dinf stbl edts sinf schi wave udta meta'.split(' '));

/** How much a box makes a demuxer do: a table may say that it has more entries than its own box has room for. */
const COUNTS: Readonly<Record<string, (rest: Buffer) => number>> = {
  stts: sumOfCounts,
  ctts: sumOfCounts,
  stsz: (rest) => (wordAt(rest, 4) === 0 ? countFor(rest, 8, 4) : 0),
  // A size of no bits takes no room.
  stz2: (rest) => countFor(rest, 8, (rest[7] ?? 0) / 8),
  stsc: (rest) => countFor(rest, 4, 12),
  stco: (rest) => countFor(rest, 4, 4),
  co64: (rest) => countFor(rest, 4, 8),
  stss: (rest) => countFor(rest, 4, 4),
  stsd: (rest) => countFor(rest, 4, 8),
  elst: (rest) => countFor(rest, 4, 12),
  trun: (rest) => countFor(rest, 4, 4 * onesIn((rest[2] ?? 0) & 0xf)),
  saiz: (rest) => countFor(rest, (rest[3] ?? 0) & 1 ? 13 : 5, 0),
  // A key that is shorter than its own header leads back to itself.
  keys: (rest) => (wordAt(rest, 4) * 8 > rest.length ? Infinity : 0),
};

/**
 * What a demuxer will hold for the tables of a file, in bytes, at most; undefined where they have more than `MAX_SAMPLES` entries
 * of one kind or name more samples, where there are more than `MAX_FRAGMENTS`, `MAX_TRACKS` or `MAX_BOXES`, or so many samples in a
 * chunk that finding all takes more than `MAX_STEPS` steps. A few bytes can declare so many: the length of a box does not bound them.
 */
export async function tableBytes({ indexBoxes, heldBytes }: Mp4Outline): Promise<number | undefined> {
  const totals = new Map<string, number>();
  const isTooMuch = (type: string, count: number): boolean => {
    const total = (totals.get(type) ?? 0) + count;
    totals.set(type, total);
    return total > (MOST[type] ?? MAX_SAMPLES);
  };
  let samplesAChunk = 0;
  const contents = indexBoxes.map(({ content }) => content);
  if (isTooMuch('moof', indexBoxes.filter(({ type }) => type === 'moof').length)) return undefined;
  for (let content = contents.pop(); content !== undefined; content = contents.pop()) {
    for (const { type, content: inner, rest } of boxesOf(content)) {
      if (isTooMuch('box', 1) || (Object.hasOwn(MOST, type) && isTooMuch(type, 1))) return undefined;
      if (totals.get('box')! % BOXES_A_TURN === 0) await setImmediate();
      if (type === 'tfra' && isTooMuch('moof', wordAt(rest, 12))) return undefined;
      const count = Object.hasOwn(COUNTS, type) ? COUNTS[type] : undefined;
      if (count !== undefined && isTooMuch(type, count(rest))) return undefined;
      if (type === 'stsc') samplesAChunk = Math.max(samplesAChunk, mostOfChunk(rest));
      // Some boxes of type `meta` begin with a version, others with their first box.
      if (CONTAINERS.has(type)) contents.push(type === 'meta' && wordAt(inner, 0) === 0 ? inner.subarray(4) : inner);
    }
  }
  const samples = Math.max(0, ...Object.keys(COUNTS).map((type) => totals.get(type) ?? 0));
  if (samples * samplesAChunk > (samplesAChunk > samples ? MAX_STEPS_BEYOND : MAX_STEPS)) return undefined;
  return heldBytes * ENTRY_TIMES + samples * SAMPLE_BYTES;
}

function wordAt(bytes: Buffer, at: number): number {
  return at + 4 <= bytes.length ? bytes.readUInt32BE(at) : 0;
}

function onesIn(bits: number): number {
  return [1, 2, 4, 8].filter((bit) => (bits & bit) !== 0).length;
}

/** The count at `at` of entries of so many bytes; 0 where they do not fit: a demuxer stops there. */
function countFor(rest: Buffer, at: number, entryBytes: number): number {
  const count = wordAt(rest, at);
  return at + 4 + count * entryBytes > rest.length ? 0 : count;
}

/** Of a table whose entries stand for so many samples each; an entry for none is counted, too. */
function sumOfCounts(rest: Buffer): number {
  const entries = countFor(rest, 4, 8);
  let sum = 0;
  for (let index = 0; index < entries; index += 1) sum += Math.max(1, wordAt(rest, 8 + 8 * index));
  return sum;
}

function mostOfChunk(rest: Buffer): number {
  const entries = countFor(rest, 4, 12);
  let most = 0;
  for (let index = 0; index < entries; index += 1) most = Math.max(most, wordAt(rest, 12 + 12 * index));
  return most;
}
