import { checkCharge, checkEndedHold, checkLedgerCharge, checkReserved } from '../../../history/charges.js';
import type { Finding } from '../../../history/finding.js';
import type { Known } from '../known.js';

/** Invariants 3, 4 and 5: each generation reserves its price, is charged once at most, and for what it delivered. */
export function* checkCharges(known: Known): Iterable<Finding> {
  for (const generation of known.generations()) {
    const { generationId, reservedCredits, outputs } = generation;
    const body = known.bodyOf(generation);
    // One that no client sent is for the rule about keys to name.
    const price = body ? known.priceOf(body) : reservedCredits;
    yield* checkReserved(generation, price, known.money.get(generationId));
    if (body) yield* checkCharge(generation, known.priceOf(body, outputs.length));
  }
  for (const [id, money] of known.money) {
    const record = known.record(id);
    const generation = record?.kind === 'generation' ? record : undefined;
    yield* checkLedgerCharge(id, money, generation);
    yield* checkEndedHold(id, money);
  }
}
