import type { Database, SqlValue } from './driver.js';

const ENTRY_FIELDS = 13;
const HOLD_FIELDS = 6;
/** Account, expected version and six totals. */
const TOTALS_FIELDS = 8;
/** After them: name and suspension, no name when the profile stays as it is, and how many holds close and open. */
const CHANGE_FIELDS = 12;

export function accountWrites(database: Database) {
  const create = database.prepare(`
    INSERT INTO accounts (id, version, issued, available, reserved, spent, last_sequence, name, currency, created_at)
    VALUES (unhex(?, '-'), ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`);
  const update = database.prepare(`
    UPDATE accounts SET version = ?3, issued = ?4, available = ?5, reserved = ?6, spent = ?7, last_sequence = ?8
    WHERE id = unhex(?1, '-') AND version = ?2`);
  const setProfile = database.prepare(`UPDATE accounts SET name = ?2, suspended_at = ?3 WHERE id = unhex(?1, '-')`);
  const openHold = database.prepare(
    `INSERT INTO holds (account, generation, credits, held_at, credential, model, trace) VALUES (unhex(?, '-'), unhex(?, '-'), ?, ?, ?, ?, ?)`,
  );
  const closeHold = database.prepare(`DELETE FROM holds WHERE account = unhex(?, '-') AND generation = unhex(?, '-')`);
  const addEntry = database.prepare(`
    INSERT INTO entries (account, sequence, kind, from_book, to_book, credits, at, available_after, generation, operation_id, reason, credential, model, trace)
    VALUES (unhex(?, '-'), ?, ?, ?, ?, ?, ?, ?, unhex(?, '-'), ?, ?, ?, ?, ?)`);

  return {
    createAccount: (...account: SqlValue[]) => Number(create.run(...account).changes),

    /** After the fields of the account come one of each hold closed, six of each opened, and thirteen of each entry. */
    changeAccount(...change: SqlValue[]): number {
      if (Number(update.run(...change.slice(0, TOTALS_FIELDS)).changes) === 0) return 0;
      const accountId = change[0] as string;
      const [name = null, suspendedAt = null] = change.slice(TOTALS_FIELDS);
      if (name !== null) setProfile.run(accountId, name, suspendedAt);
      let at = CHANGE_FIELDS;
      const closed = at + (change[CHANGE_FIELDS - 2] as number);
      for (; at < closed; at += 1) closeHold.run(accountId, change[at] as string);
      const opened = at + HOLD_FIELDS * (change[CHANGE_FIELDS - 1] as number);
      for (; at < opened; at += HOLD_FIELDS) openHold.run(accountId, ...change.slice(at, at + HOLD_FIELDS));
      for (; at < change.length; at += ENTRY_FIELDS) addEntry.run(accountId, ...change.slice(at, at + ENTRY_FIELDS));
      return 1;
    },
  };
}
