import { DatabaseSync } from '@photostructure/sqlite';
import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';

export type SqlValue = string | number | bigint | null | Uint8Array;
export type Row = Record<string, SqlValue>;

/** The part of a prepared statement that is used; the shape is that of `node:sqlite`, which may take the package's place. */
export interface Statement {
  run(...parameters: SqlValue[]): { changes: number | bigint };
  get(...parameters: SqlValue[]): Row | undefined;
  all(...parameters: SqlValue[]): Row[];
}

export interface Database {
  prepare(sql: string): Statement;
  exec(sql: string): void;
  /** Lets statements call a function of this name. */
  function(name: string, options: { readonly deterministic: boolean }, act: (...values: SqlValue[]) => SqlValue): void;
  close(): void;
}

/** How long a connection waits for another process's write, in milliseconds. */
const BUSY_TIMEOUT_MS = 5_000;

/** Opens one connection. The caller keeps a reference to it for as long as it must stay open. */
export function openDatabase(path: string, { readOnly = false }: { readonly readOnly?: boolean } = {}): Database {
  const database: Database = new DatabaseSync(path, { readOnly, enableForeignKeyConstraints: false });
  database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  return database;
}

/** SQLite's primary result code of an error this driver threw; undefined when the error is not SQLite's. */
export function sqliteCode(error: unknown): number | undefined {
  const code = extendedCode(error);
  return code === undefined ? undefined : code & 0xff;
}

function extendedCode(error: unknown): number | undefined {
  const code = error instanceof Error && 'errcode' in error ? error.errcode : undefined;
  return typeof code === 'number' ? code : undefined;
}

export const SQLITE_BUSY = 5;
const SQLITE_FULL = 13;
const SQLITE_TOOBIG = 18;
const SQLITE_CONSTRAINT = 19;
const SQLITE_MISMATCH = 20;
const SQLITE_RANGE = 25;

const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;
/** The system reports an error for a part of the file, or for the file system's own records of it. */
const SQLITE_IOERR_READ = 266;
const SQLITE_IOERR_SHORT_READ = 522;
const SQLITE_IOERR_CORRUPTFS = 8_458;

/** Whether the error is about the file itself, so that only another file helps. */
export function isBroken(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === SQLITE_CORRUPT || code === SQLITE_NOTADB;
}

/** Whether the error says that what the file has cannot be read: it is broken, or the disk is. */
export function isUnreadable(error: unknown): boolean {
  const code = extendedCode(error) ?? 0;
  return isBroken(error) || [SQLITE_IOERR_READ, SQLITE_IOERR_SHORT_READ, SQLITE_IOERR_CORRUPTFS].includes(code);
}

/** Whether the error is about what was written, so that trying again cannot help, and not about the store's state. */
export function isWriterFault(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === undefined || [SQLITE_TOOBIG, SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_RANGE].includes(code);
}

/** About 16 MB of log between checkpoints: each writes a page that changed often only once. */
const CHECKPOINT_PAGES = 4_000;
const WRITER_CACHE_KIB = 64_000;
const READER_CACHE_KIB = 32_000;

/**
 * A commit is on the disk when it returns: in WAL mode that takes `synchronous` FULL, not the NORMAL some builds
 * default to. What is deleted is overwritten with zeros.
 */
export function configureWriter(database: Database, maxPages?: number): void {
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES};
    PRAGMA cache_size = -${WRITER_CACHE_KIB};
    PRAGMA temp_store = MEMORY;
    PRAGMA secure_delete = ON;
  `);
  if (maxPages !== undefined) database.exec(`PRAGMA max_page_count = ${maxPages}`);
}

/** How long the log's readers are waited for, in milliseconds: every write waits meanwhile. */
const READER_WAIT_MS = 250;

/**
 * Writes what is in the log into the file, and empties it. `later`: another connection reads an earlier state; then the log is
 * as long as it was.
 */
export function emptyLog(database: Database): 'done' | 'later' {
  database.exec(`PRAGMA busy_timeout = ${READER_WAIT_MS}`);
  try {
    const outcome = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get();
    return Number(outcome?.['busy']) === 0 ? 'done' : 'later';
  } finally {
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  }
}

/** Up to this size a file is written again in memory; a larger one by way of a temporary file. */
const IN_MEMORY_BYTES = 64 * 1024 * 1024;
/** A larger file is not written again beside a running server: no write could be made for minutes. */
const MAX_REWRITTEN_BYTES = 8 * 1024 * 1024 * 1024;
/** What must be left of the disk meanwhile. */
const SPARE_BYTES = 64 * 1024 * 1024;

/**
 * Removes deleted content from the file. `secure_delete` overwrites what is deleted, but pages that were reorganised before
 * have copies in space that is not in use, which only writing the file again removes. Every write waits meanwhile, some ten
 * seconds for each GiB. The log has the new file until `emptyLog` is done.
 *
 * `later`: another connection reads an earlier state, or writes. `too-large`: over 8 GiB. `no-space`: the disk lacks room for
 * the temporary file, the log and 64 MiB. In these cases nothing was changed.
 */
export function rewriteFile(
  database: Database,
  freeBytes: (folder: string) => number = freeBytesOf,
): 'done' | RewriteRefusal {
  // Otherwise the log would keep each new file after the one before.
  if (emptyLog(database) === 'later') return 'later';
  const folder = dirname(String(database.prepare('PRAGMA database_list').get()?.['file']));
  const pages = Number(database.prepare('PRAGMA page_count').get()?.['page_count']);
  const byteSize = pages * Number(database.prepare('PRAGMA page_size').get()?.['page_size']);
  if (byteSize > MAX_REWRITTEN_BYTES) return 'too-large';
  if (freeBytes(folder) < 2 * byteSize + SPARE_BYTES) return 'no-space';
  try {
    if (byteSize > IN_MEMORY_BYTES) vacuumByWayOfFile(database, folder);
    else database.exec('VACUUM');
    return 'done';
  } catch (error) {
    if (sqliteCode(error) === SQLITE_BUSY) return 'later';
    if (sqliteCode(error) !== SQLITE_FULL) throw error;
    // Returns the space that the attempt has taken.
    emptyLog(database);
    return 'no-space';
  }
}

export type RewriteRefusal = 'later' | 'too-large' | 'no-space';

function freeBytesOf(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/**
 * The temporary file is beside the database, where its size is known to fit: the system's folder for such files may be small,
 * or memory. The setting is the whole process's, so it is in force no longer than needed; SQLite guards it with a lock.
 */
function vacuumByWayOfFile(database: Database, folder: string): void {
  database.exec(`PRAGMA temp_store = FILE; PRAGMA temp_store_directory = '${folder.replaceAll("'", "''")}'`);
  try {
    database.exec('VACUUM');
  } finally {
    database.exec("PRAGMA temp_store_directory = ''; PRAGMA temp_store = MEMORY");
  }
}

export function configureReader(database: Database): void {
  database.exec(`PRAGMA query_only = ON; PRAGMA cache_size = -${READER_CACHE_KIB};`);
}
