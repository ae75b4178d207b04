/**
 * What one client, and all of them together, may ask of the socket. Times are milliseconds, sizes bytes; rates may be 0
 * for none.
 */
export interface HttpLimits {
  /** Credentials that are not valid, from one address; 0 turns the limit off. */
  readonly failedAuthenticationsPerMinute: number;
  /** How long a JSON body may take to arrive once its headers are here. */
  readonly bodyTimeoutMs: number;
  readonly headersTimeoutMs: number;
  /** How long any request may take to arrive, bytes sent to a signed address included. */
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  /** How long a connection may stand still in the middle of a request or an answer. */
  readonly idleTimeoutMs: number;
  readonly maxHeaderBytes: number;
  readonly maxConnections: number;
  /** Of one client's address; trusted proxies have as many as they like. */
  readonly maxConnectionsPerAddress: number;
}

export const DEFAULT_HTTP_LIMITS: HttpLimits = {
  failedAuthenticationsPerMinute: 60,
  bodyTimeoutMs: 10_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 300_000,
  keepAliveTimeoutMs: 65_000,
  idleTimeoutMs: 60_000,
  maxHeaderBytes: 16 * 1024,
  maxConnections: 10_000,
  maxConnectionsPerAddress: 1_000,
};

/** The largest JSON body that is read. */
export const MAX_BODY_BYTES = 128 * 1024;

/** The largest body that is read where none is taken: an object without fields may come with white space. */
export const MAX_EMPTY_BODY_BYTES = 1_024;

/**
 * In how many pieces a body may arrive, since each costs a call of the parser however short it is: a chunk is one, and
 * so is each part of a longer chunk that arrives separately. A body of 128 KiB may come in segments of 200 bytes.
 */
export const MAX_BODY_PIECES = 1_024;

/** How many objects and lists may stand in one another, the body itself among them. */
export const MAX_BODY_DEPTH = 32;

/**
 * How many names and values a body may hold: members' names, objects, lists, texts, numbers, true, false and null, the
 * body itself among them. What a body costs goes with their number: the worst one stays within ten times a plain
 * request.
 */
export const MAX_BODY_NODES = 1_000;
