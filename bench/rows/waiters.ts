import { setTimeout as sleep } from 'node:timers/promises';
import { megabytes, whole, type Row } from '../report.js';
import type { Run } from '../run.js';
import { createRequests } from '../servers/sample.js';

const AIM_BYTES = 50_000_000;
/** For memory that goes by itself to go. */
const REST_MS = 2_000;

/** Clients that wait for the ends of their generations: what they cost while nothing happens, and how soon they know. */
export async function measureWaiters(run: Run): Promise<Row[]> {
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
  const ms = ({ p50, p99 }: { readonly p50: number; readonly p99: number }) =>
    `${(p50 / 1_000).toFixed(1)} ms, ${(p99 / 1_000).toFixed(1)} ms`;
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
          measured: ms(woken.wakeMicros),
          control: ms(woken.cancelMicros),
        },
      ],
      figures: { count, before, idle, waiting, later, woken },
    },
  ];
}
