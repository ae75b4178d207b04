import type { UUID } from 'mongodb';
import { checkedLimit } from '../../core/paging.js';
import { Turns } from '../turns.js';
import type { MongoConnection } from './connection.js';
import { Documents, textOf, unlessTaken, uuidOf } from './documents.js';

interface WakeUpDocument {
  /** The id of a generation, as in earlier releases; for any other subject its key. */
  readonly _id: UUID | string;
  readonly at: number;
}

const BY_TIME = { sort: { at: 1, _id: 1 }, hint: 'wake_ups_by_time' } as const;

/** Wake-ups in MongoDB, one a subject, in order of time: what an adapter that delivers them keeps them in. */
export class MongoWakeUpTable {
  private readonly wakeUps: Documents<WakeUpDocument>;
  private readonly turns = new Turns();

  constructor(connection: MongoConnection) {
    this.wakeUps = new Documents(connection, 'wake_ups');
  }

  /**
   * Sets the time of a subject's wake-up. Durable on return. Writes of this process apply in the order they were made.
   */
  upsert(key: string, at: number): Promise<void> {
    return this.turns.inTurn(key, () => this.set(idOf(key), at));
  }

  /** Wake-ups at or before `now`, earliest first; at most `limit`, 1 to 1,000. */
  async due(now: number, limit: number): Promise<{ readonly key: string; readonly at: number }[]> {
    const found = await this.wakeUps.find({ at: { $lte: now } }, { ...BY_TIME, limit: checkedLimit(limit) });
    return found.map(({ _id, at }) => ({ key: typeof _id === 'string' ? _id : textOf(_id), at }));
  }

  /** Removes the wake-up, unless its time has changed. */
  done(key: string, at: number): Promise<void> {
    return this.turns.inTurn(key, async () => void (await this.wakeUps.remove({ _id: idOf(key), at })));
  }

  /** The time of the first wake-up after `now`. */
  async nextAt(now: number): Promise<number | undefined> {
    return (await this.wakeUps.first({ at: { $gt: now } }, BY_TIME))?.at;
  }

  private async set(_id: UUID | string, at: number): Promise<void> {
    const write = () => this.wakeUps.update({ _id }, { $set: { at } }, true);
    // One of two concurrent first writes may be refused without effect; a second try then finds a document to update.
    if (!(await unlessTaken(write))) await write();
  }
}

function idOf(key: string): UUID | string {
  return uuidOf(key) ?? key;
}
