import { randomBytes } from 'node:crypto';
import { cpus } from 'node:os';
import type { Child } from '../child.js';
import { comparisonOf, type Measured, measureInTurn, middle, Side } from '../compare.js';
import type { GatewayServer } from '../gateways/gateway-server.js';
import { startLiteLlm } from '../gateways/litellm.js';
import { portkeyHeaders, startPortkey } from '../gateways/portkey.js';
import type { PictureKind } from '../load/pictures.js';
import { comparisonLines, micros, type Row, timesText, whole } from '../report.js';
import type { Run } from '../run.js';
import type { ImageUpstreamCommands } from '../servers/image-upstream.js';
import { createPictures, deliveredPicture, PICTURE_MODEL, pictureRequest } from '../servers/picture-model.js';
import { imagesRequests, waitingCreates } from '../servers/sample.js';
import { median } from '../statistics.js';
import { withServers } from './distributed.js';
import { startPictures } from './picture-program.js';

/** Concurrent requests. */
export const AT_ONCE = 32;
/** A picture of a few kilobytes, so that the measurement shows the work besides that on the picture. */
export const SIZE = '64x64';
/** Slices are longer than those of other rows, so that they have enough requests for the 99th percentile. */
const SLICES_AT_ONCE = 4;
const SLICES_ALONE = 2;

/** A server of pictures, which is the upstream server or gets them from it. */
interface Gateway {
  readonly name: string;
  readonly port: number;
  readonly kind: PictureKind;
  /** The CPU time of all its processes. */
  cpuMicros(): Promise<number | undefined>;
}

/** The two sides of one gateway: with the maximum concurrency, and with one request at a time. */
interface Contestant {
  readonly gateway: Gateway;
  readonly atOnce: Side;
  readonly alone: Side;
  /** How many pictures were received. */
  received: number;
}

/**
 * Pictures of a server with the Images API of OpenAI until a client has them: through the program over both its APIs, and
 * through LiteLLM's proxy with one worker and with one for each core and Portkey's gateway, beside asking that server itself.
 */
export function measureGateways(run: Run): Promise<Row[]> {
  return withServers('gateways', async () => {
    const upstream: Child<ImageUpstreamCommands> = run.start('./servers/image-upstream.js');
    const port = await upstream.ask('listen', undefined);
    const base64 = await upstream.ask('picture', { size: SIZE });
    const baseUrl = `http://127.0.0.1:${port}/v1`;

    const workers = [...new Set([1, cpus().length])];
    const proxies: Gateway[] = [];
    for (const count of workers) proxies.push(await startProxy(run, { baseUrl, base64, workers: count }));
    proxies.push(await startForwarder(run, { baseUrl, base64 }));
    const program = await startPictures(run, { baseUrl, size: SIZE, atOnce: AT_ONCE });
    const { front, secrets } = program.working;
    const [secret = ''] = secrets;
    const ownAs = (name: string, kind: Omit<PictureKind, 'base64'>): Gateway => ({
      name,
      port: front.port,
      kind: { ...kind, base64: delivered },
      cpuMicros: async () => (await front.child.ask('usage', undefined)).cpuMicros,
    });
    const delivered = await deliveredPicture(base64);
    const asked = { ...pictureRequest(SIZE), model: PICTURE_MODEL };
    const own = [
      ownAs('ours', { request: waitingCreates(createPictures(SIZE, secret)), picture: 'at address' }),
      ownAs('ours over /v1', { request: imagesRequests(asked, secret), picture: 'in answer' }),
    ].map((gateway) => contestantOf(run, gateway));
    const direct: Gateway = {
      name: 'the server itself',
      port,
      kind: { request: imagesRequests(pictureRequest(SIZE), ''), picture: 'in answer', base64 },
      cpuMicros: async () => (await upstream.ask('usage', undefined)).cpuMicros,
    };

    const [server, ...others] = [direct, ...proxies].map((gateway) => contestantOf(run, gateway));
    if (server === undefined) return [];
    const contestants = [server, ...own, ...others];
    for (const contestant of contestants) await warmUp(run, contestant);
    await measureInTurn(
      contestants.flatMap(({ atOnce, alone }) => [atOnce, alone]),
      run.sizes.rounds,
    );
    await program.checkDelivered(receivedBy(own));
    const received = receivedBy(contestants);
    const served = await upstream.ask('served', undefined);
    if (served !== received) throw new Error(`Of ${served} pictures that were made ${received} were received.`);
    await Promise.all([front.child.stop(), upstream.stop()]);
    return [directRow(server), ...own.flatMap((one) => others.map((proxy) => proxyRow(proxy, one, server)))];
  });
}

function receivedBy(contestants: readonly Contestant[]): number {
  return contestants.reduce((sum, { received }) => sum + received, 0);
}

