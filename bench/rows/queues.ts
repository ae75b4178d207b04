import { freshDatabase } from '../../test/servers/fresh-places.js';
import { ServerAbsent } from '../../test/servers/server-absent.js';
import { comparisonOf, measureInTurn, Side, type Measured } from '../compare.js';
import { fleetUse, loadFleet, spentBetween } from '../fleet.js';
import { latencyLine, latencyPercentiles, fleetLines, type Row } from '../report.js';
import type { Run } from '../run.js';
import { BULLMQ } from '../queues/bullmq.js';
import { GRAPHILE_WORKER } from '../queues/graphile-worker.js';
import { startPostgres } from '../queues/postgres.js';
import { startRedis, type Syncing } from '../queues/redis.js';
import { createRequests } from '../servers/sample.js';
import type { Added, QueueChoice, QueueCommands } from '../servers/queue.js';
import { StoreServers } from '../servers/store-servers.js';
import { withServers } from './distributed.js';
import {
  burst,
  settledBy,
  startDistributed,
  startEmbedded,
  stopWorking,
  untilSettled,
  type Working,
} from './workers.js';

/** Slow enough that each job is finished before the next one is added. */
const PACE_MS = 100;
/** Agenda asks for jobs every five seconds: its jobs are to come at any time between two questions. */
const AGENDA_PACE_MS = 130;
const LONGEST_MS = 120_000;

/** Times on the machine's clock between what is named, in microseconds. */
interface Latencies {
  readonly fromSending: number[];
  readonly fromAnswer: number[];
}

/** Something that is given work and does it: at a pace, for the time until it begins; and as fast as it can. */
interface Contestant {
  readonly name: string;
  paced(count: number): Promise<Latencies>;
  burst(count: number): Promise<Measured>;
  stop(): Promise<unknown>;
}

/**
 * Creating a generation until its provider is called, beside adding a job until its function is; and how many of each a
 * second.
 */
export function measureQueues(run: Run): Promise<Row[]> {
  return withServers('queues', async () => {
    BULLMQ.need();
    const stores = await StoreServers.start(run);
    const contestants = [
      ours('ours, distributed', run, await startDistributed(run, stores, 1)),
      ours('ours, embedded', run, await startEmbedded(run, 'queue-embedded')),
      await bullMq(run, 'always'),
      await bullMq(run, 'everysec'),
      ...(await graphileWorker(run)),
      await agenda(run, stores),
    ];
    const { burst: burstSize, paced, rounds } = run.sizes;
    const entries = contestants.map((contestant) => {
      const latencies: Latencies = { fromSending: [], fromAnswer: [] };
      const side = new Side(async () => {
        const more = await contestant.paced(paced);
        latencies.fromSending.push(...more.fromSending);
        latencies.fromAnswer.push(...more.fromAnswer);
        return contestant.burst(burstSize);
      });
      return { name: contestant.name, side, latencies };
    });
    // The first ones pay for code that was never run before.
    for (const contestant of contestants) await contestant.burst(burstSize);
    await measureInTurn(
      entries.map(({ side }) => side),
      rounds,
    );
    for (const contestant of contestants) await contestant.stop();
    await stores.stop();
    return rowsOf(entries);
  });
}

interface Entry {
  readonly name: string;
  readonly side: Side;
  readonly latencies: Latencies;
}

function rowsOf(entries: readonly Entry[]): Row[] {
  const [distributed, embedded, ...queues] = entries;
  if (distributed === undefined || embedded === undefined) return [];
  return [
    ...entries.map(({ name, latencies: { fromSending, fromAnswer } }): Row => ({
      name: `begins: ${name}`,
      lines: [
        latencyLine(`${name}: sent → begins, p50 and p99`, fromSending),
        latencyLine(`${name}: answered → begins, p50 and p99`, fromAnswer),
      ],
      figures: { fromSendingMicros: latencyPercentiles(fromSending), fromAnswerMicros: latencyPercentiles(fromAnswer) },
    })),
    ...[distributed, embedded].flatMap((own) =>
      queues.map((queue): Row => {
        const comparison = comparisonOf(own.side, queue.side);
        return {
          name: `${own.name}, beside ${queue.name}`,
          lines: fleetLines(`${own.name}, beside ${queue.name}`, comparison, 'job'),
          figures: comparison,
        };
      }),
    ),
  ];
}

