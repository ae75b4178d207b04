import { compareServers } from '../compare.js';
import type { RequestKind } from '../load/requests.js';
import { comparisonLines, type Row } from '../report.js';
import type { Run, Subject } from '../run.js';
import { createRequests, statusRequests } from '../servers/sample.js';

const AIM = { text: '≤ 1.03', atMost: 1.03 };
const STATUS_SAMPLES = 1_000;

interface Version {
  readonly server: Subject;
  readonly secret: string;
  readonly create: RequestKind;
}

/** Create and status of this build, each beside another version of the program over a store of its own. */
export async function measureVersions(run: Run): Promise<Row[]> {
  const sides = [
    await versionOf(await run.startSubject(run.newFolder('this'))),
    await versionOf(await run.startOther(run.newFolder('other'))),
  ] as const;
  const [ours, theirs] = sides;
  const creating = await compareServers(
    run.load,
    [
      { server: ours.server, kind: ours.create },
      { server: theirs.server, kind: theirs.create },
    ],
    run.sizes,
  );
  const reading = await compareServers(
    run.load,
    [
      { server: ours.server, kind: await statusOf(run, ours) },
      { server: theirs.server, kind: await statusOf(run, theirs) },
    ],
    run.sizes,
  );
  await Promise.all(sides.map(({ server }) => server.child.stop()));
  return [
    { name: 'versions create', lines: comparisonLines('create, this not that', creating, AIM), figures: creating },
    { name: 'versions status', lines: comparisonLines('status, this not that', reading, AIM), figures: reading },
  ];
}

async function versionOf(server: Subject): Promise<Version> {
  const { secret } = await server.child.ask('createCredential', undefined);
  return { server, secret, create: createRequests(secret) };
}

async function statusOf({ load, sizes }: Run, { server, secret, create }: Version): Promise<RequestKind> {
  const { marks } = await load.ask('run', {
    port: server.port,
    kind: create,
    connections: sizes.connections,
    durationMs: 30_000,
    maxRequests: STATUS_SAMPLES,
    isMarked: true,
  });
  return statusRequests(
    secret,
    marks.map(({ generationId }) => generationId),
  );
}
