import type { Context } from '../context.js';
import type { Hold } from '../credits/account.js';
import type { Page, PageRequest } from '../paging.js';
import { MAX_CLOCK_SKEW_MS } from '../settings.js';
import type { Generation } from './generation.js';

/** A hold, and the generation that it is for. */
export interface OpenWork {
  readonly hold: Hold & { readonly accountId: string };
  /** Null where there is none to be seen: its create is under way or was interrupted. */
  readonly generation: Generation | null;
}

/**
 * What credits of any account are held for, the oldest first: generations that are queued or running, and those that have
 * ended and are not settled. Holds come from an index, so that no account is scanned.
 */
export async function openWork(
  { accounts, generations, clock, call }: Pick<Context, 'accounts' | 'generations' | 'clock' | 'call'>,
  page: PageRequest,
): Promise<Page<OpenWork>> {
  // Other processes may be ahead.
  const { items, ...more } = await accounts.holdsBefore(clock.now() + MAX_CLOCK_SKEW_MS, page);
  const work = await Promise.all(
    items.map(async (hold) => {
      const record = await generations.read(hold.generationId, call);
      return { hold, generation: record?.kind === 'generation' ? record : null };
    }),
  );
  return { items: work, ...more };
}
