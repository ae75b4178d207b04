import { setImmediate } from 'node:timers/promises';
import { boxesOf, BOXES_A_TURN } from './mp4-box.js';
import type { Mp4Outline } from './mp4-outline.js';

/** Of all tracks of pictures, and of all fragments, together: four hours. */
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

/** Tables of which an entry stands for many samples. */
const SUMS = new Set(['stts', 'ctts']);

/** What the boxes of one track, or those outside of all tracks, add up to. */
class Tables {
  readonly #counts = new Map<string, number>();
  readonly #handlers = new Set<string>();
  #samplesAChunk = 0;

  add(type: string, rest: Buffer): void {
    if (Object.hasOwn(COUNTS, type)) this.#counts.set(type, (this.#counts.get(type) ?? 0) + COUNTS[type]!(rest));
    if (type === 'stsc') this.#samplesAChunk = Math.max(this.#samplesAChunk, mostOfChunk(rest));
    if (type === 'hdlr') this.#handlers.add(rest.toString('latin1', HANDLER_AT, HANDLER_AT + 4));
  }

  /** Only a table of a track of pictures is looked at. Uncompressed sound has a sample for each of 48,000 moments a second. */
  get isOfSound(): boolean {
    return this.#handlers.has('soun') && !this.#handlers.has('vide');
  }

  addTo({ counts, most }: Totals): void {
    for (const [type, count] of this.#counts) counts.set(type, (counts.get(type) ?? 0) + count);
    most.samplesAChunk = Math.max(most.samplesAChunk, this.#samplesAChunk);
  }
}

interface Totals {
  readonly counts: Map<string, number>;
  readonly most: { samplesAChunk: number };
}

/** Behind a version and a field that is not used. */
const HANDLER_AT = 8;

/**
 * What a demuxer will hold for the tables of a file, in bytes, at most; undefined where those that it looks at have more than
 * `MAX_SAMPLES` entries of one kind or name more samples, where there are more than `MAX_FRAGMENTS`, `MAX_TRACKS` or `MAX_BOXES`, or so
 * many samples in a chunk that finding all takes more than `MAX_STEPS` steps. A few bytes can declare so many: the length of a box does
 * not bound them.
 */
export async function tableBytes({ indexBoxes, heldBytes }: Mp4Outline): Promise<number | undefined> {
  const numbers = new Map<string, number>();
  const isTooMuch = (type: string, count = 1): boolean => {
    const number = (numbers.get(type) ?? 0) + count;
    numbers.set(type, number);
    return number > (MOST[type] ?? MAX_SAMPLES);
  };
  const outside = new Tables();
  const all = [outside];
  const waiting = indexBoxes.map(({ content }) => ({ content, tables: outside }));
  if (isTooMuch('moof', indexBoxes.filter(({ type }) => type === 'moof').length)) return undefined;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const { type, content, rest } of boxesOf(next.content)) {
      if (isTooMuch('box') || (Object.hasOwn(MOST, type) && isTooMuch(type))) return undefined;
      if (numbers.get('box')! % BOXES_A_TURN === 0) await setImmediate();
      if (type === 'tfra' && isTooMuch('moof', wordAt(rest, 12))) return undefined;
      if (Object.hasOwn(COUNTS, type) && isTooMuch(type, entriesOf(type, rest))) return undefined;
      next.tables.add(type, rest);
      let { tables } = next;
      // What a track within a track is, the outer one says as well.
      if (type === 'trak' && tables === outside) all.push((tables = new Tables()));
      // Some boxes of type `meta` begin with a version, others with their first box.
      if (CONTAINERS.has(type))
        waiting.push({ content: type === 'meta' && wordAt(content, 0) === 0 ? content.subarray(4) : content, tables });
    }
  }
  return bytesFor(all, heldBytes);
}

function bytesFor(all: readonly Tables[], heldBytes: number): number | undefined {
  const { counts, most }: Totals = { counts: new Map(), most: { samplesAChunk: 0 } };
  for (const tables of all) if (!tables.isOfSound) tables.addTo({ counts, most });
  const samples = Math.max(0, ...counts.values());
  const { samplesAChunk } = most;
  if (samples > MAX_SAMPLES) return undefined;
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

/** How many of them a demuxer reads, of a track of any kind. */
function entriesOf(type: string, rest: Buffer): number {
  return SUMS.has(type) ? countFor(rest, 4, 8) : COUNTS[type]!(rest);
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
