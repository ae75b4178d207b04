import type { Database } from './driver.js';

/** About 16 MB of log between checkpoints: each writes a page that changed often only once. */
const CHECKPOINT_PAGES = 4_000;
const WRITER_CACHE_KIB = 64_000;
const READER_CACHE_KIB = 32_000;

/**
 * A commit is on the disk when it returns: in WAL mode that takes `synchronous` FULL, not the NORMAL some builds
 * default to.
 */
export function configureWriter(database: Database, maxPages?: number): void {
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES};
    PRAGMA cache_size = -${WRITER_CACHE_KIB};
    PRAGMA temp_store = MEMORY;
  `);
  if (maxPages !== undefined) database.exec(`PRAGMA max_page_count = ${maxPages}`);
}

export function configureReader(database: Database): void {
  database.exec(`PRAGMA query_only = ON; PRAGMA cache_size = -${READER_CACHE_KIB};`);
}
