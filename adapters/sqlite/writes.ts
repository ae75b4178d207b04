import {
  ARTEFACTS,
  CAP_USES,
  CLAIM_OF_KEY,
  CLAIMS,
  type Columns,
  ENTRIES,
  HOLDS,
  TRACES,
  USAGE_SUMS,
  USES,
} from './columns.js';
import { type Database, emptyLog, isWriterFault, rewriteFile, type SqlValue, type Statement } from './database.js';

/** The result of a write: how many rows it changed, or the JSON of what prevented it. */
export type WriteResult = number | string;

/**
 * One write: a few statements that apply together or not at all. Arguments are flat, as they cross to another thread.
 */
export type Write = (...parameters: SqlValue[]) => WriteResult;

/**
 * Not writes of a transaction: each is done once the others of its batch are durable, and returns one of the words that
 * its function in `database.ts` documents.
 */
const FILE_TASKS = { rewriteFile, emptyLog } satisfies Record<string, (database: Database) => string>;
type FileTask = keyof typeof FILE_TASKS;

export type WriteName = keyof ReturnType<typeof prepareWrites> | FileTask;

/** The SQL of one statement, or the name of a write of several; and its arguments. */
export type Unit = readonly [string, ...SqlValue[]];

/** Why a unit was not written. `unavailable`: not for what was written, so later it may be. */
export interface Failure {
  readonly message: string;
  readonly unavailable: boolean;
}

/** Applies batches of writes on one connection, each batch in one transaction that is durable on return. */
export class BatchWriter {
  private readonly writes: Map<string, Write>;
  private readonly on: Statements;

  constructor(private readonly database: Database) {
    this.on = new Statements(database);
    this.writes = new Map<string, Write>(Object.entries(prepareWrites(this.on)));
  }

  /** A result for each unit, in order: the same failure for all when nothing was written. */
  apply(units: readonly Unit[]): (WriteResult | Failure)[] {
    if (!units.some(isFileTask)) return this.applyWrites(units);
    const written = this.applyWrites(units.filter((unit) => !isFileTask(unit)));
    const done = new Map<string, WriteResult | Failure>();
    for (const unit of units.filter(isFileTask)) done.set(unit[0], done.get(unit[0]) ?? this.doFileTask(unit));
    return units.map((unit) => done.get(unit[0]) ?? (written.shift() as WriteResult | Failure));
  }

  private doFileTask([name]: readonly [FileTask, ...SqlValue[]]): WriteResult | Failure {
    try {
      return FILE_TASKS[name](this.database);
    } catch (error) {
      return failureOf(error);
    }
  }

  private applyWrites(units: readonly Unit[]): (WriteResult | Failure)[] {
    try {
      return this.transaction(() => units.map((unit) => this.write(unit)));
    } catch (error) {
      // Very rare: some unit cannot be written because of its content. Only then does each unit get a savepoint, so that
      // the rest can be written.
      if (isWriterFault(error)) return this.applyGuarded(units);
      return units.map(() => failureOf(error));
    }
  }