function ours(name: string, run: Run, working: Working): Contestant {
  const child = working.workers?.[0] ?? working.front.child;
  return {
    name,
    async paced(count) {
      const before = await settledBy(working);
      await child.ask('takeSubmissions', undefined);
      const kind = createRequests(...working.secrets);
      const { marks } = await loadFleet(run.load, working, {
        kind,
        connections: 1,
        maxRequests: count,
        intervalMs: PACE_MS,
        durationMs: LONGEST_MS,
        isMarked: true,
      });
      await untilSettled(working, before.count + marks.length);
      return latenciesOf(
        marks.map((mark) => ({ ...mark, id: mark.generationId })),
        new Map(await child.ask('takeSubmissions', undefined)),
      );
    },
    burst: (count) => burst(run, working, count),
    stop: () => stopWorking(working),
  };
}

async function bullMq(run: Run, syncing: Syncing): Promise<Contestant> {
  const { port, server } = await startRedis(run.newFolder(`redis-${syncing}`), syncing);
  run.keep(server);
  const choice = { kind: 'bullmq', port, concurrency: run.sizes.connections } as const;
  return queued(run, `BullMQ, appendfsync ${syncing}`, choice, {
    paceMs: PACE_MS,
    databaseUse: () => server.cpuMicros(),
  });
}

/** None where what it needs is absent: the others are measured. */
async function graphileWorker(run: Run): Promise<Contestant[]> {
  try {
    GRAPHILE_WORKER.need();
    const { url, server } = await startPostgres(run.newFolder('postgres'));
    run.keep(server);
    const choice = { kind: 'graphile-worker', url, concurrency: run.sizes.connections } as const;
    const settings = { paceMs: PACE_MS, databaseUse: () => server.cpuMicros() };
    return [await queued(run, 'graphile-worker', choice, settings)];
  } catch (error) {
    if (!(error instanceof ServerAbsent)) throw error;
    console.log(`not measured: graphile-worker: ${error.message}`);
    return [];
  }
}

async function agenda(run: Run, stores: StoreServers): Promise<Contestant> {
  const place = freshDatabase({ url: stores.mongoUrl });
  const choice = {
    kind: 'agenda',
    url: place.url,
    database: place.database,
    concurrency: run.sizes.connections,
  } as const;
  const contestant = await queued(run, 'Agenda, polling', choice, {
    paceMs: AGENDA_PACE_MS,
    databaseUse: () => stores.usage().database,
  });
  return { ...contestant, stop: () => contestant.stop().then(() => place.drop()) };
}

interface QueueSettings {
  readonly paceMs: number;
  readonly databaseUse: () => number | undefined;
}

/** A job queue in two processes: one adds, one works. */
async function queued(
  run: Run,
  name: string,
  choice: QueueChoice,
  { paceMs, databaseUse }: QueueSettings,
): Promise<Contestant> {
  const [adder, worker] = [0, 1].map(() => run.start<QueueCommands>('./servers/queue.js', [JSON.stringify(choice)]));
  if (adder === undefined || worker === undefined) throw new Error('Two processes were started.');
  await worker.ask('work', undefined);
  const use = async () => {
    const used = await fleetUse({ fronts: [], workers: [adder, worker] });
    return { ...used, servers: { database: databaseUse(), objects: undefined } };
  };
  return {
    name,
    async paced(count) {
      const added = await adder.ask('add', { count, atOnce: 1, intervalMs: paceMs });
      const { started } = await worker.ask('ended', { count });
      return latenciesOf(added, new Map(started));
    },
    async burst(count) {
      const before = await use();
      const added = await adder.ask('add', { count, atOnce: run.sizes.connections, intervalMs: 0 });
      const { atMicros } = await worker.ask('ended', { count });
      const after = await use();
      const beganAtMicros = Math.min(...added.map(({ sentAtMicros }) => sentAtMicros));
      return { ...spentBetween(before, after, count), perSecond: count / ((atMicros - beganAtMicros) / 1_000_000) };
    },
    stop: () => Promise.all([adder.stop(), worker.stop()]),
  };
}

function latenciesOf(given: readonly Added[], begunAtMicros: ReadonlyMap<string, number>): Latencies {
  const after = (of: 'sentAtMicros' | 'answeredAtMicros') =>
    given.map((one) => (begunAtMicros.get(one.id) ?? Number.NaN) - one[of]);
  return { fromSending: after('sentAtMicros'), fromAnswer: after('answeredAtMicros') };
}
