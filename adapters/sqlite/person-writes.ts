import type { Database, SqlValue } from './driver.js';

export function personWrites(database: Database) {
  const insert = database.prepare(`
    INSERT INTO people (id, account, version, email, doc) VALUES (unhex(?, '-'), unhex(?, '-'), ?, ?, ?) ON CONFLICT DO NOTHING`);
  const replace = database.prepare(
    `UPDATE people SET version = ?3, doc = ?4 WHERE id = unhex(?1, '-') AND version = ?2`,
  );
  const insertIdentity = database.prepare(`
    INSERT INTO identities (issuer, subject, person, linked_at) VALUES (?, ?, unhex(?, '-'), ?) ON CONFLICT DO NOTHING`);
  const removeIdentity = database.prepare(`
    DELETE FROM identities WHERE issuer = ? AND subject = ? AND person = unhex(?, '-')`);

  return {
    insertPerson: (...person: SqlValue[]) => Number(insert.run(...person).changes),
    replacePerson: (...person: SqlValue[]) => Number(replace.run(...person).changes),
    insertIdentity: (...identity: SqlValue[]) => Number(insertIdentity.run(...identity).changes),
    removeIdentity: (...identity: SqlValue[]) => Number(removeIdentity.run(...identity).changes),
  };
}
