import { setTimeout as wait } from 'node:timers/promises';
import pg, { type PoolClient, type QueryResult } from 'pg';
import { StoreUnavailable } from '../../core/errors.js';
import type { Login } from './connection-url.js';
import { isAboutServer, isHopeless, leavesConnection } from './errors.js';
import { TrialWrite } from './trial-write.js';

export interface PoolOptions {
  /** One login for each server; one of them is the primary. */
  readonly logins: readonly Login[];
  /** The most connections at a time, beside those that find the primary. */
  readonly size: number;
  /** How long connecting, waiting for a connection, and one statement may take each, in milliseconds. */
  readonly timeoutMs: number;
  /** Statements that a new connection runs first. */
  readonly onConnect?: string;
}

/** A statement under its name, which is its own in the whole process, or without one. */
export interface NamedStatement {
  readonly name?: string;
  readonly text: string;
  readonly values: unknown[];
}

/** How long the servers are waited for together; one that takes longer is not asked a second time meanwhile. */
const ROUND_MS = 1_000;
/** How long other servers are waited for once one has said that it takes writes. */
const OTHERS_MS = 250;
/** The share of a call's time for it in a process that knows no history yet, and so takes any former primary for the present one. */
const OTHERS_AT_FIRST_SHARE = 0.25;
const FIRST_RETRY_MS = 25;
const LAST_RETRY_MS = 500;
/** The share of a call's time for the search, so that the call reports the reason of the search and not that it was late. */
const SEARCH_SHARE = 0.9;
const IDLE_MS = 30_000;
const KEEP_ALIVE_MS = 10_000;
/** How often the other servers are asked whether one of them has become the primary. */
const WATCH_MS = 5_000;

/** Whether the server takes writes, and the number of its history: each promotion begins one with a greater number. */
const PROBE = `SELECT pg_is_in_recovery() AS standby, CASE WHEN pg_is_in_recovery() THEN 0
  ELSE ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::int END AS timeline`;

/**
 * Connections to the one server among several that takes writes. When it is lost, one search of the whole process asks
 * every server, and callers wait for it: were each to search, they would use up the connections of the servers. A former
 * primary that was started again says that it takes writes, so a server with an earlier history than one seen before is not
 * used.
 */
export class PrimaryPool {
  private open: OpenPool | undefined;
  private primary: Login | undefined;
  private searching: Promise<void> | undefined;
  private timeline = 0;
  /** Why a server could not be asked, for the sentence that reports it. */
  private fault: unknown;
  /** Changes with each primary that was found. */
  private term = 0;
  private isClosed = false;
  private watching: NodeJS.Timeout | undefined;
  private readonly trial: TrialWrite;
  /** The question to each server that it has not answered yet. */
  private asking = new Map<Login, Promise<Candidate | undefined>>();
  private readonly probes = new Set<pg.Client>();

  constructor(private readonly options: PoolOptions) {
    this.trial = new TrialWrite(options.timeoutMs);
  }

  /** Runs a statement, which is its own transaction. Rejects with the driver's errors. */
  async query(statement: NamedStatement): Promise<QueryResult> {
    const open = await this.ready();
    const { pool, term } = open;
    let client: PoolClient | undefined;
    try {
      client = await open.connect();
    } catch (error) {
      const isBusy = pool.totalCount >= this.options.size && pool.idleCount === 0;
      if (!isBusy && isAboutServer(error)) this.suspect(term);
      throw error;
    }
    // The primary was lost while all connections to it were in use: nothing was sent to it.
    if (client === undefined) return this.query(statement);
    try {
      const result = await client.query(statement);
      if ((client as unknown as WatchedClient).isUnsafe)
        throw new StoreUnavailable(
          'PostgreSQL has written on the primary alone, as the wait for its replica was cancelled.',
        );
      client.release();
      return result;
    } catch (error) {
      // A connection whose statement was given up still has the answer ahead of it.
      client.release(!leavesConnection(error));
      if (isAboutServer(error)) this.suspect(term);
      throw error;
    }
  }

