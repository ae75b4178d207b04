import { viewOf } from './container-end.js';
import { boxesOf, boxIn, contentsOf, type InnerBox, LOOKED_AT_BYTES, wordAt } from './mp4-box.js';
import { type KnownParts, lastUpTo, moviesIn, topBoxes, trackIdOf, wordAfterTimes } from './mp4-outline.js';
import type { Invalid } from './probe-limits.js';

const MISSING: Invalid = { invalid: 'The file does not have all samples that the index of the video names.' };

/**
 * Refuses a file whose index names samples outside of its media data, of pictures or of sound, in the movie or in its fragments. A
 * player would stop there. Each entry of a table is looked at once; samples without bytes may be anywhere.
 */
export function samplesFault(known: KnownParts): Invalid | undefined {
  const data = new MediaData(known);
  const tracks = moviesIn(known).flatMap((moov) => contentsOf([moov], ['trak']));
  const areThere =
    tracks.every((trak) => isSelfContained(trak) && hasSamplesOf(trak, data)) && hasSamplesOfFragments(known, data);
  return areThere ? undefined : MISSING;
}

/** The place of the media data of a file. */
class MediaData {
  /** In the order of the file. */
  readonly #ranges: readonly { readonly from: number; readonly to: number }[];

  constructor(known: KnownParts) {
    this.#ranges = [...topBoxes(known)]
      .filter(({ type }) => type === 'mdat')
      .map(({ contentAt, contentEnd }) => ({ from: contentAt, to: contentEnd }));
  }

  has(from: number, byteCount: number): boolean {
    if (byteCount === 0) return true;
    const range = this.#ranges[lastUpTo(from, this.#ranges, (one) => one.from)];
    return range !== undefined && from >= range.from && from + byteCount <= range.to;
  }
}

/** Whether the samples are said to be in this file, and not at another address. */
function isSelfContained(trak: Buffer): boolean {
  const references = contentsOf([trak], ['mdia', 'minf', 'dinf', 'dref']).flatMap((content) => [
    ...boxesOf(content.subarray(8)),
  ]);
  return references.every(({ content }) => content.length <= 4 || (content[3]! & 1) === 1);
}

/** The sizes of the samples of a track. */
interface Sizes {
  readonly count: number;
  /** The size of a run of samples together. */
  sum(from: number, count: number): number;
}

function hasSamplesOf(trak: Buffer, data: MediaData): boolean {
  const tables = contentsOf([trak], ['mdia', 'minf', 'stbl']).flatMap((stbl) => [...boxesOf(stbl)]);
  const named = (...names: readonly string[]): readonly InnerBox[] => tables.filter(({ type }) => names.includes(type));
  const [sizeTables, placeTables, runTables] = [named('stsz', 'stz2'), named('stco', 'co64'), named('stsc')];
  // No specification says which of two tables a player takes.
  if ([sizeTables, placeTables, runTables].some(({ length }) => length > 1)) return false;
  const sizes = sizeTables.map(sizesIn).at(0);
  if (sizes === undefined || sizes.count === 0) return sizes !== undefined || sizeTables.length === 0;
  const [places, runs] = [placeTables[0], runTables[0]];
  return places !== undefined && runs !== undefined && areInChunks(sizes, runs.content, places, data);
}

/** Undefined if the table has fewer entries than it declares. */
function sizesIn({ type, content }: InnerBox): Sizes | undefined {
  const count = wordAt(content, 8);
  const sameSize = type === 'stsz' ? wordAt(content, 4) : 0;
  if (sameSize > 0) return { count, sum: (_, samples) => samples * sameSize };
  const bits = type === 'stsz' ? 32 : (content[7] ?? 0);
  if (bits === 0 || FIRST_SIZE_AT + Math.ceil((count * bits) / 8) > content.length)
    return count === 0 ? NO_SAMPLES : undefined;
  const sizeAt = (index: number): number => {
    const at = FIRST_SIZE_AT + Math.floor((index * bits) / 8);
    if (bits === 32) return content.readUInt32BE(at);
    if (bits === 16) return content.readUInt16BE(at);
    return bits === 8 ? content[at]! : (content[at]! >> (index % 2 === 0 ? 4 : 0)) & 0x0f;
  };
  return {
    count,
    sum: (from, samples) => {
      let sum = 0;
      for (let index = from; index < from + samples; index += 1) sum += sizeAt(index);
      return sum;
    },
  };
}

