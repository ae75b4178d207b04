import type { Entry, Usage, UsageRow } from '../api-types.js';
import type { Series } from '../parts/plot.js';
import { inApp, read } from '../server.js';

/** What the sums of usage are grouped by. */
export type By = 'day' | 'model' | 'key' | 'modality';

/** A range of UTC days, both in it. */
export interface Range {
  readonly from: string;
  readonly to: string;
}

const DAY_MS = 86_400_000;

/** The UTC day so many days ago, `2026-01-31`. */
export function dayAgo(count: number): string {
  return new Date(Date.now() - count * DAY_MS).toISOString().slice(0, 10);
}

export function usagePath(appId: string, by: By | 'day_modality', range: Range): string {
  return inApp(appId, `/usage?${new URLSearchParams({ by, ...range }).toString()}`);
}

const PAGE = 100;
/** The maximum number of pages to read. A year of days has fewer rows; models and keys are cut off there. */
const MAX_PAGES = 10;

/** All rows of the use in a range. */
export async function readUsage(path: string, signal?: AbortSignal): Promise<Usage> {
  let all = await read<Usage>(`${path}&limit=${PAGE}`, signal);
  for (let pages = 1; pages < MAX_PAGES && all.next_cursor !== undefined; pages += 1) {
    const next = await read<Usage>(`${path}&limit=${PAGE}&cursor=${encodeURIComponent(all.next_cursor)}`, signal);
    all = { ...next, usage: [...all.usage, ...next.usage] };
  }
  return all;
}

/** The series of `mediaByDay`. */
export const MEDIA: readonly Series[] = [
  { name: 'Images', look: 'series-1' },
  { name: 'Videos', look: 'series-2' },
];

/** A sum for each of `MEDIA` on each day of a range, also on those without use. A row without a known kind counts as an image. */
export function mediaByDay(rows: readonly UsageRow[], { from, to }: Range, of: 'charged_credits' | 'generations') {
  const days: { day: string; values: readonly number[] }[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY_MS) {
    const day = new Date(at).toISOString().slice(0, 10);
    const ofDay = rows.filter((row) => row.day === day);
    const sum = (isVideo: boolean): number =>
      ofDay.reduce((all, row) => all + ((row.modality === 'video') === isVideo ? row[of] : 0), 0);
    days.push({ day, values: [sum(false), sum(true)] });
  }
  return days;
}

/** The effect of a ledger entry. */
export const KIND_TEXTS: Readonly<Record<Entry['kind'], string>> = {
  grant: 'Granted',
  adjustment: 'Adjusted',
  hold: 'Reserved',
  charge: 'Charged',
  release: 'Released',
};
