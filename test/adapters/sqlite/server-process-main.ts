import { openSqlite } from '../../../adapters/sqlite/open-sqlite.js';
import { aGeneration, uuidAt } from '../../fixtures/stored-records.js';

const WRITERS = 32;
const [folder = '', task] = process.argv.slice(2);
const stores = await openSqlite({ folder, role: 'server' });
// The numbering continues after the records of previous rounds.
const [newest] = (await stores.generations.list({ of: 'account', accountId: uuidAt(1) }, { limit: 1 })).items;
let next = newest === undefined ? 1 : Number.parseInt(newest.generationId.replaceAll('-', '').slice(-12), 16) + 1;

/** Inserts records one after the other, and prints each only after it was acknowledged. */
async function write(): Promise<void> {
  for (;;) {
    const n = next;
    next += 1;
    await stores.generations.insert(aGeneration(n));
    // Not writeSync: a reader that is slow would make it fail.
    process.stdout.write(`${n}\n`);
  }
}

if (task === 'write') {
  await Promise.all(Array.from({ length: WRITERS }, write));
} else {
  process.stdout.write('open\n');
  setInterval(() => undefined, 60_000);
}
