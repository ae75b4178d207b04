import type { Generation } from '../../core/generation/generation.js';
import type { GenerationMoney } from './account-ledger.js';
import type { Finding } from './finding.js';

type Accepted = Pick<Generation, 'generationId' | 'accountId' | 'estimatedCredits' | 'reservedCredits'>;
type Ended = Pick<Generation, 'generationId' | 'status' | 'reservedCredits' | 'chargedCredits' | 'outputs'>;

/** Invariants 3 and 4: an accepted generation is estimated at its price, and one hold of as much stands for it. */
export function* checkReserved(
  generation: Accepted,
  price: number | undefined,
  money: GenerationMoney | undefined,
): Iterable<Finding> {
  const { generationId, accountId, estimatedCredits, reservedCredits } = generation;
  if (estimatedCredits !== price || reservedCredits !== price)
    yield {
      invariant: 3,
      sentence: `generation ${generationId} is estimated at ${estimatedCredits} and reserves ${reservedCredits}; its price is ${price}`,
    };
  if (money?.accountId !== accountId || Number(money.held) !== reservedCredits)
    yield {
      invariant: 4,
      sentence: `generation ${generationId} of account ${accountId} reserves ${reservedCredits}, and ${money ? `${money.held} were held on account ${money.accountId}` : 'nothing was held'}`,
    };
}

/**
 * Invariant 3: a success is charged the price of what was delivered, a failure nothing, and what was cancelled one of
 * the amounts that may be due then, which is the price of what was delivered where the model has no other terms.
 */
export function* checkCharge(
  generation: Ended,
  delivered: number | undefined,
  dueAfterCancel: readonly (number | undefined)[] = [delivered],
): Iterable<Finding> {
  const { generationId, status, reservedCredits, chargedCredits, outputs } = generation;
  const due = status === 'cancelled' ? dueAfterCancel : [status === 'failed' ? 0 : delivered];
  if (!due.includes(chargedCredits))
    yield {
      invariant: 3,
      sentence: `generation ${generationId} is ${status} with ${outputs.length} outputs and charged ${chargedCredits}, where ${due.join(' or ')} is due`,
    };
  if (chargedCredits < 0 || chargedCredits > reservedCredits)
    yield {
      invariant: 3,
      sentence: `generation ${generationId} reserves ${reservedCredits} and is charged ${chargedCredits}`,
    };
}

/** Invariant 4: a hold that has ended has ended whole. */
export function* checkEndedHold(generationId: string, { held, charged, released }: GenerationMoney): Iterable<Finding> {
  if (charged + released !== held)
    yield {
      invariant: 4,
      sentence: `of the ${held} held for generation ${generationId} ${charged} were charged and ${released} released`,
    };
}

/** Invariant 5: the ledger charges what the record says, and nothing where no generation stands. */
export function* checkLedgerCharge(
  generationId: string,
  { charged }: GenerationMoney,
  generation: Pick<Generation, 'chargedCredits'> | undefined,
): Iterable<Finding> {
  if (Number(charged) === (generation?.chargedCredits ?? 0)) return;
  yield {
    invariant: 5,
    sentence: `${charged} were charged for ${generationId}, ${generation ? `whose record says ${generation.chargedCredits}` : 'where no generation stands'}`,
  };
}

/** Invariant 6: at rest nothing is held. `standing` is what stands at the id. */
export function* checkHeldAtRest(generationId: string, standing: string): Iterable<Finding> {
  yield { invariant: 6, sentence: `at rest credits are still held for ${generationId} (${standing})` };
}
