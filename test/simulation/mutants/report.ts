import type { Verdict } from './find-mutant.js';
import type { Mutant } from './mutant.js';

const WIDTHS = [45, 10, 10, 6, 6] as const;
const MAX_SHOWN = 100;

export function heading(): string {
  return row('mutant', 'breaks', 'caught by', 'seed', 'played', 'violation');
}

/** One line of the table: the seed at which a mutant was found, and how many were played for it. */
export function line({ name, breaks }: Pick<Mutant, 'name' | 'breaks'>, { outcome, seedsPlayed }: Verdict): string {
  const expected = breaks.join(', ');
  switch (outcome.kind) {
    case 'found': {
      const { invariant, seed, message } = outcome.found;
      return row(name, expected, String(invariant), String(seed), String(seedsPlayed), short(message));
    }
    case 'survived':
      return row(name, expected, '-', '-', String(seedsPlayed), 'nothing found');
    case 'hangs':
      return row(name, expected, 'hangs', '-', '-', 'no verdict in the time a seed may take');
    case 'error':
      return row(name, expected, 'error', '-', '-', short(outcome.message));
  }
}

function row(...cells: readonly string[]): string {
  return cells
    .map((cell, index) => cell.padEnd(WIDTHS[index] ?? 0))
    .join(' ')
    .trimEnd();
}

function short(message: string): string {
  const first = (message.split('\n')[0] ?? '').replace(/^Invariant \d+: /u, '');
  return first.length > MAX_SHOWN ? `${first.slice(0, MAX_SHOWN)}…` : first;
}
