/**
 * The environment variable that names the mutant to apply; `CONTROL` applies none. Only the loader hook of the mutants'
 * own processes reads it: it is no part of the program, which neither knows nor heeds it.
 */
export const MUTANT_VARIABLE = 'DARKROOM_TEST_MUTANT';

/** The run that everything else is compared with: the same hook, and nothing changed. */
export const CONTROL = 'no-mutant';
