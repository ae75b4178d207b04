import { wholeCpuMicros, type Comparison, type Measured, type Ratio } from './compare.js';
import { percentile } from './statistics.js';

/** One line of the table. */
export interface Line {
  readonly what: string;
  readonly measured: string;
  /** The value it is compared with. */
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
export function comparisonLines(
  what: string,
  { subject, control, cpu, rate }: Comparison,
  aim?: { readonly text: string; readonly atMost: number },
): Line[] {
  const sender = Math.max(subject.senderCpuMicros ?? 0, control.senderCpuMicros ?? 0);
  return [
    {
      what: `${what}: CPU a request`,
      measured: micros(subject.cpuMicros),
      control: micros(control.cpuMicros),
      ratio: ratioText(cpu),
      ...(aim ? { aim: aim.text, isMet: cpu.median <= aim.atMost } : {}),
    },
    {
      what: `${what}: requests/s`,
      measured: whole(subject.perSecond),
      control: whole(control.perSecond),
      ratio: ratioText(rate),
    },
    { what: `${what}: answered in, p50 and p99`, measured: timesText(subject), control: timesText(control) },
    { what: `${what}: CPU of the load generator a request`, measured: micros(sender) },
  ];
}

export function timesText({ p50Micros, p99Micros }: Pick<Measured, 'p50Micros' | 'p99Micros'>): string {
  return [p50Micros, p99Micros]
    .map((time) => (time === undefined ? 'unseen' : `${(time / 1_000).toFixed(1)} ms`))
    .join(', ');
}

/** The lines of a comparison in which a database is a process of its own, on one side or both. */
export function fleetLines(
  what: string,
  { subject, control, cpu, wholeCpu, rate }: Comparison,
  unit = 'request',
): Line[] {
  return [
    {
      what: `${what}: CPU a ${unit}`,
      measured: micros(subject.cpuMicros),
      control: micros(control.cpuMicros),
      ratio: ratioText(cpu),
    },
    {
      what: `${what}: CPU a ${unit}, with the servers`,
      measured: micros(wholeCpuMicros(subject)),
      control: micros(wholeCpuMicros(control)),
      ratio: ratioText(wholeCpu),
    },
    {
      what: `${what}: ${unit}s/s`,
      measured: whole(subject.perSecond),
      control: whole(control.perSecond),
      ratio: ratioText(rate),
    },
  ];
}

/** The number of the machine's cores that each process kept busy while one side was measured. */
export function coresLine(
  what: string,
  { perSecond, cpuMicros, databaseCpuMicros, objectsCpuMicros, senderCpuMicros }: Measured,
): Line {
  const cores = (micro: number | undefined) =>
    micro === undefined ? 'unseen' : ((micro * perSecond) / 1_000_000).toFixed(2);
  const parts = [cpuMicros, databaseCpuMicros, objectsCpuMicros, senderCpuMicros].map(cores);
  return { what: `${what}: cores: ours, database, objects, load`, measured: parts.join(' + ') };
}

/** Percentiles of times in microseconds. */
export function latencyPercentiles(times: readonly number[]): { readonly p50: number; readonly p99: number } {
  return { p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
}

export function latencyLine(what: string, times: readonly number[]): Line {
  const { p50, p99 } = latencyPercentiles(times);
  return { what, measured: `${(p50 / 1_000).toFixed(1)} ms`, control: `${(p99 / 1_000).toFixed(1)} ms` };
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
  const cells = rows
    .flatMap(({ lines }) => lines)
    .map(({ what, measured, control = '', ratio = '', aim = '', isMet }) => [
      what,
      measured,
      control,
      ratio,
      aim,
      isMet === undefined ? '' : isMet ? 'met' : 'not met',
    ]);
  const all = [HEADINGS, ...cells];
  const widths = HEADINGS.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  const text = all.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
  return text.join('\n');
}
