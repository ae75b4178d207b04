import type { ParameterizedContext } from 'koa';
import type { Caller } from '../../../core/access/credential.js';
import type { LoggedRefusal } from '../../logging/logged-fields.js';
import type { RequestTarget } from './request-target.js';

/** What the middlewares of one request tell each other, and the log. */
export interface RestState {
  requestId: string;
  /** Read before anything else looks at the request. */
  target: RequestTarget;
  /** The pattern of the route, never the path: paths carry ids, and signed ones carry signatures. */
  route?: string;
  caller?: Caller;
  /** Where a request came from that did not authenticate. */
  address?: string;
  /** Whether the log leaves this request to a line about many. */
  isLeftOut?: boolean;
  /** Why the request was refused, when it was. */
  refusal?: LoggedRefusal;
  /** Id of the generation that the request created. */
  createdId?: string;
}

export type RestContext = ParameterizedContext<RestState>;
export type RestMiddleware = (ctx: RestContext, next: () => Promise<void>) => Promise<void>;
