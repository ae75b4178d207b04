import { creditsText } from '../../core/credits/account.js';
import { printable } from '../logging/logged-fields.js';
import type { Failure } from './exit.js';
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

/** The result of a command. */
export interface Shown {
  /** The document that --json prints. */
  readonly json: unknown;
  readonly text: string;
  /** Sentences for a person, on stderr after the text. */
  readonly notes?: readonly string[];
  /** The failure with which the command ends after it has printed its result; its details are `shown`. */
  readonly failure?: Failure | undefined;
}

export function print({ stdout }: Pick<CliIo, 'stdout'>, text: string): void {
  stdout.write(`${text}\n`);
}

/** Goes to stderr, so that stdout holds results only. */
export function say({ stderr }: Pick<CliIo, 'stderr'>, text: string): void {
  stderr.write(`${printableLines(text)}\n`);
}

/** Prints a result. Throws its failure. */
export function show(
  io: Pick<CliIo, 'stdout' | 'stderr'>,
  { json, text, notes = [], failure }: Shown,
  options: { readonly json?: boolean },
): void {
  print(io, options.json ? JSON.stringify(json, null, 2) : printableLines(text));
  if (!options.json) for (const note of notes) say(io, note);
  if (failure !== undefined) throw failure;
}

/** Names and sentences of a server or of other people may be in any text. */
function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

type Cell = string | number | bigint | MessageTime | undefined;

/** Columns as wide as their widest cell, under a line of titles; numbers to the right. */
export function table(titles: readonly string[], rows: readonly (readonly Cell[])[]): string {
  if (rows.length === 0) return '(none)';
  const columns = titles.map((title, column) => {
    const values = rows.map((row) => timesAsText(row[column]));
    const cells = [title.toUpperCase(), ...values.map((value) => printable(String(value ?? '')))];
    const width = Math.max(...cells.map(({ length }) => length));
    const isText = values.some((value) => typeof value === 'string');
    return cells.map((cell) => (isText ? cell.padEnd(width) : cell.padStart(width)));
  });
  const lineOf = (line: number) => columns.map((cells) => cells[line]).join('  ');
  return Array.from({ length: rows.length + 1 }, (_, line) => lineOf(line).trimEnd()).join('\n');
}

function timesAsText(cell: Cell): Exclude<Cell, MessageTime> {
  return typeof cell === 'object' ? isoTime(cell) : cell;
}

/** `name: value` lines with the values under each other; undefined ones are left out. */
export function facts(values: Readonly<Record<string, Cell>>): string {
  const present = Object.entries(values).filter(([, value]) => value !== undefined);
  const width = Math.max(...present.map(([name]) => name.length)) + 1;
  return present
    .map(([name, value]) => `${`${name}:`.padEnd(width)} ${printable(String(timesAsText(value)))}`)
    .join('\n');
}

/**
 * An amount as a person reads it: `8 credits`, `1 credit`. Another currency is the operator's own word and stays as it
 * is.
 */
export function amountText(count: number | bigint, currency = 'credits'): string {
  return currency === 'credits' ? creditsText(count) : `${count} ${currency}`;
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
