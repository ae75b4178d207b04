import type { Database, SqlValue } from './driver.js';

export function wakeUpWrites(database: Database) {
  const upsert = database.prepare(`
    INSERT INTO wake_ups (subject, at) VALUES (?, ?) ON CONFLICT DO UPDATE SET at = excluded.at`);
  const remove = database.prepare(`DELETE FROM wake_ups WHERE subject = ? AND at = ?`);

  return {
    upsertWakeUp: (...wakeUp: SqlValue[]) => Number(upsert.run(...wakeUp).changes),
    removeWakeUp: (...wakeUp: SqlValue[]) => Number(remove.run(...wakeUp).changes),
  };
}
