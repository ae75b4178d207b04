import type { ParameterizedContext } from 'koa';
import type { LoggedIds, LoggedRefusal } from '../../logging/logged-fields.js';
import type { RequestTarget } from './request-target.js';

/** Who sent a request, as the log names it. */
export interface LoggedCaller {
  readonly accountId: string;
  readonly credentialId: string;
}

/** What the host and the front that serves a request tell each other about it, and the log. */
export interface HttpState {
  requestId: string;
  /** Read before any other part of the request. */
  target: RequestTarget;
  /** The JSON text of the answer, which the host sends once the front is done. */
  text?: string | undefined;
  /** The pattern of the route, never the path: paths carry ids, and signed ones carry signatures. */
  route?: string;
  caller?: LoggedCaller;
  /** Where a request came from that did not authenticate. */
  address?: string;
  /** Whether the log leaves this request to a line about many. */
  isLeftOut?: boolean;
  /** Why the request was refused, when it was. */
  refusal?: LoggedRefusal;
  /** What the request was about. */
  ids?: LoggedIds;
  /** Whether the request created something: its line in the log is then of level info. */
  hasCreated?: boolean;
}

export type HttpContext = ParameterizedContext<HttpState>;
export type HttpMiddleware = (ctx: HttpContext, next: () => Promise<void>) => Promise<void>;
