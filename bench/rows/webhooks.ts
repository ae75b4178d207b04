import { setTimeout as sleep } from 'node:timers/promises';
import type { Child } from '../child.js';
import { comparisonOf, type Measured, measureInTurn, Side } from '../compare.js';
import { type Fleet, fleetUse, spentBetween } from '../fleet.js';
import { fleetLines, latencyLine, latencyPercentiles, type Row } from '../report.js';
import type { Run, Subject } from '../run.js';
import type { BarePostsCommands } from '../servers/bare-posts.js';
import type { Credential } from '../servers/program.js';
import { createRequests } from '../servers/sample.js';
import { StoreServers } from '../servers/store-servers.js';
import { HANGS, type WebhookReceiverCommands } from '../servers/webhook-receiver.js';
import { withServers } from './distributed.js';

const ACCOUNTS = 8;
/** The concurrency matches the limit of one process: 16 messages per account. */
const ENDPOINTS = 4;
const AT_ONCE = ACCOUNTS * ENDPOINTS * 4;
const UNIT = 'message';
const LONGEST_MS = 120_000;
const LOOK_EVERY_MS = 5;
const PACE_MS = 10;

type Receiver = Child<WebhookReceiverCommands>;

/** Processes whose deliveries are measured, and the credentials of the endpoints' owners. */
interface Delivering extends Fleet<Subject> {
  readonly front: Subject;
  readonly owners: readonly Credential[];
}

/**
 * Messages to a receiver on this machine: what each costs beside bare signed requests, how many there are a second, and
 * whether an endpoint that hangs delays another.
 */
export async function measureWebhooks(run: Run): Promise<Row[]> {
  const receiver: Receiver = run.start('./servers/webhook-receiver.js');
  const url = `http://127.0.0.1:${await receiver.ask('listen', undefined)}`;
  const embedded = await startEmbedded(run);
  const sides = await measureSides(run, { receiver, url, embedded });
  const latency = await measureHanging(run, { receiver, url });
  const distributed = await withServers('webhooks, MongoDB not SQLite', () =>
    measureDistributed(run, { receiver, url, embedded }),
  );
  await Promise.all([embedded.front.child.stop(), receiver.stop()]);
  return [...sides, ...latency, ...distributed];
}

interface Measuring {
  readonly receiver: Receiver;
  readonly url: string;
  readonly embedded: Delivering;
}

async function startEmbedded(run: Run): Promise<Delivering> {
  const front = await run.startSubject(run.newFolder('webhooks'));
  await front.child.ask('startWorker', undefined);
  return { front, fronts: [front], owners: await front.child.ask('createCredentials', { count: ACCOUNTS }) };
}

/** The program beside a process that signs and posts the same body. */
async function measureSides(run: Run, { receiver, url, embedded }: Measuring): Promise<Row[]> {
  const urls = await prepare(run, embedded, { receiver, url });
  const body = await receiver.ask('sample', undefined);
  const control: Child<BarePostsCommands> = run.start('./servers/bare-posts.js');
  const count = run.sizes.burst * ENDPOINTS;
  const measures = [
    () => deliver(embedded, receiver),
    () => post(control, { urls, body, count, atOnce: AT_ONCE }),
  ] as const;
  for (const measure of measures) await measure();
  const [ours, bare] = [new Side(measures[0]), new Side(measures[1])];
  await measureInTurn([ours, bare], run.sizes.rounds);
  await control.stop();
  const comparison = comparisonOf(ours, bare);
  const [cpu, , rate] = fleetLines('webhooks', comparison, UNIT);
  return [{ name: 'webhooks', lines: [cpu, rate].flatMap((line) => line ?? []), figures: comparison }];
}

/** A REST process and a worker over MongoDB, beside one process with SQLite in it. */
async function measureDistributed(run: Run, { receiver, url, embedded }: Measuring): Promise<Row[]> {
  const stores = await StoreServers.start(run);
  const folder = await stores.newInstallation(run, 'webhooks');
  const front = await run.startSubject(folder);
  const { child } = await run.startSubject(folder);
  await child.ask('startWorker', undefined);
  const owners = await front.child.ask('createCredentials', { count: ACCOUNTS });
  const fleet: Delivering = { front, fronts: [front], workers: [child], stores, owners };
  await prepare(run, fleet, { receiver, url });
  await deliver(fleet, receiver);
  const [subject, control] = [new Side(() => deliver(fleet, receiver)), new Side(() => deliver(embedded, receiver))];
  await measureInTurn([subject, control], Math.ceil(run.sizes.rounds / 2));
  await Promise.all([front.child, child].map((one) => one.stop()));
  await stores.stop();
  const comparison = comparisonOf(subject, control);
  return [
    {
      name: 'webhooks, distributed',
      lines: fleetLines('webhooks, MongoDB not SQLite', comparison, UNIT),
      figures: comparison,
    },
  ];
}

