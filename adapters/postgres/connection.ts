import type pg from 'pg';
import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import { StoreUnavailable } from '../../core/errors.js';
import { whileWanted, within } from '../bounded-wait.js';
import { type PostgresAddress, readConnectionUrl } from './connection-url.js';
import {
  DATABASE_MISSING,
  hasNoTls,
  isAuthenticationFailure,
  isRolledBack,
  isUntrusted,
  NOT_ALLOWED,
  PostgresRefused,
  sqlStateOf,
  storeError,
} from './errors.js';
import { PrimaryPool } from './primary-pool.js';

export interface PostgresOptions {
  /** A connection URL, of one server or of several. */
  readonly url: string;
  /** The URL past a pooler in transaction mode; absent where `url` has no pooler. */
  readonly directUrl?: string;
  /** A PEM file of the authorities that sign the servers' certificates. */
  readonly caFile?: string;
  /** Connections of this process at most; 10 unless given. */
  readonly poolSize?: number;
  /** How long any one operation may take before the store counts as unavailable, in milliseconds; 5,000 unless given. */
  readonly timeoutMs?: number;
  /** Whether statements are prepared under names, which some poolers do not allow; true unless given. */
  readonly prepared?: boolean;
}

export type SqlValue = string | number | boolean | null | Buffer | readonly (string | number | boolean | null)[];
export type Row = Record<string, unknown>;

export interface SqlResult {
  /** `int8` as a number, `uuid` and `text` as texts, `bytea` as a Buffer. */
  readonly rows: readonly Row[];
  readonly rowCount: number;
}

/** The operations that stores, wake-ups and generation changes use. */
export interface PostgresDatabase {
  /**
   * One statement, which is its own transaction. Throws `StoreUnavailable` if the server was unavailable or the time is over:
   * the statement may then have happened, or may still happen. A read for a call ends with `CallOver` when the call is over.
   */
  ask(sql: string, values?: readonly SqlValue[], call?: Cancellation): Promise<SqlResult>;
  /**
   * An operation that waits for more than its own statement, with the bound on the wait of one statement. Throws
   * `StoreUnavailable` when the time is over.
   */
  bounded<T>(operation: () => Promise<T>): Promise<T>;
  /**
   * A connection of its own to the present primary, past any pooler. The caller ends it. Throws `StoreUnavailable`.
   */
  connectDirectly(options: DirectOptions): Promise<pg.Client>;
}

export interface DirectOptions {
  readonly applicationName: string;
  readonly replication?: 'database';
}

const DEFAULT_POOL_SIZE = 10;
export const DEFAULT_TIMEOUT_MS = 5_000;

/** The name of each statement in use: a connection knows a statement by its name alone, so each text has one. */
const NAMES = new Map<string, string>();

function nameOf(sql: string): string {
  const known = NAMES.get(sql);
  if (known !== undefined) return known;
  const name = `darkroom_${NAMES.size + 1}`;
  NAMES.set(sql, name);
  return name;
}

const NOTHING: SqlResult = { rows: [], rowCount: 0 };

/** PostgreSQL refuses NUL in a text, also where rows are looked for that have it: there are none. */
function isAboutNoRow(sql: string, values: readonly SqlValue[]): boolean {
  return /^\s*(SELECT|DELETE)/.test(sql) && values.some((value) => typeof value === 'string' && value.includes('\0'));
}

/** The connections to the primary, with a bound on every wait. */
export class PostgresConnection implements PostgresDatabase {
  readonly address: PostgresAddress;
  private readonly pool: PrimaryPool;
  /** Finds the primary past a pooler; the same without one. */
  private readonly directPool: PrimaryPool;
  private readonly timeoutMs: number;
  private readonly isPrepared: boolean;

  /** Connects with the first statement. Throws `PostgresRefused` for options that can never do. */
  constructor({ url, directUrl, caFile, poolSize, timeoutMs, prepared = true }: PostgresOptions) {
    this.address = readConnectionUrl(url, caFile);
    this.timeoutMs = timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.isPrepared = prepared;
    const size = poolSize ?? DEFAULT_POOL_SIZE;
    const common = { size, timeoutMs: this.timeoutMs };
    // A pooler gives the same server connection to other programs as well, which must not get our settings.
    this.pool = new PrimaryPool({
      logins: this.address.logins,
      ...common,
      ...(directUrl === undefined ? { onConnect: settingsOf(this.timeoutMs) } : {}),
    });
    this.directPool =
      directUrl === undefined
        ? this.pool
        : new PrimaryPool({ logins: readConnectionUrl(directUrl, caFile).logins, ...common });
  }

