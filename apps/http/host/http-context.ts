import type { ParameterizedContext } from 'koa';
import type { Bound, ErrorCode } from '../../../core/errors.js';
import type { LoggedRefusal, NamedIds } from '../../logging/logged-fields.js';

/** Who sent a request, as the log names it. */
export interface LoggedCaller {
  readonly accountId: string;
  readonly credentialId: string;
}

/** A refusal as a client is told of it. */
export interface ShownError {
  readonly status: number;
  readonly code: ErrorCode;
  readonly message: string;
  readonly requestId: string;
  /** JSON Pointer of the field at fault, where there is one. */
  readonly pointer?: string | undefined;
}

export type ErrorRenderer = (error: ShownError) => { readonly mediaType: string; readonly text: string };

/** The target of a request, still percent-encoded. */
export interface RequestTarget {
  readonly path: string;
  /** The part after the question mark; empty without one. */
  readonly query: string;
}

/** What the host and the front that serves a request tell each other about it, and the log. */
export interface HttpState {
  requestId: string;
  /** Read before any other part of the request. */
  target: RequestTarget;
  /** The text of the answer, which the host sends once the front is done. */
  text?: string | undefined;
  /**
   * The rest of a request that waits, which sets `text`. Its handlers return before that, so that they hold no memory
   * while it waits.
   */
  later?: Promise<void>;
  /** Renders a refusal, for fronts whose clients do not read the JSON envelope. */
  renderError?: ErrorRenderer;
  /** The pattern of the route, never the path: paths carry ids, and signed ones carry signatures. */
  route?: string;
  /** The URL where clients of this route learn how to get a token; undefined where no tokens are issued. */
  resourceMetadata?: () => string | undefined;
  caller?: LoggedCaller;
  /** Where a request came from that did not authenticate. */
  address?: string;
  /** Whether the log leaves this request to a line about many. */
  isLeftOut?: boolean;
  /** Why the request was refused, when it was. */
  refusal?: LoggedRefusal;
  /** The tool that an MCP client called. */
  tool?: string;
  /** What the request was about. */
  ids?: NamedIds;
  /** Whether the request created something: its line in the log is then of level info. */
  hasCreated?: boolean;
}

export type HttpContext = ParameterizedContext<HttpState>;
export type HttpMiddleware = (ctx: HttpContext, next: () => Promise<void>) => Promise<void>;

/**
 * `full` and `full_for_address`: there were as many connections as there may be, in all or of one client. The others
 * never became a request.
 */
export type ConnectionRefusal = 'full' | 'full_for_address' | 'malformed' | 'headers_too_long' | 'timeout';

export interface AnsweredRequest {
  readonly method: string;
  /** The pattern of the route; undefined when there was none. */
  readonly route: string | undefined;
  readonly status: number;
  /** The error code, when it was refused. */
  readonly code: string | undefined;
  /** The bound that was reached, if the request was refused for that. */
  readonly bound?: Bound | undefined;
  readonly durationMs: number;
}

/** Told of what the front does. Must not throw. */
export interface HttpObserver {
  begun(): void;
  /** Called once for every `begun`. */
  ended(request: AnsweredRequest): void;
  refused(reason: ConnectionRefusal): void;
}

/**
 * Limits on what one client, and all clients together, may use of the socket. Times are in milliseconds, sizes in bytes; a
 * rate of 0 is no limit.
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
  /** How long a connection may be idle in the middle of a request or a response. */
  readonly idleTimeoutMs: number;
  readonly maxHeaderBytes: number;
  readonly maxConnections: number;
  /** The connections of one client address; trusted proxies are not limited. */
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
 * body itself among them. The cost of a body grows with their number: the worst body costs at most ten times a plain
 * request.
 */
export const MAX_BODY_NODES = 1_000;
