import {
  MongoClient,
  MongoServerSelectionError,
  ReadConcern,
  type Collection,
  MongoClientBulkWriteError,
  type ClientBulkWriteModel,
  type ClientBulkWriteResult,
  type Db,
  type Document,
  type MongoClientOptions,
  type UUID,
} from 'mongodb';
import { requireWanted, type Cancellation } from '../../core/cancellation.js';
import { StoreUnavailable } from '../../core/errors.js';
import { bounded, whileWanted } from './bounded.js';
import { deploymentOf, type Deployment } from './deployment.js';
import { MongoRefused } from './mongo-refused.js';
import type { CollectionName } from './schema.js';
import { serverCode, storeError } from './store-errors.js';

export interface MongoOptions {
  /** A connection string. Its concerns, limits and read preference are overruled by ours. */
  readonly url: string;
  /** The database all collections are in. */
  readonly database: string;
  /** Connections of this process at most; 50 unless given. */
  readonly poolSize?: number;
  /**
   * How long any one operation may take before the store counts as unavailable, in milliseconds; 5,000 unless given.
   */
  readonly timeoutMs?: number;
}

/** Bounds sent with every command, so that the server stops when no caller waits any more. */
export interface CommandLimits {
  readonly maxTimeMS: number;
}

/** One of several writes of a command, by a document's own id. */
export type OrderedWrite = ClientBulkWriteModel<Record<string, Document & { readonly _id: UUID }>>;

/** A write that the server refused, by its place among those of its command. */
export interface RefusedWrite {
  readonly place: number;
  readonly code: number;
}

const DEFAULT_POOL_SIZE = 50;
const DEFAULT_TIMEOUT_MS = 5_000;
/** The second is what MongoDB's own cloud answers. */
const AUTHENTICATION_FAILED: ReadonlySet<unknown> = new Set([18, 8000]);

/** A connected client and one of its databases, for all operations, with a bound on every wait. */
export class MongoConnection {
  private constructor(
    private readonly client: MongoClient,
    readonly db: Db,
    private readonly timeoutMs: number,
    readonly deployment: Deployment,
  ) {}

  /** Throws `MongoRefused` for options that can never do, and `StoreUnavailable` when the server does not answer. */
  static async open(options: MongoOptions, more: MongoClientOptions = {}): Promise<MongoConnection> {
    const { database, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    const client = clientOf(options, more);
    try {
      await client.connect();
      const deployment = deploymentOf(await client.db('admin').command({ hello: 1 }));
      // A server on its own has no majority to read from: what it shows is what it has.
      const level = deployment.isReplicated ? 'majority' : 'local';
      return new MongoConnection(
        client,
        client.db(database, { readConcern: new ReadConcern(level) }),
        timeoutMs,
        deployment,
      );
    } catch (error) {
      await client.close();
      throw refusalOf(client, error);
    }
  }

  collection<T extends Document>(name: CollectionName): Collection<T> {
    return this.db.collection<T>(name);
  }

  /**
   * One operation. Throws `StoreUnavailable` if the server was unavailable or the time is over: the operation may then
   * have happened, or may still happen. A read for a call ends with `CallOver` when the call is over, and the server
   * gets the call's deadline.
   */
  async ask<T>(operation: (limits: CommandLimits) => Promise<T>, call?: Cancellation): Promise<T> {
    if (call === undefined) return bounded(this.timeoutMs, () => operation({ maxTimeMS: this.timeoutMs }));
    requireWanted(call);
    const maxTimeMS = Math.min(this.timeoutMs, Math.max(1, Math.ceil(call.deadline - Date.now())));
    return whileWanted(
      call,
      bounded(this.timeoutMs, () => operation({ maxTimeMS })),
    );
  }

  /**
   * Writes to several collections in one command, in order, up to the first write that the server refuses: answers that
   * refusal, with its place. Throws as `ask` does; then any prefix may have been written.
   */
  async writeInOrder(writes: readonly OrderedWrite[]): Promise<ClientBulkWriteResult | RefusedWrite> {
    return this.ask(async (limits) => {
      try {
        // The driver's type knows ids of its own kind alone.
        const models = writes as unknown as readonly ClientBulkWriteModel[];
        return await this.client.bulkWrite(models, { ordered: true, ...limits });
      } catch (error) {
        if (!(error instanceof MongoClientBulkWriteError) || error.writeConcernErrors.length > 0) throw error;
        const [[place, { code }] = [0, { code: undefined }]] = error.writeErrors;
        if (code === undefined) throw error;
        return { place, code };
      }
    });
  }

  close(): Promise<void> {
    return this.client.close();
  }
}

/** A password with `@` or `/` as it is, which the driver would take for the name of a host, and say. */
const UNESCAPED = /^[^:]*:\/\/[^?]*[@/][^?]*@/;

function clientOf(
  { url, poolSize = DEFAULT_POOL_SIZE, timeoutMs = DEFAULT_TIMEOUT_MS }: MongoOptions,
  more: MongoClientOptions,
): MongoClient {
  if (UNESCAPED.test(url)) throw urlRefused();
  try {
    return new MongoClient(url, {
      appName: 'darkroom',
      maxPoolSize: poolSize,
      readPreference: 'primary',
      writeConcern: { w: 'majority', journal: true, wtimeoutMS: timeoutMs },
      // Repeated, as `journal=false` in the URL would override the line above.
      journal: true,
      // By default the driver waits without a bound for a connection, and its general `timeoutMS` has no effect here.
      serverSelectionTimeoutMS: timeoutMs,
      connectTimeoutMS: timeoutMs,
      socketTimeoutMS: timeoutMs,
      waitQueueTimeoutMS: timeoutMs,
      ignoreUndefined: true,
      ...more,
    });
  } catch (error) {
    // The driver's sentence is left out, as it may quote the URL and with it a password.
    throw urlRefused(error);
  }
}

function urlRefused(cause?: unknown): MongoRefused {
  return new MongoRefused(
    'The MongoDB URL is invalid; write mongodb://host:port/ or mongodb+srv://host/, and percent-encode @ : / ? # in a password.',
    cause,
  );
}

function refusalOf(client: MongoClient, error: unknown): unknown {
  const { hosts, srvHost } = client.options;
  const where = `MongoDB at ${srvHost ?? hosts.map(String).join(', ')}`;
  if (AUTHENTICATION_FAILED.has(serverCode(error)))
    return new MongoRefused(`${where} does not accept the user name and password.`, error);
  const mapped = storeError(error);
  return mapped instanceof StoreUnavailable
    ? new StoreUnavailable(`${where} does not answer${whyOf(error)}.`, error)
    : mapped;
}

/**
 * The driver drops members of another replica set, and then waits in vain. Otherwise it reports the outcome of the last
 * try.
 */
function whyOf(error: unknown): string {
  if (!(error instanceof MongoServerSelectionError)) return '';
  const { setName, servers } = error.reason ?? {};
  if (setName && servers?.size === 0) return ` as a member of the replica set ${setName}`;
  return ` (${error.message})`;
}
