import { MUTANT_VARIABLE } from '../../simulation/mutants/switch.js';

const HOOK = new URL('../../simulation/mutants/with-mutant.js', import.meta.url).href;

/**
 * Variables that break core, in the processes that get them, as one of the simulation's mutants does; none when no
 * mutant is named.
 */
export function mutated(mutant: string | undefined): Readonly<Record<string, string>> {
  return mutant === undefined ? {} : { NODE_OPTIONS: `--import=${HOOK}`, [MUTANT_VARIABLE]: mutant };
}
