import type { CapUse, Entry } from '../../core/credits/account.js';
import type { Finding } from './finding.js';

/** What a key may spend in each month, or a grant in its whole life. */
export interface KnownCap {
  readonly credits: number;
  readonly per: 'month' | 'life';
}

/**
 * Invariant 24, of all keys and grants: what each capped one holds and has spent in each period, as the entries of the
 * ledger say. `caps` has the cap of each that has one.
 */
export class CapUses {
  private readonly used = new Map<string, Map<string, number>>();

  constructor(private readonly caps: ReadonlyMap<string, KnownCap>) {}

  /** Adds the next entry of an account up. Answers what is wrong with it. */
  add({ kind, credits, generationId, attribution }: Entry): Finding[] {
    if (generationId === undefined || attribution === undefined || kind === 'charge') return [];
    const { credentialId, capPeriod } = attribution;
    const cap = this.caps.get(credentialId);
    if ((cap === undefined) !== (capPeriod === undefined)) {
      const has = cap === undefined ? 'no cap' : `a cap of ${cap.credits}`;
      return [
        {
          invariant: 24,
          sentence: `generation ${generationId} counts for ${capPeriod ?? 'no period'} of key ${credentialId}, which has ${has}`,
        },
      ];
    }
    if (cap === undefined || capPeriod === undefined) return [];
    if ((capPeriod === 'life') !== (cap.per === 'life')) {
      const sentence = `generation ${generationId} counts for ${capPeriod} of key ${credentialId}, whose cap is per ${cap.per}`;
      return [{ invariant: 24, sentence }];
    }
    const byMonth = this.used.get(credentialId) ?? new Map<string, number>();
    const used = (byMonth.get(capPeriod) ?? 0) + (kind === 'hold' ? credits : -credits);
    this.used.set(credentialId, byMonth.set(capPeriod, used));
    if (used <= cap.credits) return [];
    return [
      {
        invariant: 24,
        sentence: `key ${credentialId} holds and has spent ${used} credits in ${capPeriod}, and its cap is ${cap.credits}`,
      },
    ];
  }

  /** What is left of a key's cap in its newest month. */
  leftOf(credentialId: string): number {
    return (this.caps.get(credentialId)?.credits ?? Infinity) - (this.newestOf(credentialId)?.used ?? 0);
  }

  /** What an account is stored with is what its entries say, of the newest month of each key. */
  *check(accountId: string, stored: Iterable<CapUse>): Iterable<Finding> {
    for (const { credentialId, period, used } of stored) {
      const newest = this.newestOf(credentialId);
      if (newest?.period === period && newest.used === used) continue;
      yield {
        invariant: 24,
        sentence: `account ${accountId} counts ${used} credits of key ${credentialId} in ${period}, and its entries ${newest ? `${newest.used} in ${newest.period}` : 'none'}`,
      };
    }
  }

  private newestOf(credentialId: string): { readonly period: string; readonly used: number } | undefined {
    const byMonth = [...(this.used.get(credentialId) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
    const [period, used] = byMonth.at(-1) ?? [];
    return period === undefined || used === undefined ? undefined : { period, used };
  }
}
