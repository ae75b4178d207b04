import type { Database, SqlValue } from './driver.js';

const KEY = `account = unhex(?1, '-') AND app = unhex(?2, '-') AND operation = ?3 AND key = ?4`;

/** How many columns the key has. */
export const KEY_FIELDS = 4;

/** The columns of a claim, by its key. */
export const CLAIM_OF_KEY = `
  SELECT version, digest, hex(subject) AS subject, created_at, lease_expires_at, remove_at, hex(boot) AS boot FROM claims WHERE ${KEY}`;

export function claimWrites(database: Database) {
  const insert = database.prepare(`
    INSERT INTO claims (account, app, operation, key, version, digest, subject, created_at, lease_expires_at, remove_at, boot)
    VALUES (unhex(?, '-'), unhex(?, '-'), ?, ?, ?, ?, unhex(?, '-'), ?, ?, ?, unhex(?, '-')) ON CONFLICT DO NOTHING`);
  const read = database.prepare(CLAIM_OF_KEY);
  const replace = database.prepare(`
    UPDATE claims SET version = ?6, digest = ?7, subject = unhex(?8, '-'), created_at = ?9, lease_expires_at = ?10, remove_at = ?11,
      boot = unhex(?12, '-')
    WHERE ${KEY} AND version = ?5`);
  const remove = database.prepare(`DELETE FROM claims WHERE ${KEY} AND version = ?5`);
  const removeExpired = database.prepare(`
    DELETE FROM claims WHERE (account, app, operation, key) IN
      (SELECT account, app, operation, key FROM claims WHERE remove_at <= ? ORDER BY remove_at LIMIT ?)`);

  return {
    /** Answers 1, or the columns of the claim that has the key. */
    insertClaim(...claim: SqlValue[]): number | string {
      const { changes } = insert.run(...claim);
      return Number(changes) === 1 ? 1 : JSON.stringify(read.get(...claim.slice(0, KEY_FIELDS)));
    },
    replaceClaim: (...claim: SqlValue[]) => Number(replace.run(...claim).changes),
    removeClaim: (...claim: SqlValue[]) => Number(remove.run(...claim).changes),
    removeExpiredClaims: (...bounds: SqlValue[]) => Number(removeExpired.run(...bounds).changes),
  };
}
