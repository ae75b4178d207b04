import type { Database, SqlValue } from './driver.js';

/** Account, expected and new sequence, and five sums; then the key. */
const COUNTED = 8;

export function usageWrites(database: Database) {
  return {
    /** Any number of rows, with day, credential and model as key. Answers how many were written. */
    applyUsage: rowWrites(database, 'usage', ['day', 'credential', 'model']),
    /** The same with day and trace id as key. */
    applyTraceUsage: rowWrites(database, 'usage_by_trace', ['day', 'trace']),
  };
}

function rowWrites(database: Database, table: string, key: readonly string[]) {
  const values = key.map((_, index) => `?${COUNTED + 1 + index}`);
  const insert = database.prepare(`
    INSERT INTO ${table} (account, last_sequence, generations, failed, reserved, charged, released, ${key.join(', ')})
    SELECT unhex(?1, '-'), ?3, ?4, ?5, ?6, ?7, ?8, ${values.join(', ')} WHERE ?2 = 0 ON CONFLICT DO NOTHING`);
  const replace = database.prepare(`
    UPDATE ${table} SET last_sequence = ?3, generations = ?4, failed = ?5, reserved = ?6, charged = ?7, released = ?8
    WHERE account = unhex(?1, '-') AND last_sequence = ?2
      AND ${key.map((column, index) => `${column} = ${values[index]}`).join(' AND ')}`);

  return (...rows: SqlValue[]): number => {
    let written = 0;
    for (let at = 0; at < rows.length; at += COUNTED + key.length) {
      const row = rows.slice(at, at + COUNTED + key.length);
      written += Number((row[1] === 0 ? insert : replace).run(...row).changes);
    }
    return written;
  };
}
