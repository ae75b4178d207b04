import { checkedLimit } from '../../core/paging.js';
import { Turns } from '../turns.js';
import type { PostgresDatabase } from './connection.js';

/** Wake-ups in PostgreSQL, one a subject, in order of time: what an adapter that delivers them keeps them in. */
export class PostgresWakeUpTable {
  private readonly turns = new Turns();

  constructor(private readonly db: PostgresDatabase) {}

  /**
   * Sets the time of a subject's wake-up. Durable on return. Writes of this process apply in the order they were made.
   */
  upsert(key: string, at: number): Promise<void> {
    const sql = `INSERT INTO darkroom.wake_ups (subject, at) VALUES ($1, $2)
      ON CONFLICT (subject) DO UPDATE SET at = excluded.at`;
    return this.turns.inTurn(key, async () => void (await this.db.ask(sql, [key, at])));
  }

  /** Wake-ups at or before `now`, earliest first; at most `limit`, 1 to 1,000. */
  async due(now: number, limit: number): Promise<{ readonly key: string; readonly at: number }[]> {
    const sql = 'SELECT subject, at FROM darkroom.wake_ups WHERE at <= $1 ORDER BY at, subject LIMIT $2';
    const { rows } = await this.db.ask(sql, [now, checkedLimit(limit)]);
    return rows.map((row) => ({ key: row['subject'] as string, at: row['at'] as number }));
  }

  /** Removes the wake-up, unless its time has changed. */
  done(key: string, at: number): Promise<void> {
    const sql = 'DELETE FROM darkroom.wake_ups WHERE subject = $1 AND at = $2';
    return this.turns.inTurn(key, async () => void (await this.db.ask(sql, [key, at])));
  }

  /** The time of the first wake-up after `now`. */
  async nextAt(now: number): Promise<number | undefined> {
    const { rows } = await this.db.ask('SELECT min(at) AS at FROM darkroom.wake_ups WHERE at > $1', [now]);
    return (rows[0]?.['at'] as number | null | undefined) ?? undefined;
  }
}
