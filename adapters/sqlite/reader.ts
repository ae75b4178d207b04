import { StoreUnavailable } from '../../core/errors.js';
import type { Database, Row, SqlValue } from './driver.js';

export interface Query {
  get(...parameters: SqlValue[]): Row | undefined;
  all(...parameters: SqlValue[]): Row[];
}

/**
 * The main thread's connection, which only reads. Readers do not wait for the writer, and a write is acknowledged after
 * its commit, so that a read sees every write this process was told about.
 */
export class SqliteReader {
  constructor(private readonly database: Database) {}

  /** A statement prepared once. Its errors become ours. */
  query(sql: string): Query {
    const statement = this.database.prepare(sql);
    return {
      get: (...parameters) => reading(() => statement.get(...parameters)),
      all: (...parameters) => reading(() => statement.all(...parameters)),
    };
  }

  close(): void {
    this.database.close();
  }
}

function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new StoreUnavailable('The database could not be read.', error);
  }
}
