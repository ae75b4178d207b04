import type { Collection, UUID } from 'mongodb';
import { checkedLimit } from '../../core/paging.js';
import type { MongoConnection } from './connection.js';
import { BY_ID } from './schema.js';
import { isDuplicateKey } from './store-errors.js';
import { ownUuid, textOf } from './uuid-binary.js';

interface WakeUpDocument {
  readonly _id: UUID;
  readonly at: number;
}

/** Wake-ups in MongoDB, one a generation, in order of time: what an adapter that delivers them keeps them in. */
export class MongoWakeUpTable {
  private readonly wakeUps: Collection<WakeUpDocument>;
  /** The last write of each generation that is under way here. */
  private readonly underWay = new Map<string, Promise<unknown>>();

  constructor(private readonly connection: MongoConnection) {
    this.wakeUps = connection.collection('wake_ups');
  }

  /** Sets the time of a generation's wake-up. Durable on return. Writes of this process apply in the order they were made. */
  upsert(generationId: string, at: number): Promise<void> {
    return this.inTurn(generationId, () => this.set(ownUuid(generationId), at));
  }

  /** Wake-ups at or before `now`, earliest first; at most `limit`, 1 to 1,000. */
  async due(now: number, limit: number): Promise<{ readonly generationId: string; readonly at: number }[]> {
    const options = { sort: { at: 1, _id: 1 }, limit: checkedLimit(limit), hint: 'wake_ups_by_time' } as const;
    const found = await this.connection.ask((limits) => this.wakeUps.find({ at: { $lte: now } }, { ...options, ...limits }).toArray());
    return found.map(({ _id, at }) => ({ generationId: textOf(_id), at }));
  }

  /** Removes the wake-up, unless its time has changed. */
  done(generationId: string, at: number): Promise<void> {
    const filter = { _id: ownUuid(generationId), at };
    return this.inTurn(generationId, async () => {
      await this.connection.ask((limits) => this.wakeUps.deleteOne(filter, { ...limits, hint: BY_ID }));
    });
  }

  /** The time of the first wake-up after `now`. */
  async nextAt(now: number): Promise<number | undefined> {
    const options = { sort: { at: 1, _id: 1 }, hint: 'wake_ups_by_time' } as const;
    return (await this.connection.ask((limits) => this.wakeUps.findOne({ at: { $gt: now } }, { ...options, ...limits })))?.at;
  }

  private async set(_id: UUID, at: number): Promise<void> {
    const write = () => this.connection.ask((limits) => this.wakeUps.updateOne({ _id }, { $set: { at } }, { ...limits, upsert: true }));
    // Of two first writes at once one may find the other there, having written nothing; then there is something to update.
    await write().catch((error: unknown) => (isDuplicateKey(error) ? write() : Promise.reject(error)));
  }

  /** Every connection of the pool is a way of its own to the server, so writes of one generation wait for each other here. */
  private async inTurn(generationId: string, write: () => Promise<void>): Promise<void> {
    const turn = (this.underWay.get(generationId) ?? Promise.resolve()).then(write, write);
    this.underWay.set(generationId, turn);
    try {
      await turn;
    } finally {
      if (this.underWay.get(generationId) === turn) this.underWay.delete(generationId);
    }
  }
}
