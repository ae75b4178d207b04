import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Child } from '../child.js';
import type { LoadCommands } from '../load/generator.js';
import { whole, type Row } from '../report.js';
import type { Run } from '../run.js';
import { createRequests, statusRequests } from '../servers/sample.js';
import { median } from '../statistics.js';
import type { Usage } from '../usage.js';

/** For memory that goes by itself to go. */
const REST_MS = 2_000;
/** Files that a process has open besides its connections. */
const OTHER_FILES = 500;
/** Requests before anything counts: memory for compiled code and caches is not that of connections. */
const WARM_UP = 3_000;

interface Measurable {
  readonly child: Child<{ usage(): Usage; collectGarbage(): void }>;
  readonly port: number;
}

/** What a connection takes on which one request was answered and nothing happens, in bytes of resident memory. */
export async function measureConnections(run: Run): Promise<Row[]> {
  const count = Math.min(run.sizes.idleConnections, openFilesAllowed() - OTHER_FILES);
  const ours: number[] = [];
  const bare: number[] = [];
  for (let round = 0; round < run.sizes.idleRounds; round += 1) {
    // Memory that a process has had before costs nothing when it is used again.
    const subject = await run.startSubject(run.newFolder('connections'));
    const control = await run.startControl();
    const { secret } = await subject.child.ask('createCredential', undefined);
    const { marks } = await run.load.ask('run', {
      port: subject.port,
      kind: createRequests(secret),
      connections: 1,
      durationMs: 30_000,
      maxRequests: 1,
      isMarked: true,
    });
    const [generationId = ''] = marks.map((mark) => mark.generationId);
    const json = await run.load.ask('get', { port: subject.port, kind: statusRequests(secret, [generationId]) });
    await control.child.ask('answerWith', { json });
    ours.push(await bytesEach(run, subject, { count, credential: secret, generationId }));
    bare.push(await bytesEach(run, control, { count, credential: secret, generationId }));
    await Promise.all([subject.child.stop(), control.child.stop()]);
  }
  const [measured, control] = [median(ours), median(bare)];
  return [
    {
      name: 'connections',
      lines: [
        {
          what: `memory (RSS) of each of ${whole(count)} idle connections`,
          measured: kilobytes(measured),
          control: kilobytes(control),
          ratio: (measured / control).toFixed(2),
        },
      ],
      figures: { count, ours, bare },
    },
  ];
}

async function bytesEach(
  run: Run,
  { child, port }: Measurable,
  {
    count,
    credential,
    generationId,
  }: { readonly count: number; readonly credential: string; readonly generationId: string },
): Promise<number> {
  await run.load.ask('run', {
    port,
    kind: statusRequests(credential, [generationId]),
    connections: run.sizes.connections,
    durationMs: run.sizes.warmUpMs,
    maxRequests: WARM_UP,
  });
  const settled = async () => {
    await child.ask('collectGarbage', undefined);
    await sleep(REST_MS);
    return (await child.ask('usage', undefined)).rssBytes;
  };
  // A process of its own: it has as many connections open as the server.
  const clients: Child<LoadCommands> = run.start('./load/generator.js');
  const half = Math.floor(count / 2);
  const openSome = () =>
    clients.ask('openConnections', {
      port,
      credential,
      generationIds: Array.from({ length: half }, () => generationId),
    });
  // The first half takes what the process has had of the system and does not use, and is not counted.
  await openSome();
  const before = await settled();
  await openSome();
  const after = await settled();
  await clients.ask('closeConnections', undefined);
  await clients.stop();
  return (after - before) / half;
}

/** How many files a process may have open; as many as one likes where the system does not say. */
function openFilesAllowed(): number {
  try {
    return Number(/^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Infinity);
  } catch {
    return Infinity;
  }
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1_000).toFixed(1)} KB`;
}
