import { MUTANT_VARIABLE } from '../../simulation/mutants/switch.js';

const HOOK = new URL('../changes/with-changes.js', import.meta.url).href;

/**
 * Environment variables that make processes wait seconds instead of hours, and break core as a mutant does; nothing is
 * broken when no mutant is named.
 */
export function changed(mutant: string | undefined): Readonly<Record<string, string>> {
  return { NODE_OPTIONS: `--import=${HOOK}`, ...(mutant === undefined ? {} : { [MUTANT_VARIABLE]: mutant }) };
}
