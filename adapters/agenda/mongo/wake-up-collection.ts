import { type Collection, type Db, type Document, MongoServerError } from 'mongodb';
import { randomInt, randomUUID } from 'node:crypto';
import type { Clock } from '../../../core/ports/machine.js';
import { type HeldWakeUp, JOB_NAME, type WakeUpStore } from '../wake-up-store.js';

/** The database that MongoDB lends for wake-ups, and the function that calls it. */
export interface LentMongo {
  /** Its writes are to be acknowledged by a majority and journalled: they are made as the database says. */
  readonly db: Db;
  /**
   * One operation, with a bound on its wait. Throws `StoreUnavailable` if the server was unavailable or the time is
   * over: the operation may then have happened, or may still happen. A server's report of a programming error is passed
   * on unchanged.
   */
  ask<T>(operation: () => Promise<T>): Promise<T>;
}

/**
 * A wake-up as Agenda's job. A process that takes it for long postpones `nextRunAt` instead of setting a separate lock: the
 * job then comes due again by itself when that process dies, and one index finds both due and dropped jobs. One that is
 * done at once is removed when it is taken.
 */
export interface WakeUpDocument {
  readonly name: string;
  readonly type: 'normal';
  readonly priority: number;
  /** When the next process may take it. */
  readonly nextRunAt: Date;
  /** How often in a row a handler rejected it. */
  readonly failCount: number;
  readonly data: {
    /**
     * The key of the subject. The name remains because earlier releases know only generations, whose key is their id.
     */
    readonly generationId: string;
    /**
     * Replaced whenever the wake-up is scheduled, taken or released: only a process that knows the stamp may keep
     * this wake-up, end it or release it.
     */
    readonly stamp: string;
  };
}

/**
 * The operations on the collection, each on one document or on those held. The change stream announces a replacement
 * with its whole document, but not an update: so a wake-up that other processes should take immediately is written by
 * replacement.
 */
export class WakeUpCollection implements WakeUpStore {
  private readonly documents: Collection<WakeUpDocument>;

  constructor(
    private readonly database: LentMongo,
    private readonly clock: Clock,
    private readonly holdMs: number,
  ) {
    this.documents = database.db.collection<WakeUpDocument>(COLLECTION);
  }

  async put(key: string, at: number): Promise<string> {
    const stamp = randomUUID();
    const document = aWakeUp(key, at, stamp);
    const write = () => this.documents.replaceOne({ 'data.generationId': key }, document, { upsert: true });
    // Two processes that schedule a subject for the first time concurrently both insert, and one is refused: the
    // wake-up then exists.
    await this.database.ask(() =>
      write().catch((error: unknown) => (hasCode(error, DUPLICATE_KEY) ? write() : Promise.reject(error))),
    );
    return stamp;
  }

  async putHeld(key: string): Promise<HeldWakeUp> {
    const stamp = await this.put(key, this.clock.now() + this.holdMs);
    return { key, stamp, failCount: 0, isStored: 'yes' };
  }

