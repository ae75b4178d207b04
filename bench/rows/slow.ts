import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freshDatabase } from '../../test/servers/fresh-places.js';
import { ServerAbsent } from '../../test/servers/servers.js';
import type { Child } from '../child.js';
import { comparisonOf, measureInTurn, middle, Side } from '../compare.js';
import type { Mark } from '../load/generator.js';
import { coresLine, fleetLines, type Row } from '../report.js';
import type { Run, Subject } from '../run.js';
import type { DatabaseWritesCommands } from '../servers/database-writes.js';
import { creditsRequests } from '../servers/sample.js';
import type { SlowDatabaseCommands } from '../servers/slow-database.js';
import { StoreServers } from '../servers/store-servers.js';
import {
  besideText,
  commandsOf,
  DELAY_MS,
  linkOf,
  namedLines,
  type SlowCase,
  slowFigures,
  type SlowFleet,
  slowLines,
  SlowSide,
  titleOf,
} from '../slow-fleet.js';
import { withServers } from './distributed.js';
import { PROCESSES } from './fronts.js';

/** Enough accounts that two concurrent requests seldom use the same one. */
const ACCOUNTS = 1_000;
/** Clients of a REST process: few enough for the database behind, which shares the cores, not to be the limit. */
const CREATING = 8;
const WORKING = 2;
/** Clients of one account that is busy. */
const BUSY = 64;
const IDLE_MS = 10_000;
const LONGEST_MS = 120_000;
const POLL_MS = 20;

interface Sides {
  readonly many: SlowSide;
  readonly one: SlowSide;
}

/**
 * The program over a database that takes a fixed time for each write and any number of writes at once: what more processes
 * add where the database is not the limit.
 */
export async function measureSlow(run: Run): Promise<Row[]> {
  return withServers('slow', async () => {
    if (process.env['TEST_MONGO_URL']) throw new ServerAbsent('it needs a database of its own: unset TEST_MONGO_URL.');
    // Its writes take a given time, so that they need not be on disk.
    const stores = await StoreServers.start(run, { isSynced: false });
    const database = run.start<SlowDatabaseCommands>('./servers/slow-database.js', [new URL(stores.mongoUrl).port]);
    const rows = [
      ...(await measureAlone(run, database)),
      ...(await measureCreates(run, stores, database)),
      ...(await measureWork(run, stores, database)),
    ];
    await stores.stop();
    return rows;
  });
}

/** Whether the database takes as many writes at once as the rows below need. */
async function measureAlone(run: Run, database: Child<SlowDatabaseCommands>): Promise<Row[]> {
  await database.ask('slow', { delayMs: DELAY_MS });
  const place = freshDatabase({ url: await openLink(database, 'alone') });
  const child = run.start<DatabaseWritesCommands>('./servers/database-writes.js', [place.url, place.database]);
  const write = async (clients: number) => {
    const { writes, elapsedMs, cpuMicros } = await child.ask('write', { clients, durationMs: 10 * DELAY_MS });
    return { cpuMicros: cpuMicros / writes, perSecond: writes / (elapsedMs / 1_000) };
  };
  const clients = CREATING * Math.max(...PROCESSES);
  const [many, one] = [new Side(() => write(clients)), new Side(() => write(1))];
  await write(clients);
  await measureInTurn([many, one], run.sizes.rounds);
  await child.stop();
  const comparison = comparisonOf(many, one);
  const lines = fleetLines(`slow database alone, ${clients} clients not 1`, comparison, 'write');
  return [{ name: 'slow database alone', lines, figures: comparison }];
}

/** Creates by REST processes that run nothing, to many accounts and to one. */
async function measureCreates(run: Run, stores: StoreServers, database: Child<SlowDatabaseCommands>): Promise<Row[]> {
  const all = await startFleet(run, stores, database, { name: 'creates', fronts: Math.max(...PROCESSES), workers: 0 });
  const many = await secretsOf(run, all, ACCOUNTS);
  // Holds of these stay open, so each slice gets a new one.
  const hot = [...(await secretsOf(run, all, run.sizes.rounds * (PROCESSES.length + 2)))];
  const sideOf = (count: number, what: string, clients: number, nextSecrets: () => readonly string[]) =>
    new SlowSide(run, {
      stage: 'slow create',
      what: `${what} by ${count}`,
      fleet: { ...all, fronts: all.fronts.slice(0, count) },
      clients,
      nextSecrets,
      untilDone: answered,
    });
  const nextHot = () => [hot.pop() ?? ''];
  const pairs = PROCESSES.map((count) => ({
    many: sideOf(count, `${ACCOUNTS} accounts`, CREATING, () => many),
    one: sideOf(count, '1 account', CREATING, nextHot),
  }));
  const most = Math.max(...PROCESSES);
  const [busyAtOne, busyAtAll] = [
    sideOf(1, `1 account with ${BUSY} clients`, BUSY, nextHot),
    sideOf(most, `1 account with ${BUSY} clients`, BUSY / most, nextHot),
  ];
  await warmUp(run, pairs.at(-1)?.many.of);
  await measureInTurn([...pairs.flatMap((pair) => [pair.many, pair.one]), busyAtOne, busyAtAll], run.sizes.rounds);
  await stopFleet(all);
  return [
    ...rowsOf(pairs, 'create'),
    rowOf(busyAtOne, pairs[0]?.many ?? busyAtOne, 'create'),
    rowOf(busyAtAll, busyAtOne, 'create'),
  ];
}

