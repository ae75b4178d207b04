import {
  type ClientBulkWriteModel,
  type ClientBulkWriteResult,
  type Collection,
  type Db,
  type Document,
  MongoAPIError,
  MongoBulkWriteError,
  MongoClient,
  MongoClientBulkWriteError,
  MongoClientClosedError,
  type MongoClientOptions,
  MongoError,
  MongoExpiredSessionError,
  MongoNotConnectedError,
  MongoParseError,
  MongoServerClosedError,
  MongoServerError,
  MongoServerSelectionError,
  MongoTopologyClosedError,
  MongoWriteConcernError,
  ReadConcern,
  type UUID,
} from 'mongodb';
import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import { StoreUnavailable } from '../../core/errors.js';
import { whileWanted, within } from '../bounded-wait.js';
import type { CollectionName } from './schema.js';

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

/** Thrown when a database cannot be used as it is; the message is one sentence fit for the operator. */
export class MongoRefused extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'MongoRefused';
  }
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
export const DEFAULT_TIMEOUT_MS = 5_000;

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
    throwIfAborted(call);
    const maxTimeMS = Math.min(this.timeoutMs, Math.max(1, Math.ceil(call.deadline - Date.now())));
    return whileWanted(
      call,
      bounded(this.timeoutMs, () => operation({ maxTimeMS })),
    );
  }

  /**
   * Writes to several collections in one command, in order, up to the first write that the server refuses: returns that
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
      // Bounds the wait for a connection, which is unlimited by default; the driver's general `timeoutMS` has no
      // effect here.
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

export interface Deployment {
  /** Whether reads and writes can require a majority of servers. */
  readonly isReplicated: boolean;
  /**
   * Whether a change stream reports a write soon. A router's stream reports in the order of all shards: a write of
   * one shard waits until every other shard has written too, or has noted after ten seconds that it did not.
   */
  readonly tellsSoon: boolean;
  /**
   * Whether one command writes to several collections in order, and one log holds all of it, so that a crash leaves a
   * prefix: a member of a replica set from release 8.0 on, but no router, which sends each write to a shard of its own.
   */
  readonly ordersWrites: boolean;
}

/** The wire version of release 8.0, the first with the command `bulkWrite`. */
const WIRE_VERSION_OF_BULK_WRITE = 25;

/** Reads the response to `hello`. Only members of a replica set have a name for it, and only a router responds with this message. */
export function deploymentOf(hello: Document): Deployment {
  const isRouter = hello['msg'] === 'isdbgrid';
  const isMember = hello['setName'] !== undefined;
  const isAlone = isMember && !isRouter;
  const ordersWrites = isAlone && Number(hello['maxWireVersion']) >= WIRE_VERSION_OF_BULK_WRITE;
  return { isReplicated: isMember || isRouter, tellsSoon: isAlone, ordersWrites };
}

/**
 * One operation on the server. Throws `StoreUnavailable` if the server was unavailable or `timeoutMs` are over: the
 * operation may then have happened, or may still happen. The driver's own limits bound each step of an operation; this
 * one bounds their sum.
 */
export async function bounded<T>(timeoutMs: number, operation: () => Promise<T>): Promise<T> {
  try {
    return await within(
      timeoutMs,
      operation,
      () => new StoreUnavailable(`MongoDB did not answer within ${timeoutMs} ms.`),
    );
  } catch (error) {
    throw storeError(error);
  }
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

/** The second is the code of MongoDB's own cloud. */
const AUTHENTICATION_FAILED: ReadonlySet<unknown> = new Set([18, 8000]);

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

/**
 * Maps a driver's error to the ports' errors: an outage is `StoreUnavailable`, a programming error is passed on
 * unchanged.
 */
export function storeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const isOutage =
    error instanceof MongoError ? !isProgramFault(error) : 'code' in error && SOCKET_CODE.test(String(error.code));
  return isOutage ? new StoreUnavailable(`MongoDB could not answer (${kindOf(error)}).`, error) : error;
}

/** The error codes of a broken socket. The driver passes some of them on unwrapped. */
const SOCKET_CODE = /^(E[A-Z0-9]+|ERR_(STREAM|SOCKET|SSL|TLS)_\w+)$/;

/**
 * For the operator: the driver has one error class for everything that a server reports about itself, missing rights
 * included.
 */
function kindOf(error: Error): string {
  return error instanceof MongoServerError && typeof error.codeName === 'string' ? error.codeName : error.name;
}

function isProgramFault(error: MongoError): boolean {
  if (error instanceof MongoWriteConcernError) return false;
  if (error instanceof MongoBulkWriteError) return isProgramFaultOfSeveral(error);
  if (error instanceof MongoServerError) return WRONG_COMMANDS.has(error.code);
  if (error instanceof MongoParseError) return true;
  return error instanceof MongoAPIError && !CONNECTION_ERRORS.some((kind) => error instanceof kind);
}

/**
 * If several writes were refused, the error's own code is the first write's code, and the other write errors may have
 * different codes.
 */
function isProgramFaultOfSeveral({ code, result }: MongoBulkWriteError): boolean {
  if (result.getWriteConcernError() !== undefined) return false;
  const refusals = result.getWriteErrors();
  return refusals.length === 0 ? WRONG_COMMANDS.has(code) : refusals.every((one) => WRONG_COMMANDS.has(one.code));
}

/** Errors of the driver's API that are nevertheless about the connection. */
const CONNECTION_ERRORS = [
  MongoNotConnectedError,
  MongoTopologyClosedError,
  MongoServerClosedError,
  MongoClientClosedError,
  MongoExpiredSessionError,
];

export const DUPLICATE_KEY = 11000;

/**
 * A server's error codes for a command that is always wrong. Every other code (not primary, shutting down, too late, no
 * majority, no space, no rights) describes the server's state, so a code that is not in this list, including a new one,
 * means that the store cannot answer.
 */
const WRONG_COMMANDS: ReadonlySet<unknown> = new Set([
  2 /* BadValue */,
  9 /* FailedToParse */,
  14 /* TypeMismatch */,
  20 /* IllegalOperation */,
  22 /* InvalidBSON */,
  26 /* NamespaceNotFound */,
  27 /* IndexNotFound */,
  28 /* PathNotViable */,
  40 /* ConflictingUpdateOperators */,
  48 /* NamespaceExists */,
  52 /* DollarPrefixedFieldName */,
  54 /* NotSingleValueField */,
  56 /* EmptyFieldName */,
  57 /* DottedFieldName */,
  59 /* CommandNotFound */,
  66 /* ImmutableField */,
  67 /* CannotCreateIndex */,
  68 /* IndexAlreadyExists */,
  72 /* InvalidOptions */,
  73 /* InvalidNamespace */,
  85 /* IndexOptionsConflict */,
  86 /* IndexKeySpecsConflict */,
  115 /* CommandNotSupported */,
  121 /* DocumentValidationFailure */,
  168 /* InvalidPipelineOperator */,
  10334 /* BSONObjectTooLarge */,
  DUPLICATE_KEY,
  17280 /* KeyTooLong */,
  17419,
  17420 /* the document would grow too large */,
]);

export function isDuplicateKey(error: unknown): boolean {
  return serverCode(error) === DUPLICATE_KEY;
}

export function serverCode(error: unknown): unknown {
  return error instanceof MongoServerError ? error.code : undefined;
}
