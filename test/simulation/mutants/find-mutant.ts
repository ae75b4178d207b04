import type { Outcome } from './play-mutant.js';

/** The seeds of a search: their number, and the first of them. */
export interface Seeds {
  readonly seeds: number;
  readonly from: number;
}

export interface Search extends Seeds {
  /** The seed that last found the mutant; without it the search starts at once. */
  readonly recorded?: number | undefined;
}

/** The outcome for a mutant, and how many seeds were played for it. */
export interface Verdict {
  readonly outcome: Outcome;
  readonly seedsPlayed: number;
  /** Whether there was a recorded seed that no longer finds it. */
  readonly isStale: boolean;
}

type Play = (seeds: readonly number[]) => Promise<Outcome>;

/** Plays the recorded seed, and only if it finds nothing all others, in order. */
export async function findMutant(play: Play, { recorded, ...range }: Search): Promise<Verdict> {
  if (recorded !== undefined) {
    const outcome = await play([recorded]);
    if (outcome.kind !== 'survived') return { outcome, seedsPlayed: 1, isStale: false };
  }
  const isStale = recorded !== undefined;
  const outcome = await play(seedsOf(range));
  const searched = outcome.kind === 'found' ? outcome.found.seed - range.from + 1 : range.seeds;
  return { outcome, seedsPlayed: searched + (isStale ? 1 : 0), isStale };
}

export function seedsOf({ seeds, from }: Seeds): number[] {
  return Array.from({ length: seeds }, (_, index) => from + index);
}
