import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { StoreUnavailable } from '../../core/errors.js';
import type { DatabasePort, Ports } from '../../core/ports/ports.js';
import type { ProviderUse } from '../../core/providers/provider-use.js';
import type { HalfHour } from '../../core/statistics/half-hour.js';
import type { AppWebhooks } from '../../core/webhooks/endpoint.js';
import type { CopiedRow, CopiedTableName } from '../copied-tables.js';
import {
  checkRights,
  createPrivately,
  DataFolderRefused,
  DataFolderUnmade,
  ensureFolder,
  RESTORING,
} from './data-folder.js';
import { configureReader, configureWriter, isBroken, openDatabase, SQLITE_BUSY, sqliteCode } from './database.js';
import { BackgroundCheck, type CheckOutcome, damagedFile, requireIntegrity, SMALL_BYTES } from './integrity.js';
import { SqliteReader } from './reader.js';
import { migrate } from './schema.js';
import { ServerLock } from './server-lock.js';
import { rowsOf } from './sqlite-rows.js';
import { SqliteAcceptances } from './sqlite-acceptances.js';
import { SqliteAccountStore } from './sqlite-account-store.js';
import { SqliteArtefactStore } from './sqlite-artefact-store.js';
import { SqliteClaimStore } from './sqlite-claim-store.js';
import { SqliteCredentialStore } from './sqlite-credential-store.js';
import { SqliteFingerprintStore } from './sqlite-fingerprint-store.js';
import { SqliteGenerationSearch } from './sqlite-generation-search.js';
import { RecordCache, SqliteGenerationStore } from './sqlite-generation-store.js';
import { SqliteInstallation } from './sqlite-installation.js';
import { SqlitePersonStore } from './sqlite-person-store.js';
import { SqliteDeliveryStore, SqliteErasureStore, SqliteNamedRecords, SqliteUploadStore } from './sqlite-records.js';
import { SqliteUsageStore } from './sqlite-usage-store.js';
import { SqliteWakeUpTable } from './sqlite-wake-up-table.js';
import { SqliteWriter } from './writer.js';

/** The most memory that kept records of generations may take: some three thousand of the usual size. */
const MAX_CACHED_BYTES = 16 * 1024 * 1024;

export interface SqliteOptions {
  /** The data folder; made when it is missing. The database is `darkroom.db` in it. */
  readonly folder: string;
  /** A folder has one server at a time. Tools may write beside it, as every write is guarded by a version. */
  readonly role: 'server' | 'tool';
  /** Writes are refused, and nothing is created or brought up to date. */
  readonly readOnly?: boolean;
  /** The size past which the file may not grow, in pages of 4,096 bytes. No bound but the disk's unless given. */
  readonly maxPages?: number;
  /** The size in bytes up to which a server checks the file before it uses it; 64 MiB unless given. */
  readonly smallBytes?: number;
  /** Called with how the check of a large file ended that a server uses meanwhile. */
  readonly checked?: (outcome: CheckOutcome) => void;
  /** Called with why the outcome of a check could not be noted for the next start, which then may check again. */
  readonly noteFailed?: (error: unknown) => void;
}

export interface SqliteStores extends Pick<Ports, DatabasePort> {
  readonly generations: SqliteGenerationStore;
  readonly wakeUpTable: SqliteWakeUpTable;
  readonly installation: SqliteInstallation;
  /** All rows of a table, some at a time. Throws `StoreUnavailable`. */
  rows(table: CopiedTableName): AsyncIterable<readonly CopiedRow[]>;
  /** Writes acknowledged by this process, and the transactions they took. */
  readonly counters: { readonly writes: number; readonly commits: number };
  /**
   * Whether the writing thread runs and the file was not found damaged; if not, every write is refused until the process is
   * restarted.
   */
  isWritable(): boolean;
  /** Whether no other server may use this folder until it is released, and the previous one has ended. */
  readonly isExclusive: boolean;
  /**
   * Writes what waits, empties the log into the database and releases the folder; with `keepsLock` the folder is released
   * when the process ends.
   */
  close(options?: { readonly keepsLock?: boolean }): Promise<void>;
}

/** Opens the stores of a data folder. Throws `DataFolderRefused`, with one sentence, when that cannot be done. */
export async function openSqlite(options: SqliteOptions): Promise<SqliteStores> {
  const { folder, role, readOnly = false, maxPages, smallBytes = SMALL_BYTES } = options;
  const path = join(folder, 'darkroom.db');
  if (!readOnly) ensureFolder(folder);
  if (existsSync(folder)) checkRights(folder, { readOnly });
  if (!existsSync(path) && existsSync(join(folder, RESTORING))) {
    throw new DataFolderRefused(`A restore into ${folder} did not finish; run darkroom restore again.`);
  }
  if (readOnly && !existsSync(path)) {
    throw new DataFolderUnmade(
      `There is no database in ${folder}; run darkroom migrate or start the server to create it, or correct data_folder.`,
    );
  }
  const lock = role === 'server' && !readOnly ? ServerLock.take(folder) : undefined;
  try {
    const checkedBytes = lock?.mayHaveLostWrites === true ? Infinity : smallBytes;
    const isChecked = prepareFile(path, role, readOnly, checkedBytes);
    const note = (outcome: 'noteWhole' | 'noteDamaged') => {
      try {
        lock?.[outcome]();
      } catch (error) {
        // The next start may check again.
        options.noteFailed?.(error);
      }
    };
    if (isChecked) note('noteWhole');
    const writer = readOnly ? REFUSING_WRITER : await SqliteWriter.start({ path, maxPages });
    const check = isChecked ? undefined : checkMeanwhile(path, writer, note, options.checked);
    return storesOver(writer, openReader(path), lock, check);
  } catch (error) {
    lock?.abandon();
    throw refusalOf(path, error);
  }
}

