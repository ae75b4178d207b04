import { usageFailure } from '../exit.js';

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
const ISO = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/**
 * Reads `now`, a span from now such as 90d, 12h or 30m, or an ISO date or time (UTC when it is a date). Milliseconds.
 */
export function readTime(text: string, now: number): number {
  const span = /^([0-9]{1,6})([mhd])$/.exec(text);
  const at =
    text === 'now'
      ? now
      : span
        ? now + Number(span[1]) * (UNIT_MS[span[2] ?? ''] ?? 0)
        : ISO.test(text)
          ? Date.parse(text)
          : NaN;
  if (!Number.isFinite(at))
    throw usageFailure(`A time is written as now, 90d, 12h, 30m, 2030-01-31 or 2030-01-31T12:00:00Z, not ${text}.`);
  return at;
}
