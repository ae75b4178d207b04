import { setImmediate } from 'node:timers/promises';
import { requireWanted, type Cancellation } from '../../core/cancellation.js';

/**
 * Before a page of a list is read for a call. This process reads without a pause, so a call that reads page after page
 * would hold up everybody else, and never hear that it is over. Throws `CallOver`.
 */
export async function requireWantedBetweenTurns(call: Cancellation | undefined): Promise<void> {
  if (call === undefined) return;
  await setImmediate();
  requireWanted(call);
}
