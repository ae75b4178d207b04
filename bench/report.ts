import type { Comparison, Ratio } from './compare.js';

/** One line of the table. */
export interface Line {
  readonly what: string;
  readonly measured: string;
  /** What it is held against. */
  readonly control?: string;
  readonly ratio?: string;
  readonly aim?: string;
  readonly isMet?: boolean;
}

/** One row of the run: its lines, and the bare figures for the results file. */
export interface Row {
  readonly name: string;
  readonly lines: readonly Line[];
  readonly figures: unknown;
}

/** The lines of a comparison of two servers: CPU first, since a shared machine disturbs it least. */
export function comparisonLines(what: string, { subject, control, cpu, rate }: Comparison, aim: { readonly text: string; readonly atMost: number }): Line[] {
  const sender = Math.max(subject.senderCpuMicros ?? 0, control.senderCpuMicros ?? 0);
  return [
    { what: `${what}: CPU a request`, measured: micros(subject.cpuMicros), control: micros(control.cpuMicros), ratio: ratioText(cpu), aim: aim.text, isMet: cpu.median <= aim.atMost },
    { what: `${what}: requests/s`, measured: whole(subject.perSecond), control: whole(control.perSecond), ratio: ratioText(rate) },
    { what: `${what}: CPU of the load generator a request`, measured: micros(sender) },
  ];
}

export function ratioText({ median, lowerQuartile, upperQuartile }: Ratio): string {
  return `${median.toFixed(2)} (${lowerQuartile.toFixed(2)}–${upperQuartile.toFixed(2)})`;
}

export function micros(value: number): string {
  return value >= 10_000 ? `${(value / 1_000).toFixed(1)} ms` : `${value.toFixed(value < 100 ? 1 : 0)} µs`;
}

export function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}

export function megabytes(bytes: number): string {
  return `${whole(bytes / 1_000_000)} MB`;
}

const HEADINGS = ['what', 'measured', 'control', 'ratio (quartiles)', 'aim', ''];

export function table(rows: readonly Row[]): string {
  const cells = rows.flatMap(({ lines }) => lines).map(({ what, measured, control = '', ratio = '', aim = '', isMet }) =>
    [what, measured, control, ratio, aim, isMet === undefined ? '' : isMet ? 'met' : 'not met']);
  const all = [HEADINGS, ...cells];
  const widths = HEADINGS.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  const text = all.map((row) => row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join('  ').trimEnd());
  return text.join('\n');
}
