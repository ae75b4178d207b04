import { assert } from '../assert.js';
import { FAILED, type Entry } from '../credits/account.js';

/** What the entries of a ledger add up to. */
export interface UsageSums {
  /** Holds: one for each generation that was accepted. */
  readonly generations: number;
  /** Generations that failed, by the entries that ended their holds. */
  readonly failed: number;
  readonly reservedCredits: number;
  readonly chargedCredits: number;
  readonly releasedCredits: number;
}

/** Which entries a row is about. */
export interface UsageKey {
  readonly accountId: string;
  /** The UTC day of the entries, `2026-01-31`; empty in the row of the whole account. */
  readonly day: string;
  /** Empty where the entries do not say. */
  readonly modelKey: string;
  readonly credentialId: string;
}

/** The sums of all entries of its key up to number `lastSequence`, which is the last one that it took in. */
export interface UsageRow extends UsageKey, UsageSums {
  readonly lastSequence: number;
}

export const NO_USAGE: UsageSums = {
  generations: 0,
  failed: 0,
  reservedCredits: 0,
  chargedCredits: 0,
  releasedCredits: 0,
};

/** The row of all entries of the account. Its `lastSequence` says how far every row of the account has come. */
export function wholeAccount(accountId: string): UsageKey {
  return { accountId, day: '', modelKey: '', credentialId: '' };
}

/** The key of the row that an entry belongs to; undefined for grants and adjustments, which are no use. */
export function usageKeyOf({ accountId, kind, at, attribution }: Entry): UsageKey | undefined {
  if (kind === 'grant' || kind === 'adjustment') return undefined;
  return {
    accountId,
    day: utcDay(at),
    modelKey: attribution?.modelKey ?? '',
    credentialId: attribution?.credentialId ?? '',
  };
}

/** A key as text: rows of two keys are the same only if this is. */
export function textOfKey({ accountId, day, modelKey, credentialId }: UsageKey): string {
  return JSON.stringify([accountId, day, modelKey, credentialId]);
}

/** The row after an entry of its key. An entry that it has taken in changes nothing. */
export function withEntry(row: UsageRow, entry: Entry): UsageRow {
  if (entry.sequence <= row.lastSequence) return row;
  return { ...row, ...added(row, ofEntry(entry)), lastSequence: entry.sequence };
}

function ofEntry({ kind, credits, reason }: Entry): UsageSums {
  const failed = (kind === 'charge' || kind === 'release') && reason === FAILED ? 1 : 0;
  return {
    generations: kind === 'hold' ? 1 : 0,
    failed,
    reservedCredits: kind === 'hold' ? credits : 0,
    chargedCredits: kind === 'charge' ? credits : 0,
    releasedCredits: kind === 'release' ? credits : 0,
  };
}

export function added(a: UsageSums, b: UsageSums): UsageSums {
  const sums = {
    generations: a.generations + b.generations,
    failed: a.failed + b.failed,
    reservedCredits: a.reservedCredits + b.reservedCredits,
    chargedCredits: a.chargedCredits + b.chargedCredits,
    releasedCredits: a.releasedCredits + b.releasedCredits,
  };
  for (const sum of Object.values(sums)) assert(Number.isSafeInteger(sum) && sum >= 0, 'sums of usage are whole');
  return sums;
}

/** The UTC day of a time in milliseconds since the epoch. */
export function utcDay(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
