import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Child } from '../child.js';
import type { LoadCommands } from '../load/generator.js';
import { whole, type Line, type Row } from '../report.js';
import type { Run } from '../run.js';
import { createRequests, statusRequests } from '../servers/sample.js';
import { median } from '../statistics.js';
import type { Usage } from '../usage.js';

/** For memory that goes by itself to go. */
const REST_MS = 2_000;
/** Files that a process has open besides its connections. */
const OTHER_FILES = 500;
/**
 * Requests before the measurement, so that memory for compiled code and caches does not count as memory of
 * connections.
 */
const WARM_UP = 3_000;

interface Measurable {
  readonly child: Child<{ usage(): Usage; collectGarbage(): void }>;
  readonly port: number;
}

/** The number of requests that a client pipelines on a connection before it becomes idle. */
const PIPELINED = 8;

/**
 * The resident memory of an idle connection, in bytes: after one request was answered on it, and after several
 * pipelined requests.
 */
export async function measureConnections(run: Run): Promise<Row[]> {
  const count = Math.min(run.sizes.idleConnections, openFilesAllowed() - OTHER_FILES);
  const once = await measureSides(run, { count, pipelined: 1 });
  const pipelined = await measureSides(run, { count, pipelined: PIPELINED });
  return [
    {
      name: 'connections',
      lines: [
        lineOf(`memory (RSS) of each of ${whole(count)} idle connections`, once),
        lineOf(`… after ${PIPELINED} pipelined requests`, pipelined),
      ],
      figures: { count, ...once, pipelined },
    },
  ];
}

interface Asked {
  readonly count: number;
  /** Requests on each connection, all at once. */
  readonly pipelined: number;
}

async function measureSides(run: Run, { count, pipelined }: Asked): Promise<Sides> {
  const sides: Sides = { ours: [], bare: [] };
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
    const asked = { count, pipelined, credential: secret, generationId };
    sides.ours.push(await bytesEach(run, subject, asked));
    sides.bare.push(await bytesEach(run, control, asked));
    await Promise.all([subject.child.stop(), control.child.stop()]);
  }
  return sides;
}

/** Bytes a connection, one figure a round. */
interface Sides {
  readonly ours: number[];
  readonly bare: number[];
}

function lineOf(what: string, { ours, bare }: Sides): Line {
  const [measured, control] = [median(ours), median(bare)];
  return {
    what,
    measured: kilobytes(measured),
    control: kilobytes(control),
    ratio: (measured / control).toFixed(2),
  };
}

async function bytesEach(
  run: Run,
  { child, port }: Measurable,
  {
    count,
    pipelined,
    credential,
    generationId,
  }: Asked & { readonly credential: string; readonly generationId: string },
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
      pipelined,
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
