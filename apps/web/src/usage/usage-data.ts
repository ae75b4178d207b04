import type { Usage, UsageRow } from '../api-types.js';
import type { Series } from '../parts/plot.js';
import { inApp, read } from '../server.js';

/** What the sums of usage are grouped by. */
export const BY = ['day', 'model', 'key', 'modality'] as const;
export type By = (typeof BY)[number];

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

/** Every day of a range, in order. */
export function daysOf({ from, to }: Range): string[] {
  const days: string[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY_MS)
    days.push(new Date(at).toISOString().slice(0, 10));
  return days;
}

export function usagePath(appId: string, by: By | 'day_modality', { from, to }: Range): string {
  return inApp(appId, `/usage?${new URLSearchParams({ by, from, to }).toString()}`);
}

const PAGE = 100;
/** The maximum number of pages to read. A year of days has fewer rows; models and keys are cut off there. */
const MAX_PAGES = 10;

/** All rows of the use in a range. */
export async function readUsage(path: string, signal?: AbortSignal): Promise<Usage> {
  let all: Usage | undefined;
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const query = new URLSearchParams({ limit: String(PAGE), ...(cursor === undefined ? {} : { cursor }) });
    const page = await read<Usage>(`${path}&${query.toString()}`, signal);
    all = all === undefined ? page : { ...page, usage: [...all.usage, ...page.usage] };
    cursor = page.next_cursor;
    if (cursor === undefined) return all;
  }
  return all as Usage;
}

/** The series of `mediaByDay`. */
export const MEDIA: readonly Series[] = [
  { name: 'Images', look: 'series-1' },
  { name: 'Videos', look: 'series-2' },
];

/** The charged credits and the generations of one day, for images and for videos. */
export interface DayOfMedia {
  readonly day: string;
  readonly charged: readonly [images: number, videos: number];
  readonly generations: readonly [images: number, videos: number];
}

/** Each day of a range, also those without use. What has no known kind counts as images. */
export function mediaByDay(rows: readonly UsageRow[], range: Range): readonly DayOfMedia[] {
  const byDay = new Map<string, UsageRow[]>();
  for (const row of rows) byDay.set(row.day ?? '', [...(byDay.get(row.day ?? '') ?? []), row]);
  return daysOf(range).map((day) => {
    const ofDay = byDay.get(day) ?? [];
    const sum = (of: 'charged_credits' | 'generations', isVideo: boolean): number =>
      ofDay.filter(({ modality }) => (modality === 'video') === isVideo).reduce((all, row) => all + row[of], 0);
    return {
      day,
      charged: [sum('charged_credits', false), sum('charged_credits', true)],
      generations: [sum('generations', false), sum('generations', true)],
    };
  });
}
