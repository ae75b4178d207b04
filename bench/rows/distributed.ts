import { ServerAbsent } from '../../test/servers/servers.js';
import type { Row } from '../report.js';
import type { Run } from '../run.js';
import { StoreServers } from '../servers/store-servers.js';
import { measureAccounts } from './accounts.js';
import { measureDatabase } from './database.js';
import { measureFronts } from './fronts.js';
import { measureWorkers } from './workers.js';

/** The program over MongoDB, an S3 store and Agenda, in one process and in several. */
export async function measureDistributed(run: Run): Promise<Row[]> {
  return withServers('distributed', async () => {
    const stores = await StoreServers.start(run);
    console.log(`database and object store: ${stores.names.join(', ')}`);
    const rows = [
      ...(await measureDatabase(run, stores)),
      ...(await measureFronts(run, stores)),
      ...(await measureAccounts(run, stores)),
      ...(await measureWorkers(run, stores)),
    ];
    await stores.stop();
    return rows;
  });
}

/** What needs a server that is absent says so, and the rest of the run goes on. */
export async function withServers(name: string, measure: () => Promise<Row[]>): Promise<Row[]> {
  try {
    return await measure();
  } catch (error) {
    if (!(error instanceof ServerAbsent)) throw error;
    console.log(`not measured: ${name}: ${error.message}`);
    return [{ name, lines: [{ what: name, measured: 'not measured' }], figures: { absent: error.message } }];
  }
}
