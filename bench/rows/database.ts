import { freshDatabase } from '../../test/servers/fresh-places.js';
import { comparisonOf, measureInTurn, Side, type Measured } from '../compare.js';
import { fleetLines, type Row } from '../report.js';
import type { Run } from '../run.js';
import type { DatabaseWritesCommands } from '../servers/database-writes.js';
import { serversCpu, type StoreServers } from '../servers/store-servers.js';

const UNIT = 'write';

/**
 * The database alone: what it makes of small durable writes, by many clients and by one. It is the ground the other
 * rows stand on.
 */
export async function measureDatabase(run: Run, stores: StoreServers): Promise<Row[]> {
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