/**
 * Creates the file or brings it up to date. Returns whether its server need not check it any more. A server checks a file of up
 * to `smallBytes` here; a larger one it uses at once and checks meanwhile.
 */
function prepareFile(path: string, role: SqliteOptions['role'], readOnly: boolean, smallBytes: number): boolean {
  if (!readOnly) createPrivately(path);
  const database = openDatabase(path, { readOnly });
  try {
    if (!readOnly) configureWriter(database);
    const isCheckedNow = role === 'server' && statSync(path).size <= smallBytes;
    if (isCheckedNow) requireIntegrity(database, path);
    migrate(database, { path, readOnly });
    return isCheckedNow || role === 'tool';
  } finally {
    database.close();
  }
}

/** Checks the file while it is used. Damage stops all writes, and has the next server check before it uses the file. */
function checkMeanwhile(
  path: string,
  writer: WriterLike,
  note: (outcome: 'noteWhole' | 'noteDamaged') => void,
  checked: SqliteOptions['checked'],
): BackgroundCheck {
  return new BackgroundCheck(path, (outcome) => {
    const fault = outcome !== 'not-finished' && 'fault' in outcome ? outcome.fault : undefined;
    if (typeof fault === 'string') writer.refuseFromNow(new StoreUnavailable(damagedFile(path, fault)));
    checked?.(outcome);
    if (fault !== undefined) note(fault === null ? 'noteWhole' : 'noteDamaged');
  });
}

function openReader(path: string): SqliteReader {
  const database = openDatabase(path, { readOnly: true });
  configureReader(database);
  return new SqliteReader(database);
}

type WriterLike = Pick<SqliteWriter, 'run' | 'write' | 'refuseFromNow' | 'close' | 'counters' | 'isWritable'>;

function refuseWrite(): Promise<never> {
  return Promise.reject(new StoreUnavailable('The data folder is open for reading only.'));
}

/** Stands in for the writer where a folder is opened to be read only. */
const REFUSING_WRITER: WriterLike = {
  isWritable: false,
  counters: { writes: 0, commits: 0 },
  run: refuseWrite,
  write: refuseWrite,
  refuseFromNow: () => undefined,
  close: () => Promise.resolve(),
};

function storesOver(
  writer: WriterLike,
  reader: SqliteReader,
  lock: ServerLock | undefined,
  check: BackgroundCheck | undefined,
): SqliteStores {
  const cache = new RecordCache(MAX_CACHED_BYTES);
  const db = { writer, reader };
  return {
    accounts: new SqliteAccountStore(db),
    generations: new SqliteGenerationStore(db, cache),
    generationSearch: new SqliteGenerationSearch(db),
    claims: new SqliteClaimStore(db),
    fingerprints: new SqliteFingerprintStore(db),
    acceptances: new SqliteAcceptances(db, cache),
    uploads: new SqliteUploadStore(db),
    credentials: new SqliteCredentialStore(db),
    people: new SqlitePersonStore(db),
    artefacts: new SqliteArtefactStore(db),
    providerUses: new SqliteNamedRecords<ProviderUse>(db, 'provider_uses', 'provider', ({ provider }) => provider),
    webhookEndpoints: new SqliteNamedRecords<AppWebhooks>(db, 'webhook_endpoints', 'app', ({ appId }) => appId),
    deliveries: new SqliteDeliveryStore(db),
    usage: new SqliteUsageStore(db),
    halfHours: new SqliteNamedRecords<HalfHour>(db, 'half_hours', 'slot', ({ slot }) => slot),
    erasures: new SqliteErasureStore(db),
    wakeUpTable: new SqliteWakeUpTable(db),
    installation: new SqliteInstallation(db),
    rows: (table) => rowsOf(reader, table),
    counters: writer.counters,
    isWritable: () => writer.isWritable,
    isExclusive: lock !== undefined,
    async close({ keepsLock = false } = {}) {
      // Both readers go first, so that nothing keeps the writer from emptying the log into the database: it waits for the
      // process that checks, which is killed, for as long as for any other.
      const checkEnded = check?.stop();
      reader.close();
      await Promise.all([writer.close(), checkEnded]);
      if (keepsLock) lock?.keep();
      else lock?.release();
    },
  };
}

function refusalOf(path: string, error: unknown): unknown {
  if (error instanceof DataFolderRefused || sqliteCode(error) === undefined) return error;
  if (sqliteCode(error) === SQLITE_BUSY)
    return new StoreUnavailable('Another process has kept the database locked for too long.', error);
  if (!isBroken(error)) return new DataFolderRefused(`${path} cannot be opened (${(error as Error).message}).`, error);
  return new DataFolderRefused(
    `${path} cannot be opened as a database; restore it from a backup, or move it away to start over.`,
    error,
  );
}
