import { freshDatabase } from '../../test/servers/fresh-places.js';
import { ServerAbsent } from '../../test/servers/servers.js';
import { comparisonOf, type Measured, measureInTurn, Side } from '../compare.js';
import { fleetLines, type Row } from '../report.js';
import type { Run } from '../run.js';
import type { DatabaseWritesCommands } from '../servers/database-writes.js';
import { serversCpu, StoreServers } from '../servers/store-servers.js';
import { measureAccounts } from './accounts.js';
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

/** A part whose server is absent is reported as not measured; the run continues. */
export async function withServers(name: string, measure: () => Promise<Row[]>): Promise<Row[]> {
  try {
    return await measure();
  } catch (error) {
    if (!(error instanceof ServerAbsent)) throw error;
    console.log(`not measured: ${name}: ${error.message}`);
    return [{ name, lines: [{ what: name, measured: 'not measured' }], figures: { absent: error.message } }];
  }
}

const UNIT = 'write';

/**
 * The database alone: what it makes of small durable writes, by many clients and by one. It is the ground the other
 * rows stand on.
 */
async function measureDatabase(run: Run, stores: StoreServers): Promise<Row[]> {
  const place = freshDatabase({ url: stores.mongoUrl });
  const child = run.start<DatabaseWritesCommands>('./servers/database-writes.js', [place.url, place.database]);
  const write = async (clients: number): Promise<Measured> => {
    const before = stores.usage();
    const { writes, elapsedMs, cpuMicros } = await child.ask('write', { clients, durationMs: run.sizes.sliceMs });
    return {
      cpuMicros: cpuMicros / writes,
      perSecond: writes / (elapsedMs / 1_000),
      ...serversCpu(before, stores.usage(), writes),
    };
  };
  const { connections, rounds } = run.sizes;
  const [many, one] = [new Side(() => write(connections)), new Side(() => write(1))];
  await write(connections);
  await measureInTurn([many, one], rounds);
  await child.stop();
  await place.drop();
  const comparison = comparisonOf(many, one);
  return [
    {
      name: 'database alone',
      lines: fleetLines(`database alone, ${connections} clients not 1`, comparison, UNIT),
      figures: comparison,
    },
  ];
}