/** Generations whose ends were delivered to every endpoint, so that all of them can be replayed; returns the URLs. */
async function prepare(
  { load, sizes }: Run,
  { front, owners }: Delivering,
  { receiver, url }: Omit<Measuring, 'embedded'>,
): Promise<readonly string[]> {
  const urls = Array.from({ length: ENDPOINTS }, (_, index) => `${url}/${index}`);
  await front.child.ask('makeEndpoints', { owners, urls });
  const { count: before } = await receiver.ask('counts', undefined);
  const { requests } = await load.ask('run', {
    port: front.port,
    kind: createRequests(...owners.map(({ secret }) => secret)),
    connections: sizes.connections,
    durationMs: LONGEST_MS,
    maxRequests: sizes.burst,
  });
  await untilTaken(receiver, before + requests * ENDPOINTS);
  return urls;
}

/** Everything once more, from the replay until the last message has come. */
async function deliver(delivering: Delivering, receiver: Receiver): Promise<Measured> {
  const { front, owners } = delivering;
  const { count: taken } = await receiver.ask('counts', undefined);
  const before = await fleetUse(delivering);
  const beganAt = performance.now();
  const count = await front.child.ask('replay', { owners });
  await untilTaken(receiver, taken + count);
  const elapsedMs = performance.now() - beganAt;
  // The last responses still have to be stored.
  await sleep(LOOK_EVERY_MS);
  return { ...spentBetween(before, await fleetUse(delivering), count), perSecond: count / (elapsedMs / 1_000) };
}

async function post(
  control: Child<BarePostsCommands>,
  posting: Parameters<BarePostsCommands['post']>[0],
): Promise<Measured> {
  const before = await control.ask('usage', undefined);
  const { elapsedMs } = await control.ask('post', posting);
  const after = await control.ask('usage', undefined);
  return {
    cpuMicros: (after.cpuMicros - before.cpuMicros) / posting.count,
    perSecond: posting.count / (elapsedMs / 1_000),
  };
}

async function untilTaken(receiver: Receiver, wanted: number): Promise<void> {
  for (let waitedMs = 0; waitedMs < LONGEST_MS; waitedMs += LOOK_EVERY_MS) {
    if ((await receiver.ask('counts', undefined)).count >= wanted) return;
    await sleep(LOOK_EVERY_MS);
  }
  throw new Error('Messages were not delivered in time.');
}

/**
 * From a create to the message at a healthy endpoint, alone and while others hang, of the same App and of another.
 */
async function measureHanging(run: Run, { receiver, url }: Omit<Measuring, 'embedded'>): Promise<Row[]> {
  const front = await run.startSubject(run.newFolder('webhooks-hanging'));
  await front.child.ask('startWorker', undefined);
  const [own, other] = await front.child.ask('createCredentials', { count: 2 });
  if (own === undefined || other === undefined) return [];
  await front.child.ask('makeEndpoints', { owners: [own], urls: [`${url}/well`] });
  await timed(run, { receiver, front, owner: own });
  const alone = await timed(run, { receiver, front, owner: own });
  const hangs = (count: number) => Array.from({ length: count }, (_, index) => `${url}${HANGS}/${index}`);
  await front.child.ask('makeEndpoints', { owners: [own], urls: hangs(1) });
  await front.child.ask('makeEndpoints', { owners: [other], urls: hangs(10) });
  const { load, sizes } = run;
  await load.ask('run', {
    port: front.port,
    kind: createRequests(other.secret),
    connections: sizes.connections,
    durationMs: LONGEST_MS,
    maxRequests: sizes.burst,
  });
  const beside = await timed(run, { receiver, front, owner: own });
  await front.child.stop();
  return [
    {
      name: 'webhooks beside endpoints that hang',
      lines: [
        latencyLine('create sent → message taken, p50 and p99', alone),
        latencyLine('… while 11 other endpoints hang, p50 and p99', beside),
      ],
      figures: { aloneMicros: latencyPercentiles(alone), besideMicros: latencyPercentiles(beside) },
    },
  ];
}

/** Creates at a steady pace, and how long after each its message came. */
async function timed(
  { load, sizes }: Run,
  { receiver, front, owner }: { readonly receiver: Receiver; readonly front: Subject; readonly owner: Credential },
): Promise<number[]> {
  const { count: before } = await receiver.ask('counts', undefined);
  await receiver.ask('time', undefined);
  const { marks } = await load.ask('run', {
    port: front.port,
    kind: createRequests(owner.secret),
    connections: 1,
    maxRequests: sizes.pacedCreates,
    intervalMs: PACE_MS,
    durationMs: LONGEST_MS,
    isMarked: true,
  });
  await untilTaken(receiver, before + marks.length);
  const arrivals = new Map((await receiver.ask('arrivals', undefined)).map((one) => [one.generationId, one.atMicros]));
  return marks.map(({ generationId, sentAtMicros }) => (arrivals.get(generationId) ?? Number.NaN) - sentAtMicros);
}