  /**
   * Takes one. Concurrent callers pick at random among the same few: if all tried the first, all but one would wait in vain, longer
   * with more callers.
   */
  async take(at: number, stays: boolean): Promise<readonly HeldWakeUp[]> {
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
      const taken = picked && (await (stays ? this.takeThis(picked) : this.takeAway(picked)));
      if (taken) return [taken];
    }
    return [];
  }

  /** Undefined when another process has taken it since, or it was scheduled again. */
  private async takeThis({ data, failCount }: Due): Promise<HeldWakeUp | undefined> {
    const [key, stamp] = [data.generationId, randomUUID()];
    const isOurs = await this.update(key, data.stamp, { 'nextRunAt': this.holdEnd(), 'data.stamp': stamp });
    return isOurs ? { key, stamp, failCount, isStored: 'yes' } : undefined;
  }

  /** The same with the document removed. If it is unknown whether it is, it is stored again. */
  private async takeAway({ data, failCount }: Due): Promise<HeldWakeUp | undefined> {
    const wakeUp = { key: data.generationId, stamp: randomUUID(), failCount, isStored: 'no' } as const;
    try {
      const isOurs = await this.database.ask(() =>
        this.documents.deleteOne(stamped(wakeUp.key, data.stamp), { hint: BY_GENERATION }).then(
          ({ deletedCount }) => deletedCount === 1,
          (error: unknown) => (hasCode(error, WRITE_CONFLICT) ? false : Promise.reject(error)),
        ),
      );
      return isOurs ? wakeUp : undefined;
    } catch (error) {
      await this.insert(wakeUp, this.clock.now()).catch(() => undefined);
      throw error;
    }
  }

  async store(wakeUp: HeldWakeUp): Promise<boolean> {
    return this.insert(wakeUp, this.clock.now() + this.holdMs);
  }

  async firstAt(): Promise<number | undefined> {
    const first = await this.database.ask(() =>
      this.documents.findOne(
        { name: JOB_NAME },
        { sort: { nextRunAt: 1 }, projection: { _id: 0, name: 1, nextRunAt: 1 } },
      ),
    );
    return first?.nextRunAt.getTime();
  }

  async end({ key, stamp, isStored }: HeldWakeUp): Promise<void> {
    if (isStored === 'no') return;
    await this.database.ask(() => this.documents.deleteOne(stamped(key, stamp), { hint: BY_GENERATION }));
  }

  async putBack(wakeUp: HeldWakeUp, at: number, failCount: number): Promise<void> {
    const { key, stamp, isStored } = wakeUp;
    if (isStored !== 'yes') return void (await this.insert({ ...wakeUp, failCount, stamp: randomUUID() }, at));
    await this.update(key, stamp, { 'nextRunAt': new Date(at), failCount, 'data.stamp': randomUUID() });
  }

  async handOver(wakeUp: HeldWakeUp): Promise<void> {
    const { key, stamp, failCount, isStored } = wakeUp;
    if (isStored !== 'yes') return void (await this.insert({ ...wakeUp, stamp: randomUUID() }, this.clock.now()));
    const document = { ...aWakeUp(key, this.clock.now(), randomUUID()), failCount };
    await this.database.ask(() => this.documents.replaceOne(stamped(key, stamp), document, { hint: BY_GENERATION }));
  }

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

  /** Changes the wake-up, if it still has the stamp; returns whether it had. */
  private async update(key: string, stamp: string, change: Document): Promise<boolean> {
    const { matchedCount } = await this.database.ask(() =>
      this.documents.updateOne(stamped(key, stamp), { $set: change }, { hint: BY_GENERATION }),
    );
    return matchedCount === 1;
  }

  /** Returns false if the subject already has a wake-up, which remains unchanged. */
  private async insert({ key, stamp, failCount }: HeldWakeUp, at: number): Promise<boolean> {
    const document = { ...aWakeUp(key, at, stamp), failCount };
    return this.database.ask(() =>
      this.documents.insertOne(document).then(
        () => true,
        (error: unknown) => (hasCode(error, DUPLICATE_KEY) ? false : Promise.reject(error)),
      ),
    );
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

function hasCode(error: unknown, code: number): boolean {
  return error instanceof MongoServerError && error.code === code;
}

/** Finds the wake-up of a key while it has the stamp. */
function stamped(key: string, stamp: string) {
  return { 'data.generationId': key, 'data.stamp': stamp };
}

type Due = Pick<WakeUpDocument, 'data' | 'failCount'>;

export interface Index {
  readonly name: string;
  readonly key: Readonly<Record<string, 1>>;
  readonly unique: boolean;
}

/** Writes that also name a stamp get this index as a hint, as not every server chooses it by itself. */
const BY_GENERATION = 'generation';

/** Every query of the collection uses one of these. */
export const INDEXES: readonly Index[] = [
  { name: BY_GENERATION, key: { 'data.generationId': 1 }, unique: true },
  { name: 'due', key: { name: 1, nextRunAt: 1 }, unique: false },
];

/** The collection of wake-ups. One document a subject, so that a schedule replaces the one before. */
export const COLLECTION = 'agenda_wake_ups';

const DUPLICATE_KEY = 11_000;
/** Another process wrote the document at the same moment. */
const WRITE_CONFLICT = 112;
/** Several times the number of concurrent queries: a few processes, with a few queries each. */
const PICKED_FROM = 32;
