import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import { StoreUnavailable } from '../../core/errors.js';
import { checkedLimit, type PageRequest } from '../../core/paging.js';
import type { Database, Row, SqlValue, Statement } from './database.js';
import type { SqliteWriter } from './writer.js';

/** The two connections of a process. */
export interface Connections {
  readonly writer: Pick<SqliteWriter, 'run' | 'write'>;
  readonly reader: SqliteReader;
}

/**
 * The main thread's connection, which only reads. Readers do not wait for the writer, and a write is acknowledged after
 * its commit, so that a read sees every write that was acknowledged to this process.
 */
export class SqliteReader {
  private readonly begin: Statement;
  private readonly commit: Statement;
  private readonly statements = new Map<string, Statement>();
  private waiting: Waiting[] = [];

  constructor(private readonly database: Database) {
    this.begin = database.prepare('BEGIN');
    this.commit = database.prepare('COMMIT');
  }

  /** The first row of a query. Throws `StoreUnavailable`. */
  get(sql: string, ...parameters: SqlValue[]): Row | undefined {
    return reading(() => this.prepared(sql).get(...parameters));
  }

  /** All rows of a query. Throws `StoreUnavailable`. */
  all(sql: string, ...parameters: SqlValue[]): Row[] {
    return reading(() => this.prepared(sql).all(...parameters));
  }

  /** Each statement is prepared once: there are as many as the program has texts. */
  private prepared(sql: string): Statement {
    let statement = this.statements.get(sql);
    if (statement === undefined) {
      statement = this.database.prepare(sql);
      this.statements.set(sql, statement);
    }
    return statement;
  }

  /**
   * Reads at the end of this turn of the event loop, together with all else that is asked for until then: a transaction
   * costs about as much as what a small read does in it. It begins after the last of them was asked for, so that each
   * still sees all that was written before it. Rejects with what `read` throws.
   */
  soon<T>(read: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.waiting.length === 0) setImmediate(() => this.readWaiting());
      this.waiting.push({ read, resolve: resolve as (answer: unknown) => void, reject });
    });
  }

  private readWaiting(): void {
    const { waiting } = this;
    this.waiting = [];
    try {
      if (waiting.length > 1) reading(() => this.begin.run());
    } catch (error) {
      for (const { reject } of waiting) reject(error);
      return;
    }
    for (const { read, resolve, reject } of waiting) {
      try {
        resolve(read());
      } catch (error) {
        reject(error);
      }
    }
    if (waiting.length > 1) this.end();
  }

  /** SQLite has ended the transaction by itself after some errors, and then refuses to do it again. */
  private end(): void {
    try {
      this.commit.run();
    } catch {
      // Nothing is open any more, which is what was wanted.
    }
  }

  close(): void {
    this.database.close();
  }
}

interface Waiting {
  readonly read: () => unknown;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new StoreUnavailable('The database could not be read.', error);
  }
}

/**
 * Lets other work run before the next page of a list is read for a call: reads are synchronous, so that a caller of page
 * after page would block everything else, and never notice that it was cancelled. Throws `CallOver`.
 */
export async function yieldBetweenPages(call: Cancellation | undefined): Promise<void> {
  if (call === undefined) return;
  await nextTurn();
  throwIfAborted(call);
}

/** A page of the rows that an account has, in the order of their ids, and one more. No id sorts before the empty one. */
export async function rowsOfAccount(
  reader: SqliteReader,
  selection: string,
  accountId: string,
  { cursor = '', limit }: PageRequest,
  call: Cancellation | undefined,
): Promise<Row[]> {
  await yieldBetweenPages(call);
  const sql = `${selection} WHERE account = unhex(?, '-') AND id > unhex(?, '-') ORDER BY id LIMIT ?`;
  return reader.all(sql, accountId, cursor, checkedLimit(limit) + 1);
}
