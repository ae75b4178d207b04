import type { Exchange } from '../history/history.js';
import type { Span } from '../history/spans.js';
import { LEASE_MS } from './settings.js';

/** Half of a worker's lease, in milliseconds. */
export const SLOW_ANSWER_MS = LEASE_MS / 2;

/**
 * When answers to clients took so long that leases and calls to vendors may have timed out as well. Clients measure it, not the
 * program. On a machine with time for all processes, only faults make answers that slow.
 */
export function slowAnswers(exchanges: readonly Pick<Exchange, 'sentAt' | 'answered'>[]): Span[] {
  return exchanges.flatMap(({ sentAt, answered }) =>
    answered === undefined || answered.at - sentAt < SLOW_ANSWER_MS ? [] : [{ from: sentAt, until: answered.at }],
  );
}
