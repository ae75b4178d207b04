/**
 * A bound on what one credential may spend: of an API key in each calendar month (UTC), of a grant in its whole life.
 */
export interface Cap {
  /** Whole credits, 0 to 2^53 − 1. */
  readonly credits: number;
  readonly per: 'month' | 'life';
}

/**
 * What a capped credential has used in its newest period: charges, and holds that are open. This is no book: it counts
 * credits that the books move, and the sum of the books does not include it.
 */
export interface CapUse {
  readonly credentialId: string;
  /** `YYYY-MM` of a month, or `life`. */
  readonly period: string;
  readonly used: number;
}

/** An account keeps the use of so many credentials. */
export const MAX_CAP_USES = 1_000;

const LIFE = 'life';

/**
 * The period that credits count for: the later one of what is stored and now. Clocks differ between processes, and a
 * month that has begun for one of them does not end again for another.
 */
export function periodOf({ per }: Cap, stored: CapUse | undefined, now: number): string {
  if (per === 'life') return LIFE;
  const month = monthOf(now);
  return stored !== undefined && stored.period !== LIFE && stored.period > month ? stored.period : month;
}

/** What the credential has used of this period. */
export function usedIn(period: string, stored: CapUse | undefined): number {
  return stored?.period === period ? stored.used : 0;
}

/** Whether a record of use can be dropped: its month ended long enough ago for every clock. */
export function isPast({ period }: CapUse, now: number): boolean {
  return period !== LIFE && period < monthOf(now - 86_400_000);
}

function monthOf(at: number): string {
  return new Date(at).toISOString().slice(0, 7);
}
