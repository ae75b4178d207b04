import type { Mutant } from './mutant.js';
import type { Outcome, Seeds } from './run-mutant.js';

const WIDTHS = [45, 10, 10, 6] as const;
const MAX_SAID = 100;

export function heading(): string {
  return row('mutant', 'breaks', 'caught by', 'seeds', 'what was said');
}

/** One line of the table. `seeds` is how many it took, or how many were of no avail. */
export function line({ name, breaks }: Pick<Mutant, 'name' | 'breaks'>, outcome: Outcome, { seeds, from }: Seeds): string {
  const expected = breaks.join(', ');
  switch (outcome.kind) {
    case 'found': {
      const { invariant, seed, message } = outcome.found;
      return row(name, expected, String(invariant), String(seed - from + 1), short(message));
    }
    case 'survived': return row(name, expected, '-', String(seeds), 'nothing found');
    case 'hangs': return row(name, expected, 'hangs', '-', 'no verdict in the time it may take');
    case 'error': return row(name, expected, 'error', '-', short(outcome.said));
  }
}

function row(...cells: readonly [string, string, string, string, string]): string {
  return cells.map((cell, index) => cell.padEnd(WIDTHS[index] ?? 0)).join(' ').trimEnd();
}

function short(message: string): string {
  const first = (message.split('\n')[0] ?? '').replace(/^Invariant \d+: /u, '');
  return first.length > MAX_SAID ? `${first.slice(0, MAX_SAID)}…` : first;
}
