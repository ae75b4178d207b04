import { hash } from 'node:crypto';
import { type Database, isWriterFault, type SqlValue, type Statement } from './database.js';

/** The result of a write: how many rows it changed, or the JSON of what prevented it. */
export type WriteResult = number | string;

/**
 * One write: a few statements that apply together or not at all. Arguments are flat, as they cross to another thread.
 */
export type Write = (...parameters: SqlValue[]) => WriteResult;

export type WriteName = keyof ReturnType<typeof prepareWrites>;

/** The name of a write and its arguments. */
export type Unit = readonly [WriteName, ...SqlValue[]];

/** Why one unit, or a whole batch, was not written. `unavailable`: not for what was written, so later it may be. */
export interface Failure {
  readonly message: string;
  readonly unavailable: boolean;
}

/** Applies batches of writes on one connection, each batch in one transaction that is durable on return. */
export class BatchWriter {
  private readonly writes: Record<string, Write>;

  constructor(private readonly database: Database) {
    this.writes = prepareWrites(database);
  }

  /** A result for each unit in order; one failure when nothing was written. */
  apply(units: readonly Unit[]): (WriteResult | Failure)[] | Failure {
    try {
      return this.transaction(() => units.map((unit) => this.write(unit)));
    } catch (error) {
      if (!isWriterFault(error)) return failureOf(error);
    }
    // Very rare: some unit cannot be written because of its content. Only then does each unit get a savepoint, so that
    // the rest can be written.
    try {
      return this.transaction(() => units.map((unit) => this.writeGuarded(unit)));
    } catch (error) {
      return failureOf(error);
    }
  }

  private transaction<T>(body: () => T): T {
    this.database.exec('BEGIN IMMEDIATE');
    try {
      const result = body();
      this.database.exec('COMMIT');
      return result;
    } catch (error) {
      this.rollBack();
      throw error;
    }
  }

  /** SQLite has rolled back by itself after some errors, and then refuses to do it again. */
  private rollBack(): void {
    try {
      this.database.exec('ROLLBACK');
    } catch {
      // Nothing is open any more, which is what was wanted.
    }
  }

  private write([name, ...parameters]: Unit): WriteResult {
    const write = this.writes[name];
    if (write === undefined) throw new Error(`there is no write called ${name}`);
    return write(...parameters);
  }

  private writeGuarded(unit: Unit): WriteResult | Failure {
    this.database.exec('SAVEPOINT unit');
    let result: WriteResult | Failure;
    try {
      result = this.write(unit);
    } catch (error) {
      if (!isWriterFault(error)) throw error;
      this.database.exec('ROLLBACK TO unit');
      result = failureOf(error);
    }
    this.database.exec('RELEASE unit');
    return result;
  }
}

function failureOf(error: unknown): Failure {
  return { message: error instanceof Error ? error.message : String(error), unavailable: !isWriterFault(error) };
}

/** Every write there is, by name, its statements prepared once on this connection. */
function prepareWrites(database: Database) {
  const on = new Statements(database);
  const chain = { ...accountWrites(on), ...generationWrites(on), ...claimWrites(on) };
  return {
    ...chain,
    ...acceptanceWrites(on, chain),
    ...uploadWrites(on),
    ...credentialWrites(on),
    ...personWrites(on),
    ...artefactWrites(on),
    ...providerUseWrites(on),
    ...webhookWrites(on),
    ...usageWrites(on),
    ...wakeUpWrites(on),
    ...installationWrites(on),
  } satisfies Record<string, Write>;
}

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

