/** `npm run test:soak`: the installation of the fault rounds on PostgreSQL for hours, at a low rate, with a fault now and then. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createKey } from '../../core/access/manage.js';
import { newOwner } from '../fixtures/memory-stores.js';
import { residentBytes } from '../fixtures/resident-memory.js';
import { CliProcess } from '../harness/cli-run.js';
import { queryOnce } from '../servers/postgres-client.js';
import { runProgram, readOptions, wholeNumber } from '../simulation/command-line.js';
import { DATABASE } from './harness/databases.js';
import { Installation } from './harness/installation.js';
import { perform } from './rounds/perform.js';
import { type Action, REST } from './rounds/schedule.js';

const USAGE = `Runs two REST processes and three workers over PostgreSQL with two replicas, MinIO and Agenda for a long time, with a constant load
and one fault at a time, and reports the memory of the processes and the sizes of the tables. Then all that was acknowledged must
have ended and been charged once.

  --minutes N      how long (120)
  --every N        minutes from one fault to the next (10)
  --per-minute N   creates in a minute (120)
`;
const OPTIONS = {
  'minutes': { type: 'string' },
  'every': { type: 'string' },
  'per-minute': { type: 'string' },
} as const;

const MIB = 2 ** 20;
const MINUTE_MS = 60_000;
const GRANTED = 100_000_000;
const RETRY_MS = 500;
/** How long open generations may take to end after the load. */
const DRAIN_MS = 4 * MINUTE_MS;
/** Memory, and bytes of a table for each generation, are at most this many times as large in the last third as in the one before. */
const MAX_GROWTH = 1.3;
/** Smaller tables are a few pages, whose number says nothing. */
const MIN_TABLE_BYTES = 4 * MIB;
/** Tables with fewer updates say nothing about autovacuum. */
const MIN_UPDATES = 1_000;
/** These are never killed, so that their memory can be compared. */
const LASTING = ['rest-1', 'worker-1', 'worker-3'] as const;

/** In turn, each with the seconds until it is undone. */
const FAULTS: readonly (readonly [action: Action, seconds: number])[] = [
  [{ to: 'cluster', does: 'fail over, killed', targets: ['primary'] }, 30],
  [{ to: 'processes', does: 'SIGKILL', targets: ['rest-2', 'worker-2'] }, 10],
  [{ to: 'cluster', does: 'freeze', targets: ['a replica'] }, 60],
  [{ to: 'cluster', does: 'fail over, frozen', targets: ['primary'] }, 30],
  [{ to: 'cluster', does: 'kill', targets: ['a replica'] }, 60],
  [{ to: 'processes', does: 'SIGTERM', targets: ['rest-2', 'worker-2'] }, 5],
  [{ to: 'cluster', does: 'exhaust', targets: ['primary'] }, 20],
  [{ to: 'cluster', does: 'cut off', targets: ['replicas'] }, 20],
];

interface Sample {
  readonly minute: number;
  readonly generations: number;
  /** Resident MiB of each process that lasts. */
  readonly memory: readonly number[];
  readonly tables: ReadonlyMap<string, number>;
}

interface Churn {
  readonly name: string;
  readonly updates: number;
  readonly hot: number;
  readonly live: number;
  readonly dead: number;
  readonly vacuums: number;
}

/** Creates at a constant rate, each at either REST process, until one of them accepts it. */
class Load {
  private readonly accepted = new Map<string, string>();
  private readonly refused: string[] = [];
  private isOn = true;
  private open = 0;
  retried = 0;

  constructor(
    private readonly installation: Installation,
    private readonly owner: { readonly accountId: string; readonly secret: string },
    private readonly perMinute: number,
  ) {}

  get acknowledged(): number {
    return this.accepted.size;
  }

  async run(): Promise<void> {
    while (this.isOn) {
      this.open += 1;
      void this.create().finally(() => (this.open -= 1));
      await sleep(MINUTE_MS / this.perMinute);
    }
    while (this.open > 0) await sleep(RETRY_MS);
  }

  stop(): void {
    this.isOn = false;
  }

  private async create(): Promise<void> {
    const key = randomUUID();
    for (let tries = 0; ; tries += 1) {
      const answer = await this.send(REST[tries % REST.length] ?? 'rest-1', key).catch(() => undefined);
      if (answer?.id !== undefined) return void this.accepted.set(key, answer.id);
      if (answer !== undefined && answer.status < 500 && answer.code !== 'IDEMPOTENCY_IN_PROGRESS')
        return void this.refused.push(`${key} was refused with ${answer.status}`);
      this.retried += 1;
      await sleep(RETRY_MS);
    }
  }

