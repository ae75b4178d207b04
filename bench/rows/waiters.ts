import { setTimeout as sleep } from 'node:timers/promises';
import type { Woken } from '../load/waiters.js';
import { megabytes, type Row, whole } from '../report.js';
import type { Run } from '../run.js';
import { createRequests } from '../servers/sample.js';
import { StoreServers } from '../servers/store-servers.js';
import { withServers } from './distributed.js';

const AIM_BYTES = 50_000_000;
/** For memory that goes by itself to go. */
const REST_MS = 2_000;
/** How many waits for another process end, one after the other: within the minute that a wait may last. */
const WAKES = 100;

/** Clients that wait for the ends of their generations: what they cost while nothing happens, and how soon they know. */
export async function measureWaiters(run: Run): Promise<Row[]> {
  return [...(await measureInOneProcess(run)), ...(await withServers('waiters', () => measureAcross(run)))];
}

async function measureInOneProcess(run: Run): Promise<Row[]> {
  const { load, sizes } = run;
  const subject = await run.startSubject(run.newFolder('waiters'));
  const { port, child } = subject;
  const { secret: credential } = await child.ask('createCredential', undefined);
  const { marks } = await load.ask('run', {
    port,
    kind: createRequests(credential),
    connections: sizes.connections,
    durationMs: 120_000,
    maxRequests: sizes.waiters,
    isMarked: true,
  });
  const generationIds = marks.map(({ generationId }) => generationId);
  const settled = async () => {
    await child.ask('collectGarbage', undefined);
    await sleep(REST_MS);
    return child.ask('usage', undefined);
  };
  const before = await settled();
  await load.ask('openConnections', { port, credential, generationIds });
  const idle = await settled();
  await load.ask('wait', { credential, generationIds });
  const waiting = await settled();
  await sleep(REST_MS);
  const later = await child.ask('usage', undefined);
  const woken = await load.ask('wake', { port, credential, count: Math.min(500, generationIds.length) });
  await child.stop();
  const bytes = waiting.rssBytes - idle.rssBytes;
  const count = generationIds.length;
  return [
    {
      name: 'waiters',
      lines: [
        {
          what: `memory (RSS) of ${whole(count)} clients that wait, above that of idle connections`,
          measured: megabytes(bytes),
          ...(count >= 5_000 ? { aim: '< 50 MB', isMet: bytes < AIM_BYTES } : {}),
        },
        {
          what: `memory (RSS) of ${whole(count)} idle connections on which one request was sent`,
          measured: megabytes(idle.rssBytes - before.rssBytes),
        },
        {
          what: `CPU of ${whole(count)} clients that wait, a second`,
          measured: `${((later.cpuMicros - waiting.cpuMicros) / 1_000 / (REST_MS / 1_000)).toFixed(1)} ms`,
        },
        {
          what: 'from a cancel to the answer of who waits, and to its own, p50 and p99',
          measured: timesText(woken.wakeMicros),
          control: timesText(woken.cancelMicros),
        },
      ],
      figures: { count, before, idle, waiting, later, woken },
    },
  ];
}

function timesText({ p50, p99 }: Woken['wakeMicros']): string {
  return `${(p50 / 1_000).toFixed(1)} ms, ${(p99 / 1_000).toFixed(1)} ms`;
}

/** Clients that wait at one process over MongoDB for what another one ends: told by the database, and by reading alone. */
async function measureAcross(run: Run): Promise<Row[]> {
  const stores = await StoreServers.start(run);
  const told = await wakesAcross(run, stores);
  const polled = await wakesAcross(run, stores, 'polling');
  await stores.stop();
  return [
    {
      name: 'waiters across processes',
      lines: [
        {
          what: 'the same at another process over MongoDB, and with polling alone, p50 and p99',
          measured: timesText(told.wakeMicros),
          control: timesText(polled.wakeMicros),
        },
        { what: '… its own answer', measured: timesText(told.cancelMicros), control: timesText(polled.cancelMicros) },
      ],
      figures: { told, polled },
    },
  ];
}

async function wakesAcross(run: Run, stores: StoreServers, ...modes: readonly 'polling'[]): Promise<Woken> {
  const { load } = run;
  const folder = await stores.newInstallation(run, 'waiters');
  const [ending, waiting] = [await run.startSubject(folder), await run.startSubject(folder, ...modes)];
  const { secret: credential } = await ending.child.ask('createCredential', undefined);
  const { marks } = await load.ask('run', {
    port: ending.port,
    kind: createRequests(credential),
    connections: 8,
    durationMs: 120_000,
    maxRequests: WAKES,
    isMarked: true,
  });
  const generationIds = marks.map(({ generationId }) => generationId);
  await load.ask('openConnections', { port: waiting.port, credential, generationIds });
  await load.ask('wait', { credential, generationIds });
  await sleep(REST_MS);
  const woken = await load.ask('wake', { port: ending.port, credential, count: generationIds.length });
  await Promise.all([ending.child.stop(), waiting.child.stop()]);
  return woken;
}
