import { fieldInvalid } from '../fields.js';
import type { DayRange } from '../ports/usage-store.js';
import { utcDay } from './usage.js';

/** What use is added up by. */
export const USAGE_BY = ['day', 'model', 'key', 'client_trace_id'] as const;
export type UsageBy = (typeof USAGE_BY)[number];

/** The days of a range that was not asked for, and the most that can be. */
export const USUAL_DAYS = 31;
export const MAX_DAYS = 366;
/** By trace id, as each of these days is read by itself. */
export const MAX_TRACE_DAYS = 31;

/** What of the use is asked for; what was not sent is undefined. */
export interface SentUsage {
  readonly by?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

export interface UsageRequest extends DayRange {
  readonly by: UsageBy;
}

const DAY_MS = 86_400_000;

/**
 * Both days are in the range. Without them it ends today and has 31 days; with one of them, it has 31 days from or to
 * that. Throws FIELD_INVALID for a word that use is not added up by, and for days that do not exist, are in the wrong
 * order, or are more than 366, or than 31 by trace id.
 */
export function readUsageRequest({ by = 'day', from, to }: SentUsage, now: number): UsageRequest {
  const known = USAGE_BY.find((one) => one === by);
  if (known === undefined) throw fieldInvalid('/by', `by must be one of ${USAGE_BY.join(', ')}.`);
  const [first, last] = [readDay('from', from), readDay('to', to)];
  const usual = (USUAL_DAYS - 1) * DAY_MS;
  const start = first ?? (last ?? Date.parse(utcDay(now))) - usual;
  const end = last ?? (first === undefined ? Date.parse(utcDay(now)) : first + usual);
  if (end < start) throw fieldInvalid('/to', 'to must not be before from.');
  const [maxDays, of] = known === 'client_trace_id' ? [MAX_TRACE_DAYS, ` by ${known}`] : [MAX_DAYS, ''];
  if (end - start >= maxDays * DAY_MS) throw fieldInvalid('/to', `The range must have at most ${maxDays} days${of}.`);
  return { by: known, from: utcDay(start), to: utcDay(end) };
}

function readDay(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const at = /^[12]\d{3}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : NaN;
  // Some days that do not exist are read as one of the next month.
  if (Number.isNaN(at) || utcDay(at) !== text)
    throw fieldInvalid(`/${name}`, `${name} must be a day such as 2026-01-31.`);
  return at;
}
