import type { Bound } from '../../../core/errors.js';

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
  /** What there is as much of as there may be, when it was refused for that. */
  readonly bound?: Bound | undefined;
  readonly durationMs: number;
}

/** Told of what the front does. Must not throw. */
export interface HttpObserver {
  begun(): void;
  /** Once for every `begun`. */
  ended(request: AnsweredRequest): void;
  refused(reason: ConnectionRefusal): void;
}