function accountWrites(on: Statements) {
  const update = on.prepare(`
    UPDATE accounts SET version = ?3, issued = ?4, available = ?5, reserved = ?6, spent = ?7, last_sequence = ?8
    WHERE id = unhex(?1, '-') AND version = ?2`);
  const setProfile = on.prepare(`UPDATE accounts SET name = ?2, suspended_at = ?3 WHERE id = unhex(?1, '-')`);
  const openHold = on.prepare(
    `INSERT INTO holds (account, generation, credits, held_at, credential, model, trace, cap_period)
    VALUES (unhex(?, '-'), unhex(?, '-'), ?, ?, ?, ?, ?, ?)`,
  );
  const closeHold = on.prepare(`DELETE FROM holds WHERE account = unhex(?, '-') AND generation = unhex(?, '-')`);
  const addEntry = on.prepare(`
    INSERT INTO entries (account, sequence, kind, from_book, to_book, credits, at, available_after, generation, operation_id, reason, credential, model, trace,
      cap_period)
    VALUES (unhex(?, '-'), ?, ?, ?, ?, ?, ?, ?, unhex(?, '-'), ?, ?, ?, ?, ?, ?)`);
  const dropCapUse = on.prepare(`DELETE FROM cap_uses WHERE account = unhex(?, '-') AND credential = ?`);
  const setCapUse = on.prepare(`
    INSERT INTO cap_uses (account, credential, period, used) VALUES (unhex(?, '-'), ?, ?, ?)
    ON CONFLICT DO UPDATE SET period = excluded.period, used = excluded.used`);

  return {
    createAccount: on.changing(`
      INSERT INTO accounts (id, version, issued, available, reserved, spent, last_sequence, name, currency, created_at)
      VALUES (unhex(?, '-'), ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`),

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

/** Hexadecimal digits of 16 bytes. */
const KEY_DIGEST_DIGITS = 32;

/**
 * The digest that finds a claim's row, in hexadecimal: 16 bytes of the SHA-256 of its key. Keys have no order, so each new one changes a
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

function claimWrites(on: Statements) {
  const insert = on.changing(`
      INSERT INTO claims (key_digest, version, digest, subject, created_at, lease_expires_at, remove_at, boot)
      VALUES (unhex(?), ?, ?, unhex(?, '-'), ?, ?, ?, unhex(?, '-')) ON CONFLICT DO NOTHING`);
  const read = on.prepare(CLAIM_OF_KEY);

  return {
    /** Returns 1, or the columns of the claim that has the key. */
    insertClaim(keyDigest: SqlValue, ...content: SqlValue[]): number | string {
      return insert(keyDigest, ...content) === 1 ? 1 : JSON.stringify(read.get(keyDigest));
    },
    replaceClaim: on.changing(`
      UPDATE claims SET version = ?3, digest = ?4, subject = unhex(?5, '-'), created_at = ?6, lease_expires_at = ?7, remove_at = ?8,
        boot = unhex(?9, '-')
      WHERE key_digest = unhex(?1) AND version = ?2`),
    removeClaim: on.changing('DELETE FROM claims WHERE key_digest = unhex(?) AND version = ?'),
    removeExpiredClaims: on.changing(
      'DELETE FROM claims WHERE row IN (SELECT row FROM claims WHERE remove_at <= ? ORDER BY remove_at LIMIT ?)',
    ),
  };
}

