import type { Database, SqlValue } from './driver.js';

/**
 * The write of a table whose records have a name, a version and a text: onto the version that is expected, which is 0
 * where there is none.
 */
export function replaceNamed(
  database: Database,
  { table, name }: { readonly table: string; readonly name: string },
): (...record: SqlValue[]) => number {
  // No stored record has the version 0.
  const insert = database.prepare(`
    INSERT INTO ${table} (${name}, version, doc) SELECT ?1, ?3, ?4 WHERE ?2 = 0 ON CONFLICT DO NOTHING`);
  const replace = database.prepare(`
    UPDATE ${table} SET version = ?3, doc = ?4 WHERE ${name} = ?1 AND version = ?2`);
  return (...record) => Number(insert.run(...record).changes) || Number(replace.run(...record).changes);
}
