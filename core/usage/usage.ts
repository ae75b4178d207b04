import { assert } from '../assert.js';
import { appUseOf, type Entry, FAILED } from '../credits/account.js';

/** Sums of the entries of a ledger. */
export interface UsageSums {
  /** Holds: one for each generation that was accepted. */
  readonly generations: number;
  /** Generations that failed, by the entries that ended their holds. */
  readonly failed: number;
  readonly reservedCredits: number;
  readonly chargedCredits: number;
  readonly releasedCredits: number;
}

/**
 * The lists of rows that an account has: by model and credential, and by trace id; both by App too. Each has progressed as far as its
 * own row of the whole account.
 */
export type UsageList = 'uses' | 'traces';

interface DayKey {
  readonly accountId: string;
  /** The UTC day of the entries, `2026-01-31`; empty in the row of the whole account. */
  readonly day: string;
  /** The App, as `appUseOf` has it; empty for entries that do not name one. */
  readonly appUse: string;
}

/** The entries of a day for a model and a credential; both are empty if the entries have none. */
export interface UseKey extends DayKey {
  readonly modelKey: string;
  readonly credentialId: string;
}

/** The entries of a day that have a trace id; it is empty for those without one. */
export interface TraceKey extends DayKey {
  readonly clientTraceId: string;
}

/** The entries that a row covers. */
export type UsageKey = UseKey | TraceKey;

/** The sums of all entries of a key up to number `lastSequence`, which is the last one that it took in. */
interface Counted extends UsageSums {
  readonly lastSequence: number;
}

export type UseRow = UseKey & Counted;
export type TraceRow = TraceKey & Counted;
export type UsageRow = UseRow | TraceRow;

export const NO_USAGE: UsageSums = {
  generations: 0,
  failed: 0,
  reservedCredits: 0,
  chargedCredits: 0,
  releasedCredits: 0,
};

/** The row of all entries of the account. Its `lastSequence` is the progress of every row of the list. */
export function wholeAccount(accountId: string, list: UsageList): UsageKey {
  const key = { accountId, day: '', appUse: '' };
  return list === 'traces' ? { ...key, clientTraceId: '' } : { ...key, modelKey: '', credentialId: '' };
}

/** The key of the row that an entry belongs to; undefined for grants and adjustments, which are not usage. */
export function usageKeyOf({ accountId, kind, at, attribution }: Entry, list: UsageList): UsageKey | undefined {
  if (kind === 'grant' || kind === 'adjustment') return undefined;
  const key = { accountId, day: utcDay(at), appUse: appUseOf(attribution) };
  if (list === 'traces') return { ...key, clientTraceId: attribution?.clientTraceId ?? '' };
  return { ...key, modelKey: attribution?.modelKey ?? '', credentialId: attribution?.credentialId ?? '' };
}

export function isTrace(key: UsageKey): key is TraceKey {
  return 'clientTraceId' in key;
}

/** A key as text: rows of two keys are the same only if this is. */
export function textOfKey(key: UsageKey): string {
  const { accountId, day, appUse } = key;
  if (isTrace(key)) return JSON.stringify([accountId, day, key.clientTraceId, appUse]);
  return JSON.stringify([accountId, day, key.modelKey, key.credentialId, appUse]);
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