  private applyGuarded(units: readonly Unit[]): (WriteResult | Failure)[] {
    try {
      return this.transaction(() => units.map((unit) => this.writeGuarded(unit)));
    } catch (error) {
      return units.map(() => failureOf(error));
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

  /** Each statement is prepared once: there are as many as the program has texts. */
  private write([name, ...parameters]: Unit): WriteResult {
    let write = this.writes.get(name);
    if (write === undefined) {
      write = this.on.changing(name);
      this.writes.set(name, write);
    }
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

function isFileTask(unit: Unit): unit is readonly [FileTask, ...SqlValue[]] {
  return Object.hasOwn(FILE_TASKS, unit[0]);
}

function failureOf(error: unknown): Failure {
  return { message: error instanceof Error ? error.message : String(error), unavailable: !isWriterFault(error) };
}

/** The writes of several statements by name, prepared once on this connection. */
function prepareWrites(on: Statements) {
  const changeAccount = accountWrite(on);
  const insertClaim = claimWrite(on);
  const insertGeneration = on.insertingOrFinding(
    'generations',
    `INSERT INTO generations (id, account, app, kind, version, attention_at, doc, uncharged_bytes, status, created_at, model, trace,
      open_at, open_state, open_provider)
    VALUES (unhex(?, '-'), unhex(?, '-'), unhex(?, '-'), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  );
  return {
    changeAccount,
    insertClaim,
    insertGeneration,
    acceptGenerations: acceptanceWrite(on, { changeAccount, insertClaim, insertGeneration }),
    insertUpload: on.insertingOrFinding(
      'uploads',
      `INSERT INTO uploads (id, version, attention_at, doc, account, app, unfinished, bytes)
      VALUES (unhex(?, '-'), ?, ?, ?, unhex(?, '-'), unhex(?, '-'), ?, ?) ON CONFLICT DO NOTHING`,
    ),
    insertErasure: on.insertingOrFinding(
      'erasures',
      `INSERT INTO erasures (id, version, attention_at, doc) VALUES (unhex(?, '-'), ?, ?, ?) ON CONFLICT DO NOTHING`,
    ),
    insertDelivery: on.insertingOrFinding(
      'deliveries',
      `INSERT INTO deliveries (id, version, attention_at, doc, created_at, endpoint, app, account, generation)
      VALUES (unhex(?, '-'), ?, ?, ?, ?, unhex(?, '-'), unhex(?, '-'), unhex(?, '-'), unhex(?, '-')) ON CONFLICT DO NOTHING`,
    ),
    ...artefactWrites(on),
    ...searchWrites(on),
    removeExpiredFingerprints: fingerprintRemoval(on),
    applyUsage: rowWrites(on, USES, 'day = ? AND credential = ? AND model = ? AND app_use = ?'),
    applyTraceUsage: rowWrites(on, TRACES, 'day = ? AND trace = ? AND app_use = ?'),
    claimInstallation: installationWrite(on),
  } satisfies Record<string, Write>;
}

/** Account, expected version and six totals. */
const TOTALS_FIELDS = 8;
/**
 * After them: name, suspension and erasure, no name when the profile stays as it is, and how many holds close and open, and how
 * many records of the use of caps are dropped and set.
 */
const CHANGE_FIELDS = 15;

/**
 * After the fields of the account come one value of each hold closed, all columns of each opened, one value of each use
 * dropped, all columns of each set, and all of each entry. Returns 0 for another version of the account.
 */
function accountWrite(on: Statements): (...change: SqlValue[]) => number {
  const update = on.prepare(`
    UPDATE accounts SET version = ?3, issued = ?4, available = ?5, reserved = ?6, spent = ?7, last_sequence = ?8
    WHERE id = unhex(?1, '-') AND version = ?2`);
  const setProfile = on.prepare(
    `UPDATE accounts SET name = ?2, suspended_at = ?3, erased_at = ?4 WHERE id = unhex(?1, '-')`,
  );
  const inserting = (table: string, { names, places }: Pick<Columns<object>, 'names' | 'places'>, more = '') =>
    on.prepare(`INSERT INTO ${table} (account, ${names}) VALUES (unhex(?, '-'), ${places}) ${more}`);
  const openHold = inserting('holds', HOLDS);
  const closeHold = on.prepare(`DELETE FROM holds WHERE account = unhex(?, '-') AND generation = unhex(?, '-')`);
  const addEntry = inserting('entries', ENTRIES);
  const dropCapUse = on.prepare(`DELETE FROM cap_uses WHERE account = unhex(?, '-') AND credential = ?`);
  const replaced = 'ON CONFLICT DO UPDATE SET period = excluded.period, used = excluded.used';
  const setCapUse = inserting('cap_uses', CAP_USES, replaced);

  return (...change) => {
    if (Number(update.run(...change.slice(0, TOTALS_FIELDS)).changes) === 0) return 0;
    const accountId = change[0] as string;
    const [name = null, suspendedAt = null, erasedAt = null, ...counts] = change.slice(TOTALS_FIELDS, CHANGE_FIELDS);
    const [closed, opened, dropped, set] = counts as [number, number, number, number];
    if (name !== null) setProfile.run(accountId, name, suspendedAt, erasedAt);
    let at = CHANGE_FIELDS;
    const runEach = (statement: Statement, fields: number, until: number): void => {
      for (; at < until; at += fields) statement.run(accountId, ...change.slice(at, at + fields));
    };
    runEach(closeHold, 1, at + closed);
    runEach(openHold, HOLDS.count, at + HOLDS.count * opened);
    runEach(dropCapUse, 1, at + dropped);
    runEach(setCapUse, CAP_USES.count, at + CAP_USES.count * set);
    runEach(addEntry, ENTRIES.count, change.length);
    return 1;
  };
}

/** Returns 1, or the columns of the claim that has the key. */
function claimWrite(on: Statements): Write {
  const insert = on.changing(
    `INSERT INTO claims (key_digest, ${CLAIMS.names}) VALUES (unhex(?), ${CLAIMS.places}) ON CONFLICT DO NOTHING`,
  );
  const read = on.prepare(CLAIM_OF_KEY);
  return (keyDigest = null, ...content) =>
    insert(keyDigest, ...content) === 1 ? 1 : JSON.stringify(read.get(keyDigest));
}

/** Arguments of one claim, and of one generation. */
const CLAIM_FIELDS = 1 + CLAIMS.count;
const GENERATION_FIELDS = 15;

/**
 * The counts of claims and of generations, then their arguments, then those of the change. Returns 1 when all is
 * written. 0: another version of the account. JSON otherwise: for each claim the columns of the one that has its key, or null,
 * when nothing is written; or under `existing` the records that have the ids of generations. All is read before anything
 * is written, so that nothing has to be rolled back.
 */
function acceptanceWrite(
  on: Statements,
  { changeAccount, insertClaim, insertGeneration }: Record<'changeAccount' | 'insertClaim' | 'insertGeneration', Write>,
): Write {
  const claimOfKey = on.prepare(CLAIM_OF_KEY);
  return (claims, generations, ...values) => {
    const claimed = slices(values, 0, CLAIM_FIELDS, claims as number);
    const taken = claimed.map(([keyDigest = null]) => claimOfKey.get(keyDigest) ?? null);
    if (taken.some((row) => row !== null)) return JSON.stringify({ taken });

    const afterClaims = CLAIM_FIELDS * claimed.length;
    const inserted = slices(values, afterClaims, GENERATION_FIELDS, generations as number);
    if (changeAccount(...values.slice(afterClaims + GENERATION_FIELDS * inserted.length)) === 0) return 0;
    for (const [keyDigest = null, ...content] of claimed) insertClaim(keyDigest, ...content);
    const existing = inserted.map((generation) => insertGeneration(...generation)).filter((answer) => answer !== 1);
    return existing.length === 0 ? 1 : JSON.stringify({ existing });
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
  const put = on.prepare(`INSERT OR REPLACE INTO artefacts (${ARTEFACTS.names}) VALUES (${ARTEFACTS.places})`);
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
    endArtefactGroup(group: SqlValue, at: SqlValue, removeAt: SqlValue): number {
      noteGroup.run(group, at, removeAt);
      return endAll(group, at);
    },
    removeOwnedArtefacts: on.changing(
      `DELETE FROM artefacts WHERE (kind, id) IN (SELECT kind, id FROM artefacts WHERE kind = ? AND owner = ? LIMIT ?)`,
    ),
    removeExpiredArtefacts(now: SqlValue, limit: SqlValue): number {
      const removed = removeExpired(now, limit);
      const left = Number(limit) - removed;
      return left > 0 ? removed + removeGroups(now, left) : removed;
    },
  };
}

/** Fields of an entry that is added: the generation, the account, and the terms as one text. */
const SEARCH_FIELDS = 3;

function searchWrites(on: Statements) {
  const findAccount = on.prepare(`SELECT row FROM search_accounts WHERE account = unhex(?, '-')`);
  const addAccount = on.prepare(`INSERT INTO search_accounts (account) VALUES (unhex(?, '-')) RETURNING row`);
  const addEntry = on.prepare(
    `INSERT INTO search_entries (generation, account, terms) VALUES (unhex(?, '-'), ?, ?)
    ON CONFLICT DO NOTHING RETURNING row`,
  );
  const addTerm = on.prepare('INSERT INTO search_terms (account, term, entry) VALUES (?, ?, ?) ON CONFLICT DO NOTHING');
  const findEntry = on.prepare(`SELECT row, account, terms FROM search_entries WHERE generation = unhex(?, '-')`);
  const removeTerm = on.prepare('DELETE FROM search_terms WHERE account = ? AND term = ? AND entry = ?');
  const markRemoved = on.changing(`
    INSERT INTO search_entries (generation) VALUES (unhex(?, '-'))
    ON CONFLICT DO UPDATE SET account = NULL, terms = NULL WHERE account IS NOT NULL`);
  const forget = on.changing(`DELETE FROM search_entries WHERE generation = unhex(?, '-') AND account IS NULL`);
  const accountRow = (account: SqlValue): SqlValue =>
    (findAccount.get(account) ?? addAccount.get(account))?.['row'] as SqlValue;

  return {
    /** Returns how many were added. */
    addSearchEntries(...values: SqlValue[]): number {
      let added = 0;
      for (const [generation = null, of = null, terms = null] of slices(
        values,
        0,
        SEARCH_FIELDS,
        values.length / SEARCH_FIELDS,
      )) {
        const account = accountRow(of);
        const entry = addEntry.get(generation, account, terms)?.['row'];
        if (entry === undefined) continue;
        for (const term of termsIn(terms)) addTerm.run(account, term, entry);
        added += 1;
      }
      return added;
    },
    /** Returns how many had terms, or were not known before. */
    removeSearchEntries(...generations: SqlValue[]): number {
      let removed = 0;
      for (const generation of generations) {
        const { row = null, account = null, terms = null } = findEntry.get(generation) ?? {};
        for (const term of termsIn(terms)) removeTerm.run(account, term, row);
        removed += markRemoved(generation);
      }
      return removed;
    },
    forgetSearchEntries: (...generations: SqlValue[]) =>
      generations.reduce<number>((forgotten, generation) => forgotten + forget(generation), 0),
  };
}

function termsIn(terms: SqlValue): readonly string[] {
  return String(terms ?? '')
    .split(' ')
    .filter((term) => term !== '');
}

/** Removes records of equal requests, and then leases, that are kept until `now` at the latest. Returns how many. */
function fingerprintRemoval(on: Statements): Write {
  const due = (table: string, key: string) =>
    on.changing(
      `DELETE FROM ${table} WHERE ${key} IN (SELECT ${key} FROM ${table} WHERE remove_at <= ? ORDER BY remove_at LIMIT ?)`,
    );
  const removeFingerprints = due('fingerprints', 'fingerprint');
  const removeLeases = due('boot_leases', 'boot');
  return (now = null, limit = null) => {
    const removed = removeFingerprints(now, limit);
    const left = Number(limit) - removed;
    return left > 0 ? removed + removeLeases(now, left) : removed;
  };
}

/** Returns 1, or the columns of the existing facts. */
function installationWrite(on: Statements): Write {
  const insert = on.changing('INSERT INTO installation (row, secret, objects) VALUES (1, ?, ?) ON CONFLICT DO NOTHING');
  const read = on.prepare('SELECT secret, objects FROM installation');
  return (...facts) => (insert(...facts) === 1 ? 1 : JSON.stringify(read.get()));
}

/**
 * Any number of rows of usage: each has its columns, sums first and then the key, and the sequence that the stored row must
 * have, which is 0 where there must be none. Returns how many were written.
 */
function rowWrites(
  on: Statements,
  rows: typeof USES | typeof TRACES,
  keyOfDay: string,
): (...rows: SqlValue[]) => number {
  const insert = on.changing(rows.insertion);
  const replace = on.changing(
    `UPDATE ${rows.table} SET ${USAGE_SUMS.assigned} WHERE account = unhex(?, '-') AND ${keyOfDay} AND last_sequence = ?`,
  );
  return (...values) => {
    let written = 0;
    for (let at = 0; at < values.length; at += rows.count + 1) {
      const row = values.slice(at, at + rows.count);
      const expected = values[at + rows.count] as number;
      written += expected === 0 ? insert(...row) : replace(...row, expected);
    }
    return written;
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
}
