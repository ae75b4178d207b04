import { assert } from '../../core/assert.js';
import type { Claim, ClaimKey } from '../../core/idempotency/claim.js';
import type { ClaimStore } from '../../core/ports/stores.js';
import { frozenCopy } from './frozen-copy.js';
import { compareText, OrderedList } from './ordered-list.js';

interface Removal {
  readonly at: number;
  readonly name: string;
}

/** Idempotency claims in this process's memory; gone when the process ends. */
export class MemoryClaimStore implements ClaimStore {
  private readonly claims = new Map<string, Claim>();
  private readonly removals = new OrderedList<Removal>((a, b) => a.at - b.at || compareText(a.name, b.name));

  async insert(
    claim: Claim,
  ): Promise<{ readonly inserted: true } | { readonly inserted: false; readonly existing: Claim }> {
    const existing = this.claims.get(nameOf(claim));
    if (existing !== undefined) return { inserted: false, existing };
    this.put(claim);
    return { inserted: true };
  }

  async read(key: ClaimKey): Promise<Claim | null> {
    return this.at(key);
  }

  /** The same, at once. */
  at(key: ClaimKey): Claim | null {
    return this.claims.get(nameOf(key)) ?? null;
  }

  async replace(next: Claim, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const removed = this.take(nameOf(next), expectedVersion);
    if (removed === 'applied') this.put(next);
    return removed;
  }

  async remove(key: ClaimKey, expectedVersion: number): Promise<'applied' | 'conflict'> {
    return this.take(nameOf(key), expectedVersion);
  }

  async removeExpired(now: number, limit: number): Promise<number> {
    assert(Number.isInteger(limit) && limit >= 1, `a limit is at least 1, not ${limit}`);
    const expired = this.removals.slice(0, limit).filter(({ at }) => at <= now);
    for (const removal of expired) {
      this.claims.delete(removal.name);
      this.removals.remove(removal);
    }
    return expired.length;
  }

  private take(name: string, expectedVersion: number): 'applied' | 'conflict' {
    const current = this.claims.get(name);
    if (current?.version !== expectedVersion) return 'conflict';
    this.claims.delete(name);
    this.removals.remove({ at: current.removeAt, name });
    return 'applied';
  }

  private put(claim: Claim): void {
    this.claims.set(nameOf(claim), frozenCopy(claim));
    this.removals.insert({ at: claim.removeAt, name: nameOf(claim) });
  }
}

/** JSON keeps the four parts distinct whatever characters they contain. */
function nameOf({ accountId, appId, operation, key }: ClaimKey): string {
  return JSON.stringify([accountId, appId, operation, key]);
}
