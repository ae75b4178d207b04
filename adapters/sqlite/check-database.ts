import { integrityFault } from './integrity.js';
import { openDatabase } from './driver.js';

/** Tells the parent process what is wrong with the database file named on the command line, or null; and ends. */
const database = openDatabase(process.argv[2] ?? '', { readOnly: true });
process.send?.(integrityFault(database) ?? null, () => process.exit());