async function startProxy(
  run: Run,
  { baseUrl, base64, workers }: { readonly baseUrl: string; readonly base64: string; readonly workers: number },
): Promise<Gateway> {
  const masterKey = `sk-${randomBytes(16).toString('hex')}`;
  const { port, server } = await startLiteLlm(run.newFolder(`litellm-${workers}`), { baseUrl, workers, masterKey });
  // It refuses a format for a model of another name than OpenAI's old ones, whose pictures always come in base64.
  const body = { ...pictureRequest(SIZE), model: PICTURE_MODEL, response_format: undefined };
  const name = `LiteLLM, ${workers === 1 ? '1 worker' : `${workers} workers`}`;
  return otherGateway(run, { port, server }, { name, request: imagesRequests(body, masterKey), base64 });
}

async function startForwarder(
  run: Run,
  { baseUrl, base64 }: { readonly baseUrl: string; readonly base64: string },
): Promise<Gateway> {
  const started = await startPortkey(run.newFolder('portkey'));
  // It passes the key of its clients on.
  const asked = imagesRequests({ ...pictureRequest(SIZE), model: PICTURE_MODEL }, 'unused');
  return otherGateway(run, started, {
    name: 'Portkey',
    request: { ...asked, headers: portkeyHeaders(baseUrl) },
    base64,
  });
}

function otherGateway(
  run: Run,
  { port, server }: GatewayServer,
  { name, ...kind }: Omit<PictureKind, 'picture'> & { readonly name: string },
): Gateway {
  run.keep(server);
  return {
    name,
    port,
    kind: { ...kind, picture: 'in answer' },
    cpuMicros: () => Promise.resolve(server.cpuMicros()),
  };
}

function contestantOf(run: Run, gateway: Gateway): Contestant {
  const contestant: Contestant = {
    gateway,
    received: 0,
    atOnce: new Side(() => ask(run, contestant, AT_ONCE, run.sizes.sliceMs * SLICES_AT_ONCE)),
    alone: new Side(() => ask(run, contestant, 1, run.sizes.sliceMs * SLICES_ALONE)),
  };
  return contestant;
}

async function warmUp(run: Run, contestant: Contestant): Promise<void> {
  await ask(run, contestant, AT_ONCE, run.sizes.warmUpMs, run.sizes.warmUpRequests);
}

async function ask(
  { load }: Run,
  contestant: Contestant,
  connections: number,
  durationMs: number,
  maxRequests?: number,
): Promise<Measured> {
  const { gateway } = contestant;
  const before = await gateway.cpuMicros();
  const done = await load.ask('run', {
    port: gateway.port,
    kind: gateway.kind,
    connections,
    durationMs,
    ...(maxRequests === undefined ? {} : { maxRequests }),
  });
  const after = await gateway.cpuMicros();
  contestant.received += done.requests;
  return {
    cpuMicros: ((after ?? Number.NaN) - (before ?? Number.NaN)) / done.requests,
    perSecond: done.requests / (done.elapsedMs / 1_000),
    senderCpuMicros: done.cpuMicros / done.requests,
    p50Micros: done.latencyMicros.p50,
    p99Micros: done.latencyMicros.p99,
  };
}

interface Added {
  readonly p50Micros: number;
  readonly p99Micros: number;
}

/** How much later a picture is here than from the server itself: the median of the differences within rounds. */
function addedBy({ shown }: Side, { shown: direct }: Side): Added {
  const added = (of: 'p50Micros' | 'p99Micros') =>
    median(shown.map((one, round) => (one[of] ?? Number.NaN) - (direct[round]?.[of] ?? Number.NaN)));
  return { p50Micros: added('p50Micros'), p99Micros: added('p99Micros') };
}

function directRow({ gateway, atOnce, alone }: Contestant): Row {
  const figures = { atOnce: middle(atOnce.shown), alone: middle(alone.shown) };
  const name = `gateways: ${gateway.name}`;
  return {
    name,
    lines: [
      { what: `${name}: CPU a request`, measured: micros(figures.atOnce.cpuMicros) },
      { what: `${name}: requests/s`, measured: whole(figures.atOnce.perSecond) },
      { what: `${name}: answered in, p50 and p99`, measured: timesText(figures.atOnce) },
      { what: `${name}: one at a time, p50 and p99`, measured: timesText(figures.alone) },
    ],
    figures,
  };
}

function proxyRow(proxy: Contestant, ours: Contestant, direct: Contestant): Row {
  const comparison = comparisonOf(ours.atOnce, proxy.atOnce);
  const added = (side: 'atOnce' | 'alone') => ({
    ours: addedBy(ours[side], direct[side]),
    proxy: addedBy(proxy[side], direct[side]),
  });
  const [atOnce, alone] = [added('atOnce'), added('alone')];
  const name = `${ours.gateway.name}, beside ${proxy.gateway.name}`;
  return {
    name,
    lines: [
      ...comparisonLines(name, comparison),
      { what: `${name}: added, p50 and p99`, measured: timesText(atOnce.ours), control: timesText(atOnce.proxy) },
      {
        what: `${name}: added one at a time, p50 and p99`,
        measured: timesText(alone.ours),
        control: timesText(alone.proxy),
      },
    ],
    figures: { ...comparison, addedMicros: { atOnce, alone } },
  };
}
