import { type Comparison, comparisonOf, measureServers, type Shown } from '../compare.js';
import type { PictureKind } from '../load/pictures.js';
import type { RequestKind } from '../load/requests.js';
import { comparisonLines, type Row } from '../report.js';
import type { Run, Subject } from '../run.js';
import type { ImageUpstreamCommands } from '../servers/image-upstream.js';
import { createPictures, deliveredPicture, PICTURE_MODEL, pictureRequest } from '../servers/picture-model.js';
import { createRequests, imagesRequests, statusRequests, waitingCreates } from '../servers/sample.js';
import { AT_ONCE, SIZE } from './gateways.js';
import { startPictures } from './picture-program.js';

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
    ...(await picturesOf(run)),
    { name: 'versions create', lines: comparisonLines('create, this not that', created, AIM), figures: created },
    { name: 'versions status', lines: comparisonLines('status, this not that', read, AIM), figures: read },
  ];
}

/** More pictures than those for which a new process takes more and more quickly less CPU. */
const WARM_UP_PICTURES = 10_000;

/** Pictures as in `gateways`, over both APIs, by both versions. */
async function picturesOf(run: Run): Promise<Row[]> {
  const upstream = run.start<ImageUpstreamCommands>('./servers/image-upstream.js');
  const baseUrl = `http://127.0.0.1:${await upstream.ask('listen', undefined)}/v1`;
  const base64 = await deliveredPicture(await upstream.ask('picture', { size: SIZE }));
  const model = { baseUrl, size: SIZE, atOnce: AT_ONCE };
  const ours = await startPictures(run, model);
  const theirs = await startPictures(run, model, async (folder) => run.startOther(folder));
  const rows: Row[] = [];
  for (const [name, kindFor] of Object.entries(PICTURES)) {
    const [subject, control] = [ours, theirs].map(({ working: { front, secrets } }) => ({
      server: front,
      kind: { ...kindFor(secrets[0] ?? ''), base64 },
    }));
    if (subject === undefined || control === undefined) continue;
    const sizes = {
      ...run.sizes,
      connections: AT_ONCE,
      sliceMs: run.sizes.sliceMs * 2,
      warmUpMs: 60_000,
      warmUpRequests: WARM_UP_PICTURES,
    };
    const figures = comparisonOf(...(await measureServers(run.load, [subject, control], sizes)));
    rows.push({ name: `versions ${name}`, lines: comparisonLines(`${name}, this not that`, figures, AIM), figures });
  }
  await Promise.all([ours, theirs].map(({ working }) => working.front.child.stop()));
  await upstream.stop();
  return rows;
}

const PICTURES: Readonly<Record<string, (secret: string) => Omit<PictureKind, 'base64'>>> = {
  'picture': (secret) => ({ request: waitingCreates(createPictures(SIZE, secret)), picture: 'at address' }),
  'picture over /v1': (secret) => ({
    request: imagesRequests({ ...pictureRequest(SIZE), model: PICTURE_MODEL }, secret),
    picture: 'in answer',
  }),
};

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
