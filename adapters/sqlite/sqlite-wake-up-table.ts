import { checkedLimit } from '../../core/paging.js';
import type { Query, SqliteReader } from './reader.js';
import type { SqliteWriter } from './writer.js';

/** Wake-ups in SQLite, one a subject, in order of time: what an adapter that delivers them keeps them in. */
export class SqliteWakeUpTable {
  private readonly dueByTime: Query;
  private readonly first: Query;

  constructor(
    private readonly writer: Pick<SqliteWriter, 'write'>,
    reader: SqliteReader,
  ) {
    this.dueByTime = reader.query(`SELECT subject, at FROM wake_ups WHERE at <= ? ORDER BY at, subject LIMIT ?`);
    this.first = reader.query(`SELECT min(at) AS at FROM wake_ups WHERE at > ?`);
  }

  /** Sets the time of a subject's wake-up. Durable on return. */
  async upsert(key: string, at: number): Promise<void> {
    await this.writer.write('upsertWakeUp', key, at);
  }

  /** Wake-ups at or before `now`, earliest first; at most `limit`, 1 to 1,000. */
  due(now: number, limit: number): { readonly key: string; readonly at: number }[] {
    const rows = this.dueByTime.all(now, checkedLimit(limit));
    return rows.map((row) => ({ key: row['subject'] as string, at: row['at'] as number }));
  }

  /** Removes the wake-up, unless its time has changed. */
  async done(key: string, at: number): Promise<void> {
    await this.writer.write('removeWakeUp', key, at);
  }

  /** The time of the first wake-up after `now`. */
  nextAt(now: number): number | undefined {
    const at = this.first.get(now)?.['at'];
    return typeof at === 'number' ? at : undefined;
  }
}