const FIRST_SIZE_AT = 12;
const NO_SAMPLES: Sizes = { count: 0, sum: () => 0 };
const RUN_BYTES = 12;

/** Whether every chunk of a track is there, and every sample is in a chunk. A run says how many samples its chunks have. */
function areInChunks(sizes: Sizes, runs: Buffer, places: InnerBox, data: MediaData): boolean {
  const placeBytes = places.type === 'stco' ? 4 : 8;
  const chunks = Math.min(wordAt(places.content, 4), Math.floor((places.content.length - 8) / placeBytes));
  const runCount = Math.min(wordAt(runs, 4), Math.floor((runs.length - 8) / RUN_BYTES));
  let [sample, run] = [0, 0];
  for (let chunk = 0; chunk < chunks && sample < sizes.count; chunk += 1) {
    while (run + 1 < runCount && wordAt(runs, 8 + RUN_BYTES * (run + 1)) <= chunk + 1) run += 1;
    const samples = Math.min(runCount === 0 ? 0 : wordAt(runs, 12 + RUN_BYTES * run), sizes.count - sample);
    const at = 8 + placeBytes * chunk;
    const place = placeBytes === 4 ? places.content.readUInt32BE(at) : Number(places.content.readBigUInt64BE(at));
    if (!data.has(place, sizes.sum(sample, samples))) return false;
    sample += samples;
  }
  return sample === sizes.count;
}

const BASE_IS_STATED = 0x1;
const HAS_ENTRY = 0x2;
const HAS_DURATION = 0x8;
const HAS_SIZE = 0x10;
const BASE_IS_FRAGMENT = 0x20000;
const HAS_PLACE = 0x1;
const HAS_FIRST_FLAGS = 0x4;
const SAMPLE_HAS_DURATION = 0x100;
const SAMPLE_HAS_SIZE = 0x200;
const SAMPLE_FIELDS = [SAMPLE_HAS_DURATION, SAMPLE_HAS_SIZE, 0x400, 0x800];

function hasSamplesOfFragments(known: KnownParts, data: MediaData): boolean {
  const defaultSizes = new Map<number, number>();
  for (const trex of contentsOf(moviesIn(known), ['mvex', 'trex'])) defaultSizes.set(wordAt(trex, 4), wordAt(trex, 16));
  for (const { type, at, content } of topBoxes(known)) {
    if (type !== 'moof') continue;
    // If a fragment of a track does not state the place of its samples, they follow the samples before.
    let place = at;
    for (const traf of contentsOf([content], ['traf'])) {
      const [tfhd] = contentsOf([traf], ['tfhd']);
      if (tfhd === undefined) return false;
      const flags = wordAt(tfhd, 0) & 0xffffff;
      let field = 8;
      const next = (flag: number, bytes: number): number | undefined => {
        if ((flags & flag) === 0) return undefined;
        field += bytes;
        return bytes === 4 ? wordAt(tfhd, field - 4) : wordAt(tfhd, field - 8) * 2 ** 32 + wordAt(tfhd, field - 4);
      };
      const stated = next(BASE_IS_STATED, 8);
      next(HAS_ENTRY, 4);
      next(HAS_DURATION, 4);
      const defaultSize = next(HAS_SIZE, 4) ?? defaultSizes.get(wordAt(tfhd, 4)) ?? 0;
      const base = stated ?? ((flags & BASE_IS_FRAGMENT) === 0 ? place : at);
      place = base;
      for (const trun of contentsOf([traf], ['trun'])) {
        const run = runIn(trun, defaultSize);
        if (run === undefined) return false;
        if (run.offset !== undefined) place = base + run.offset;
        if (!data.has(place, run.byteCount)) return false;
        place += run.byteCount;
      }
    }
  }
  return true;
}

