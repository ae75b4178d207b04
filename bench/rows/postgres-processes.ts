import { setTimeout as sleep } from 'node:timers/promises';
import { freshDatabase, freshPostgresDatabase } from '../../test/servers/fresh-places.js';
import { queryOnce } from '../../test/servers/postgres-client.js';
import { PostgresCluster } from '../../test/servers/postgres-cluster.js';
import { comparisonOf, measureInTurn, middle, Side, wholeCpuMicros } from '../compare.js';
import { type Fleet, fleetUse, loadFleet, measureFleet, spentBetween } from '../fleet.js';
import type { Mark } from '../load/generator.js';
import type { RequestKind } from '../load/requests.js';
import { coresLine, micros, ratioText, type Row, timesText, whole } from '../report.js';
import type { Run, Subject } from '../run.js';
import { createRequests, statusRequestsOf } from '../servers/sample.js';
import type { SlowDatabaseCommands } from '../servers/slow-database.js';
import { type ServersUse, StoreServers } from '../servers/store-servers.js';
import { median, percentile } from '../statistics.js';
import { cpuMicrosOf } from '../usage.js';
import { PROCESSES } from './fronts.js';

/**
 * Milliseconds that a byte needs to the replica, and also back. The stand-in for MongoDB delays the answer to a write by the
 * sum of both.
 */
const DELAY_MS = 10;
const ACCOUNTS = 250;
/** Clients per REST process: so few that the CPU is not the limit. */
const CLIENTS = { create: 2, status: 1, generation: 1 } as const;
const SLICE_MS = 4_000;
/** Near the replica, every process runs its code until the engine has compiled it: otherwise the CPU of a process that has done less looks higher. */
const WARM_UP = { clientsPerFront: 8, ms: 8_000 } as const;
const UNITS = { create: 'creates', status: 'reads of a status', generation: 'generations' } as const;
const LONGEST_MS = 120_000;
const POLL_MS = 20;

/** A database that confirms a write after a round trip to a distant replica. */
interface Far {
  readonly name: string;
  readonly stores: { usage(): ServersUse };
  /** Whether writes wait for the distant replica. */
  setFar(isFar: boolean): Promise<unknown>;
  /** Makes a new installation on the database, and returns its data folder. */
  newInstallation(run: Run, name: string): Promise<string>;
  /** The position in the write-ahead log, in bytes; NaN for a database without a readable log. */
  logBytes(): Promise<number>;
}

/** Measures one, two and four processes of each kind on a database that waits for a replica, so that its latency is the limit. */
export async function measureProcesses(run: Run): Promise<Row[]> {
  const servers = await StoreServers.start(run, { isSynced: false });
  const rows: Row[] = [];
  for (const open of [openPostgres, openMongo]) {
    const far = await open(run, servers);
    rows.push(...(await measureCreates(run, far)), ...(await measureWork(run, far)));
    await far.close();
  }
  await servers.stop();
  return rows;
}

type Closable = Far & { close(): Promise<void> };

async function openPostgres(_run: Run, servers: StoreServers): Promise<Closable> {
  const cluster = await PostgresCluster.start({ synchronousStandbyNames: '*', delayMs: DELAY_MS });
  const usage = () => {
    const used = cluster.pids.map((pid) => cpuMicrosOf(pid) ?? Number.NaN);
    return { database: used.reduce((sum, micro) => sum + micro, 0), objects: servers.usage().objects };
  };
  return {
    name: 'PostgreSQL',
    stores: { usage },
    setFar: (isFar) => cluster.setSynchronousStandbyNames(isFar ? '*' : '', cluster.primary),
    async newInstallation(run, name) {
      const { url } = await freshPostgresDatabase({ url: cluster.urlOf() });
      return servers.newPostgresInstallation(run, name, url);
    },
    async logBytes() {
      const [row] = await queryOnce(cluster.urlOf(), `SELECT (pg_current_wal_lsn() - '0/0')::float8 AS bytes`);
      return (row?.['bytes'] as number | undefined) ?? Number.NaN;
    },
    close: () => cluster.close(),
  };
}

