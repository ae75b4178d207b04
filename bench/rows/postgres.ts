import { migrated } from '../../adapters/postgres/open-postgres.js';
import { freshPostgresDatabase } from '../../test/servers/fresh-places.js';
import { ServerProcess } from '../../test/servers/server-process.js';
import type { Child } from '../child.js';
import { type Measured, middle, measureInTurn, Side } from '../compare.js';
import { micros, type Row, timesText, whole } from '../report.js';
import type { Run } from '../run.js';
import { perOne, type PostgresCounts, postgresCounts } from '../servers/postgres-counters.js';
import type { OperationsDone, WholeGenerationsCommands } from '../servers/whole-generations.js';
import { median, percentile } from '../statistics.js';
import { cpuMicrosOf } from '../usage.js';
import { withServers } from './distributed.js';
import { measureProcesses } from './postgres-processes.js';

const CLIENTS = [1, 16, 64] as const;
const ACCOUNTS = 250;
/** A slice is this many times as long as a slice of requests. */
const SLICES = 4;
/** The cost targets per generation at the highest concurrency. */
const AIMS = { databaseMicros: 500, ourMicros: 600, walSyncs: 0.5 } as const;

/** Measures the program on PostgreSQL. */
export async function measurePostgres(run: Run): Promise<Row[]> {
  return withServers('postgres', async () => [...(await measureStores(run)), ...(await measureProcesses(run))]);
}

interface Place {
  readonly server: ServerProcess;
  readonly url: string;
  readonly child: Child<WholeGenerationsCommands>;
}

/** One process that writes whole generations into the stores, with a given number of concurrent clients. */
class StoreSide extends Side {
  readonly counts: PostgresCounts[] = [];

  constructor(
    { server, url, child }: Place,
    readonly clients: number,
    durationMs: number,
  ) {
    super(async () => {
      const before = await postgresCounts(url);
      await child.ask('open', { count: ACCOUNTS });
      // The first slice prepares the statements and loads the accounts into the writer.
      const first = await child.ask('write', { clients, durationMs: durationMs / 2 });
      const cpuBefore = cpuMicrosOf(server.pid) ?? Number.NaN;
      const done = await child.ask('write', { clients, durationMs });
      const databaseMicros = (cpuMicrosOf(server.pid) ?? Number.NaN) - cpuBefore;
      await child.ask('close', undefined);
      this.counts.push(perOne(before, await postgresCounts(url), first.count + done.count));
      return measuredOf(done, databaseMicros);
    });
  }

  middleOf(of: keyof PostgresCounts): number {
    return median(this.counts.map((counts) => counts[of]));
  }
}

/** Divides the CPU of a process, and of the database meanwhile, by the number of operations that the process has completed. */
export function measuredOf(
  { count, elapsedMs, cpuMicros, timesMicros }: OperationsDone,
  databaseMicros: number,
): Measured {
  return {
    cpuMicros: cpuMicros / count,
    databaseCpuMicros: databaseMicros / count,
    perSecond: count / (elapsedMs / 1_000),
    p50Micros: percentile(timesMicros, 0.5),
    p99Micros: percentile(timesMicros, 0.99),
  };
}

/** Measures the cost of the writes of a generation, without requests and without a provider. */
async function measureStores(run: Run): Promise<Row[]> {
  const server = run.keep(await ServerProcess.start('postgres-18'));
  const { url } = await freshPostgresDatabase(server);
  await migrated({ url });
  const child = run.start<WholeGenerationsCommands>('./servers/whole-generations.js', [url, run.newFolder('recorded')]);
  await child.ask('open', { count: ACCOUNTS });
  await child.ask('close', undefined);
  const sides = CLIENTS.map((clients) => new StoreSide({ server, url, child }, clients, SLICES * run.sizes.sliceMs));
  await measureInTurn(sides, run.sizes.rounds);
  await child.stop();
  await server.stop();
  return sides.map(rowOf);
}

function rowOf(side: StoreSide): Row {
  const measured = middle(side.shown);
  const { cpuMicros, databaseCpuMicros = Number.NaN, perSecond } = measured;
  const [walBytes, walSyncs, commits] = [
    side.middleOf('walBytes'),
    side.middleOf('walSyncs'),
    side.middleOf('commits'),
  ];
  const what = `generations written to PostgreSQL, ${side.clients} at a time`;
  const isAim = side.clients === Math.max(...CLIENTS);
  const aim = (value: number, atMost: number, text: string) =>
    isAim ? { aim: `≤ ${text}`, isMet: value <= atMost } : {};
  return {
    name: what,
    lines: [
      {
        what: `${what}: CPU of the database`,
        measured: micros(databaseCpuMicros),
        ...aim(databaseCpuMicros, AIMS.databaseMicros, micros(AIMS.databaseMicros)),
      },
      {
        what: `${what}: our CPU`,
        measured: micros(cpuMicros),
        ...aim(cpuMicros, AIMS.ourMicros, micros(AIMS.ourMicros)),
      },
      {
        what: `${what}: syncs of the log`,
        measured: walSyncs.toFixed(2),
        ...aim(walSyncs, AIMS.walSyncs, String(AIMS.walSyncs)),
      },
      { what: `${what}: commits`, measured: commits.toFixed(2) },
      { what: `${what}: bytes of the log`, measured: whole(walBytes) },
      { what: `${what}: per second`, measured: whole(perSecond) },
      { what: `${what}: p50 and p99`, measured: timesText(measured) },
    ],
    figures: { ...measured, walBytes, walSyncs, commits },
  };
}
