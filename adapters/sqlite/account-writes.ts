import type { Database, SqlValue, Statement } from './driver.js';

const ENTRY_FIELDS = 14;
const HOLD_FIELDS = 7;
const CAP_USE_FIELDS = 3;
/** Account, expected version and six totals. */
const TOTALS_FIELDS = 8;
/**
 * After them: name and suspension, no name when the profile stays as it is, and how many holds close and open, and how
 * many records of the use of caps are dropped and set.
 */
const CHANGE_FIELDS = 14;

export function accountWrites(database: Database) {
  const create = database.prepare(`
    INSERT INTO accounts (id, version, issued, available, reserved, spent, last_sequence, name, currency, created_at)
    VALUES (unhex(?, '-'), ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`);
  const update = database.prepare(`
    UPDATE accounts SET version = ?3, issued = ?4, available = ?5, reserved = ?6, spent = ?7, last_sequence = ?8
    WHERE id = unhex(?1, '-') AND version = ?2`);
  const setProfile = database.prepare(`UPDATE accounts SET name = ?2, suspended_at = ?3 WHERE id = unhex(?1, '-')`);
  const openHold = database.prepare(
    `INSERT INTO holds (account, generation, credits, held_at, credential, model, trace, cap_period)
    VALUES (unhex(?, '-'), unhex(?, '-'), ?, ?, ?, ?, ?, ?)`,
  );
  const closeHold = database.prepare(`DELETE FROM holds WHERE account = unhex(?, '-') AND generation = unhex(?, '-')`);
  const addEntry = database.prepare(`
    INSERT INTO entries (account, sequence, kind, from_book, to_book, credits, at, available_after, generation, operation_id, reason, credential, model, trace,
      cap_period)
    VALUES (unhex(?, '-'), ?, ?, ?, ?, ?, ?, ?, unhex(?, '-'), ?, ?, ?, ?, ?, ?)`);
  const dropCapUse = database.prepare(`DELETE FROM cap_uses WHERE account = unhex(?, '-') AND credential = ?`);
  const setCapUse = database.prepare(`
    INSERT INTO cap_uses (account, credential, period, used) VALUES (unhex(?, '-'), ?, ?, ?)
    ON CONFLICT DO UPDATE SET period = excluded.period, used = excluded.used`);

  return {
    createAccount: (...account: SqlValue[]) => Number(create.run(...account).changes),

    /**
     * After the fields of the account come one of each hold closed, seven of each opened, one of each use dropped, three
     * of each set, and fourteen of each entry.
     */
    changeAccount(...change: SqlValue[]): number {
      if (Number(update.run(...change.slice(0, TOTALS_FIELDS)).changes) === 0) return 0;
      const accountId = change[0] as string;
      const [name = null, suspendedAt = null, ...counts] = change.slice(TOTALS_FIELDS, CHANGE_FIELDS);
      const [closed, opened, dropped, set] = counts as [number, number, number, number];
      if (name !== null) setProfile.run(accountId, name, suspendedAt);
      let at = CHANGE_FIELDS;
      const runEach = (statement: Statement, fields: number, until: number): void => {
        for (; at < until; at += fields) statement.run(accountId, ...change.slice(at, at + fields));
      };
      runEach(closeHold, 1, at + closed);
      runEach(openHold, HOLD_FIELDS, at + HOLD_FIELDS * opened);
      runEach(dropCapUse, 1, at + dropped);
      runEach(setCapUse, CAP_USE_FIELDS, at + CAP_USE_FIELDS * set);
      runEach(addEntry, ENTRY_FIELDS, change.length);
      return 1;
    },
  };
}