  /** A connection of its own to the primary, which the caller ends. Rejects with `StoreUnavailable` and the driver's errors. */
  async connect(config: pg.ClientConfig): Promise<pg.Client> {
    const { term } = await this.ready();
    const client = new pg.Client({ ...this.primary, ...config });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return client;
    } catch (error) {
      if (isAboutServer(error)) this.suspect(term);
      throw error;
    }
  }

  async close(): Promise<void> {
    this.isClosed = true;
    clearInterval(this.watching);
    this.trial.end();
    // A server that is frozen would never take leave.
    for (const probe of this.probes) probe.connection.stream.destroy();
    const { open } = this;
    this.open = undefined;
    await open?.end();
  }

  private async ready(): Promise<OpenPool> {
    if (this.open !== undefined) return this.open;
    if (this.isClosed) throw new StoreUnavailable('The connection to PostgreSQL is closed.');
    this.searchOnce();
    const patience = new AbortController();
    try {
      await Promise.race([
        this.searching,
        wait(SEARCH_SHARE * this.options.timeoutMs, undefined, { signal: patience.signal }),
      ]);
    } finally {
      patience.abort();
    }
    if (this.open === undefined) throw this.noPrimary();
    return this.open;
  }

  private noPrimary(): StoreUnavailable {
    const reason = this.fault instanceof Error ? ` (${this.fault.message})` : '';
    return new StoreUnavailable(`No PostgreSQL server takes writes${reason}.`, this.fault);
  }

  /** The first failure of the present primary begins a search, and its connections end when they are given back. */
  private suspect(term: number): void {
    const { open } = this;
    if (term !== this.term || open === undefined) return;
    this.open = undefined;
    open.end().catch(() => undefined);
    this.searchOnce();
  }

  private searchOnce(): void {
    if (this.searching !== undefined) return;
    this.searching = this.search().finally(() => (this.searching = undefined));
    // The callers that wait for the search get its error.
    this.searching.catch(() => undefined);
  }

  private async search(): Promise<void> {
    for (let retryMs = FIRST_RETRY_MS; !this.isClosed; retryMs = Math.min(LAST_RETRY_MS, 2 * retryMs)) {
      const found = await this.askAll();
      if (found !== undefined && (await this.isUsable(found)) && !this.isClosed) {
        this.timeline = found.timeline;
        this.term += 1;
        this.primary = found.login;
        this.open = new OpenPool(this.openPool(found.login), this.term);
        this.fault = undefined;
        if (this.options.logins.length > 1)
          this.watching ??= setInterval(() => void this.lookForSuccessor(), WATCH_MS).unref();
        return;
      }
      if (isHopeless(this.fault)) throw this.noPrimary();
      await wait(retryMs);
    }
    this.trial.end();
  }

  /** A process that begins also reads from a server that acknowledges no writes; one that lost its primary waits for both. */
  private async isUsable({ login }: Candidate): Promise<boolean> {
    if (this.term === 0) return true;
    if (await this.trial.isAcknowledgedBy(login)) return true;
    this.fault = this.trial.fault;
    return false;
  }

  /** A former primary that was frozen for a while, or cut off from the others, is still connected and answers reads. */
  private async lookForSuccessor(): Promise<void> {
    if (this.searching !== undefined) return;
    const { term } = this;
    const found = await this.askAll();
    this.asking = new Map();
    if (found !== undefined && found.timeline > this.timeline) this.suspect(term);
  }

  private async askAll(): Promise<Candidate | undefined> {
    const candidates: Candidate[] = [];
    const { asking } = this;
    this.fault = undefined;
    let isOver = false;
    const othersMs = this.term === 0 ? OTHERS_AT_FIRST_SHARE * this.options.timeoutMs : OTHERS_MS;
    await new Promise<void>((resolve) => {
      const asked = this.options.logins.map(async (login) => {
        const answer = asking.get(login) ?? this.ask(login);
        asking.set(login, answer);
        const candidate = await answer;
        // The next round takes what comes too late for this one: over a slow line no server answers within a round.
        if (isOver) return;
        asking.delete(login);
        if (candidate === undefined) return;
        candidates.push(candidate);
        setTimeout(resolve, othersMs).unref();
      });
      void Promise.all(asked).then(() => resolve());
      setTimeout(() => candidates.length === 0 && resolve(), ROUND_MS).unref();
    });
    isOver = true;
    // Later, what is answered now says nothing.
    if (candidates.length > 0) this.asking = new Map();
    return candidates.toSorted((a, b) => b.timeline - a.timeline)[0];
  }

  private async ask(login: Login): Promise<Candidate | undefined> {
    const { timeoutMs } = this.options;
    const client = new pg.Client({ ...login, connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs });
    client.on('error', () => undefined);
    this.probes.add(client);
    try {
      await client.connect();
      // A pooler or a service may not have the functions of a server's history; with one server nothing is to be compared.
      if (this.options.logins.length === 1) return { login, timeline: this.timeline };
      const { rows } = await client.query<{ standby: boolean; timeline: number }>(PROBE);
      const [seen] = rows;
      if (seen === undefined || seen.standby || seen.timeline < this.timeline) return undefined;
      return { login, timeline: seen.timeline };
    } catch (error) {
      if (!isHopeless(this.fault)) this.fault = error;
      return undefined;
    } finally {
      this.probes.delete(client);
      client.end().catch(() => undefined);
    }
  }

  private openPool(login: Login): pg.Pool {
    const { size, timeoutMs, onConnect } = this.options;
    const pool = new pg.Pool({
      ...login,
      Client: WatchedClient,
      types: TYPES,
      max: size,
      connectionTimeoutMillis: timeoutMs,
      query_timeout: timeoutMs,
      idleTimeoutMillis: IDLE_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      ...(onConnect === undefined
        ? {}
        : {
            // The pool waits for the promise, which its type does not say.
            onConnect: (client) => client.query(onConnect) as unknown as undefined,
          }),
    });
    // A connection that is lost while nobody uses it; whoever needs one next opens another.
    pool.on('error', () => undefined);
    return pool;
  }
}

