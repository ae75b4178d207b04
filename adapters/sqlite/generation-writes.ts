import type { Database, SqlValue } from './driver.js';

export function generationWrites(database: Database) {
  const insert = database.prepare(`
    INSERT INTO generations (id, account, app, kind, version, attention_at, doc, uncharged_bytes)
    VALUES (unhex(?, '-'), unhex(?, '-'), unhex(?, '-'), ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`);
  const read = database.prepare(`SELECT doc FROM generations WHERE id = unhex(?, '-')`);
  const replace = database.prepare(`
    UPDATE generations SET kind = ?3, version = ?4, attention_at = ?5, doc = ?6, uncharged_bytes = ?7 WHERE id = unhex(?1, '-') AND version = ?2`);
  const remove = database.prepare(`DELETE FROM generations WHERE id = unhex(?, '-') AND version = ?`);

  return {
    /** Answers 1, or the record that has the id. */
    insertGeneration(...record: SqlValue[]): number | string {
      const { changes } = insert.run(...record);
      return Number(changes) === 1 ? 1 : (read.get(record[0] as string)?.['doc'] as string);
    },
    replaceGeneration: (...record: SqlValue[]) => Number(replace.run(...record).changes),
    removeGeneration: (...record: SqlValue[]) => Number(remove.run(...record).changes),
  };
}
