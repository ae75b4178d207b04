import type { Boot } from '../boot.js';
import { StoreUnavailable } from '../errors.js';
import type { Generation } from '../generation/generation.js';
import type { Log } from '../log.js';
import type { Ports } from '../ports/ports.js';
import { isFarAhead } from '../settings.js';
import { Remembered } from '../waiting.js';
import {
  addedPairs,
  bucketOf,
  countIn,
  type CountedBatch,
  type Counts,
  halfHourOf,
  type Histogram,
  type ModelOutcomes,
  percentileOf,
  KEPT_HALF_HOURS,
  HALF_HOUR_MS,
  slotOf,
  withBatch,
} from './half-hour.js';

/** How often a process stores what it has counted, in milliseconds. */
export const STORE_COUNTS_MS = 5_000;
/** Half hours that may wait for a store that is unavailable; the oldest are dropped beyond that. */
const MAX_WAITING = 16;
/** How often other processes may be faster before a batch waits for the next time. */
const MAX_TRIES = 20;
/** Records that are read concurrently. */
const READS_AT_ONCE = 32;
/** How long the usual times of models are reused, in milliseconds, and of how many half hours they are. */
const USUAL_KEPT_MS = 60_000;
const USUAL_HALF_HOURS = 48;
/** With fewer results, no time is usual. */
const USUAL_RESULTS = 3;

/**
 * Counts the generations that this process has accepted, and those that it has settled, each of which one process alone
 * does. Nothing is stored on the way of a request: `store` adds the counts to those of the other processes. A batch of
 * unknown outcome is sent again under its number, and taken in once. The counts of a process that is killed are lost since
 * it stored last: nothing is counted twice, and at most `STORE_COUNTS_MS` are missing.
 */
export class OutcomeCounts {
  /** Counts that are not yet sent, by the start of their half hour. */
  private readonly waiting = new Map<number, Counting>();
  /** The batch that was sent, until its outcome is known. */
  private sent: CountedBatch | undefined;
  private lastNumber = 0;
  private storing: Promise<void> | undefined;
  private readonly usual: Remembered<ReadonlyMap<string, number>>;

  constructor(private readonly ports: Pick<Ports, 'halfHours' | 'clock'> & { readonly log: Log; readonly boot: Boot }) {
    this.usual = new Remembered(ports.clock, USUAL_KEPT_MS);
  }

  /** This process has accepted a generation, after so many milliseconds. */
  accepted(durationMs: number): void {
    count(this.now().acceptMs, bucketOf(durationMs));
  }

  /** This process has settled a generation that has ended. It counts for the half hour in which it was settled. */
  settled({ modelKey, status, error, createdAt, completedAt = createdAt }: Generation): void {
    const { models } = this.now();
    let model = models.get(modelKey);
    if (model === undefined) models.set(modelKey, (model = { resultMs: new Map(), failed: new Map(), cancelled: 0 }));
    if (status === 'succeeded') count(model.resultMs, bucketOf(completedAt - createdAt));
    else if (status === 'failed') count(model.failed, error?.code ?? 'INTERNAL_ERROR');
    else model.cancelled += 1;
  }

  private now(): Counting {
    const startsAt = halfHourOf(this.ports.clock.now());
    let counting = this.waiting.get(startsAt);
    if (counting === undefined) {
      this.waiting.set(startsAt, (counting = { acceptMs: new Map(), models: new Map() }));
      const [oldest] = this.waiting.keys();
      if (this.waiting.size > MAX_WAITING && oldest !== undefined) this.waiting.delete(oldest);
    }
    return counting;
  }

  /**
   * Stores what was counted so far. Never throws: what a store does not take now is stored the next time. One call at a
   * time does the work; the others wait for it.
   */
  store(): Promise<void> {
    this.storing ??= this.storeAll().finally(() => {
      this.storing = undefined;
    });
    return this.storing;
  }

