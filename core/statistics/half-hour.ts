import { assert } from '../assert.js';
import type { TaskErrorCode } from '../generation/generation.js';

/** The length of a half hour, in milliseconds. Each begins at a full or a half hour, UTC. */
export const HALF_HOUR_MS = 1_800_000;
/** How many half hours are kept: those of eight days. */
export const KEPT_HALF_HOURS = 8 * 48;
/** How many processes a record remembers the batches of. A process that is forgotten has ended long before. */
const MAX_WRITERS = 500;

/**
 * Counts of durations, by the number of a bucket, in the order of these numbers; buckets without a count are left out.
 * The widths of buckets grow with the duration: see `percentileOf`.
 */
export type Histogram = readonly (readonly [bucket: number, count: number])[];

/** Generations of one model that ended, by their outcome. */
export interface ModelOutcomes {
  readonly modelKey: string;
  /** Time from acceptance to the end, of those that succeeded. */
  readonly resultMs: Histogram;
  /** How many failed, by the code of their error, in the order of the codes. */
  readonly failed: readonly (readonly [code: TaskErrorCode, count: number])[];
  readonly cancelled: number;
}

/** The counts of a half hour. */
export interface Counts {
  /** Time from the start of a create call in the service until it was durably accepted. */
  readonly acceptMs: Histogram;
  /** In the order of their keys. */
  readonly models: readonly ModelOutcomes[];
}

/**
 * The counts of all processes in one half hour. Records take `KEPT_HALF_HOURS` names in turn, so that a store never has more
 * records, and the counts of a half hour are replaced eight days later.
 */
export interface HalfHour extends Counts {
  readonly slot: string;
  readonly version: number;
  /** Milliseconds since the epoch. */
  readonly startsAt: number;
  /** The last batch that each process has added, by its boot id, the newest last. */
  readonly batches: readonly (readonly [bootId: string, number: number])[];
}

/** The counts of one process in a half hour since its last batch. A process numbers its batches from 1, over all half hours. */
export interface CountedBatch extends Counts {
  readonly bootId: string;
  readonly number: number;
  readonly startsAt: number;
}

export const NO_COUNTS: Counts = { acceptMs: [], models: [] };

/** The start of the half hour that a time is in, both in milliseconds since the epoch. */
export function halfHourOf(time: number): number {
  return Math.floor(time / HALF_HOUR_MS) * HALF_HOUR_MS;
}

/** The name of the record of a half hour. */
export function slotOf(startsAt: number): string {
  return String((startsAt / HALF_HOUR_MS) % KEPT_HALF_HOURS);
}

/**
 * The record after a batch; null where the batch changes nothing: it was added before, or the record is of a later half
 * hour. `stored` is the record of the slot, if there is one. `isValid` is whether its time can be right: one that a wrong
 * clock wrote far ahead is replaced.
 */
export function withBatch(
  stored: HalfHour | null,
  batch: CountedBatch,
  isValid: (time: number) => boolean,
): HalfHour | null {
  const { bootId, number, startsAt, acceptMs, models } = batch;
  const version = (stored?.version ?? 0) + 1;
  const slot = slotOf(startsAt);
  if (stored === null || stored.startsAt !== startsAt) {
    if (stored !== null && stored.startsAt > startsAt && isValid(stored.startsAt)) return null;
    return { slot, version, startsAt, acceptMs, models, batches: [[bootId, number]] };
  }
  const last = stored.batches.find(([writer]) => writer === bootId)?.[1] ?? 0;
  if (last >= number) return null;
  const others = stored.batches.filter(([writer]) => writer !== bootId).slice(1 - MAX_WRITERS);
  return { slot, version, startsAt, ...added(stored, batch), batches: [...others, [bootId, number]] };
}

/** The sums of two counts. */
export function added(one: Counts, other: Counts): Counts {
  const models = new Map(one.models.map((model) => [model.modelKey, model]));
  for (const model of other.models) {
    const before = models.get(model.modelKey);
    models.set(model.modelKey, before === undefined ? model : addedOutcomes(before, model));
  }
  return {
    acceptMs: addedPairs(one.acceptMs, other.acceptMs),
    models: [...models.values()].toSorted((a, b) => inOrder(a.modelKey, b.modelKey)),
  };
}

function addedOutcomes(one: ModelOutcomes, other: ModelOutcomes): ModelOutcomes {
  return {
    modelKey: one.modelKey,
    resultMs: addedPairs(one.resultMs, other.resultMs),
    failed: addedPairs(one.failed, other.failed),
    cancelled: one.cancelled + other.cancelled,
  };
}

type Pairs<K> = readonly (readonly [key: K, count: number])[];

/** The sums of two lists of counts by a key, in the order of the keys. */
export function addedPairs<K extends string | number>(one: Pairs<K>, other: Pairs<K>): Pairs<K> {
  const sums = new Map<K, number>(one);
  for (const [key, count] of other) sums.set(key, (sums.get(key) ?? 0) + count);
  for (const sum of sums.values()) assert(Number.isSafeInteger(sum) && sum > 0, 'counts are whole and positive');
  return [...sums].toSorted(([a], [b]) => inOrder(a, b));
}

function inOrder<K extends string | number>(a: K, b: K): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Three days; longer durations are counted as this one. No generation takes longer. */
const LONGEST_MS = 3 * 86_400_000;
/** The upper bounds of the buckets, in milliseconds: 0, 1, 2 … 10, then each at most a tenth above the one before. */
const BOUNDS: readonly number[] = bounds();

function bounds(): number[] {
  const all = [0];
  for (let bound = 0; bound < LONGEST_MS; all.push(bound)) bound = Math.max(bound + 1, Math.floor(bound * 1.1));
  return all;
}

/** The number of the bucket of a duration in milliseconds, which is rounded up to whole ones; negative ones count as 0. */
export function bucketOf(durationMs: number): number {
  const wanted = Math.ceil(durationMs);
  let [low, high] = [0, BOUNDS.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((BOUNDS[middle] as number) >= wanted) high = middle;
    else low = middle + 1;
  }
  return low;
}

export function countIn(histogram: Histogram): number {
  return histogram.reduce((sum, [, count]) => sum + count, 0);
}

/**
 * The duration that the given part of all (above 0, at most 1) does not exceed, by the nearest rank, in whole
 * milliseconds; undefined if nothing was counted. It is the middle of its bucket: exact up to 10 ms, and otherwise at most
 * 5 % off the duration of that rank, to the nearest millisecond.
 */
export function percentileOf(histogram: Histogram, part: number): number | undefined {
  let left = Math.ceil(countIn(histogram) * part);
  for (const [bucket, count] of histogram) {
    left -= count;
    if (left <= 0) return middleOf(bucket);
  }
  return undefined;
}

function middleOf(bucket: number): number {
  const most = BOUNDS[bucket] ?? LONGEST_MS;
  const least = bucket === 0 ? 0 : (BOUNDS[bucket - 1] ?? LONGEST_MS) + 1;
  return Math.round((least + most) / 2);
}
