import { expect } from 'chai';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { Listening } from '../../../../apps/http/host/server.js';
import { StoreUnavailable } from '../../../../core/errors.js';
import type { JsonObject } from '../../../../core/json.js';
import type { GenerationStore } from '../../../../core/ports/stores.js';
import { openServiceHarness, type ServiceHarness } from '../../../harness/service-harness.js';
import { PICTURE } from '../../vectors/vector.js';
import { exchange, parseAnswer, RawConnections } from './raw-socket.js';
import { BASE, RestHarness, type RunningServer, sendHttp, serve, toHttp } from './rest-client.js';
import { keptLog } from '../../../harness/kept-log.js';

// Goal: the server around the operations: health, readiness, stopping, rate limits, internal errors, caching, slow
// clients, and a log without secrets.
// Method: real servers on free ports; ports that fail on demand; a log kept in memory.

/** An event that one part of a test waits for and another part triggers. */
function signal(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

describe('the REST server', () => {
  const open: RestHarness[] = [];

  async function set(...of: Parameters<typeof RestHarness.open>): Promise<RestHarness> {
    const rest = await RestHarness.open(...of);
    open.push(rest);
    return rest;
  }

  afterEach(async () => {
    for (const rest of open.splice(0)) await rest.close();
  });

  it('reports healthy while it runs, and ready when its database is', async () => {
    let ready = true;
    const { origin } = await set({
      readiness: () => (ready ? Promise.resolve(true) : Promise.reject(new Error('away'))),
    });
    expect((await fetch(`${origin}/healthz`)).status).to.equal(200);
    expect((await fetch(`${origin}/readyz`)).status).to.equal(200);
    ready = false;
    const refused = await fetch(`${origin}/readyz`);
    expect(refused.status).to.equal(503);
    expect(((await refused.json()) as JsonObject)['code']).to.equal('SERVICE_UNAVAILABLE');
    expect((await fetch(`${origin}/healthz`)).status).to.equal(200);
  });

  it('checks the database once for all concurrent readiness requests', async () => {
    const arrived = signal();
    const readiness = signal();
    let asked = 0;
    const { origin } = await set({
      readiness: async () => {
        asked += 1;
        arrived.resolve();
        await readiness.promise;
        return true;
      },
    });
    const first = fetch(`${origin}/readyz`);
    await arrived.promise;
    const others = Array.from({ length: 20 }, () => fetch(`${origin}/readyz`));
    // The answer to a request that was sent after them: by then they have all arrived.
    await fetch(`${origin}/healthz`);
    readiness.resolve();
    const statuses = await Promise.all([first, ...others].map(async (answer) => (await answer).status));
    expect(new Set(statuses)).to.deep.equal(new Set([200]));
    expect(asked).to.be.below(others.length);
  });

  it('finishes the current request when it stops, accepts no other, and says so', async () => {
    const arrived = signal();
    const readiness = signal();
    const { origin, server } = await set({
      readiness: async () => {
        arrived.resolve();
        await readiness.promise;
        return true;
      },
    });
    const underWay = fetch(`${origin}/readyz`);
    await arrived.promise;
    const closed = server.close(60_000);
    readiness.resolve();
    const answer = await underWay;
    expect([answer.status, answer.headers.get('connection')]).to.deep.equal([200, 'close']);
    await closed;
    expect(
      await fetch(`${origin}/healthz`).then(
        () => 'answered',
        () => 'refused',
      ),
    ).to.equal('refused');
  });

  it('aborts what is still running when the grace is over', async () => {
    const arrived = signal();
    const { origin, server } = await set({
      readiness: () => {
        arrived.resolve();
        return new Promise<boolean>(() => undefined);
      },
    });
    const underWay = fetch(`${origin}/readyz`).then(
      () => 'answered',
      () => 'cut',
    );
    await arrived.promise;
    await server.close(20);
    expect(await underWay).to.equal('cut');
  });

  it('limits reads and writes of each credential separately', async () => {
    const { origin, fixture, credential } = await set({ limits: { readsPerMinute: 2, writesPerMinute: 1 } });
    const read = (as: string) => sendHttp(origin, { operation: 'getCredits', credential: as });
    expect((await read(credential)).headers.get('ratelimit')).to.match(/^"reads";r=1;t=\d+$/);
    expect((await read(credential)).headers.get('ratelimit-policy')).to.equal('"reads";q=2;w=60');
    const refused = await read(credential);
    expect([refused.status, refused.code]).to.deep.equal([429, 'RATE_LIMITED']);
    expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 60);
    expect(refused.headers.get('ratelimit')).to.match(/^"reads";r=0;t=\d+$/);
    expect((await read(fixture.secrets.get('stranger') as string)).code).to.equal('OK');
    const create = (key: string) => sendHttp(origin, { operation: 'createGeneration', credential, key, body: PICTURE });
    expect((await create('a')).code).to.equal('OK');
    expect((await create('b')).code).to.equal('RATE_LIMITED');
    expect((await sendHttp(origin, { operation: 'getCredits' })).code).to.equal('DEVELOPER_TOKEN_REQUIRED');
    expect(
      (
        await sendHttp(origin, {
          operation: 'getCredits',
          credential: fixture.secrets.get('only generations:read') as string,
        })
      ).headers.get('ratelimit'),
    ).to.be.a('string');
  });

  it('counts a request once more for every 16 KiB of its body, sent in chunks too, and a single one at most as the whole rate', async () => {
    const { origin, port, credential, fixture } = await set({ limits: { readsPerMinute: 20 } });
    const estimate = (bytes: number, as = credential, at = origin) =>
      sendHttp(at, {
        operation: 'estimateGeneration',
        credential: as,
        body: { ...PICTURE, prompt: 'x'.repeat(bytes) },
      });
    expect((await estimate(1)).headers.get('ratelimit')).to.match(/^"reads";r=19;/);
    const large = await estimate(40 * 1024);
    expect([large.code, large.headers.get('ratelimit-policy')]).to.deep.equal(['FIELD_INVALID', '"reads";q=20;w=60']);
    expect(large.headers.get('ratelimit')).to.match(/^"reads";r=16;/);
    const chunk = 'x'.repeat(33 * 1024);
    const chunked = parseAnswer(
      await exchange(
        port,
        `POST ${BASE}/generations/estimate HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${credential}\r\nContent-Type: application/json\r\n` +
          `Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n${chunk.length.toString(16)}\r\n${chunk}\r\n0\r\n\r\n`,
      ),
    );
    expect([chunked.status, chunked.headers.get('ratelimit')?.slice(0, 12)]).to.deep.equal([400, '"reads";r=13']);
    await estimate(120 * 1024);
    const refused = await estimate(120 * 1024);
    expect([refused.code, refused.headers.get('ratelimit')?.slice(0, 12)]).to.deep.equal([
      'RATE_LIMITED',
      '"reads";r=0;',
    ]);
    expect(refused.message).to.equal(
      'A credential may send 20 reads a minute, and this one counts as 8 for its size; wait for the time in Retry-After.',
    );
    const narrow = await serve((open[0] as RestHarness).harness, { limits: { readsPerMinute: 2 } });
    const stranger = fixture.secrets.get('stranger') as string;
    expect((await estimate(120 * 1024, stranger, narrow.origin)).code).to.equal('FIELD_INVALID');
    expect((await estimate(1, stranger, narrow.origin)).code).to.equal('RATE_LIMITED');
    await narrow.server.close(100);
  });

  it('distinguishes an unavailable store from an internal error, and shows neither', async () => {
    let failure: Error = new StoreUnavailable('mongodb://user:secret@host timed out');
    const generations = new Proxy({} as GenerationStore, { get: () => () => Promise.reject(failure) });
    const { harness } = await set();
    const { texts: lines, logger } = keptLog('debug');
    const broken = await serve({ ...harness, context: { ...harness.context, generations } }, { logger });
    const credential = (open[0] as RestHarness).credential;
    const ask = () =>
      sendHttp(broken.origin, { operation: 'getGeneration', credential, id: '0198c0de-0000-7000-8000-000000000000' });
    const away = await ask();
    expect([away.status, away.code, away.headers.get('retry-after')]).to.deep.equal([503, 'SERVICE_UNAVAILABLE', '2']);
    failure = new TypeError('x is undefined');
    const fault = await ask();
    expect(fault).to.include({ status: 500, code: 'INTERNAL_ERROR', message: 'Something went wrong on our side.' });
    expect(JSON.stringify([away.envelope, fault.envelope])).to.not.match(/secret|undefined|mongodb/);
    expect(
      lines.filter((line) => line.includes('x is undefined')),
      'logged once, with its request id',
    ).to.have.length(1);
    expect(lines.find((line) => line.includes('x is undefined'))).to.include(fault.envelope['request_id']);
    await broken.server.close(100);
  });

  it('returns a safe request id, and its own for any other', async () => {
    const { origin } = await set();
    const idFor = async (sent: string) =>
      (await fetch(`${origin}/healthz`, { headers: { 'X-Request-Id': sent } })).headers.get('x-request-id');
    expect(await idFor('a.b_c:D-9')).to.equal('a.b_c:D-9');
    expect(await idFor('x'.repeat(128))).to.equal('x'.repeat(128));
    const ours = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    for (const unsafe of ['x'.repeat(129), 'a b', 'a"b', '{}', '']) expect(await idFor(unsafe), unsafe).to.match(ours);
  });

  it('allows the catalog to be cached, with revalidation', async () => {
    const { origin } = await set();
    const first = await fetch(`${origin}${BASE}/models`);
    const etag = first.headers.get('etag') as string;
    expect([etag.slice(0, 3), first.headers.get('cache-control')]).to.deep.equal(['W/"', 'no-cache']);
    const again = await fetch(`${origin}${BASE}/models`, { headers: { 'If-None-Match': `"x", ${etag}` } });
    expect([again.status, await again.text(), again.headers.get('etag')]).to.deep.equal([304, '', etag]);
    expect((await fetch(`${origin}${BASE}/models`, { headers: { 'If-None-Match': '"x"' } })).status).to.equal(200);
  });

  it('answers HEAD as GET, without the body', async () => {
    const { origin, credential } = await set();
    const { headers } = toHttp({ operation: 'getCredits', credential });
    const head = await fetch(`${origin}${BASE}/credits`, { method: 'HEAD', headers });
    expect([head.status, await head.text(), Number(head.headers.get('content-length')) > 100]).to.deep.equal([
      200,
      '',
      true,
    ]);
    expect(head.headers.get('cache-control')).to.equal('no-store');
    const other = await fetch(`${origin}${BASE}/generations/estimate`, { method: 'HEAD', headers });
    expect([other.status, other.headers.get('allow')]).to.deep.equal([405, 'POST']);
  });

  it('requires no credential on public routes', async () => {
    const { origin } = await set();
    const { status, message } = await sendHttp(origin, { operation: 'getCredits' });
    expect([status, message]).to.deep.equal([
      401,
      'Send an API key or an OAuth access token as Authorization: Bearer <credential>.',
    ]);
    const description = await (await fetch(`${origin}/openapi.json`)).text();
    expect(description).to.include(message);
  });

  it('sends the location of a new generation, and how long to wait for an open one', async () => {
    const { origin, credential } = await set();
    const created = await sendHttp(origin, { operation: 'createGeneration', credential, key: 'k', body: PICTURE });
    const location = created.headers.get('location') as string;
    expect((await fetch(origin + location, { headers: { Authorization: `Bearer ${credential}` } })).status).to.equal(
      200,
    );
    const waiting = await sendHttp(origin, {
      operation: 'createGeneration',
      credential,
      key: 'under-way',
      body: { ...PICTURE },
    });
    expect([waiting.code, Number(waiting.headers.get('retry-after')) >= 1]).to.deep.equal([
      'IDEMPOTENCY_IN_PROGRESS',
      true,
    ]);
  });

  it('bounds the wait for a slow body or slow headers', async () => {
    const { port, credential } = await set({
      limits: { bodyTimeoutMs: 30, headersTimeoutMs: 50, requestTimeoutMs: 60_000 },
    });
    const head = `POST ${BASE}/generations HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${credential}\r\nIdempotency-Key: k\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{`;
    for (const bytes of [head, 'GET /healthz HTTP/1.1\r\nHost:']) {
      const answer = parseAnswer(await exchange(port, bytes));
      expect([answer.status, (JSON.parse(answer.body) as JsonObject)['code']], bytes.slice(0, 4)).to.deep.equal([
        408,
        'REQUEST_TIMEOUT',
      ]);
    }
  });

  it('refuses a request without a Host as it refuses any other', async () => {
    const { port } = await set();
    const answer = parseAnswer(await exchange(port, 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n'));
    expect([answer.status, (JSON.parse(answer.body) as JsonObject)['code']]).to.deep.equal([400, 'BODY_INVALID']);
    expect(parseAnswer(await exchange(port, 'GET /healthz HTTP/1.0\r\n\r\n')).status).to.equal(200);
  });

  it('keeps the connection of a refused request, if its body ends soon', async () => {
    const { port } = await set();
    const refused = `POST ${BASE}/generations HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n${'x'.repeat(200_000)}`;
    const received = await exchange(port, `${refused}GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect([...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).to.deep.equal(['401', '200']);
  });

  it('keeps credentials, keys and bodies out of its log, at any level', async () => {
    const { texts: lines, logger } = keptLog('trace');
    const { origin, credential } = await set({ logger });
    await sendHttp(origin, {
      operation: 'createGeneration',
      credential,
      key: 'the-key',
      body: { ...PICTURE, prompt: 'the-prompt' },
    });
    await sendHttp(origin, {
      operation: 'createGeneration',
      credential: `${credential.slice(0, -1)}!`,
      key: 'the-key',
      body: PICTURE,
    });
    await fetch(`${origin}/objects/x?signature=the-signature`);
    expect(lines.length).to.be.at.least(3);
    expect(lines.join('')).to.not.match(/the-key|the-prompt|the-signature|svc_live_/);
  });

  it('serves the documentation from itself and nothing else', async () => {
    const { origin } = await set();
    for (const path of ['/docs', '/docs/generations', '/docs/guides/api']) {
      const page = await fetch(origin + path, { headers: { 'Accept-Encoding': 'br' } });
      const html = await page.text();
      expect(page.headers.get('content-security-policy')).to.equal(
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
      );
      expect([page.headers.get('cache-control'), page.headers.get('content-encoding')]).to.deep.equal([
        'no-cache',
        'br',
      ]);
      for (const [, link = ''] of html.matchAll(/(?:src|href)="((?!data:|https?:)[^"]+)"/g)) {
        const { status, headers } = await fetch(new URL(link, page.url), { redirect: 'manual' });
        // The start page leads on.
        expect(status, link).to.equal(/^[./]+$/.test(link) ? 302 : 200);
        if (link.includes('assets/')) expect(headers.get('cache-control')).to.match(/immutable/);
      }
      expect(page.headers.get('etag')).to.match(/^W\/"/);
    }
    const none = await fetch(`${origin}/docs/nothing`);
    expect([none.status, none.headers.get('content-type')]).to.deep.equal([404, 'text/html; charset=utf-8']);
    expect(await none.text()).to.include('There is no page at this address.');
    expect(((await (await fetch(`${origin}/openapi.json`)).json()) as JsonObject)['openapi']).to.match(/^3\.1/);
  });
});

// Goal: a stop waits for the requests in progress and for nothing else, whatever connections are open.
// Method: a real server with a grace far longer than any test; raw sockets that send nothing, half a head, or a request
// whose answer the test sends when it chooses. The proof is that the stop completes.

const LONG_MS = 2_000_000_000;
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

describe('a listener that stops', () => {
  let listening: Listening;
  let port: number;
  let asked: ServerResponse[];
  const connections = new RawConnections();
  let told: () => void;
  let accepted: number;

  beforeEach(async () => {
    asked = [];
    accepted = 0;
    const server = createServer((_, res) => {
      asked.push(res);
      told();
    });
    server.on('connection', () => {
      accepted += 1;
      told();
    });
    listening = new Listening(server, 'rest');
    ({ port } = await listening.listen('127.0.0.1', 0));
  });
  afterEach(async () => {
    connections.close();
    await listening.close(0);
  });

  async function until(holds: () => boolean): Promise<void> {
    while (!holds())
      await new Promise<void>((resolve) => {
        told = resolve;
      });
  }

  /** A connection that the server has accepted, with the text to send on it. */
  async function connected(sent = ''): Promise<Socket> {
    const socket = connections.open(port);
    const taken = accepted + 1;
    if (sent !== '') socket.write(sent);
    await until(() => accepted >= taken);
    return socket;
  }

  it('does not wait for a connection without a request, nor for half a head', async () => {
    await connected();
    await connected('GET / HTTP/1.1\r\nHo');
    await listening.close(LONG_MS);
    expect(asked).to.deep.equal([]);
  });

  it('waits for no connection that has had its answer', async () => {
    const socket = await connected(REQUEST);
    await until(() => asked.length === 1);
    asked[0]?.end('done');
    await once(socket, 'data');
    await listening.close(LONG_MS);
  });

  it('finishes the current request though its head promised to keep the connection, and one sent just before', async () => {
    const socket = await connected(REQUEST);
    await until(() => asked.length === 1);
    asked[0]?.writeHead(200, { 'Content-Length': 8 }).write('half');
    await once(socket, 'data');
    const late = await connected();
    late.write(REQUEST);
    await new Promise((resolve) => late.write('', resolve));
    let isClosed = false;
    const closed = listening.close(LONG_MS).then(() => {
      isClosed = true;
    });
    await until(() => asked.length === 2);
    asked[1]?.end('late');
    expect(await text(late)).to.match(/late$/);
    expect(isClosed, 'with a request under way').to.equal(false);
    asked[0]?.end('done');
    expect(await text(socket)).to.equal('done');
    await closed;
  });

  it('closes a connection only after the last of its requests', async () => {
    const socket = await connected(REQUEST + REQUEST);
    await until(() => asked.length === 2);
    const closed = listening.close(LONG_MS);
    asked[0]?.end('first');
    asked[1]?.end('second');
    expect(await text(socket)).to.match(/first[^]*second$/);
    await closed;
  });

  it('aborts the rest after the grace', async () => {
    const socket = await connected(REQUEST);
    await until(() => asked.length === 1);
    const cut = once(socket, 'close');
    socket.resume();
    await listening.close(1);
    await cut;
  });
});

// Goal: an idle connection after an answer is kept for the keep-alive timeout that the answer announces, and is then
// closed; the timeout of a stalled answer is separate.
// Method: raw sockets against servers with short timeouts; only a lower bound of a connection's lifetime is checked.

const HEALTH_REQUEST = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
/** The tolerance of timers, which count whole milliseconds and may start within one. */
const ROUNDING_MS = 5;

describe('REST keeps connections', () => {
  let harness: ServiceHarness;
  let running: RunningServer;
  let socket: Socket;
  const connections = new RawConnections();

  beforeEach(async () => {
    harness = await openServiceHarness();
  });
  afterEach(async () => {
    connections.close();
    await running.server.close(100);
    await harness.close();
  });

  async function open(limits: { readonly keepAliveTimeoutMs: number; readonly idleTimeoutMs: number }): Promise<void> {
    running = await serve(harness, { limits });
    socket = connections.open(running.port);
    await once(socket, 'connect');
  }

  async function answer(): Promise<string> {
    socket.write(HEALTH_REQUEST);
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    return chunk.toString('latin1');
  }

  async function closedAfterMs(): Promise<number> {
    const from = performance.now();
    await once(socket.resume(), 'end');
    return performance.now() - from;
  }

  it('for the keep-alive timeout, which it tells, and not for the idle timeout', async () => {
    await open({ keepAliveTimeoutMs: 1_000, idleTimeoutMs: 3_600_000 });
    expect(await answer()).to.match(/^Keep-Alive: timeout=1\r$/m);
    expect(await closedAfterMs()).to.be.at.least(1_000 - ROUNDING_MS);
  });

  it('for the keep-alive timeout where the idle timeout is shorter', async () => {
    await open({ keepAliveTimeoutMs: 1_000, idleTimeoutMs: 100 });
    await answer();
    expect(await closedAfterMs()).to.be.at.least(1_000 - ROUNDING_MS);
  });

  it('for the whole of it after each answer', async () => {
    await open({ keepAliveTimeoutMs: 600, idleTimeoutMs: 3_600_000 });
    const from = performance.now();
    for (let count = 0; count < 4; count += 1) {
      await answer();
      await new Promise((resolve) => {
        setTimeout(resolve, 200);
      });
    }
    await answer();
    await closedAfterMs();
    expect(performance.now() - from).to.be.at.least(800 + 600 - 5 * ROUNDING_MS);
  });
});
