import { checkOutcome } from './integrity.js';

/**
 * The entry point of the process that `BackgroundCheck` starts: sends the outcome of the check of the database file named on the
 * command line to the parent process, and ends.
 */
process.send?.(checkOutcome(process.argv[2] ?? ''), () => process.exit());
