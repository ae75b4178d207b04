import { setImmediate } from 'node:timers/promises';
import { BOXES_A_TURN, boxesOf, boxIn, LOOKED_AT_BYTES, wordAt } from './mp4-box.js';
import { STSD_BYTES } from './mp4-layout.js';
import type { Mp4Outline } from './mp4-outline.js';
import type { Invalid } from './probe-limits.js';

/** The limit for all tracks of pictures, and for all fragments, together: four hours. */
export const MAX_SAMPLES = 2 ** 20;
/** The limit for `moof` boxes: four hours in fragments of a second. */
export const MAX_FRAGMENTS = 2 ** 14;
export const MAX_TRACKS = 128;
/**
 * The limit for boxes of all kinds, within the boxes that state the places of samples: six for each fragment, and more.
 * A demuxer parses them without a pause.
 */
export const MAX_BOXES = 2 ** 17;
/** To find a sample, a demuxer adds the sizes of all samples of its chunk. */
export const MAX_STEPS = 2 ** 30;
/** If a chunk has more samples than the file, most of them have no size, which takes longer to find out. */
const MAX_STEPS_BEYOND = 2 ** 24;

const MOST: Readonly<Record<string, number>> = { moof: MAX_FRAGMENTS, trak: MAX_TRACKS, box: MAX_BOXES };

/** The memory that a demuxer needs for an entry of a table, and for a sample. */
const ENTRY_TIMES = 8;
const SAMPLE_BYTES = 160;

const TOO_MANY: Invalid = { invalid: 'The index of the video has more entries than are allowed.' };
const MISPLACED: Invalid = { invalid: 'The index of the video has boxes in places where they do not belong.' };
/** A demuxer also does more for an encrypted sample than any table says. */
const ENCRYPTED: Invalid = { invalid: 'The video is encrypted.' };

/** The boxes in which a demuxer looks for tables. */
const CONTAINERS = new Set('moof traf mvex trak mdia minf dinf stbl edts sinf schi wave udta meta'.split(' '));

/**
 * The only box in which one of these types may be. A demuxer takes them wherever they are: for a table of the track that it
 * read last, or of one that a fragment names.
 */
const PLACES: Readonly<Record<string, 'moov' | 'moof' | 'traf' | 'trak' | 'mdia' | 'minf' | 'stbl' | undefined>> = {
  trak: 'moov',
  mvex: 'moov',
  mdia: 'trak',
  minf: 'mdia',
  stbl: 'minf',
  ...inside('stbl', 'stsd stts ctts stsz stz2 stsc stco co64 stss'),
  traf: 'moof',
  ...inside('traf', 'tfhd tfdt trun'),
  ...inside(undefined, 'moof mfra tfra'),
};

/**
 * A box that no sample entry contains. A demuxer looks for boxes in sample entries, from a place that depends on
 * versions and kinds; so their names are looked for at every place.
 */
const NOT_IN_ENTRIES = new RegExp(
  [...Object.keys(PLACES), ...'hdlr tkhd mdhd elst trex saiz saio senc'.split(' ')].join('|'),
);

/** Without this box a demuxer takes no sample for encrypted. */
const ENCRYPTION = 'schm';

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

/** Tables in which one entry describes many samples. */
const SUMS = new Set(['stts', 'ctts']);

/** The sums over the boxes of one track, or over those outside of all tracks. */
class Tables {
  readonly #counts = new Map<string, number>();
  readonly #handlers = new Set<string>();
  #samplesAChunk = 0;

  add(type: string, rest: Buffer): void {
    if (Object.hasOwn(COUNTS, type)) this.#counts.set(type, (this.#counts.get(type) ?? 0) + COUNTS[type]!(rest));
    if (type === 'stsc') this.#samplesAChunk = Math.max(this.#samplesAChunk, mostOfChunk(rest));
    if (type === 'hdlr') this.#handlers.add(rest.toString('latin1', HANDLER_AT, HANDLER_AT + 4));
  }

  /**
   * Whether a demuxer takes these for tables of sound, of which no sample is looked at. Uncompressed sound has 48,000 samples a
   * second. `PLACES` keeps the tables of another track, and another handler, from being hidden among them.
   */
  get isOfSound(): boolean {
    return this.#handlers.has('soun') && !this.#handlers.has('vide');
  }