async function openMongo(run: Run, servers: StoreServers): Promise<Closable> {
  const proxy = run.start<SlowDatabaseCommands>('./servers/slow-database.js', [new URL(servers.mongoUrl).port]);
  const port = await proxy.ask('open', { link: 'all' });
  const mongoUrl = `mongodb://127.0.0.1:${port}/?directConnection=true`;
  return {
    name: "MongoDB's stand-in",
    stores: servers,
    setFar: (isFar) => proxy.ask('slow', { delayMs: isFar ? 2 * DELAY_MS : 0 }),
    async newInstallation(_run, name) {
      const { database } = freshDatabase({ url: mongoUrl });
      const [folder = ''] = await servers.newInstallations(run, [{ name: `${name}-${database}`, mongoUrl }]);
      return folder;
    },
    logBytes: () => Promise.resolve(Number.NaN),
    close: () => proxy.stop(),
  };
}

interface Working extends Fleet<Subject> {
  readonly workers: readonly Subject['child'][];
  readonly secrets: readonly string[];
}

async function startWorking(run: Run, far: Far, fronts: number, workers: number): Promise<Working> {
  const folder = await far.newInstallation(run, `far-${fronts}-${workers}`);
  const started: Subject[] = [];
  while (started.length < fronts + workers) started.push(await run.startSubject(folder));
  const working = started.slice(fronts).map(({ child }) => child);
  for (const child of working) await child.ask('startWorker', undefined);
  const credentials = (await started[0]?.child.ask('createCredentials', { count: ACCOUNTS })) ?? [];
  return {
    fronts: started.slice(0, fronts),
    workers: working,
    stores: far.stores,
    secrets: credentials.map(({ secret }) => secret),
  };
}

async function stopWorking({ fronts, workers }: Working): Promise<void> {
  await Promise.all([...fronts.map(({ child }) => child), ...workers].map((child) => child.stop()));
}

/** Measures creates, or whole generations where there are workers, and the bytes of write-ahead log per operation. */
class FarSide extends Side {
  readonly logBytes: number[] = [];

  constructor(run: Run, far: Far, fleet: Working, clients: number) {
    super(async () => {
      const [before, logBefore] = [await fleetUse(fleet), await far.logBytes()];
      const { marks, ...done } = await loadFleet(run.load, fleet, {
        kind: createRequests(...fleet.secrets),
        connections: clients * fleet.fronts.length,
        durationMs: SLICE_MS,
        isMarked: true,
      });
      const doneAt = fleet.workers.length > 0 ? await settled(fleet, marks) : answered(marks);
      const after = await fleetUse(fleet);
      this.logBytes.push(((await far.logBytes()) - logBefore) / done.requests);
      const times = marks.map((mark) => (doneAt.get(mark.generationId) ?? Number.NaN) - mark.sentAtMicros);
      return {
        ...spentBetween(before, after, done.requests),
        perSecond: done.requests / ((Math.max(...doneAt.values()) - done.beganAtMicros) / 1_000_000),
        senderCpuMicros: done.cpuMicros / done.requests,
        p50Micros: percentile(times, 0.5),
        p99Micros: percentile(times, 0.99),
      };
    });
  }
}

async function measureCreates(run: Run, far: Far): Promise<Row[]> {
  const all = await startWorking(run, far, Math.max(...PROCESSES), 0);
  const by = (count: number): Working => ({ ...all, fronts: all.fronts.slice(0, count) });
  const creates = PROCESSES.map((count) => new FarSide(run, far, by(count), CLIENTS.create));
  await warmUp(run, far, all);
  const { marks } = await loadFleet(run.load, all, {
    kind: createRequests(...all.secrets),
    connections: all.fronts.length,
    durationMs: run.sizes.sliceMs,
    isMarked: true,
  });
  const kind: RequestKind = statusRequestsOf(marks);
  const status = PROCESSES.map(
    (count) =>
      new Side(() =>
        measureFleet(run.load, by(count), {
          kind,
          connections: CLIENTS.status * count,
          durationMs: run.sizes.sliceMs,
        }),
      ),
  );
  await measureInTurn(creates, run.sizes.rounds);
  await measureInTurn(status, run.sizes.rounds);
  await stopWorking(all);
  return [...rowsOf(far, 'create', creates), ...rowsOf(far, 'status', status)];
}

