import type { Generation } from '../../../../core/generation/generation.js';
import type { Finding } from '../../../history/finding.js';
import type { Known } from '../known.js';

/** Invariants 3, 4 and 5: each generation reserves its price, is charged once at most, and for what it delivered. */
export function* checkCharges(known: Known): Iterable<Finding> {
  for (const generation of known.generations()) {
    yield* checkAmounts(known, generation);
    yield* checkEntries(known, generation);
  }
  yield* checkHoldsOfNothing(known);
}

function* checkAmounts(known: Known, generation: Generation): Iterable<Finding> {
  const { generationId, estimatedCredits, reservedCredits, chargedCredits, status, outputs } = generation;
  const body = known.bodyOf(generation);
  // One that no client sent is for the rule about keys to name.
  if (!body) return;
  const price = known.priceOf(body);
  if (estimatedCredits !== price || reservedCredits !== price) {
    yield {
      invariant: 3,
      sentence: `generation ${generationId} is estimated at ${estimatedCredits} and reserves ${reservedCredits}, and its price is ${price}`,
    };
  }
  const due = status === 'failed' ? 0 : known.priceOf(body, outputs.length);
  if (chargedCredits !== due) {
    yield {
      invariant: 3,
      sentence: `generation ${generationId} ${status} with ${outputs.length} outputs and is charged ${chargedCredits}, where ${due} is due`,
    };
  }
  if (chargedCredits < 0 || chargedCredits > reservedCredits)
    yield {
      invariant: 3,
      sentence: `generation ${generationId} reserves ${reservedCredits} and is charged ${chargedCredits}`,
    };
}

function* checkEntries(
  known: Known,
  { generationId, accountId, chargedCredits, reservedCredits }: Generation,
): Iterable<Finding> {
  const entries = known.entriesOf(generationId);
  const holds = entries.filter(({ kind }) => kind === 'hold');
  const charges = entries.filter(({ kind }) => kind === 'charge');
  const releases = entries.filter(({ kind }) => kind === 'release');
  const [held, charged, released] = [holds, charges, releases].map((list) =>
    list.reduce((sum, { credits }) => sum + credits, 0),
  );
  if (entries.some((entry) => entry.accountId !== accountId))
    yield { invariant: 4, sentence: `generation ${generationId} of account ${accountId} is on the ledger of another` };
  if (holds.length !== 1 || held !== reservedCredits)
    yield {
      invariant: 4,
      sentence: `generation ${generationId} reserves ${reservedCredits}, and ${holds.length} holds of ${held} stand for it`,
    };
  if (charges.length > 1)
    yield { invariant: 5, sentence: `generation ${generationId} was charged ${charges.length} times` };
  if (charged !== chargedCredits)
    yield {
      invariant: 5,
      sentence: `generation ${generationId} is charged ${chargedCredits} by its record and ${charged} by the ledger`,
    };
  if (releases.length > 1)
    yield { invariant: 4, sentence: `the hold of generation ${generationId} was released ${releases.length} times` };
  if ((charged ?? 0) + (released ?? 0) !== reservedCredits) {
    yield {
      invariant: 4,
      sentence: `of the ${reservedCredits} that generation ${generationId} reserves ${charged} were charged and ${released} released`,
    };
  }
}

/** What was held for an id where no generation came to be is given back whole. */
function* checkHoldsOfNothing(known: Known): Iterable<Finding> {
  const open = new Map<string, number>();
  for (const { entries } of known.history.atRest.accounts) {
    for (const { generationId, kind, credits } of entries) {
      if (generationId === undefined || known.record(generationId)?.kind === 'generation') continue;
      if (kind === 'charge')
        yield {
          invariant: 5,
          sentence: `${credits} credits were charged for ${generationId}, where no generation stands`,
        };
      open.set(generationId, (open.get(generationId) ?? 0) + (kind === 'hold' ? credits : -credits));
    }
  }
  for (const [id, credits] of open)
    if (credits !== 0)
      yield { invariant: 6, sentence: `${credits} credits are still held for ${id}, where no generation stands` };
}
