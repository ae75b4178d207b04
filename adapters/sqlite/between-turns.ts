import { setImmediate } from 'node:timers/promises';
import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';

/**
 * Before a page of a list is read for a call. Reads are synchronous, so a call that reads page after page would block
 * all other work, and never notice that it is over. Throws `CallOver`.
 */
export async function throwIfAbortedBetweenTurns(call: Cancellation | undefined): Promise<void> {
  if (call === undefined) return;
  await setImmediate();
  throwIfAborted(call);
}
