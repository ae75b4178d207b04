const DAY_MS = 86_400_000;

/** A range of UTC days, both in it. */
export interface Range {
  readonly from: string;
  readonly to: string;
}

export const USUAL_DAYS = 31;

/** The days up to today. */
export function lastDays(count: number): Range {
  return { from: dayAt(Date.now() - (count - 1) * DAY_MS), to: dayAt(Date.now()) };
}

/** Every day of a range, in order. */
export function daysOf({ from, to }: Range): string[] {
  const days: string[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY_MS) days.push(dayAt(at));
  return days;
}

function dayAt(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10);
}
