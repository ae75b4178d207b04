import { totalmem } from 'node:os';
import { migrated } from '../../adapters/postgres/open-postgres.js';
import { freshPostgresDatabase } from '../../test/servers/fresh-places.js';
import { queryOnce } from '../../test/servers/postgres-client.js';
import { ServerProcess } from '../../test/servers/server-process.js';
import type { Child } from '../child.js';
import { comparisonOf, measureInTurn, Side } from '../compare.js';
import { megabytes, micros, ratioText, type Row, timesText, whole } from '../report.js';
import type { Run } from '../run.js';
import { fillHistory, type History, type HistoryReadName } from '../servers/postgres-history.js';
import type { WholeGenerationsCommands } from '../servers/whole-generations.js';
import { median } from '../statistics.js';
import { cpuMicrosOf } from '../usage.js';
import { withServers } from './distributed.js';
import { measuredOf } from './postgres.js';

const GENERATIONS_PER_ACCOUNT = 1_000;
/** Accounts that create generations while they are measured, on either side. */
const WRITING_ACCOUNTS = 100;
const CLIENTS = 4;
/** A slice is this many times as long as a slice of requests, because the database's CPU time is counted in hundredths of a second. */
const SLICES = 3;
const AIM = { text: '≤ 1.10', atMost: 1.1 };
const READS: readonly HistoryReadName[] = ['status', 'list', 'list by status', 'entries', 'search', 'recovery'];
const STARTS = 5;

/** A quarter of the memory is PostgreSQL's, as its manual recommends. */
const MEMORY = `shared_buffers = '${Math.floor(totalmem() / 4 / 2 ** 20)}MB'`;
const WHILE_FILLED = `${MEMORY}
fsync = off
full_page_writes = off
max_wal_size = '2GB'
autovacuum = off`;
const WHILE_MEASURED = `${MEMORY}
max_wal_size = '2GB'`;

interface Filled {
  readonly history: History;
  readonly url: string;
  readonly child: Child<WholeGenerationsCommands>;
}

/**
 * Measures the same statements on a database of many generations and on one of few, both on one PostgreSQL server, in turn: the
 * CPU of the server, and ours. Accounts grow with the generations.
 */
export async function measureHistory(run: Run): Promise<Row[]> {
  return withServers('history', async () => {
    const { fewHistory, manyHistory, pairs } = run.sizes;
    const server = run.keep(await ServerProcess.start('postgres-18', { lines: WHILE_MEASURED }));
    const few = await begun(run, server, fewHistory);
    const many = await begun(run, server, manyHistory);
    await server.configure(WHILE_FILLED);
    for (const { url, history } of [few, many]) await fillHistory(url, history, (line) => console.log(line));
    await server.configure(WHILE_MEASURED);
    await server.restart();
    for (const { child } of [few, many]) await child.ask('open', { count: 0 });
    const rows: Row[] = [await sizeRow(few, many)];
    for (const what of ['generation', ...READS] as const) {
      const sides = [many, few].map((one) => sideOf(run, server, one, what)) as [Side, Side];
      for (const one of [many, few]) await warmUp(run, one, what);
      await measureInTurn(sides, pairs);
      rows.push(growthRow(what, many, few, sides));
    }
    rows.push(await startRow(few, many));
    await Promise.all([few.child.stop(), many.child.stop()]);
    await server.stop();
    return rows;
  });
}

/** A database with a generation to be copied. */
async function begun(run: Run, server: ServerProcess, generations: number): Promise<Filled> {
  const { url } = await freshPostgresDatabase(server);
  await migrated({ url });
  const child = run.start<WholeGenerationsCommands>('./servers/whole-generations.js', [url, run.newFolder('recorded')]);
  await child.ask('open', { count: WRITING_ACCOUNTS });
  await child.ask('write', { clients: 1, durationMs: 100 });
  await child.ask('close', undefined);
  const accounts = Math.ceil(generations / GENERATIONS_PER_ACCOUNT);
  return { history: { accounts, generations, startsAt: Date.now() - generations }, url, child };
}

type Operation = 'generation' | HistoryReadName;