  get samplesAChunk(): number {
    return this.#samplesAChunk;
  }

  addCountsTo(sums: Map<string, number>): void {
    for (const [type, count] of this.#counts) sums.set(type, (sums.get(type) ?? 0) + count);
  }
}

/** Behind a version and a field that is not used. */
const HANDLER_AT = 8;

/**
 * The most memory that a demuxer will hold for the tables of a file, in bytes. Refuses a file whose tables, but for
 * those of sound, have more than `MAX_SAMPLES` entries of one kind or name more samples; one with more than
 * `MAX_FRAGMENTS`, `MAX_TRACKS` or `MAX_BOXES`; one with so many samples in a chunk that finding all takes more than
 * `MAX_STEPS` steps; and one with boxes where they do not belong. A few bytes can declare so many: the length of a box
 * does not bound them.
 */
export async function tableBytes({ indexBoxes, heldBytes }: Mp4Outline): Promise<number | Invalid> {
  const numbers = new Map<string, number>();
  const isTooMuch = (type: string, count = 1): boolean => {
    const number = (numbers.get(type) ?? 0) + count;
    numbers.set(type, number);
    return number > (MOST[type] ?? MAX_SAMPLES);
  };
  const outside = new Tables();
  const all = [outside];
  const waiting = indexBoxes.map(({ type, content }) => ({ within: type, content, tables: outside }));
  if (isTooMuch('moof', indexBoxes.filter(({ type }) => type === 'moof').length)) return TOO_MANY;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { within } = next;
    for (const { type, content, rest } of boxesOf(next.content)) {
      if (isTooMuch('box') || (Object.hasOwn(MOST, type) && isTooMuch(type))) return TOO_MANY;
      if (numbers.get('box')! % BOXES_A_TURN === 0) await setImmediate();
      if (Object.hasOwn(COUNTS, type) && isTooMuch(type, entriesOf(type, rest))) return TOO_MANY;
      if (Object.hasOwn(PLACES, type) && PLACES[type] !== within) return MISPLACED;
      const fault = type === 'stsd' ? entriesFault(content) : undefined;
      if (fault !== undefined) return fault;
      if (type === ENCRYPTION) return ENCRYPTED;
      next.tables.add(type, rest);
      let { tables } = next;
      if (type === 'trak') all.push((tables = new Tables()));
      // Some boxes of type `meta` begin with a version, others with their first box.
      const isAfterVersion = type === 'meta' && wordAt(content, 0) === 0;
      if (CONTAINERS.has(type))
        waiting.push({ within: type, content: isAfterVersion ? content.subarray(4) : content, tables });
    }
  }
  return bytesFor(
    all.filter(({ isOfSound }) => !isOfSound),
    heldBytes,
  );
}

function bytesFor(all: readonly Tables[], heldBytes: number): number | Invalid {
  const counts = new Map<string, number>();
  for (const tables of all) tables.addCountsTo(counts);
  const samples = Math.max(0, ...counts.values());
  const samplesAChunk = Math.max(...all.map((tables) => tables.samplesAChunk));
  if (samples > MAX_SAMPLES) return TOO_MANY;
  if (samples * samplesAChunk > (samplesAChunk > samples ? MAX_STEPS_BEYOND : MAX_STEPS)) return TOO_MANY;
  return heldBytes * ENTRY_TIMES + samples * SAMPLE_BYTES;
}

/** An `stsd` box has as many sample entries as it says, and none of what is not in entries. */
function entriesFault(content: Buffer): Invalid | undefined {
  let at = STSD_BYTES;
  for (let left = wordAt(content, 4); left > 0; left -= 1) {
    const box = boxIn(content.subarray(at, at + LOOKED_AT_BYTES), content.length - at);
    if (box === undefined) return MISPLACED;
    at += box.headerBytes + box.contentBytes;
  }
  if (content.includes(ENCRYPTION, STSD_BYTES)) return ENCRYPTED;
  return NOT_IN_ENTRIES.test(content.toString('latin1')) ? MISPLACED : undefined;
}

function inside<Place>(place: Place, types: string): Record<string, Place> {
  return Object.fromEntries(types.split(' ').map((type) => [type, place]));
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

/** The samples of a table whose entries stand for several samples each; an entry for none is counted, too. */
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
