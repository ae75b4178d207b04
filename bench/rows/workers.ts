import { setTimeout as sleep } from 'node:timers/promises';
import { comparisonOf, type Measured, measureInTurn, middle, Side } from '../compare.js';
import { type Fleet, fleetUse, loadFleet, spentBetween } from '../fleet.js';
import type { RequestKind } from '../load/requests.js';
import { coresLine, fleetLines, type Row } from '../report.js';
import type { Run, Subject } from '../run.js';
import { createRequests } from '../servers/sample.js';
import type { StoreServers } from '../servers/store-servers.js';
import { PROCESSES } from './fronts.js';

const ACCOUNTS = 64;
const LONGEST_MS = 120_000;
const POLL_MS = 10;
const IDLE_MS = 5_000;
const UNIT = 'generation';

/** An installation that creates and runs generations, with the keys of its accounts. */
export interface Working extends Fleet<Subject> {
  readonly front: Subject;
  readonly workers?: readonly Subject['child'][];
  readonly secrets: readonly string[];
  /** The requests to send instead of `createRequests`. */
  readonly kind?: RequestKind;
}

/**
 * Generations from create to settled: by one, two and four pairs of a REST process and a worker, each in an
 * installation of its own, compared with one process that does everything.
 */
export async function measureWorkers(run: Run, stores: StoreServers): Promise<Row[]> {
  const embedded = await startEmbedded(run, 'working');
  const fleets: Working[] = [];
  for (const count of PROCESSES) fleets.push(await startDistributed(run, stores, count));
  for (const working of [embedded, ...fleets]) await burst(run, working, run.sizes.burst);

  const [control, ...sides] = [embedded, ...fleets].map(
    (working) => new Side(() => burst(run, working, run.sizes.burst)),
  );
  const [one, ...more] = sides;
  if (control === undefined || one === undefined) return [];
  const idle = await measureIdle(fleets);
  await measureInTurn([control, ...sides], run.sizes.rounds);
  await Promise.all([embedded, ...fleets].map(stopWorking));
  const beside = comparisonOf(one, control);
  return [
    { name: 'distributed work', lines: fleetLines('work, MongoDB not SQLite', beside, UNIT), figures: beside },
    ...more.map((side, index): Row => {
      const comparison = comparisonOf(side, one);
      const count = PROCESSES[index + 1];
      return {
        name: `distributed work by ${count}`,
        lines: fleetLines(`work, ${count} workers not 1`, comparison, UNIT),
        figures: comparison,
      };
    }),
    {
      name: 'distributed work: cores',
      lines: [
        ...[one, ...more].map(({ shown }, index) => coresLine(`work by ${PROCESSES[index]}`, middle(shown))),
        coresLine('nothing to do, 3 REST processes and 7 workers', idle),
      ],
      figures: { working: [one, ...more].map(({ shown }) => middle(shown)), idle },
    },
  ];
}

/** The cost of one idle second. */
async function measureIdle(fleets: readonly Working[]): Promise<Measured> {
  const [fronts, workers] = [fleets.flatMap((fleet) => fleet.fronts), fleets.flatMap((fleet) => fleet.workers ?? [])];
  const [stores] = fleets.flatMap((fleet) => fleet.stores ?? []);
  const all: Fleet = { fronts, workers, ...(stores ? { stores } : {}) };
  const before = await fleetUse(all);
  await sleep(IDLE_MS);
  return { ...spentBetween(before, await fleetUse(all), IDLE_MS / 1_000), perSecond: 1 };
}

export async function startEmbedded(run: Run, name: string): Promise<Working> {
  const front = await run.startSubject(run.newFolder(name));
  await front.child.ask('startWorker', undefined);
  return { front, fronts: [front], secrets: await secretsOf(front) };
}

/** A REST process, and this number of workers. */
async function startDistributed(run: Run, stores: StoreServers, count: number): Promise<Working> {
  const folder = await stores.newInstallation(run, `workers-${count}`);
  const front = await run.startSubject(folder);
  const workers: Subject['child'][] = [];
  while (workers.length < count) {
    const { child } = await run.startSubject(folder);
    await child.ask('startWorker', undefined);
    workers.push(child);
  }
  return { front, fronts: [front], workers, stores, secrets: await secretsOf(front) };
}

async function stopWorking({ front, workers = [] }: Working): Promise<void> {
  await Promise.all([front.child, ...workers].map((child) => child.stop()));
}

async function secretsOf({ child }: Subject): Promise<readonly string[]> {
  return (await child.ask('createCredentials', { count: ACCOUNTS })).map(({ secret }) => secret);
}

/** Sends this number of creates as fast as they are accepted, until the last generation is settled. */
export async function burst({ load, sizes }: Run, working: Working, count: number): Promise<Measured> {
  const settledBefore = await settledBy(working);
  const before = await fleetUse(working);
  const done = await loadFleet(load, working, {
    kind: working.kind ?? createRequests(...working.secrets),
    connections: sizes.connections,
    durationMs: LONGEST_MS,
    maxRequests: count,
  });
  const settledAtMicros = await untilSettled(working, settledBefore.count + done.requests);
  const after = await fleetUse(working);
  return {
    ...spentBetween(before, after, done.requests),
    perSecond: done.requests / ((settledAtMicros - done.beganAtMicros) / 1_000_000),
    senderCpuMicros: done.cpuMicros / done.requests,
  };
}

/** Waits until these processes have settled this number since they started; returns the time of the last one. */
async function untilSettled(working: Working, count: number): Promise<number> {
  for (let waitedMs = 0; waitedMs < LONGEST_MS; waitedMs += POLL_MS) {
    const settled = await settledBy(working);
    if (settled.count >= count) return settled.lastAtMicros;
    await sleep(POLL_MS);
  }
  throw new Error('Generations were not settled in time.');
}

/** Asked of the processes, as asking the database would be part of what is measured. */
async function settledBy({
  front,
  workers = [],
}: Working): Promise<{ readonly count: number; readonly lastAtMicros: number }> {
  const counts = await Promise.all([front.child, ...workers].map((child) => child.ask('accountWrites', undefined)));
  return {
    count: counts.reduce((sum, { settled }) => sum + settled, 0),
    lastAtMicros: Math.max(...counts.map(({ lastSettledAtMicros }) => lastSettledAtMicros)),
  };
}
