import { checkedLimit } from '../../core/paging.js';
import type { Connections } from './reader.js';

/** Wake-ups in SQLite, one a subject, in order of time: what an adapter that delivers them keeps them in. */
export class SqliteWakeUpTable {
  constructor(private readonly db: Connections) {}

  /** Sets the time of a subject's wake-up. Durable on return. */
  async upsert(key: string, at: number): Promise<void> {
    const sql = 'INSERT INTO wake_ups (subject, at) VALUES (?, ?) ON CONFLICT DO UPDATE SET at = excluded.at';
    await this.db.writer.run(sql, key, at);
  }

  /** Wake-ups at or before `now`, earliest first; at most `limit`, 1 to 1,000. */
  due(now: number, limit: number): { readonly key: string; readonly at: number }[] {
    const sql = 'SELECT subject, at FROM wake_ups WHERE at <= ? ORDER BY at, subject LIMIT ?';
    const rows = this.db.reader.all(sql, now, checkedLimit(limit));
    return rows.map((row) => ({ key: row['subject'] as string, at: row['at'] as number }));
  }

  /** Removes the wake-up, unless its time has changed. */
  async done(key: string, at: number): Promise<void> {
    await this.db.writer.run('DELETE FROM wake_ups WHERE subject = ? AND at = ?', key, at);
  }

  /** The time of the first wake-up after `now`. */
  nextAt(now: number): number | undefined {
    const at = this.db.reader.get('SELECT min(at) AS at FROM wake_ups WHERE at > ?', now)?.['at'];
    return typeof at === 'number' ? at : undefined;
  }
}
