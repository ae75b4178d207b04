import type { Database, SqlValue } from './driver.js';

/** Account, day, credential, model, expected and new sequence, and five sums. */
const ROW_FIELDS = 11;

export function usageWrites(database: Database) {
  const insert = database.prepare(`
    INSERT INTO usage (account, day, credential, model, last_sequence, generations, failed, reserved, charged, released)
    SELECT unhex(?1, '-'), ?2, ?3, ?4, ?6, ?7, ?8, ?9, ?10, ?11 WHERE ?5 = 0 ON CONFLICT DO NOTHING`);
  const replace = database.prepare(`
    UPDATE usage SET last_sequence = ?6, generations = ?7, failed = ?8, reserved = ?9, charged = ?10, released = ?11
    WHERE account = unhex(?1, '-') AND day = ?2 AND credential = ?3 AND model = ?4 AND last_sequence = ?5`);

  return {
    /** Any number of rows, eleven values each. Answers how many were written. */
    applyUsage(...values: SqlValue[]): number {
      let written = 0;
      for (let at = 0; at < values.length; at += ROW_FIELDS) {
        const row = values.slice(at, at + ROW_FIELDS);
        written += Number((row[4] === 0 ? insert : replace).run(...row).changes);
      }
      return written;
    },
  };
}