/** The connections to one primary, until it is lost or the process closes. */
class OpenPool {
  /** Ends the wait of each call that waits for a connection. */
  private readonly waiting = new Set<() => void>();

  constructor(
    readonly pool: pg.Pool,
    readonly term: number,
  ) {}

  /** Undefined once the pool ends: it forgets those that wait. */
  connect(): Promise<PoolClient | undefined> {
    const connecting = this.pool.connect();
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        resolve(undefined);
        connecting.then(
          (client) => client.release(),
          () => undefined,
        );
      };
      this.waiting.add(giveUp);
      connecting.then(resolve, reject).finally(() => this.waiting.delete(giveUp));
    });
  }

  /** Waits for the statements that are under way. */
  async end(): Promise<void> {
    const ended = this.pool.end();
    for (const giveUp of this.waiting) giveUp();
    await ended;
  }
}

interface Candidate {
  readonly login: Login;
  readonly timeline: number;
}

const TYPES = new pg.TypeOverrides();
// `int8` beyond what a number has exactly is a fault: amounts and times are far from it.
TYPES.setTypeParser(pg.types.builtins.INT8, (text: string) => {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is not a safe integer`);
  return value;
});

/** A client that does not end the process when its connection is lost. */
class WatchedClient extends pg.Client {
  /** A write was acknowledged before the replica had it: an administrator has cancelled the wait. */
  isUnsafe = false;

  constructor(config?: pg.ClientConfig) {
    super(config);
    this.on('error', () => undefined);
    // The text is in the language of the server.
    this.on('notice', ({ routine, message = '' }) => {
      if (routine === 'SyncRepWaitForLSN' || /synchronous replication/.test(message)) this.isUnsafe = true;
    });
  }
}