function generationWrites(on: Statements) {
  return {
    insertGeneration: on.insertingOrFinding(
      'generations',
      `INSERT INTO generations (id, account, app, kind, version, attention_at, doc, uncharged_bytes, status, created_at, model, trace)
      VALUES (unhex(?, '-'), unhex(?, '-'), unhex(?, '-'), ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    ),
    // Names the columns of as few indexes as it can: each index with a column that is named is written again.
    replaceGeneration: on.changing(`
      UPDATE generations SET version = ?3, attention_at = ?4, doc = ?5, uncharged_bytes = ?6, status = ?7
      WHERE id = unhex(?1, '-') AND version = ?2`),
    /** Replaces a generation by a tombstone, or a tombstone by another. */
    buryGeneration: on.changing(`
      UPDATE generations SET version = ?3, attention_at = ?4, doc = ?5, kind = ?6,
        uncharged_bytes = NULL, status = NULL, created_at = NULL, model = NULL, trace = NULL
      WHERE id = unhex(?1, '-') AND version = ?2`),
    removeGeneration: on.removing('generations'),
  };
}

/** Arguments of one claim, and of one generation. */
const CLAIM_FIELDS = 8;
const GENERATION_FIELDS = 12;

type Writes = ReturnType<typeof accountWrites> & ReturnType<typeof claimWrites> & ReturnType<typeof generationWrites>;

function acceptanceWrites(
  on: Statements,
  { changeAccount, insertClaim, insertGeneration }: Pick<Writes, 'changeAccount' | 'insertClaim' | 'insertGeneration'>,
) {
  const claimOfKey = on.prepare(CLAIM_OF_KEY);

  return {
    /**
     * The counts of claims and of generations, then their arguments, then those of the change. Returns 1 when all is
     * written. 0: another version of the account. JSON otherwise: for each claim the columns of the one that has its key, or null,
     * when nothing is written; or under `existing` the records that have the ids of generations. All is read before anything
     * is written, so that nothing has to be rolled back.
     */
    acceptGenerations(claims: SqlValue, generations: SqlValue, ...values: SqlValue[]): number | string {
      const claimed = slices(values, 0, CLAIM_FIELDS, claims as number);
      const taken = claimed.map(([keyDigest = null]) => claimOfKey.get(keyDigest) ?? null);
      if (taken.some((row) => row !== null)) return JSON.stringify({ taken });

      const afterClaims = CLAIM_FIELDS * claimed.length;
      const inserted = slices(values, afterClaims, GENERATION_FIELDS, generations as number);
      if (changeAccount(...values.slice(afterClaims + GENERATION_FIELDS * inserted.length)) === 0) return 0;
      for (const [keyDigest = null, ...content] of claimed) insertClaim(keyDigest, ...content);
      const existing = inserted.map((generation) => insertGeneration(...generation)).filter((answer) => answer !== 1);
      return existing.length === 0 ? 1 : JSON.stringify({ existing });
    },
  };
}

function slices(values: readonly SqlValue[], from: number, size: number, count: number): SqlValue[][] {
  return Array.from({ length: count }, (_, index) => values.slice(from + index * size, from + (index + 1) * size));
}

function artefactWrites(on: Statements) {
  const usedUp = on.prepare(
    'SELECT 1 FROM artefacts WHERE kind = ? AND id = ? AND (consumed_at IS NOT NULL OR ended_at IS NOT NULL)',
  );
  const endedGroup = on.prepare('SELECT at FROM ended_groups WHERE grp = ?');
  const put = on.prepare(`
    INSERT OR REPLACE INTO artefacts (kind, id, grp, owner, alias, data, created_at, expires_at, remove_at, consumed_at, ended_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const noteGroup = on.prepare('INSERT INTO ended_groups (grp, at, remove_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING');
  const endAll = on.changing('UPDATE artefacts SET ended_at = ?2 WHERE grp = ?1 AND ended_at IS NULL');
  const removeExpired = on.changing(`
      DELETE FROM artefacts WHERE (kind, id) IN
      (SELECT kind, id FROM artefacts WHERE remove_at <= ? ORDER BY remove_at LIMIT ?)`);
  const removeGroups = on.changing(
    'DELETE FROM ended_groups WHERE grp IN (SELECT grp FROM ended_groups WHERE remove_at <= ? ORDER BY remove_at LIMIT ?)',
  );

  return {
    /** Returns 1 if the artefact is usable, else 0. */
    putArtefact(...columns: SqlValue[]): number {
      const [kind = null, id = null, group = null] = columns;
      if (usedUp.get(kind, id) !== undefined) return 0;
      const groupEndedAt = group === null ? undefined : (endedGroup.get(group)?.['at'] as number | undefined);
      put.run(...columns.slice(0, -1), groupEndedAt ?? columns.at(-1) ?? null);
      return groupEndedAt === undefined ? 1 : 0;
    },
    consumeArtefact: on.changing(
      'UPDATE artefacts SET consumed_at = ?3 WHERE kind = ?1 AND id = ?2 AND consumed_at IS NULL AND ended_at IS NULL',
    ),
    endArtefact: on.changing('UPDATE artefacts SET ended_at = ?3 WHERE kind = ?1 AND id = ?2 AND ended_at IS NULL'),
    endArtefactGroup(group: SqlValue, at: SqlValue, removeAt: SqlValue): number {
      noteGroup.run(group, at, removeAt);
      return endAll(group, at);
    },
    removeArtefact: on.changing('DELETE FROM artefacts WHERE kind = ? AND id = ?'),
    removeExpiredArtefacts(now: SqlValue, limit: SqlValue): number {
      const removed = removeExpired(now, limit);
      const left = Number(limit) - removed;
      return left > 0 ? removed + removeGroups(now, left) : removed;
    },
  };
}

function credentialWrites(on: Statements) {
  return {
    insertApp: on.changing(
      `INSERT INTO apps (id, account, name, created_at) VALUES (unhex(?, '-'), unhex(?, '-'), ?, ?) ON CONFLICT DO NOTHING`,
    ),
    insertKey: on.changing(`
      INSERT INTO keys (id, account, app, version, name, digest, scopes, created_at, expires_at, revoked_at, last_used_at, monthly_cap)
      VALUES (unhex(?, '-'), unhex(?, '-'), unhex(?, '-'), ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`),
    replaceKey: on.changing(`
      UPDATE keys SET app = unhex(?3, '-'), version = ?4, name = ?5, scopes = ?6, created_at = ?7, expires_at = ?8, revoked_at = ?9,
        last_used_at = ?10, monthly_cap = ?11
      WHERE id = unhex(?1, '-') AND version = ?2`),
  };
}

function installationWrites(on: Statements) {
  const insert = on.changing('INSERT INTO installation (row, secret, objects) VALUES (1, ?, ?) ON CONFLICT DO NOTHING');
  const read = on.prepare('SELECT secret, objects FROM installation');

  return {
    /** Returns 1, or the columns of the existing facts. */
    claimInstallation: (...facts: SqlValue[]): number | string =>
      insert(...facts) === 1 ? 1 : JSON.stringify(read.get()),
  };
}

function personWrites(on: Statements) {
  return {
    insertPerson: on.changing(
      `INSERT INTO people (id, account, version, email, doc) VALUES (unhex(?, '-'), unhex(?, '-'), ?, ?, ?) ON CONFLICT DO NOTHING`,
    ),
    replacePerson: on.changing(`UPDATE people SET version = ?3, doc = ?4 WHERE id = unhex(?1, '-') AND version = ?2`),
    insertIdentity: on.changing(
      `INSERT INTO identities (issuer, subject, person, linked_at) VALUES (?, ?, unhex(?, '-'), ?) ON CONFLICT DO NOTHING`,
    ),
    removeIdentity: on.changing(`DELETE FROM identities WHERE issuer = ? AND subject = ? AND person = unhex(?, '-')`),
  };
}

function providerUseWrites(on: Statements) {
  return { replaceProviderUse: on.replacingNamed('provider_uses', 'provider') };
}

function uploadWrites(on: Statements) {
  return {
    insertUpload: on.insertingOrFinding(
      'uploads',
      `INSERT INTO uploads (id, version, attention_at, doc, account, app, unfinished, bytes)
      VALUES (unhex(?, '-'), ?, ?, ?, unhex(?, '-'), unhex(?, '-'), ?, ?) ON CONFLICT DO NOTHING`,
    ),
    replaceUpload: on.changing(`
      UPDATE uploads SET version = ?3, attention_at = ?4, doc = ?5, account = unhex(?6, '-'), app = unhex(?7, '-'), unfinished = ?8, bytes = ?9
      WHERE id = unhex(?1, '-') AND version = ?2`),
    removeUpload: on.removing('uploads'),
  };
}

function webhookWrites(on: Statements) {
  return {
    replaceAppWebhooks: on.replacingNamed('webhook_endpoints', 'app'),
    insertDelivery: on.insertingOrFinding(
      'deliveries',
      `INSERT INTO deliveries (id, version, attention_at, doc, endpoint, created_at)
      VALUES (unhex(?, '-'), ?, ?, ?, unhex(?, '-'), ?) ON CONFLICT DO NOTHING`,
    ),
    replaceDelivery: on.changing(
      `UPDATE deliveries SET version = ?3, attention_at = ?4, doc = ?5 WHERE id = unhex(?1, '-') AND version = ?2`,
    ),
    removeDelivery: on.removing('deliveries'),
  };
}

/** Account, expected and new sequence, and five sums; then the key. */
const COUNTED = 8;

function usageWrites(on: Statements) {
  return {
    /** Any number of rows, with day, credential and model as key. Returns how many were written. */
    applyUsage: rowWrites(on, 'usage', ['day', 'credential', 'model']),
    /** The same with day and trace id as key. */
    applyTraceUsage: rowWrites(on, 'usage_by_trace', ['day', 'trace']),
  };
}

function rowWrites(on: Statements, table: string, key: readonly string[]) {
  const values = key.map((_, index) => `?${COUNTED + 1 + index}`);
  const insert = on.prepare(`
    INSERT INTO ${table} (account, last_sequence, generations, failed, reserved, charged, released, ${key.join(', ')})
    SELECT unhex(?1, '-'), ?3, ?4, ?5, ?6, ?7, ?8, ${values.join(', ')} WHERE ?2 = 0 ON CONFLICT DO NOTHING`);
  const replace = on.prepare(`
    UPDATE ${table} SET last_sequence = ?3, generations = ?4, failed = ?5, reserved = ?6, charged = ?7, released = ?8
    WHERE account = unhex(?1, '-') AND last_sequence = ?2
      AND ${key.map((column, index) => `${column} = ${values[index]}`).join(' AND ')}`);

  return (...rows: SqlValue[]): number => {
    let written = 0;
    for (let at = 0; at < rows.length; at += COUNTED + key.length) {
      const row = rows.slice(at, at + COUNTED + key.length);
      written += Number((row[1] === 0 ? insert : replace).run(...row).changes);
    }
    return written;
  };
}

function wakeUpWrites(on: Statements) {
  return {
    upsertWakeUp: on.changing(
      `INSERT INTO wake_ups (subject, at) VALUES (?, ?) ON CONFLICT DO UPDATE SET at = excluded.at`,
    ),
    removeWakeUp: on.changing(`DELETE FROM wake_ups WHERE subject = ? AND at = ?`),
  };
}

/** The statements of one connection, each prepared once. */
class Statements {
  constructor(private readonly database: Database) {}

  prepare(sql: string): Statement {
    return this.database.prepare(sql);
  }

  /** A write of one statement. Returns how many rows it changed. */
  changing(sql: string): (...values: SqlValue[]) => number {
    const statement = this.prepare(sql);
    return (...values) => Number(statement.run(...values).changes);
  }

  /** Inserts a record whose first value is its id. Returns 1, or the record that has the id. */
  insertingOrFinding(table: string, sql: string): Write {
    const insert = this.changing(sql);
    const read = this.prepare(`SELECT doc FROM ${table} WHERE id = unhex(?, '-')`);
    return (...record) => (insert(...record) === 1 ? 1 : (read.get(record[0] as string)?.['doc'] as string));
  }

  /** Removes a record that still has the version. */
  removing(table: string): (...values: SqlValue[]) => number {
    return this.changing(`DELETE FROM ${table} WHERE id = unhex(?, '-') AND version = ?`);
  }

  /** Writes a record that has a name onto the version that is expected, which is 0 where there is none. */
  replacingNamed(table: string, name: string): (...record: SqlValue[]) => number {
    // No stored record has the version 0.
    const insert = this.changing(
      `INSERT INTO ${table} (${name}, version, doc) SELECT ?1, ?3, ?4 WHERE ?2 = 0 ON CONFLICT DO NOTHING`,
    );
    const replace = this.changing(`UPDATE ${table} SET version = ?3, doc = ?4 WHERE ${name} = ?1 AND version = ?2`);
    return (...record) => insert(...record) || replace(...record);
  }
}
