import type { ParameterizedContext } from 'koa';
import type { ErrorCode } from '../../../core/errors.js';
import type { LoggedIds, LoggedRefusal } from '../../logging/logged-fields.js';
import type { RequestTarget } from './request-target.js';

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
  /** Where clients of this route learn how to get a token, where tokens are given out. */
  resourceMetadata?: string;
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
  ids?: LoggedIds;
  /** Whether the request created something: its line in the log is then of level info. */
  hasCreated?: boolean;
}

export type HttpContext = ParameterizedContext<HttpState>;
export type HttpMiddleware = (ctx: HttpContext, next: () => Promise<void>) => Promise<void>;
