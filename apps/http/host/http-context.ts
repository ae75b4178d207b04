import type { ParameterizedContext } from 'koa';
import type { Scope } from '../../../core/access/credential.js';
import type { Bound, ErrorCode, ServiceError } from '../../../core/errors.js';
import { MAX_REQUEST_BYTES } from '../../../core/generation/generation.js';
import type { LoggedRefusal, NamedIds } from '../../logging/logged-fields.js';

/** The sender of a request, as named in the log. */
export interface LoggedCaller {
  readonly accountId: string;
  readonly credentialId: string;
}

/** A refusal in the form that a client receives. */
export interface ShownError {
  readonly status: number;
  readonly code: ErrorCode;
  readonly message: string;
  readonly requestId: string;
  /** JSON Pointer of the field at fault, where there is one. */
  readonly pointer?: string | undefined;
  readonly refusal: ServiceError;
}

/** A refusal as a response. */
export interface RenderedError {
  readonly mediaType: string;
  readonly text: string;
  /** Replaces that of the code. */
  readonly status?: number;
  /** The reason phrase; that of the status when absent. */
  readonly reason?: string;
  /** Whether an answer with 401 or 403 says how to authenticate. */
  readonly isChallenged?: boolean;
}

export type ErrorRenderer = (error: ShownError) => RenderedError;

/** The target of a request, still percent-encoded. */
export interface RequestTarget {
  readonly path: string;
  /** The part after the question mark; empty without one. */
  readonly query: string;
}

/** State of a request that the host shares with the front that serves it and with the log. */
export interface HttpState {
  requestId: string;
  /** Read before any other part of the request. */
  target: RequestTarget;
  /** The text of the response, which the host sends once the front is done. */
  text?: string | undefined;
  /**
   * The remainder of a request that waits; it sets `text`. The request's handlers return before it, so that they hold
   * no memory while it waits.
   */
  later?: Promise<void>;
  /** Renders a refusal, for fronts whose clients do not read the JSON envelope. */
  renderError?: ErrorRenderer;
  /** The pattern of the route, never the path: paths carry ids, and signed ones carry signatures. */
  route?: string;
  /** The URL where clients of this route learn how to get a token; undefined where no tokens are issued. */
  resourceMetadata?: () => string | undefined;
  /** The scopes that a client of this route does well to request with its first token. */
  suggestedScopes?: readonly Scope[];
  caller?: LoggedCaller;
  /** The client address of a request that was not authenticated. */
  address?: string;
  /** Whether the log counts this request in a summary line instead of giving it its own. */
  isLeftOut?: boolean;
  /** Whether the response has the reason of a generation that failed: its status is then no fault of this service. */
  hasFailedGeneration?: boolean;
  /** The reason why the request was refused, if it was. */
  refusal?: LoggedRefusal;
  /** The tool that an MCP client called. */
  tool?: string;
  /** The ids that the request is about. */
  ids?: NamedIds;
  /** Whether the request created something: its line in the log is then at level info. */
  hasCreated?: boolean;
}

export type HttpContext = ParameterizedContext<HttpState>;
export type HttpMiddleware = (ctx: HttpContext, next: () => Promise<void>) => Promise<void>;

/**
 * `full` and `full_for_address`: the limit of connections was reached, in total or for one client. The others never
 * became a request.
 */
export type ConnectionRefusal = 'full' | 'full_for_address' | 'malformed' | 'headers_too_long' | 'timeout';

export interface AnsweredRequest {
  readonly method: string;
  /** The pattern of the route; undefined when there was none. */
  readonly route: string | undefined;
  readonly status: number;
  /** Whether the status is that of a generation that failed, and no fault of this service. */
  readonly hasFailedGeneration: boolean;
  /** The error code, if it was refused. */
  readonly code: string | undefined;
  /** The bound that was reached, if the request was refused for that. */
  readonly bound?: Bound | undefined;
  readonly durationMs: number;
}

/** Receives the events of the front. Must not throw. */
export interface HttpObserver {
  started(): void;
  /** Called once for each `started`. */
  ended(request: AnsweredRequest): void;
  refused(reason: ConnectionRefusal): void;
}

/**
 * Limits on what one client, and all clients together, may use of the socket. Times are in milliseconds, sizes in
 * bytes; a rate of 0 means unlimited.
 */
export interface HttpLimits {
  /** Invalid credentials per address; 0 turns the limit off. */
  readonly failedAuthenticationsPerMinute: number;
  /** The maximum time from the headers of a request until its JSON body has arrived. */
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

/** The largest JSON body that is read: every valid request of any endpoint fits, however its client escapes texts. */
export const MAX_BODY_BYTES = MAX_REQUEST_BYTES;

/** The largest body that is read where none is taken: an object without fields may come with white space. */
export const MAX_EMPTY_BODY_BYTES = 1_024;

/**
 * In how many pieces a body may arrive, since each costs a call of the parser however short it is: a chunk is one, and
 * so is each part of a longer chunk that arrives separately. A body of 256 KiB may come in segments of 200 bytes.
 */
export const MAX_BODY_PIECES = 2_048;

/** How many objects and lists may stand in one another, the body itself among them. */
export const MAX_BODY_DEPTH = 32;

/**
 * How many names and values a body may hold: members' names, objects, lists, texts, numbers, true, false and null, the
 * body itself among them. The cost of a body grows with their number: the worst body costs at most sixteen times a
 * plain request, and counts as seventeen of its credential's rate.
 */
export const MAX_BODY_NODES = 1_000;
