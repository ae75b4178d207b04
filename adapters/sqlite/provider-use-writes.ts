import type { Database, SqlValue } from './driver.js';

export function providerUseWrites(database: Database) {
  // Where there is none the expected version is 0, which no stored one has.
  const insert = database.prepare(`
    INSERT INTO provider_uses (provider, version, doc) SELECT ?1, ?3, ?4 WHERE ?2 = 0 ON CONFLICT DO NOTHING`);
  const replace = database.prepare(`
    UPDATE provider_uses SET version = ?3, doc = ?4 WHERE provider = ?1 AND version = ?2`);

  return {
    replaceProviderUse: (...use: SqlValue[]) =>
      Number(insert.run(...use).changes) || Number(replace.run(...use).changes),
  };
}