  private async send(
    rest: (typeof REST)[number],
    key: string,
  ): Promise<{ readonly status: number; readonly code: string; readonly id?: string }> {
    const response = await fetch(`${this.installation.urls[rest]}/api/v1/developer/generations`, {
      method: 'POST',
      headers: {
        'authorization': `Bearer ${this.owner.secret}`,
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      body: JSON.stringify({
        model_key: 'sandbox-test',
        operation: 'image_generation',
        prompt: `soak ${key}`,
        parameters: { size: '128x128' },
      }),
      signal: AbortSignal.timeout(10_000),
    });
    const { code, data } = (await response.json()) as { code: string; data?: { generation_id?: string } };
    const id = data?.generation_id;
    return { status: response.status, code, ...(id === undefined ? {} : { id }) };
  }

  /** Waits until everything has ended, and compares what was acknowledged with what is stored and charged. */
  async findings(): Promise<string[]> {
    const { context } = this.installation.operator;
    const until = Date.now() + DRAIN_MS;
    const left = new Set(this.accepted.values());
    const findings = [...this.refused];
    if (left.size !== this.accepted.size) findings.push('Two keys have one generation.');
    let charged = 0;
    while (left.size > 0 && Date.now() < until) {
      for (const id of left) {
        const record = await context.generations.read(id);
        if (record?.kind !== 'generation') findings.push(`${id} was acknowledged, and is lost.`);
        else if (record.settledAt === undefined) continue;
        else charged += record.chargedCredits;
        left.delete(id);
      }
      if (left.size > 0) await sleep(RETRY_MS);
    }
    if (left.size > 0) findings.push(`${left.size} generations have not ended, such as ${[...left][0]}.`);
    const account = await context.accounts.read(this.owner.accountId);
    if (account?.spent !== charged)
      findings.push(`${account?.spent} credits were charged for generations of ${charged}.`);
    if (account?.holds.size !== 0) findings.push(`${account?.holds.size} holds are still open.`);
    return findings;
  }
}

async function soak(
  installation: Installation,
  load: Load,
  { minutes, everyMinutes }: { readonly minutes: number; readonly everyMinutes: number },
): Promise<Sample[]> {
  const samples: Sample[] = [];
  const running = load.run();
  console.log(`minute  generations  ${LASTING.join(' ')} (MiB)  database (MiB)  bytes of a generation`);
  for (let minute = 1; minute <= minutes; minute += 1) {
    const startedAt = Date.now();
    const number = minute / everyMinutes - 1;
    const isFaulty = Number.isInteger(number) && minute < minutes;
    if (isFaulty) await suffer(installation, number);
    await sleep(Math.max(0, startedAt + MINUTE_MS - Date.now()));
    // A faulty minute may have no primary to read from.
    if (isFaulty) continue;
    const sample = await sampleOf(installation, minute);
    const bytes = total(sample);
    console.log(
      `${minute}  ${sample.generations}  ${sample.memory.join(' ')}  ${(bytes / MIB).toFixed(1)}  ${Math.round(bytes / sample.generations)}`,
    );
    samples.push(sample);
  }
  load.stop();
  await running;
  return samples;
}

async function suffer(installation: Installation, number: number): Promise<void> {
  const [action, seconds] = FAULTS[number % FAULTS.length] ?? [];
  if (action === undefined || seconds === undefined) return;
  console.log(`${action.to}: ${'does' in action ? action.does : ''} ${action.targets.join(', ')} for ${seconds} s`);
  const performed = await perform(installation, action, (ms) => sleep(ms));
  await sleep(seconds * 1_000);
  await performed.undo();
}

function urlOf(installation: Installation): string {
  const url = new URL(installation.clusterInUse.cluster.urlOf());
  url.pathname = DATABASE;
  return url.href;
}

/**
 * Prints what updates did to the tables of the present primary since it began to serve: which of them changed no index (HOT), and
 * what autovacuum has not removed yet.
 */
async function printChurn(installation: Installation): Promise<void> {
  const rows = await queryOnce(
    urlOf(installation),
    `SELECT relname AS name, n_tup_upd::float8 AS updates, n_tup_hot_upd::float8 AS hot, n_live_tup::float8 AS live,
       n_dead_tup::float8 AS dead, autovacuum_count::float8 AS vacuums
     FROM pg_stat_user_tables WHERE n_tup_upd > ${MIN_UPDATES} ORDER BY n_tup_upd DESC`,
  );
  for (const { name, updates, hot, live, dead, vacuums } of rows as unknown as readonly Churn[])
    console.log(
      `${name}: ${updates} updates, ${Math.round((100 * hot) / updates)} % without an index; ${live} rows and ${dead} dead ones; ${vacuums} autovacuums`,
    );
}

async function sampleOf(installation: Installation, minute: number): Promise<Sample> {
  const url = urlOf(installation);
  const rows = await queryOnce(
    url,
    `SELECT relname AS name, pg_total_relation_size(oid)::float8 AS bytes FROM pg_class
     WHERE relkind = 'r' AND relnamespace = 'darkroom'::regnamespace`,
  );
  const [counted] = await queryOnce(url, 'SELECT count(*)::int4 AS generations FROM darkroom.generations');
  return {
    minute,
    generations: counted?.['generations'] as number,
    memory: LASTING.map((name) => Math.round(residentBytes(installation.process(name).pid ?? 0) / MIB)),
    tables: new Map(rows.map(({ name, bytes }) => [String(name), bytes as number])),
  };
}

function total({ tables }: Sample): number {
  return [...tables.values()].reduce((sum, bytes) => sum + bytes, 0);
}

/** Compares the last third of the samples with the third before. Returns a sentence for each measure that has grown too much. */
function grown(samples: readonly Sample[]): string[] {
  const third = Math.floor(samples.length / 3);
  const [before, after] = [samples.slice(third, 2 * third), samples.slice(2 * third)];
  const last = after.at(-1);
  if (third < 3 || last === undefined) return [];
  const measures = [
    ...LASTING.map((name, index) => ({
      name: `the memory of ${name}`,
      of: ({ memory }: Sample) => memory[index] ?? NaN,
    })),
    ...[...last.tables]
      .filter(([, bytes]) => bytes >= MIN_TABLE_BYTES)
      .map(([table]) => ({
        name: `each generation's part of the table ${table}`,
        of: ({ tables, generations }: Sample) => (tables.get(table) ?? 0) / generations,
      })),
  ];
  return measures.flatMap(({ name, of }) => {
    const ratio = median(after.map(of)) / median(before.map(of));
    console.log(`${name}: ${ratio.toFixed(2)} times that of the third before`);
    return ratio <= MAX_GROWTH ? [] : [`${name} has grown ${ratio.toFixed(2)} times.`];
  });
}

async function verified(folder: string): Promise<string[]> {
  const environment = { DARKROOM_CONFIG: join(folder, 'darkroom.yaml') };
  const { code, stdout, stderr } = await new CliProcess(folder, ['verify'], { environment }).ended;
  return code === 0 ? [] : [`darkroom verify ended with ${code}: ${stdout}${stderr}`];
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

await runProgram(USAGE, async () => {
  const options = readOptions(OPTIONS);
  const minutes = wholeNumber('minutes', options.minutes) ?? 120;
  const everyMinutes = wholeNumber('every', options.every) ?? 10;
  const perMinute = wholeNumber('per-minute', options['per-minute']) ?? 120;
  const logs = await mkdtemp(join(tmpdir(), 'darkroom-soak-'));
  const cluster = { replicas: 2, isSynchronous: true } as const;
  const installation = await Installation.open({ objects: 'minio', cluster, logs, name: `soak-${process.pid}` });
  try {
    await Promise.all(installation.processes.map((one) => one.ensureServing()));
    const { context } = installation.operator;
    const { accountId, appId } = await newOwner(context, 'soak', GRANTED);
    const { secret } = await createKey(context, { appId, name: 'soak' });
    const load = new Load(installation, { accountId, secret }, perMinute);
    const samples = await soak(installation, load, { minutes, everyMinutes });
    await printChurn(installation);
    const findings = [...grown(samples), ...(await load.findings()), ...(await verified(logs))];
    for (const { crashes } of installation.processes) findings.push(...crashes);
    for (const finding of findings) console.log(finding);
    console.log(
      `${load.acknowledged} creates acknowledged, ${load.retried} requests sent again, ${findings.length} findings`,
    );
    return findings.length === 0 ? 0 : 1;
  } finally {
    await installation.close();
    await rm(logs, { recursive: true, force: true });
  }
});

// At its natural end, Node would spin in the cleanup of its handles for ever.
process.exit();
