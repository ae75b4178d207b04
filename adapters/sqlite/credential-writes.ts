import type { Database, SqlValue } from './driver.js';

export function credentialWrites(database: Database) {
  const insertApp = database.prepare(`
    INSERT INTO apps (id, account, name, created_at) VALUES (unhex(?, '-'), unhex(?, '-'), ?, ?) ON CONFLICT DO NOTHING`);
  const insertKey = database.prepare(`
    INSERT INTO keys (id, account, app, version, name, digest, scopes, created_at, expires_at, revoked_at, last_used_at, monthly_cap)
    VALUES (unhex(?, '-'), unhex(?, '-'), unhex(?, '-'), ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`);
  const replaceKey = database.prepare(`
    UPDATE keys SET app = unhex(?3, '-'), version = ?4, name = ?5, scopes = ?6, created_at = ?7, expires_at = ?8, revoked_at = ?9,
      last_used_at = ?10, monthly_cap = ?11
    WHERE id = unhex(?1, '-') AND version = ?2`);

  return {
    insertApp: (...app: SqlValue[]) => Number(insertApp.run(...app).changes),
    insertKey: (...key: SqlValue[]) => Number(insertKey.run(...key).changes),
    replaceKey: (...key: SqlValue[]) => Number(replaceKey.run(...key).changes),
  };
}
