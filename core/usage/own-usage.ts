import type { Call, Work } from '../context.js';
import type { OwnApp } from '../credits/own-app.js';
import { fieldInvalid } from '../fields.js';
import { type Generation, isTerminal } from '../generation/generation.js';
import { itemsOf } from '../paging.js';
import type { DayRange } from '../ports/stores.js';
import { added, NO_USAGE, type UsageSums } from './usage.js';

const DAY_MS = 86_400_000;
const PAGE = 500;
/** Generations that one request adds up. */
export const MAX_OWN_GENERATIONS = 20_000;

/**
 * The sums of each trace id of one App, from the records of its generations that were created on these days: the rows of
 * usage by trace id do not say which App they are of. Deleted generations, and those past their retention, are not in
 * them. Throws FIELD_INVALID if there are more than 20,000.
 */
export async function ownTraces(
  ports: Pick<Work, 'generations'> & Call,
  { appId }: OwnApp,
  { from, to }: DayRange,
): Promise<ReadonlyMap<string, UsageSums>> {
  const days = { createdFrom: Date.parse(from), createdBefore: Date.parse(to) + DAY_MS };
  const groups = new Map<string, UsageSums>();
  let counted = 0;
  const pages = itemsOf((page) => ports.generations.list({ of: 'app', appId, ...days }, page, ports.call), PAGE);
  for await (const generation of pages) {
    counted += 1;
    if (counted > MAX_OWN_GENERATIONS)
      throw fieldInvalid(
        '/to',
        `The App made more than ${MAX_OWN_GENERATIONS} generations on these days; name fewer days.`,
      );
    const { clientTraceId = '' } = generation;
    groups.set(clientTraceId, added(groups.get(clientTraceId) ?? NO_USAGE, sumsOf(generation)));
  }
  return groups;
}

/** What the ledger has of a generation once it is settled, which is soon after its end. */
function sumsOf({ status, reservedCredits, chargedCredits }: Generation): UsageSums {
  return {
    generations: 1,
    failed: status === 'failed' ? 1 : 0,
    reservedCredits,
    chargedCredits,
    releasedCredits: isTerminal(status) ? reservedCredits - chargedCredits : 0,
  };
}
