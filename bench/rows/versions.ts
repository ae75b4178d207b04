import { type Comparison, comparisonOf, measureServers, type Shown } from '../compare.js';
import type { RequestKind } from '../load/requests.js';
import { comparisonLines, type Row } from '../report.js';
import type { Run, Subject } from '../run.js';
import { createRequests, statusRequests } from '../servers/sample.js';

const AIM = { text: '≤ 1.03', atMost: 1.03 };
const STATUS_SAMPLES = 1_000;
const PAIRS_A_START = 4;

interface Version {
  readonly server: Subject;
  readonly secret: string;
  readonly create: RequestKind;
}

/**
 * Create and status of this build, each beside another version of the program over a store of its own. Two processes of
 * one build differ by up to a tenth, since the runtime compiles each differently: so both are started anew several times.
 */
export async function measureVersions(run: Run): Promise<Row[]> {
  const sizes = { ...run.sizes, pairs: PAIRS_A_START };
  const creating: Pair[] = [];
  const reading: Pair[] = [];
  for (let start = 0; start < run.sizes.restarts; start += 1) {
    const ours = await versionOf(await run.startSubject(run.newFolder('this')));
    const theirs = await versionOf(await run.startOther(run.newFolder('other')));
    const beside = async (kindOf: (version: Version) => Promise<RequestKind>) =>
      measureServers(
        run.load,
        [
          { server: ours.server, kind: await kindOf(ours) },
          { server: theirs.server, kind: await kindOf(theirs) },
        ],
        sizes,
      );
    creating.push(await beside(({ create }) => Promise.resolve(create)));
    reading.push(await beside((version) => statusOf(run, version)));
    await Promise.all([ours, theirs].map(({ server }) => server.child.stop()));
  }
  const [created, read] = [inAll(creating), inAll(reading)];
  return [
    { name: 'versions create', lines: comparisonLines('create, this not that', created, AIM), figures: created },
    { name: 'versions status', lines: comparisonLines('status, this not that', read, AIM), figures: read },
  ];
}

type Pair = readonly [ours: Shown, theirs: Shown];

function inAll(pairs: readonly Pair[]): Comparison {
  const shown = (side: 0 | 1): Shown => ({ shown: pairs.flatMap((pair) => pair[side].shown) });
  return comparisonOf(shown(0), shown(1));
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
