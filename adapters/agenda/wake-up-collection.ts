import { randomInt, randomUUID } from 'node:crypto';
import { MongoServerError, type Collection } from 'mongodb';
import type { Clock } from '../../core/ports/clock.js';
import type { AgendaDatabase } from './agenda-database.js';
import { BY_GENERATION } from './indexes.js';
import { COLLECTION, JOB_NAME, type HeldWakeUp, type WakeUpDocument } from './wake-up-document.js';

const DUPLICATE_KEY = 11_000;
/** Several times the number of concurrent queries: a few processes, with a few queries each. */
const PICKED_FROM = 32;

/**
 * The operations on the collection, each on one document or on those held. The change stream announces a replacement
 * with its whole document, but not an update: so a wake-up that other processes should take immediately is written by
 * replacement. Every method throws `StoreUnavailable` when there is no answer in time.
 */
export class WakeUpCollection {
  private readonly documents: Collection<WakeUpDocument>;

  constructor(
    private readonly database: AgendaDatabase,
    private readonly clock: Clock,
    private readonly holdMs: number,
  ) {
    this.documents = database.db.collection<WakeUpDocument>(COLLECTION);
  }

  /** Replaces the subject's wake-up. Durable on return. */
  async put(key: string, at: number): Promise<void> {
    await this.replace(key, at);
  }

  /** Replaces the subject's wake-up by one that this process holds already. Durable on return. */
  async putHeld(key: string): Promise<HeldWakeUp> {
    const stamp = await this.replace(key, this.clock.now() + this.holdMs);
    return { key, stamp, failCount: 0 };
  }

  /**
   * Takes one of the wake-ups that have been due longest, if any was due by `at`. No other process gets it while it is
   * held. Concurrent callers pick at random among the same few: if all tried the first, all but one would wait in vain,
   * longer with more callers.
   */
  async take(at: number): Promise<HeldWakeUp | undefined> {
    const due = await this.database.ask(() =>
      this.documents
        .find(
          { name: JOB_NAME, nextRunAt: { $lte: new Date(at) } },
          { sort: { nextRunAt: 1 }, limit: PICKED_FROM, projection: { _id: 0, failCount: 1, data: 1 } },
        )
        .toArray(),
    );
    while (due.length > 0) {
      const [picked] = due.splice(randomInt(due.length), 1);
      const taken = picked && (await this.takeThis(picked));
      if (taken) return taken;
    }
    return undefined;
  }

  /** Undefined when another process has taken it since, or it was scheduled again. */
  private async takeThis({
    data: { generationId: key, stamp: readStamp },
    failCount,
  }: Pick<WakeUpDocument, 'data' | 'failCount'>): Promise<HeldWakeUp | undefined> {
    const stamp = randomUUID();
    const { matchedCount } = await this.database.ask(() =>
      this.documents.updateOne(
        { 'data.generationId': key, 'data.stamp': readStamp },
        { $set: { 'nextRunAt': this.holdEnd(), 'data.stamp': stamp } },
        { hint: BY_GENERATION },
      ),
    );
    return matchedCount === 1 ? { key, stamp, failCount } : undefined;
  }

  /** When the first wake-up comes due, or came due. */
  async firstAt(): Promise<number | undefined> {
    const first = await this.database.ask(() =>
      this.documents.findOne(
        { name: JOB_NAME },
        { sort: { nextRunAt: 1 }, projection: { _id: 0, name: 1, nextRunAt: 1 } },
      ),
    );
    return first?.nextRunAt.getTime();
  }

  /** Removes the wake-up, unless it was scheduled again or our hold on it has lapsed. */
  async end({ key, stamp }: HeldWakeUp): Promise<void> {
    await this.database.ask(() =>
      this.documents.deleteOne({ 'data.generationId': key, 'data.stamp': stamp }, { hint: BY_GENERATION }),
    );
  }

  /**
   * Gives the wake-up back, to be taken at `at`. A `keep` of it that is still in progress finds another stamp, and
   * changes nothing.
   */
  async putBack({ key, stamp }: HeldWakeUp, at: number, failCount: number): Promise<void> {
    await this.database.ask(() =>
      this.documents.updateOne(
        { 'data.generationId': key, 'data.stamp': stamp },
        { $set: { 'nextRunAt': new Date(at), failCount, 'data.stamp': randomUUID() } },
        { hint: BY_GENERATION },
      ),
    );
  }

  /** Gives the wake-up back, to be taken by another process now. */
  async handOver({ key, stamp, failCount }: HeldWakeUp): Promise<void> {
    const document = { ...aWakeUp(key, this.clock.now(), randomUUID()), failCount };
    await this.database.ask(() =>
      this.documents.replaceOne({ 'data.generationId': key, 'data.stamp': stamp }, document, { hint: BY_GENERATION }),
    );
  }

  /** Extends the hold on wake-ups, at most 1,000, that were not scheduled again. */
  async keep(held: readonly HeldWakeUp[]): Promise<void> {
    const ids = held.map(({ key }) => key);
    const stamps = held.map(({ stamp }) => stamp);
    await this.database.ask(() =>
      this.documents.updateMany(
        { 'data.generationId': { $in: ids }, 'data.stamp': { $in: stamps } },
        { $set: { nextRunAt: this.holdEnd() } },
        { hint: BY_GENERATION },
      ),
    );
  }

  private async replace(key: string, at: number): Promise<string> {
    const stamp = randomUUID();
    const document = aWakeUp(key, at, stamp);
    const write = () => this.documents.replaceOne({ 'data.generationId': key }, document, { upsert: true });
    // Two processes that schedule a subject for the first time concurrently both insert, and one is refused: the
    // wake-up then exists.
    await this.database.ask(() =>
      write().catch((error: unknown) => (isDuplicate(error) ? write() : Promise.reject(error))),
    );
    return stamp;
  }

  private holdEnd(): Date {
    return new Date(this.clock.now() + this.holdMs);
  }
}

function aWakeUp(key: string, at: number, stamp: string): WakeUpDocument {
  return {
    name: JOB_NAME,
    type: 'normal',
    priority: 0,
    nextRunAt: new Date(at),
    failCount: 0,
    data: { generationId: key, stamp },
  };
}

function isDuplicate(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === DUPLICATE_KEY;
}
