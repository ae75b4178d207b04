import { printable } from '../logging/logged-fields.js';
import type { CliIo } from './io.js';

/** A time in a message of the gRPC front. */
export interface MessageTime {
  readonly seconds: bigint;
  readonly nanos: number;
}

/** A time in milliseconds since the epoch; undefined for an absent one. */
export function msOf(time: MessageTime | undefined): number | undefined {
  return time && Number(time.seconds) * 1_000 + Math.round(time.nanos / 1_000_000);
}

/** A time in milliseconds, or of a message, as RFC 3339 in UTC; undefined for an absent one. */
export function isoTime(at: number): string;
export function isoTime(at: MessageTime | undefined): string | undefined;
export function isoTime(at: number | MessageTime | undefined): string | undefined {
  const ms = typeof at === 'object' ? msOf(at) : at;
  return ms === undefined ? undefined : new Date(ms).toISOString();
}

/** Its UTC day. */
export function isoDate(at: number | MessageTime | undefined): string | undefined {
  const ms = typeof at === 'object' ? msOf(at) : at;
  return ms === undefined ? undefined : isoTime(ms).slice(0, 10);
}

/** How a command shows its result: as text, or as one JSON document. */
export interface Shown {
  readonly json: unknown;
  readonly text: string;
}

export function print({ stdout }: Pick<CliIo, 'stdout'>, text: string): void {
  stdout.write(`${text}\n`);
}

/** Goes to stderr, so that stdout holds results only. */
export function say({ stderr }: Pick<CliIo, 'stderr'>, text: string): void {
  stderr.write(`${text}\n`);
}

export function show(io: Pick<CliIo, 'stdout'>, { json, text }: Shown, options: { readonly json?: boolean }): void {
  print(io, options.json ? JSON.stringify(json, null, 2) : text);
}

/** Columns as wide as their widest cell, under a line of titles; numbers to the right. */
export function table(
  titles: readonly string[],
  rows: readonly (readonly (string | number | bigint | undefined)[])[],
): string {
  if (rows.length === 0) return '(none)';
  const cells = rows.map((row) =>
    titles.map((_, column) => printable(row[column] === undefined ? '' : String(row[column]))),
  );
  const widths = titles.map((title, column) => Math.max(title.length, ...cells.map((row) => row[column]?.length ?? 0)));
  const isNumeric = titles.map((_, column) => rows.every((row) => typeof row[column] !== 'string'));
  const padded = (cell: string, column: number) => {
    const width = widths[column] ?? 0;
    return isNumeric[column] ? cell.padStart(width) : cell.padEnd(width);
  };
  const line = (row: readonly string[]) => row.map(padded).join('  ').trimEnd();
  return [line(titles.map((title) => title.toUpperCase())), ...cells.map(line)].join('\n');
}

/** `name: value` lines with the values under each other; undefined ones are left out. */
export function facts(pairs: readonly (readonly [string, string | number | bigint | undefined])[]): string {
  const present = pairs.filter((pair) => pair[1] !== undefined);
  const width = Math.max(...present.map(([name]) => name.length)) + 1;
  return present.map(([name, value]) => `${`${name}:`.padEnd(width)} ${printable(String(value))}`).join('\n');
}

/** `1 object`, `2 objects`, `2 entries`. */
export function counted(count: number | bigint, one: string, many = `${one}s`): string {
  return `${count} ${Number(count) === 1 ? one : many}`;
}

/** The counts of what a verification has examined. */
export function countedBooks({
  accounts,
  entries,
  generations,
}: {
  readonly accounts: number | bigint;
  readonly entries: number | bigint;
  readonly generations: number | bigint;
}): string {
  return `${counted(accounts, 'account')}, ${counted(entries, 'entry', 'entries')} and ${counted(generations, 'generation')}`;
}
