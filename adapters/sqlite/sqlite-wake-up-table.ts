import { checkedLimit } from '../../core/paging.js';
import type { Query, SqliteReader } from './reader.js';
import { uuidOfHex } from './uuid-text.js';
import type { SqliteWriter } from './writer.js';

/** Wake-ups in SQLite, one a generation, in order of time: what an adapter that delivers them keeps them in. */
export class SqliteWakeUpTable {
  private readonly dueByTime: Query;
  private readonly first: Query;

  constructor(private readonly writer: Pick<SqliteWriter, 'write'>, reader: SqliteReader) {
    this.dueByTime = reader.query(`SELECT hex(generation) AS generation, at FROM wake_ups WHERE at <= ? ORDER BY at, generation LIMIT ?`);
    this.first = reader.query(`SELECT min(at) AS at FROM wake_ups WHERE at > ?`);
  }

  /** Sets the time of a generation's wake-up. Durable on return. */
  async upsert(generationId: string, at: number): Promise<void> {
    await this.writer.write('upsertWakeUp', generationId, at);
  }

  /** Wake-ups at or before `now`, earliest first; at most `limit`, 1 to 1,000. */
  due(now: number, limit: number): { readonly generationId: string; readonly at: number }[] {
    const rows = this.dueByTime.all(now, checkedLimit(limit));
    return rows.map((row) => ({ generationId: uuidOfHex(row['generation'] as string), at: row['at'] as number }));
  }

  /** Removes the wake-up, unless its time has changed. */
  async done(generationId: string, at: number): Promise<void> {
    await this.writer.write('removeWakeUp', generationId, at);
  }

  /** The time of the first wake-up after `now`. */
  nextAt(now: number): number | undefined {
    const at = this.first.get(now)?.['at'];
    return typeof at === 'number' ? at : undefined;
  }
}
