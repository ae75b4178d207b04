import { checkOutcome } from './integrity.js';

/** Tells the parent process how the check of the database file named on the command line ended; and ends. */
process.send?.(checkOutcome(process.argv[2] ?? ''), () => process.exit());
