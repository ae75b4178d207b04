/** Longer waits are taken for a mistake. */
const LONGEST_MS = 30 * 24 * 60 * 60 * 1_000;

const SECONDS = /^\d{1,10}(?:\.\d{1,6})?$/;
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * The milliseconds that a `Retry-After` header asks to wait, as seconds or as a date of HTTP; undefined where it says
 * nothing that can be used: another form, a date that is past, or more than 30 days. A date counts from the answer's own
 * `Date` header where it has one, so that clocks need not agree.
 */
export function retryAfterMs(
  retryAfter: string | undefined,
  date: string | undefined,
  nowMs: number,
): number | undefined {
  const text = retryAfter?.trim() ?? '';
  const waitMs = SECONDS.test(text) ? Math.ceil(Number(text) * 1_000) : untilMs(text, date, nowMs);
  return waitMs !== undefined && waitMs >= 0 && waitMs <= LONGEST_MS ? waitMs : undefined;
}

function untilMs(text: string, date: string | undefined, nowMs: number): number | undefined {
  const at = dateMs(text);
  return at === undefined ? undefined : at - (dateMs(date?.trim() ?? '') ?? nowMs);
}

function dateMs(text: string): number | undefined {
  const at = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}
