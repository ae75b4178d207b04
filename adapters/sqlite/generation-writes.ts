import type { Database, SqlValue } from './driver.js';

export function generationWrites(database: Database) {
  const insert = database.prepare(`
    INSERT INTO generations (id, account, app, kind, version, attention_at, doc, uncharged_bytes, status, created_at, model, trace)
    VALUES (unhex(?, '-'), unhex(?, '-'), unhex(?, '-'), ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`);
  const read = database.prepare(`SELECT doc FROM generations WHERE id = unhex(?, '-')`);
  // Names the columns of as few indexes as it can: each index with a column that is named is written again.
  const replace = database.prepare(`
    UPDATE generations SET version = ?3, attention_at = ?4, doc = ?5, uncharged_bytes = ?6, status = ?7 WHERE id = unhex(?1, '-') AND version = ?2`);
  const bury = database.prepare(`
    UPDATE generations SET version = ?3, attention_at = ?4, doc = ?5, kind = ?6,
      uncharged_bytes = NULL, status = NULL, created_at = NULL, model = NULL, trace = NULL
    WHERE id = unhex(?1, '-') AND version = ?2`);
  const remove = database.prepare(`DELETE FROM generations WHERE id = unhex(?, '-') AND version = ?`);

  return {
    /** Answers 1, or the record that has the id. */
    insertGeneration(...record: SqlValue[]): number | string {
      const { changes } = insert.run(...record);
      return Number(changes) === 1 ? 1 : (read.get(record[0] as string)?.['doc'] as string);
    },
    replaceGeneration: (...record: SqlValue[]) => Number(replace.run(...record).changes),
    /** Replaces it by a tombstone, or a tombstone by another. */
    buryGeneration: (...tombstone: SqlValue[]) => Number(bury.run(...tombstone).changes),
    removeGeneration: (...record: SqlValue[]) => Number(remove.run(...record).changes),
  };
}