/** Undefined if a run has fewer entries than it declares. */
function runIn(
  trun: Buffer,
  defaultSize: number,
): { readonly offset?: number; readonly byteCount: number } | undefined {
  const flags = wordAt(trun, 0) & 0xffffff;
  const count = wordAt(trun, 4);
  let at = 8;
  const hasPlace = (flags & HAS_PLACE) !== 0 && at + 4 <= trun.length;
  const offset = hasPlace ? trun.readInt32BE(at) : undefined;
  if ((flags & HAS_PLACE) !== 0) at += 4;
  if ((flags & HAS_FIRST_FLAGS) !== 0) at += 4;
  const entryBytes = 4 * SAMPLE_FIELDS.filter((flag) => (flags & flag) !== 0).length;
  if (at + count * entryBytes > trun.length) return undefined;
  let byteCount = count * defaultSize;
  if ((flags & SAMPLE_HAS_SIZE) !== 0) {
    byteCount = 0;
    if ((flags & SAMPLE_HAS_DURATION) !== 0) at += 4;
    for (let index = 0; index < count; index += 1) byteCount += trun.readUInt32BE(at + index * entryBytes);
  }
  return { ...(offset === undefined ? {} : { offset }), byteCount };
}

/** The offset at which a table of samples states its number of entries. */
const COUNT_AT: Readonly<Record<string, number>> = {
  stts: 4,
  ctts: 4,
  stsc: 4,
  stsz: 8,
  stz2: 8,
  stco: 4,
  co64: 4,
  stss: 4,
};
const TO_TABLES = ['trak', 'mdia', 'minf', 'stbl'];

/**
 * Returns the file without the samples that its `moov` box names, if it has others in fragments: a demuxer that finds
 * some there does not read the fragments. Undefined where one of the two is all that there is.
 */
export function fragmentsAlone(known: KnownParts): KnownParts | undefined {
  if (!known.parts.some(({ bytes }) => typeOf(bytes) === 'moof')) return undefined;
  let hadSamples = false;
  const parts = known.parts.map((part) => {
    if (typeOf(part.bytes) !== 'moov') return part;
    const bytes = Buffer.from(part.bytes);
    for (const table of contentsOf([contentOf(bytes)], TO_TABLES))
      for (const { type, content } of boxesOf(table)) {
        const at = COUNT_AT[type];
        if (at === undefined || content.length < at + 4) continue;
        hadSamples ||= type === 'stts' && content.readUInt32BE(at) > 0;
        content.writeUInt32BE(0, at);
      }
    return { at: part.at, bytes };
  });
  return hadSamples ? { byteSize: known.byteSize, parts } : undefined;
}

/**
 * How long the edit list of a track has its media shown, in milliseconds; undefined where it has none that says. A file in
 * fragments is written before anybody knows.
 */
export function editedMs(known: KnownParts, trackId: number): number | undefined {
  const [moov] = moviesIn(known);
  if (moov === undefined) return undefined;
  const [mvhd] = contentsOf([moov], ['mvhd']);
  if (mvhd === undefined || contentsOf([moov], ['mvex']).length > 0) return undefined;
  const timescale = wordAfterTimes(mvhd);
  const tracks = contentsOf([moov], ['trak']).filter((trak) => trackIdOf(trak) === trackId);
  const [list] = contentsOf(tracks.slice(0, 1), ['edts', 'elst']);
  const shown = list === undefined ? 0 : shownIn(list);
  return shown > 0 && timescale > 0 ? (shown / timescale) * 1_000 : undefined;
}

/** The durations of all edits but the empty ones, together; 0 where one says none. */
function shownIn(list: Buffer): number {
  const isLong = list[0] === 1;
  const entryBytes = isLong ? 20 : 12;
  let sum = 0;
  for (let at = 8, left = wordAt(list, 4); left > 0 && at + entryBytes <= list.length; at += entryBytes, left -= 1) {
    const duration = isLong ? Number(list.readBigUInt64BE(at)) : list.readUInt32BE(at);
    const mediaTime = isLong ? list.readBigInt64BE(at + 8) : list.readInt32BE(at + 4);
    if (Number(mediaTime) === -1) continue;
    if (duration === 0) return 0;
    sum += duration;
  }
  return sum;
}

function contentOf(box: Buffer): Buffer {
  const { headerBytes = 0, contentBytes = 0 } = boxIn(box.subarray(0, LOOKED_AT_BYTES), Infinity) ?? {};
  return box.subarray(headerBytes).subarray(0, contentBytes);
}

function typeOf(bytes: Uint8Array): string {
  return viewOf(bytes).toString('latin1', 4, 8);
}