/** Generations until they are settled: as many workers as REST processes, each number of them an installation of its own. */
async function measureWork(run: Run, stores: StoreServers, database: Child<SlowDatabaseCommands>): Promise<Row[]> {
  const pairs: Sides[] = [];
  for (const count of PROCESSES) {
    const fleet = await startFleet(run, stores, database, { name: `work-${count}`, fronts: count, workers: count });
    const [hot = '', ...many] = await secretsOf(run, fleet, ACCOUNTS / 4);
    const sideOf = (what: string, secrets: readonly string[]) =>
      new SlowSide(run, {
        stage: 'slow work',
        what: `${what} by ${count} + ${count}`,
        fleet,
        clients: WORKING,
        nextSecrets: () => secrets,
        untilDone: (marks) => settled(fleet, marks),
      });
    pairs.push({ many: sideOf(`${many.length + 1} accounts`, [hot, ...many]), one: sideOf('1 account', [hot]) });
  }
  for (const { many } of pairs) await warmUp(run, many.of);
  const idle = await measureIdle(pairs.map(({ many }) => many.of.fleet));
  await measureInTurn(
    pairs.flatMap(({ many, one }) => [many, one]),
    run.sizes.rounds,
  );
  await Promise.all(pairs.map(({ many }) => stopFleet(many.of.fleet)));
  return [...rowsOf(pairs, 'generation'), idle];
}

/** More processes beside one of them, and one account beside many. */
function rowsOf(pairs: readonly Sides[], unit: string): Row[] {
  const [first, ...more] = pairs;
  if (first === undefined) return [];
  return [
    ...more.map(({ many }) => rowOf(many, first.many, unit)),
    ...more.map(({ one }) => rowOf(one, first.one, unit)),
    rowOf(first.one, first.many, unit),
    {
      name: `slow ${unit}: commands`,
      lines: namedLines(first.many),
      figures: pairs.map(({ many }) => many.named()),
    },
    {
      name: `slow ${unit}: cores`,
      lines: pairs.map(({ many }) => coresLine(titleOf(many), middle(many.shown))),
      figures: pairs.map(({ many }) => middle(many.shown)),
    },
  ];
}

function rowOf(side: SlowSide, control: SlowSide, unit: string): Row {
  return {
    name: besideText(side, control),
    lines: slowLines(side, control, unit),
    figures: slowFigures(side, control),
  };
}

/** The database commands of all processes per second while idle. */
async function measureIdle(fleets: readonly SlowFleet[]): Promise<Row> {
  const counted = () => Promise.all(fleets.map(commandsOf));
  const before = await counted();
  await sleep(IDLE_MS);
  const after = await counted();
  const grown = (of: 'writes' | 'reads') =>
    after.reduce((sum, counts, index) => sum + counts[of] - (before[index]?.[of] ?? 0), 0) / (IDLE_MS / 1_000);
  const processes = fleets.reduce((sum, { workers }) => sum + workers.length, 0);
  const [writes, reads] = [grown('writes') / processes, grown('reads') / processes];
  const what = 'slow, nothing to do: writes + reads a second, of a REST process and a worker';
  return {
    name: 'slow idle',
    lines: [{ what, measured: `${writes.toFixed(1)} + ${reads.toFixed(1)}` }],
    figures: { writes, reads },
  };
}

async function startFleet(
  run: Run,
  stores: StoreServers,
  database: Child<SlowDatabaseCommands>,
  {
    name,
    fronts: frontCount,
    workers: workerCount,
  }: { readonly name: string; readonly fronts: number; readonly workers: number },
): Promise<SlowFleet> {
  const [frontFolder = '', workerFolder = ''] = await stores.newInstallations(run, [
    { name: `${name}-fronts`, mongoUrl: await openLink(database, linkOf({ name }, 'fronts')) },
    { name: `${name}-workers`, mongoUrl: await openLink(database, linkOf({ name }, 'workers')) },
  ]);
  const [fronts, workers]: [Subject[], Subject['child'][]] = [[], []];
  while (fronts.length < frontCount) fronts.push(await run.startSubject(frontFolder));
  if (workerCount > 0) copyFileSync(join(frontFolder, 'secret'), join(workerFolder, 'secret'));
  while (workers.length < workerCount) {
    const { child } = await run.startSubject(workerFolder);
    await child.ask('startWorker', undefined);
    workers.push(child);
  }
  return { name, database, fronts, workers, stores };
}

async function stopFleet({ fronts, workers }: SlowFleet): Promise<void> {
  await Promise.all([...fronts.map(({ child }) => child), ...workers].map((child) => child.stop()));
}

async function openLink(database: Child<SlowDatabaseCommands>, link: string): Promise<string> {
  return `mongodb://127.0.0.1:${await database.ask('open', { link })}/?directConnection=true`;
}

/** Made without the delay, and used once each: the first use of a key in a day is written down. */
async function secretsOf(run: Run, { fronts, database }: SlowFleet, count: number): Promise<readonly string[]> {
  const [front] = fronts as readonly [Subject];
  await database.ask('slow', { delayMs: 0 });
  const credentials = await front.child.ask('createCredentials', { count });
  for (const { secret } of credentials) await run.load.ask('get', { port: front.port, kind: creditsRequests(secret) });
  await database.ask('slow', { delayMs: DELAY_MS });
  return credentials.map(({ secret }) => secret);
}

/** A slice that does not count. */
async function warmUp(run: Run, of: SlowCase | undefined): Promise<void> {
  if (of !== undefined) await new SlowSide(run, of).showMore();
}

function answered(marks: readonly Mark[]): Promise<ReadonlyMap<string, number>> {
  return Promise.resolve(new Map(marks.map(({ generationId, answeredAtMicros }) => [generationId, answeredAtMicros])));
}

async function settled(fleet: SlowFleet, marks: readonly Mark[]): Promise<ReadonlyMap<string, number>> {
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
