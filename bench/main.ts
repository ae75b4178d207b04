import { rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createBenchFolder, measureSync, type SyncTimes } from './disk.js';
import { micros, type Row, table } from './report.js';
import { measureCommits } from './rows/commits.js';
import { measureConnections } from './rows/connections.js';
import { measureDistributed } from './rows/distributed.js';
import { measureGateways } from './rows/gateways.js';
import { measureGrowth } from './rows/growth.js';
import { measureGrpc } from './rows/grpc.js';
import { measureMetrics } from './rows/metrics.js';
import { measureOpenAi } from './rows/openai.js';
import { measureHistory } from './rows/history.js';
import { measurePostgres } from './rows/postgres.js';
import { measureProviders } from './rows/providers.js';
import { measureRequests } from './rows/requests.js';
import { measureSlow } from './rows/slow.js';
import { measureUsage } from './rows/usage.js';
import { measureVersions } from './rows/versions.js';
import { measureWaiters } from './rows/waiters.js';
import { measureWebhooks } from './rows/webhooks.js';
import { measureWork } from './rows/work.js';
import { FULL, QUICK, Run } from './run.js';

const CHECKOUT = fileURLToPath(new URL('../../', import.meta.url));
const PARTS = {
  requests: measureRequests,
  openai: measureOpenAi,
  grpc: measureGrpc,
  commits: measureCommits,
  work: measureWork,
  providers: measureProviders,
  metrics: measureMetrics,
  growth: measureGrowth,
  usage: measureUsage,
  waiters: measureWaiters,
  connections: measureConnections,
  webhooks: measureWebhooks,
  distributed: measureDistributed,
  slow: measureSlow,
  postgres: measurePostgres,
  history: measureHistory,
  gateways: measureGateways,
  versions: measureVersions,
};
/** Parts that take so much time and space that a run without `--only` leaves them out. */
const ONLY_NAMED = new Set(['history']);
const USAGE = `Usage: npm run bench -- [--quick] [--only ${Object.keys(PARTS).join('|')}]... [--profile FOLDER]
       [--beside CHECKOUT]   a built checkout of another version, for the part versions`;

interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly node: string;
  readonly loadAverage: number;
  readonly folder: string;
  readonly sync: SyncTimes;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean' },
      only: { type: 'string', multiple: true },
      profile: { type: 'string' },
      beside: { type: 'string' },
    },
  });
  const unknown = values.only?.find((part) => !(part in PARTS));
  if (unknown !== undefined) throw new Error(`There is no part ${unknown}.`);
  const folder = createBenchFolder(CHECKOUT);
  const machine = describeMachine(folder);
  console.log(machineText(machine));
  const run = new Run(
    values.quick === true ? QUICK : FULL,
    folder,
    values.profile,
    values.beside === undefined ? undefined : resolve(values.beside),
  );
  const rows: Row[] = [];
  try {
    for (const [name, measure] of Object.entries(PARTS)) {
      if (values.only !== undefined && !values.only.includes(name)) continue;
      if (name === 'versions' && values.beside === undefined) continue;
      if (values.only === undefined && ONLY_NAMED.has(name)) continue;
      console.log(`measuring: ${name}`);
      rows.push(...(await measure(run)));
    }
  } finally {
    // Reports what was measured before an error.
    report(machine, run, rows);
    await run.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function report(machine: Machine, { sizes }: Run, rows: readonly Row[]): void {
  if (rows.length === 0) return;
  console.log(`\n${table(rows)}`);
  const results = { machine, sizes, rows: Object.fromEntries(rows.map(({ name, figures }) => [name, figures])) };
  writeFileSync(`${CHECKOUT}/bench/results.json`, `${JSON.stringify(results, null, 2)}\n`);
}

function describeMachine(folder: string): Machine {
  const processors = cpus();
  return {
    processor: processors[0]?.model ?? 'unknown',
    cores: processors.length,
    memoryBytes: totalmem(),
    node: process.version,
    loadAverage: loadavg()[0] ?? 0,
    folder,
    sync: measureSync(folder),
  };
}

function machineText({ processor, cores, node, loadAverage, folder, sync }: Machine): string {
  return [
    `${cores} × ${processor}, Node ${node}, load ${loadAverage.toFixed(1)} before the run`,
    `data in ${folder}; write + fdatasync of 512 bytes: median ${micros(sync.medianMicros)}, p99 ${micros(sync.p99Micros)}`,
  ].join('\n');
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  console.error(USAGE);
  process.exitCode = 1;
}
