import { DatabaseSync } from '@photostructure/sqlite';

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

/** Up to this size a file is written again in memory; a larger one by way of a temporary file. */
const IN_MEMORY_BYTES = 64 * 1024 * 1024;
/** A larger file is not written again beside a running server: no write could be made for minutes. */
const MAX_REWRITTEN_BYTES = 8 * 1024 * 1024 * 1024;

/**
 * Removes deleted content from the file and from its log. `secure_delete` overwrites what is deleted, but pages that were
 * reorganised before may have copies in space that is not in use, which only writing the file again removes. Every write waits
 * meanwhile, some ten seconds for each GiB. Returns false while another connection reads an earlier state.
 */
export function removeRemains(database: Database): boolean {
  const pages = Number(database.prepare('PRAGMA page_count').get()?.['page_count']);
  const byteSize = pages * Number(database.prepare('PRAGMA page_size').get()?.['page_size']);
  if (byteSize <= MAX_REWRITTEN_BYTES) {
    if (byteSize > IN_MEMORY_BYTES) database.exec('PRAGMA temp_store = FILE');
    try {
      database.exec('VACUUM');
    } catch (error) {
      if (sqliteCode(error) === SQLITE_BUSY) return false;
      throw error;
    } finally {
      database.exec('PRAGMA temp_store = MEMORY');
    }
  }
  return Number(database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.['busy']) === 0;
}

export function configureReader(database: Database): void {
  database.exec(`PRAGMA query_only = ON; PRAGMA cache_size = -${READER_CACHE_KIB};`);
}
