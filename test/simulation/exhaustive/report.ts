import type { Bounds } from './cases.js';
import type { Findings } from './explore.js';

/** One line about the search, and how to reproduce a violation. */
export function reportOf(findings: Findings, bounds: Bounds): string {
  const { setting, states, runs, steps, aftermaths, deepest, isWhole, violation } = findings;
  const extent = isWhole ? 'all there is within the bounds' : `cut at ${bounds.depth} choices`;
  const line = `${setting}: ${states} states, ${runs} runs, ${steps} steps, ${aftermaths} ends, deepest ${deepest}; ${violation ? 'stopped at a violation' : extent}`;
  if (!violation) return line;
  const { depth, ...budgets } = bounds;
  const options = Object.entries({ depth, ...budgets })
    .map(([name, value]) => `--${name} ${value}`)
    .join(' ');
  return [
    line,
    violation.message,
    ...violation.choices.map((choice, index) => `  ${index + 1}. ${choice}`),
    `Replay with: node dist/test/simulation/exhaustive/main.js --case "${setting}" ${options} --replay "${violation.choices.join('; ')}"`,
  ].join('\n');
}
