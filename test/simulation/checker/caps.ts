import type { Account, AccountChange, Entry } from '../../../core/credits/account.js';
import { CapUses, type KnownCap } from '../../history/ledger.js';
import { type Asked, violation } from '../observed.js';
import type { BooksListener } from './books.js';
import { demandNone, type EventOrder, ValueHistory } from './event-order.js';
import { MAX_SKEW_MS } from './process-clocks.js';

/** Clocks leap by hours in some runs. */
const FARTHEST_CLOCK_MS = 3 * 3_600_000 + MAX_SKEW_MS;

/**
 * Invariant 24: no key or grant holds and spends more in a period than its cap, and its account stores the same sum.
 */
export class Caps implements BooksListener {
  private readonly caps = new Map<string, KnownCap>();
  private readonly uses = new CapUses(this.caps);
  /** The amounts that were left of each key's cap. */
  private readonly left = new Map<string, ValueHistory>();

  constructor(private readonly order: EventOrder) {}

  asked({ party }: Asked): void {
    if (party?.cap === undefined || this.caps.has(party.keyId)) return;
    this.caps.set(party.keyId, party.cap);
    this.left.set(party.keyId, new ValueHistory(party.cap.credits));
  }

  /** Every amount that was left of the key's cap from an event on; undefined for a key without a cap. */
  leftSince(keyId: string, since: number): readonly number[] | undefined {
    return this.left.get(keyId)?.valuesSince(since);
  }

  entered(entry: Entry, at: number): void {
    demandNone(this.uses.add(entry));
    const { credentialId, capPeriod } = entry.attribution ?? {};
    if (credentialId === undefined || capPeriod === undefined) return;
    this.left.get(credentialId)?.set(this.order.position, this.uses.leftOf(credentialId));
    if (
      entry.kind === 'hold' &&
      capPeriod !== 'life' &&
      (capPeriod < monthOf(at - FARTHEST_CLOCK_MS) || capPeriod > monthOf(at + FARTHEST_CLOCK_MS))
    )
      throw violation`24: generation ${entry.generationId} counts for ${capPeriod}, and it is ${monthOf(at)}`;
  }

  applied({ accountId, capUses = [] }: AccountChange, stored: Account): void {
    demandNone(this.uses.check(accountId, [...capUses, ...(stored.capUses?.values() ?? [])]));
  }
}

function monthOf(at: number): string {
  return new Date(at).toISOString().slice(0, 7);
}
