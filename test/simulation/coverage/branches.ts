import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import type { BranchCounts } from './branch-counts.js';

/** A stretch of core that begins where the way parts, with its place in the sources. */
export interface Branch {
  /** As in `core/recovery/recover.ts:41`. */
  readonly place: string;
  /** How its compiled text begins. */
  readonly text: string;
  readonly count: number;
}

const ROOT = new URL('../../../', import.meta.url);
const SHOWN = 90;

/** Every stretch of core that ran another number of times than what stands before it, in order of place. */
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
