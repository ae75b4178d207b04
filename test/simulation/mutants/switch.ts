/**
 * The environment variable that names the mutant to apply to a process; `CONTROL` applies none. Only the loader hook in
 * this folder reads it: the program itself does not.
 */
export const MUTANT_VARIABLE = 'DARKROOM_TEST_MUTANT';

/** The query parameter of a module's URL that names the mutant of this copy of the module. */
export const MUTANT_PARAMETER = 'mutant';

/** The run that everything else is compared with: the same hook, and no change. */
export const CONTROL = 'no-mutant';