async function ask({ child, history }: Filled, what: Operation, durationMs: number) {
  return what === 'generation'
    ? child.ask('write', { clients: CLIENTS, durationMs })
    : child.ask('read', { what, history, clients: CLIENTS, durationMs });
}

/** Reads until most accounts were read, so that the server has their records in memory. */
async function warmUp(run: Run, one: Filled, what: Operation): Promise<void> {
  // Only these do not read a random account.
  const enough = what === 'generation' || what === 'recovery' ? 1 : 3 * one.history.accounts;
  for (let asked = 0; asked < enough;) asked += (await ask(one, what, run.sizes.sliceMs)).count;
}

function sideOf(run: Run, server: ServerProcess, one: Filled, what: Operation): Side {
  return new Side(async () => {
    const before = cpuMicrosOf(server.pid) ?? Number.NaN;
    const done = await ask(one, what, SLICES * run.sizes.sliceMs);
    return measuredOf(done, (cpuMicrosOf(server.pid) ?? Number.NaN) - before);
  });
}

function growthRow(what: string, many: Filled, few: Filled, [subject, control]: readonly [Side, Side]): Row {
  const compared = comparisonOf(subject, control);
  const database = comparisonOf(ofDatabase(subject), ofDatabase(control)).cpu;
  const name = `${what}, ${whole(many.history.generations)} generations in PostgreSQL, not ${whole(few.history.generations)}`;
  return {
    name: `growth of ${what}, PostgreSQL`,
    lines: [
      {
        what: `${name}: CPU of the database`,
        measured: micros(compared.subject.databaseCpuMicros ?? Number.NaN),
        control: micros(compared.control.databaseCpuMicros ?? Number.NaN),
        ratio: ratioText(database),
        aim: AIM.text,
        isMet: database.median <= AIM.atMost,
      },
      {
        what: `${name}: our CPU`,
        measured: micros(compared.subject.cpuMicros),
        control: micros(compared.control.cpuMicros),
        ratio: ratioText(compared.cpu),
        aim: AIM.text,
        isMet: compared.cpu.median <= AIM.atMost,
      },
      { what: `${name}: p50 and p99`, measured: timesText(compared.subject), control: timesText(compared.control) },
    ],
    figures: { ...compared, database },
  };
}

function ofDatabase({ shown }: Side): Pick<Side, 'shown'> {
  return { shown: shown.map((one) => ({ ...one, cpuMicros: one.databaseCpuMicros ?? Number.NaN })) };
}

const TABLES = `
  SELECT relname AS name, pg_total_relation_size(oid)::float8 AS bytes FROM pg_class
  WHERE relnamespace = 'darkroom'::regnamespace AND relkind = 'r' ORDER BY 2 DESC LIMIT 6`;

async function sizeRow(few: Filled, many: Filled): Promise<Row> {
  const tables = (await queryOnce(many.url, TABLES)) as readonly { readonly name: string; readonly bytes: number }[];
  const { generations } = many.history;
  const bytes = tables.reduce((sum, table) => sum + table.bytes, 0);
  const each = tables.map((table) => `${table.name} ${whole(table.bytes / generations)}`);
  return {
    name: 'size, PostgreSQL',
    lines: [
      { what: `size of ${whole(generations)} generations in PostgreSQL`, measured: megabytes(bytes) },
      { what: `bytes per generation: ${each.join(', ')}`, measured: whole(bytes / generations) },
    ],
    figures: { generations, tables, few: few.history.generations },
  };
}

/** How long a process needs until it is connected and has checked the schema. */
async function startRow(few: Filled, many: Filled): Promise<Row> {
  const times = { few: [] as number[], many: [] as number[] };
  for (let start = 0; start < STARTS; start += 1) {
    for (const [name, { child }] of [
      ['few', few],
      ['many', many],
    ] as const) {
      await child.ask('close', undefined);
      const beganAt = performance.now();
      await child.ask('open', { count: 0 });
      times[name].push(performance.now() - beganAt);
    }
  }
  return {
    name: 'start, PostgreSQL',
    lines: [
      {
        what: `connected to ${whole(many.history.generations)} generations in PostgreSQL, not ${whole(few.history.generations)}`,
        measured: micros(median(times.many) * 1_000),
        control: micros(median(times.few) * 1_000),
      },
    ],
    figures: times,
  };
}