  private async storeAll(): Promise<void> {
    try {
      for (;;) {
        this.sent ??= this.nextBatch();
        if (this.sent === undefined || !(await this.send(this.sent))) return;
        this.sent = undefined;
      }
    } catch (error) {
      // An outage has its own lines in the log.
      if (!(error instanceof StoreUnavailable)) this.ports.log.warn('counts of outcomes not stored', { error });
    }
  }

  private nextBatch(): CountedBatch | undefined {
    const [next] = this.waiting;
    if (next === undefined) return undefined;
    const [startsAt, counting] = next;
    this.waiting.delete(startsAt);
    this.lastNumber += 1;
    return { bootId: this.ports.boot.id, number: this.lastNumber, startsAt, ...countsOf(counting) };
  }

  /** Returns whether the batch is stored, or never will be; false if other processes were faster too often. */
  private async send(batch: CountedBatch): Promise<boolean> {
    const { halfHours, clock } = this.ports;
    const isValid = (time: number): boolean => !isFarAhead(time, clock.now());
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const stored = await halfHours.read(slotOf(batch.startsAt));
      const next = withBatch(stored, batch, isValid);
      if (next === null || (await halfHours.replace(next, stored?.version ?? 0)) === 'applied') return true;
    }
    return false;
  }

  /**
   * The median time to a result of each model that had at least three in the last 24 hours, in milliseconds. At most a
   * minute old. Throws `StoreUnavailable`.
   */
  usualTimes(): Promise<ReadonlyMap<string, number>> {
    return this.usual.get(() => this.readUsualTimes());
  }

  private async readUsualTimes(): Promise<ReadonlyMap<string, number>> {
    const last = halfHourOf(this.ports.clock.now());
    const read = await this.between(last - (USUAL_HALF_HOURS - 1) * HALF_HOUR_MS, last + HALF_HOUR_MS);
    const results = new Map<string, Histogram>();
    for (const { models } of read.values())
      for (const { modelKey, resultMs } of models)
        results.set(modelKey, addedPairs(results.get(modelKey) ?? [], resultMs));
    return new Map(
      [...results].flatMap(([modelKey, resultMs]): [string, number][] => {
        const median = percentileOf(resultMs, 0.5);
        const isUsual = countIn(resultMs) >= USUAL_RESULTS;
        return median === undefined || !isUsual ? [] : [[modelKey, median]];
      }),
    );
  }

  /**
   * The counts of all processes, with all that this one has counted, of the half hours that start in `[from, to)`, by their
   * starts, oldest first; those without a count are left out. At most `KEPT_HALF_HOURS`. Throws `StoreUnavailable`.
   */
  async between(from: number, to: number): Promise<ReadonlyMap<number, Counts>> {
    await this.store();
    const starts: number[] = [];
    for (let at = halfHourOf(from); at < to && starts.length < KEPT_HALF_HOURS; at += HALF_HOUR_MS) starts.push(at);
    const found = new Map<number, Counts>();
    for (let at = 0; at < starts.length; at += READS_AT_ONCE) {
      const names = starts.slice(at, at + READS_AT_ONCE);
      const records = await Promise.all(names.map((start) => this.ports.halfHours.read(slotOf(start))));
      // A slot may have a half hour of eight days before.
      for (const [index, record] of records.entries())
        if (record?.startsAt === names[index] && record !== undefined && record !== null)
          found.set(record.startsAt, record);
    }
    return found;
  }
}

/** Counts that still change. */
interface Counting {
  readonly acceptMs: Map<number, number>;
  readonly models: Map<string, CountingModel>;
}

interface CountingModel {
  readonly resultMs: Map<number, number>;
  readonly failed: Map<ModelOutcomes['failed'][number][0], number>;
  cancelled: number;
}

function count<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function countsOf({ acceptMs, models }: Counting): Counts {
  return {
    acceptMs: addedPairs([], [...acceptMs]),
    models: [...models]
      .map(([modelKey, { resultMs, failed, cancelled }]) => ({
        modelKey,
        resultMs: addedPairs([], [...resultMs]),
        failed: addedPairs([], [...failed]),
        cancelled,
      }))
      .toSorted((a, b) => (a.modelKey < b.modelKey ? -1 : 1)),
  };
}
