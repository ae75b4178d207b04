import { MUTANT_VARIABLE } from '../../simulation/mutants/switch.js';

const HOOK = new URL('../changes/with-changes.js', import.meta.url).href;

/**
 * Variables by which the processes that get them wait seconds for what takes hours, and break core as a mutant does; none
 * is broken when no mutant is named.
 */
export function changed(mutant: string | undefined): Readonly<Record<string, string>> {
  return { NODE_OPTIONS: `--import=${HOOK}`, ...(mutant === undefined ? {} : { [MUTANT_VARIABLE]: mutant }) };
}
