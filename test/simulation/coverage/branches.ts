import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { SourceMap } from 'node:module';

/** A range of a file's compiled text, start inclusive and end exclusive, and how often it ran. */
export type Stretch = readonly [from: number, to: number, count: number];

/** Ordered ranges without overlaps, by compiled file of core without its extension. */
export type BranchCounts = Readonly<Record<string, readonly Stretch[]>>;

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}
interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly { readonly ranges: readonly Range[] }[];
}

const CORE = /\/dist\/core\/(.+)\.js$/;

/** Counts the blocks of core that this thread runs, as reported by V8. Costs about a quarter of the speed. */
export class BranchCounter {
  private readonly session = new Session();

  async start(): Promise<void> {
    this.session.connect();
    await this.session.post('Profiler.enable');
    await this.session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  async take(): Promise<BranchCounts> {
    const { result } = (await this.session.post('Profiler.takePreciseCoverage')) as unknown as {
      result: readonly ScriptCoverage[];
    };
    const files = result.flatMap(({ url, functions }) => {
      const file = CORE.exec(url)?.[1];
      return file === undefined ? [] : [[file, flatten(functions.flatMap(({ ranges }) => ranges))] as const];
    });
    return Object.fromEntries(files);
  }
}

/** V8 reports a block and, within it, those that ran a different number of times: the innermost one counts. */
function flatten(ranges: readonly Range[]): Stretch[] {
  const outermostFirst = [...ranges].sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset);
  const stretches: Stretch[] = [];
  const open: Range[] = [];
  let at = 0;
  const close = (to: number) => {
    const top = open.at(-1);
    if (top !== undefined && to > at) stretches.push([at, to, top.count]);
    at = Math.max(at, to);
  };
  const closeUntil = (to: number) => {
    for (let top = open.at(-1); top !== undefined && top.endOffset <= to; top = open.at(-1)) {
      close(top.endOffset);
      open.pop();
    }
  };
  for (const range of outermostFirst) {
    closeUntil(range.startOffset);
    close(range.startOffset);
    at = range.startOffset;
    open.push(range);
  }
  closeUntil(Infinity);
  return stretches;
}

/** Sums the counts of several threads. */
export function addBranchCounts(all: readonly BranchCounts[]): BranchCounts {
  const files = new Set(all.flatMap((counts) => Object.keys(counts)));
  return Object.fromEntries([...files].sort().map((file) => [file, add(all.map((counts) => counts[file] ?? []))]));
}

function add(lists: readonly (readonly Stretch[])[]): Stretch[] {
  const bounds = [...new Set(lists.flat().flatMap(([from, to]) => [from, to]))].sort((a, b) => a - b);
  const sums: Stretch[] = [];
  const next = lists.map(() => 0);
  for (let index = 0; index + 1 < bounds.length; index += 1) {
    const [from, to] = [bounds[index] as number, bounds[index + 1] as number];
    let sum = 0;
    lists.forEach((list, which) => {
      while ((list[next[which] as number]?.[1] ?? Infinity) <= from) next[which] = (next[which] as number) + 1;
      const stretch = list[next[which] as number];
      if (stretch !== undefined && stretch[0] <= from) sum += stretch[2];
    });
    sums.push([from, to, sum]);
  }
  return sums;
}

/** A range of core that starts at a branch, with its place in the sources. */
export interface Branch {
  /** For example `core/recovery/recover.ts:41`. */
  readonly place: string;
  /** How its compiled text begins. */
  readonly text: string;
  readonly count: number;
}

const ROOT = new URL('../../../', import.meta.url);
const SHOWN = 90;

/** Every range of core that ran a different number of times than the range before it, in order of place. */
export function branchesOf(counts: BranchCounts): Branch[] {
  return Object.entries(counts).flatMap(([file, stretches]) => {
    const compiled = readFileSync(new URL(`core/${file}.js`, ROOT), 'utf8');
    const map = new SourceMap(
      JSON.parse(readFileSync(new URL(`core/${file}.js.map`, ROOT), 'utf8')) as ConstructorParameters<
        typeof SourceMap
      >[0],
    );
    const lines = lineStarts(compiled);
    let before: number | undefined;
    return stretches.flatMap(([from, to, count]) => {
      const parts = count !== before;
      before = count;
      const text = compiled.slice(from, to).replace(/\s+/g, ' ').trim();
      return parts && /^(?!\/[*/]|import )/.test(text) && /\w/.test(text)
        ? [{ place: `core/${file}.ts:${sourceLine(map, lines, from)}`, text: text.slice(0, SHOWN), count }]
        : [];
    });
  });
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

function sourceLine(map: SourceMap, lines: readonly number[], offset: number): number {
  let line = lines.findIndex((start) => start > offset) - 1;
  if (line < 0) line = lines.length - 1;
  const entry = map.findEntry(line, offset - (lines[line] as number));
  return 'originalLine' in entry ? entry.originalLine + 1 : 0;
}

/** How often each thing happened, over all runs that share the tally. */
export class Tally {
  private readonly counts = new Map<string, number>();

  constructor(entries: Iterable<readonly [string, number]> = []) {
    for (const [name, count] of entries) this.add(name, count);
  }

  add(name: string, count = 1): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + count);
  }

  addAll(other: Iterable<readonly [string, number]>): void {
    for (const [name, count] of other) this.add(name, count);
  }

  count(name: string): number {
    return this.counts.get(name) ?? 0;
  }

  *[Symbol.iterator](): Iterator<[string, number]> {
    yield* [...this.counts].sort(([a], [b]) => (a < b ? -1 : 1));
  }
}
