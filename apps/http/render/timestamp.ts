const DAY_MS = 86_400_000;

let dayShown = Number.NaN;
let datePart = '';

/**
 * UTC with milliseconds and Z. Every task has two or three of these, nearly all of one day, so the date is written once
 * a day and only the time by hand.
 */
export function timestamp(epochMs: number): string {
  const day = Math.floor(epochMs / DAY_MS);
  if (day !== dayShown) {
    dayShown = day;
    datePart = new Date(day * DAY_MS).toISOString().slice(0, 11);
  }
  const inDay = epochMs - day * DAY_MS;
  const seconds = Math.floor(inDay / 1_000);
  return `${datePart}${two(Math.floor(seconds / 3_600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}.${three(inDay % 1_000)}Z`;
}

const two = (value: number): string => (value < 10 ? `0${value}` : String(value));
const three = (value: number): string => (value < 100 ? `0${two(value)}` : String(value));