  async ask(sql: string, values: readonly SqlValue[] = [], call?: Cancellation): Promise<SqlResult> {
    throwIfAborted(call);
    if (isAboutNoRow(sql, values)) return NOTHING;
    const statement = {
      ...(this.isPrepared ? { name: nameOf(sql) } : {}),
      text: sql,
      values: values as unknown[],
    };
    const asked = this.bounded(async () => {
      try {
        return await this.pool.query(statement);
      } catch (error) {
        if (!isRolledBack(error)) throw error;
        return this.pool.query(statement);
      }
    });
    const { rows, rowCount } = await (call === undefined ? asked : whileWanted(call, asked));
    return { rows: rows as Row[], rowCount: rowCount ?? 0 };
  }

  async connectDirectly({ applicationName, replication }: DirectOptions): Promise<pg.Client> {
    let isLate = false;
    const connecting = async () => {
      const client = await this.directPool.connect({
        application_name: applicationName,
        keepAlive: true,
        connectionTimeoutMillis: this.timeoutMs,
        ...(replication === undefined ? {} : { replication }),
      });
      if (isLate) await client.end();
      return client;
    };
    try {
      return await this.bounded(connecting);
    } catch (error) {
      isLate = true;
      throw error;
    }
  }

  /** The reason why a server cannot be used, as one sentence with its address, for opening. */
  refusalOf(error: unknown): unknown {
    const { hosts, database, logins } = this.address;
    const where = `PostgreSQL at ${hosts}`;
    const cause = error instanceof StoreUnavailable ? error.cause : error;
    if (isAuthenticationFailure(cause))
      return new PostgresRefused(`${where} does not accept the user name and password.`, error);
    if (isUntrusted(cause))
      return new PostgresRefused(
        `${where} has a certificate that is not accepted (${(cause as Error).message}); name its authority in postgres.ca_file, and the host as the certificate does.`,
        error,
      );
    if (hasNoTls(cause))
      return new PostgresRefused(
        `${where} offers no TLS; turn ssl on there, or write sslmode=disable on a private network.`,
        error,
      );
    if (sqlStateOf(cause) === DATABASE_MISSING)
      return new PostgresRefused(
        `${where} has no database ${database}; create it first, or correct postgres.url.`,
        error,
      );
    if (sqlStateOf(cause) === NOT_ALLOWED)
      return new PostgresRefused(
        `${where} refuses user ${logins[0]?.user ?? ''} what Darkroom does in database ${database} (${(cause as Error).message}); make that user its owner.`,
        error,
      );
    if (error instanceof StoreUnavailable)
      return new StoreUnavailable(`${where} does not answer: ${error.message}`, error);
    return error;
  }

  async close(): Promise<void> {
    await this.pool.close();
    if (this.directPool !== this.pool) await this.directPool.close();
  }

  async bounded<T>(operation: () => Promise<T>): Promise<T> {
    const { timeoutMs } = this;
    try {
      return await within(
        timeoutMs,
        operation,
        () => new StoreUnavailable(`PostgreSQL did not answer within ${timeoutMs} ms.`),
      );
    } catch (error) {
      throw storeError(error);
    }
  }
}

/** The server gives up a little earlier than we do, so that a server that is only busy is not taken for one that is lost. */
const SERVER_SHARE = 0.9;

/**
 * Settings that end a statement on the server after its caller has given up. None of them ends the wait for a replica after a
 * commit, which must never be cancelled.
 */
function settingsOf(timeoutMs: number): string {
  return [
    `SET statement_timeout = ${Math.ceil(SERVER_SHARE * timeoutMs)}`,
    `SET lock_timeout = ${Math.ceil(SERVER_SHARE * timeoutMs)}`,
    `SET idle_in_transaction_session_timeout = ${2 * timeoutMs}`,
    // The warning that a write has not waited for its replica.
    `SET client_min_messages = warning`,
    `SET application_name = 'darkroom'`,
  ].join('; ');
}
