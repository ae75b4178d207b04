import type { Database, SqlValue } from './driver.js';

export function uploadWrites(database: Database) {
  const insert = database.prepare(`
    INSERT INTO uploads (id, version, attention_at, doc, account, app, unfinished, bytes)
    VALUES (unhex(?, '-'), ?, ?, ?, unhex(?, '-'), unhex(?, '-'), ?, ?) ON CONFLICT DO NOTHING`);
  const read = database.prepare(`SELECT doc FROM uploads WHERE id = unhex(?, '-')`);
  const replace = database.prepare(`
    UPDATE uploads SET version = ?3, attention_at = ?4, doc = ?5, account = unhex(?6, '-'), app = unhex(?7, '-'), unfinished = ?8, bytes = ?9
    WHERE id = unhex(?1, '-') AND version = ?2`);
  const remove = database.prepare(`DELETE FROM uploads WHERE id = unhex(?, '-') AND version = ?`);

  return {
    /** Answers 1, or the record that has the id. */
    insertUpload(...record: SqlValue[]): number | string {
      const { changes } = insert.run(...record);
      return Number(changes) === 1 ? 1 : (read.get(record[0] as string)?.['doc'] as string);
    },
    replaceUpload: (...record: SqlValue[]) => Number(replace.run(...record).changes),
    removeUpload: (...record: SqlValue[]) => Number(remove.run(...record).changes),
  };
}
