import { hash } from 'node:crypto';
import type { Database, SqlValue } from './driver.js';

/** Hexadecimal digits of 16 bytes. */
const KEY_DIGEST_DIGITS = 32;

/**
 * What finds a claim's row, in hexadecimal: 16 bytes of the SHA-256 of its key. Keys have no order, so each new one changes a
 * page of their index; that page holds these bytes alone, and the rows are appended elsewhere.
 */
export function claimKeyDigest(accountId: SqlValue, appId: SqlValue, operation: SqlValue, key: SqlValue): string {
  const text = JSON.stringify([plainUuid(accountId), plainUuid(appId), operation, key]);
  return hash('sha256', text, 'hex').slice(0, KEY_DIGEST_DIGITS);
}

/** The same for a UUID as text and for one as SQLite's `hex` writes it. */
function plainUuid(id: SqlValue): string {
  return String(id).replaceAll('-', '').toLowerCase();
}

/** The columns of a claim, by the digest of its key. */
export const CLAIM_OF_KEY = `
  SELECT version, digest, hex(subject) AS subject, created_at, lease_expires_at, remove_at, hex(boot) AS boot FROM claims WHERE key_digest = unhex(?)`;

export function claimWrites(database: Database) {
  const insert = database.prepare(`
    INSERT INTO claims (key_digest, version, digest, subject, created_at, lease_expires_at, remove_at, boot)
    VALUES (unhex(?), ?, ?, unhex(?, '-'), ?, ?, ?, unhex(?, '-')) ON CONFLICT DO NOTHING`);
  const read = database.prepare(CLAIM_OF_KEY);
  const replace = database.prepare(`
    UPDATE claims SET version = ?3, digest = ?4, subject = unhex(?5, '-'), created_at = ?6, lease_expires_at = ?7, remove_at = ?8,
      boot = unhex(?9, '-')
    WHERE key_digest = unhex(?1) AND version = ?2`);
  const remove = database.prepare('DELETE FROM claims WHERE key_digest = unhex(?) AND version = ?');
  const removeExpired = database.prepare(`
    DELETE FROM claims WHERE row IN (SELECT row FROM claims WHERE remove_at <= ? ORDER BY remove_at LIMIT ?)`);

  return {
    /** Answers 1, or the columns of the claim that has the key. */
    insertClaim(keyDigest: SqlValue, ...content: SqlValue[]): number | string {
      const { changes } = insert.run(keyDigest, ...content);
      return Number(changes) === 1 ? 1 : JSON.stringify(read.get(keyDigest));
    },
    replaceClaim: (...claim: SqlValue[]) => Number(replace.run(...claim).changes),
    removeClaim: (...claim: SqlValue[]) => Number(remove.run(...claim).changes),
    removeExpiredClaims: (...bounds: SqlValue[]) => Number(removeExpired.run(...bounds).changes),
  };
}
