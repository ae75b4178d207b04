import type { Caller } from '../../../core/access/credential.js';
import type { Cancellation } from '../../../core/cancellation.js';
import type { Context } from '../../../core/context.js';
import type { HttpState } from '../host/http-context.js';

/** One message and its answer: what tools need to know of the request that brought it. */
export interface Exchange {
  /** With the cancellation of this request. */
  readonly context: Context;
  /** Over with this request, when its credential is no longer valid, and when this process is to stop. */
  readonly waits: Cancellation;
  readonly caller: Caller;
  /** The session id that the client sent, of the revisions of 2025. */
  readonly sessionId: string | undefined;
  readonly requireAllowed: () => Promise<void>;
  /** For the line of the request in the log. */
  readonly state: HttpState;
}
