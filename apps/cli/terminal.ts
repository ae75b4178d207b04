import { printable } from '../logging/logged-fields.js';
import type { CliIo } from './io.js';

export { isoDate, isoTime } from '../operator/records.js';

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
export function table(titles: readonly string[], rows: readonly (readonly (string | number | undefined)[])[]): string {
  if (rows.length === 0) return '(none)';
  const cells = rows.map((row) =>
    titles.map((_, column) => printable(row[column] === undefined ? '' : String(row[column]))),
  );
  const widths = titles.map((title, column) => Math.max(title.length, ...cells.map((row) => row[column]?.length ?? 0)));
  const isNumeric = titles.map((_, column) =>
    rows.every((row) => typeof row[column] === 'number' || row[column] === undefined),
  );
  const padded = (cell: string, column: number) => {
    const width = widths[column] ?? 0;
    return isNumeric[column] ? cell.padStart(width) : cell.padEnd(width);
  };
  const line = (row: readonly string[]) => row.map(padded).join('  ').trimEnd();
  return [line(titles.map((title) => title.toUpperCase())), ...cells.map(line)].join('\n');
}

/** `name: value` lines with the values under each other; undefined ones are left out. */
export function facts(pairs: readonly (readonly [string, string | number | undefined])[]): string {
  const present = pairs.filter((pair) => pair[1] !== undefined);
  const width = Math.max(...present.map(([name]) => name.length)) + 1;
  return present.map(([name, value]) => `${`${name}:`.padEnd(width)} ${printable(String(value))}`).join('\n');
}

/** `1 object`, `2 objects`, `2 entries`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** What a verification has examined. */
export function countedBooks({
  accounts,
  entries,
  generations,
}: {
  readonly accounts: number;
  readonly entries: number;
  readonly generations: number;
}): string {
  return `${counted(accounts, 'account')}, ${counted(entries, 'entry', 'entries')} and ${counted(generations, 'generation')}`;
}