/** Uses a new installation for each number of processes. */
async function measureWork(run: Run, far: Far): Promise<Row[]> {
  const fleets: Working[] = [];
  for (const count of PROCESSES) fleets.push(await startWorking(run, far, count, count));
  const sides = fleets.map((fleet) => new FarSide(run, far, fleet, CLIENTS.generation));
  for (const fleet of fleets) await warmUp(run, far, fleet);
  await measureInTurn(sides, run.sizes.rounds);
  for (const fleet of fleets) await stopWorking(fleet);
  return rowsOf(far, 'generation', sides);
}

function rowsOf({ name }: Far, unit: keyof typeof UNITS, sides: readonly Side[]): Row[] {
  const [one] = sides;
  if (one === undefined) return [];
  return sides.map((side, index): Row => {
    const count = PROCESSES[index] ?? 1;
    const what = `${name} far away, ${UNITS[unit]} by ${unit === 'generation' ? `${count} + ${count}` : count}`;
    const { subject, cpu, wholeCpu, rate } = comparisonOf(side, one);
    const logBytes = side instanceof FarSide ? median(side.logBytes) : Number.NaN;
    return {
      name: what,
      lines: [
        {
          what: `${what}: per second`,
          measured: whole(subject.perSecond),
          ratio: ratioText(rate),
          ...(count === 4 && unit !== 'status' ? { aim: '≥ 3.00', isMet: rate.median >= 3 } : {}),
        },
        { what: `${what}: our CPU`, measured: micros(subject.cpuMicros), ratio: ratioText(cpu) },
        {
          what: `${what}: CPU with the servers`,
          measured: micros(wholeCpuMicros(subject)),
          ratio: ratioText(wholeCpu),
        },
        { what: `${what}: p50 and p99`, measured: timesText(subject) },
        ...(Number.isNaN(logBytes) ? [] : [{ what: `${what}: bytes of the log`, measured: whole(logBytes) }]),
        coresLine(what, middle(side.shown)),
      ],
      figures: { ...subject, cpu, wholeCpu, rate, logBytes },
    };
  });
}

function answered(marks: readonly Mark[]): ReadonlyMap<string, number> {
  return new Map(marks.map(({ generationId, answeredAtMicros }) => [generationId, answeredAtMicros]));
}

async function settled(fleet: Working, marks: readonly Mark[]): Promise<ReadonlyMap<string, number>> {
  const doneAt = new Map<string, number>();
  for (let waitedMs = 0; waitedMs < LONGEST_MS; waitedMs += POLL_MS) {
    const taken = await Promise.all(
      [...fleet.fronts.map(({ child }) => child), ...fleet.workers].map((child) => child.ask('takeSettled', undefined)),
    );
    for (const [generationId, atMicros] of taken.flat()) doneAt.set(generationId, atMicros);
    if (marks.every(({ generationId }) => doneAt.has(generationId))) return doneAt;
    await sleep(POLL_MS);
  }
  throw new Error('Generations were not settled in time.');
}

async function warmUp({ load }: Run, far: Far, fleet: Working): Promise<void> {
  await far.setFar(false);
  const { marks } = await loadFleet(load, fleet, {
    kind: createRequests(...fleet.secrets),
    connections: WARM_UP.clientsPerFront * fleet.fronts.length,
    durationMs: WARM_UP.ms,
    isMarked: true,
  });
  if (fleet.workers.length > 0) await settled(fleet, marks);
  await far.setFar(true);
}
