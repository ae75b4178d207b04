import { expect } from 'chai';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { HttpClient } from '../../../adapters/http/http-client.js';
import type { HttpRequest } from '../../../adapters/http/http-request.js';
import { type SubmissionContract, submit } from '../../../adapters/http/submission-outcome.js';
import { closedAfterEach, listening } from '../../fixtures/opened.js';
import { orSkip } from '../../servers/servers.js';
import { errorOf, get, localClient, post, UNABORTED } from './client.js';
import { answering, type Connection, onceReceived, RawServer, turns } from './raw-server.js';
import { ok, TlsServers, to } from './tls-servers.js';

/*
 * Goal: a request arrives as it was made, once, on the connection it should have; what cannot be sent is refused before.
 * Method: real servers that keep what they received, and count connections.
 */

interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly connection: number;
}

describe('an outgoing request', () => {
  const kept = closedAfterEach();
  let client: HttpClient;
  let url: string;
  let received: Received[];
  let live: Set<unknown>;
  beforeEach(async () => {
    received = [];
    live = new Set();
    const sockets: unknown[] = [];
    const server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        if (!sockets.includes(request.socket)) sockets.push(request.socket);
        const { method = '', headers } = request;
        received.push({
          method,
          url: request.url ?? '',
          headers,
          body: Buffer.concat(pieces).toString(),
          connection: sockets.indexOf(request.socket),
        });
        response.end('ok');
      });
    });
    server.on('connection', (socket) => {
      live.add(socket);
      socket.once('close', () => live.delete(socket));
    });
    ({ url } = kept(await listening(server)));
    client = kept(localClient({ maxConnectionsPerOrigin: 2 }));
  });

  const sent = async (request: Partial<HttpRequest>) => {
    await (await client.request({ method: 'GET', url, signal: new AbortController().signal, ...request })).bytes();
    return received.at(-1)!;
  };
  async function* textStream(...texts: string[]) {
    for (const text of texts) yield Buffer.from(text);
  }

  it('closes the connection of a POST without recording a stack', async () => {
    const before = Object.getOwnPropertyDescriptor(Error, 'prepareStackTrace') ?? { value: undefined };
    const { stackTraceLimit } = Error;
    const depths: number[] = [];
    Error.prepareStackTrace = (error, sites) => {
      if ('code' in error && error.code === 'UND_ERR_INFO') depths.push(sites.length);
      return String(error);
    };
    try {
      await sent({ method: 'POST', body: 'text' });
      while (live.size > 0) await nextTurn();
    } finally {
      Object.defineProperty(Error, 'prepareStackTrace', before);
    }
    expect(depths).to.deep.equal([0]);
    expect(Error.stackTraceLimit).to.equal(stackTraceLimit);
  });

  it('arrives as it was made', async () => {
    expect(await sent({ url: `${url}/a/b?c=d%20e#f`, headers: { 'X-Key': 'value' } })).to.deep.include({
      method: 'GET',
      url: '/a/b?c=d%20e',
      body: '',
    });
    expect(received[0]?.headers).to.include({
      'x-key': 'value',
      'user-agent': 'darkroom',
      'accept-encoding': 'gzip, deflate, br',
      'host': url.slice(7),
    });
    for (const body of ['text é', Buffer.from('text é')]) {
      expect(await sent({ method: 'POST', body }))
        .to.deep.include({ method: 'POST', body: 'text é' })
        .and.have.nested.property('headers.content-length', '7');
    }
    const stream = await sent({ method: 'PUT', body: { stream: textStream('te', 'xt'), byteSize: 4 } });
    expect(stream)
      .to.deep.include({ method: 'PUT', body: 'text' })
      .and.have.nested.property('headers.content-length', '4');
    expect(stream.headers).to.not.have.property('transfer-encoding');
    expect(received).to.have.length(4);
  });

  it('fails if its body has another length than declared', async () => {
    for (const byteSize of [3, 5]) {
      const error = await errorOf(sent({ method: 'PUT', body: { stream: textStream('te', 'xt'), byteSize } }));
      expect(error).to.include({ kind: 'unknown-outcome', requestSent: true });
    }
    expect(received).to.deep.equal([]);
  });

  it('leaves the connections of others alone when its declared length is invalid', async () => {
    const only = kept(localClient({ maxConnectionsPerOrigin: 1 }));
    const body = { stream: textStream('text'), byteSize: 1.5 };
    expect(await errorOf(get(only, url, { method: 'PUT', body }))).to.include({ requestSent: false });
    await (await get(only, url)).bytes();
    expect(received.map(({ method }) => method)).to.deep.equal(['GET']);
  });

  it('uses a new connection for POST and PATCH, and a kept one for other methods', async () => {
    for (const [request, connection] of [
      [{}, 'keep-alive'],
      [{ method: 'POST', body: '{}' }, 'close'],
      [{ method: 'PATCH', body: '{}' }, 'close'],
      [{}, 'keep-alive'],
      [{ method: 'DELETE' }, 'keep-alive'],
      [{ onOwnConnection: true }, 'close'],
      [{ method: 'POST', body: '{}', onOwnConnection: false }, 'keep-alive'],
    ] as const)
      expect((await sent(request)).headers, JSON.stringify(request)).to.have.property('connection', connection);
    const [own, shared] = ['close', 'keep-alive'].map((which) =>
      received.filter(({ headers }) => headers.connection === which).map(({ connection }) => connection),
    );
    expect(new Set(own), 'each its own').to.have.property('size', 3);
    expect(shared?.filter((connection) => own?.includes(connection))).to.deep.equal([]);
  });

  it('waits when an origin has reached its limit of connections', async () => {
    let most = 0;
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        await (await get(client, url)).bytes();
        most = Math.max(most, live.size);
      }),
    );
    expect([received.length, most]).to.deep.equal([20, 2]);
  });

  it('leaves no connection once the client is closed', async () => {
    await Promise.all(Array.from({ length: 4 }, async () => (await post(client, url)).bytes()));
    await (await get(client, url)).bytes();
    await client.close();
    while (live.size > 0) await turns(1);
  });

  it('is refused if a header cannot be sent, without repeating its value', async () => {
    for (const headers of [
      { host: 's3cret' },
      { 'Content-Length': '1' },
      { 'transfer-encoding': 'chunked' },
      { connection: 'close' },
      { 'a b': 'c' },
      { '': 'c' },
      { key: 's3cret\r\nx: y' },
      { key: 's3cret\0' },
      { key: 's3cret€' },
    ]) {
      const failure = await get(client, url, { headers }).catch((error: unknown) => error);
      expect(failure).to.be.instanceOf(RangeError);
      expect(String(failure)).to.not.include('s3cret');
    }
    expect(received).to.deep.equal([]);
  });
});

/*
 * Goal: a redirect is followed only if it was allowed, and other origins receive none of our credentials.
 * Method: real TLS servers that redirect to each other. Each records the requests it receives.
 */

describe('the redirects of outgoing requests', () => {
  let tls: TlsServers;
  before(async function () {
    tls = await orSkip(this, TlsServers.make());
  });
  afterEach(() => tls.close());
  after(() => tls.remove());

  const credentials = {
    'authorization': 'Bearer s3cret',
    'cookie': 'session=s3cret',
    'x-api-key': 's3cret',
    'accept': 'application/json',
  };

  it('are returned like other answers unless they are to be followed', async () => {
    const server = await tls.serving(to('https://two.example/'));
    const answer = await get(tls.client(), `https://one.example:${server.port}/`);
    expect([answer.status, answer.header('Location')]).to.deep.equal([302, 'https://two.example/']);
    answer.discard();
    expect(server.asked).to.have.length(1);
  });

  it('within one origin keep the headers', async () => {
    const server = await tls.serving((path, response) =>
      path === '/a' ? to('/b')(path, response) : ok(path, response),
    );
    expect(
      (await get(tls.client(), `https://one.example:${server.port}/a`, { headers: credentials, maxRedirects: 1 }))
        .status,
    ).to.equal(200);
    expect(server.asked.map(({ path }) => path)).to.deep.equal(['/a', '/b']);
    for (const { headers } of server.asked) expect(headers).to.include(credentials);
  });

  it('drop all credentials on the way to another origin', async () => {
    const second = await tls.serving(ok);
    for (const location of [`https://two.example:${second.port}/b`, `//one.example:${second.port}/b`]) {
      const first = await tls.serving(to(location));
      const request = { headers: credentials, maxRedirects: 1 };
      expect((await get(tls.client(), `https://one.example:${first.port}/a`, request)).status).to.equal(200);
    }
    expect(second.asked).to.have.length(2);
    for (const { headers } of second.asked) {
      expect(headers).to.include({ accept: 'application/json' });
      expect(JSON.stringify(headers)).to.not.include('s3cret');
    }
  });

  it('show no path of another origin in an error, as it may be a secret', async () => {
    const path = '/T0KEN/picture.png?signature=T0KEN';
    const second = await tls.serving((_, response) => void response.writeHead(200, { 'content-length': '9' }).end());
    const first = await tls.serving(to(`https://two.example:${second.port}${path}`));
    const asked = get(tls.client(), `https://one.example:${first.port}/a`, { maxRedirects: 1 });
    const { message } = await errorOf(asked.then((answer) => answer.bytes()));
    expect(second.asked.map((one) => one.path)).to.deep.equal([path]);
    expect(message)
      .to.match(/^GET https:\/\/two\.example:\d+: /)
      .and.to.not.include('T0KEN');
  });

  it('are refused for a request with a body, which another origin would receive', async () => {
    const body = '{"api_key":"s3cret"}';
    const asked = get(tls.client(), 'https://one.example/', { body, maxRedirects: 1 });
    expect(await asked.catch((error: unknown) => error)).to.be.an.instanceOf(RangeError);
  });

  it('do not restore the credentials when they return to the first origin', async () => {
    let returning: string;
    const second = await tls.serving((path, response) => to(returning)(path, response));
    const first = await tls.serving((path, response) =>
      path === '/a' ? to(`https://two.example:${second.port}/`)(path, response) : ok(path, response),
    );
    returning = `https://one.example:${first.port}/c`;
    const request = { headers: credentials, maxRedirects: 2 };
    expect((await get(tls.client(), `https://one.example:${first.port}/a`, request)).status).to.equal(200);
    expect(first.asked[1]?.headers).to.not.have.any.keys('authorization', 'cookie', 'x-api-key');
  });

  it('are followed up to the limit, and no further', async () => {
    const server = await tls.serving((path, response) => to(`/${Number(path.slice(1)) + 1}`)(path, response));
    const error = await errorOf(get(tls.client(), `https://one.example:${server.port}/0`, { maxRedirects: 3 }));
    expect(error).to.include({ kind: 'bad-answer', requestSent: true });
    expect(server.asked.map(({ path }) => path)).to.deep.equal(['/0', '/1', '/2', '/3']);
  });

  it('are followed only to allowed targets', async () => {
    const special = ['https://10.0.0.1/', 'https://[::1]/', 'https://user:pass@two.example/', 'https://[/'];
    for (const location of [...special, 'file:///etc/passwd']) {
      const server = await tls.serving(to(location));
      const error = await errorOf(get(tls.client(), `https://one.example:${server.port}/`, { maxRedirects: 5 }));
      expect(error, location).to.include({ kind: 'refused-address', requestSent: true });
    }
  });

  it('to another host are refused while its name leads to an address that is not public', async () => {
    const resolve = async (name: string) => [{ address: name === 'one.example' ? '127.0.0.1' : '10.0.0.1', family: 4 }];
    const first = await tls.serving(to('https://two.example/'));
    const error = await errorOf(
      get(tls.client({ resolve }), `https://one.example:${first.port}/`, { maxRedirects: 1 }),
    );
    expect(error).to.include({ kind: 'refused-address', requestSent: true });
  });

  it('lead to a server without TLS only where it is listed', async () => {
    const plain = await RawServer.open(answering('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'));
    tls.keep(plain);
    const first = await tls.serving(to(plain.url));
    const from = `https://one.example:${first.port}/`;
    const allow = [`one.example:${first.port}`];
    const error = await errorOf(get(tls.client({ allow }), from, { maxRedirects: 1 }));
    expect(error).to.include({ kind: 'refused-address', requestSent: true });
    const listed = tls.client({ allow: [...allow, `127.0.0.1:${plain.port}`] });
    expect((await get(listed, from, { headers: credentials, maxRedirects: 1 })).status).to.equal(200);
    expect(plain.received).to.not.include('s3cret');
  });

  it('of a listed server without TLS are followed within it, and to servers with TLS', async () => {
    const second = await tls.serving(ok);
    const first = await RawServer.open(({ socket }) => {
      socket.on('data', (request) => {
        const location = String(request).startsWith('GET / ') ? '/a' : `https://two.example:${second.port}/`;
        socket.write(`HTTP/1.1 302 Found\r\nlocation: ${location}\r\ncontent-length: 0\r\n\r\n`);
      });
    });
    tls.keep(first);
    expect((await get(tls.client(), first.url, { headers: credentials, maxRedirects: 2 })).status).to.equal(200);
    expect(first.received).to.include('GET /a ');
    expect(second.asked.map(({ headers }) => headers.authorization)).to.deep.equal([undefined]);
  });

  it('share the time of one call', async () => {
    const server = await tls.serving((path, response) => to(`/${Number(path.slice(1)) + 1}`)(path, response));
    const error = await errorOf(
      get(tls.client(), `https://one.example:${server.port}/0`, {
        maxRedirects: 1_000_000,
        limits: { totalTimeoutMs: 300 },
      }),
    );
    expect(error).to.include({ kind: 'timed-out', phase: 'total' });
  });

  it('end when the call is aborted between two of them', async () => {
    const abort = new AbortController();
    const server = await tls.serving((path, response) => {
      if (path === '/5') abort.abort();
      to(`/${Number(path.slice(1)) + 1}`)(path, response);
    });
    const error = await errorOf(
      get(tls.client(), `https://one.example:${server.port}/0`, { maxRedirects: 1_000, signal: abort.signal }),
    );
    expect(error).to.include({ kind: 'aborted', requestSent: true });
    expect(server.asked.length).to.be.below(8);
  });

  it('are refused for requests that change something', async () => {
    const asked = post(tls.client(), 'https://one.example/', { maxRedirects: 1 });
    expect(await asked.catch((error: unknown) => error)).to.be.instanceOf(RangeError);
  });
});

/*
 * Goal: a submission reaches the server at most once, and its reported outcome matches what the server did.
 * Method: real servers and real failures: nothing listens, no TLS, no name, a connection that breaks off, and answers of
 * every kind. Each server counts the requests and connections it receives.
 */

const BODY = '{"prompt":"a lighthouse"}';

describe('a submission', () => {
  const kept = closedAfterEach();
  let client: HttpClient;
  beforeEach(() => {
    client = kept(localClient());
  });

  const send = (url: string, { contract, by = client }: { contract?: SubmissionContract; by?: HttpClient } = {}) =>
    submit(by, { method: 'POST', url, body: BODY, signal: UNABORTED }, contract);

  /** A server that answers each submission with this. */
  async function answeringWith(status: string, headers: readonly string[], body: string): Promise<RawServer> {
    const lines = [`HTTP/1.1 ${status}`, ...headers, `content-length: ${Buffer.byteLength(body)}`, '', body];
    return kept(
      await RawServer.open((connection) =>
        onceReceived(connection, BODY, () => void connection.socket.write(lines.join('\r\n'))),
      ),
    );
  }

  const requestsTo = (server: RawServer) => server.received.split('POST /').length - 1;

  it('is answered, and the answer is read by its caller', async () => {
    const server = await answeringWith('202 Accepted', ['content-type: application/json'], '{"id":"a"}');
    const outcome = await send(server.url);
    if (outcome.outcome !== 'answered') throw new Error('It was refused.');
    expect(await outcome.answer.json()).to.deep.equal({ id: 'a' });
    expect(requestsTo(server)).to.equal(1);
  });

  it('has a connection of its own, whatever its method', async () => {
    const server = await answeringWith('202 Accepted', ['content-type: application/json'], '{"id":"a"}');
    for (let count = 0; count < 2; count += 1) {
      const request = { method: 'PUT', url: server.url, body: BODY, signal: UNABORTED } as const;
      const outcome = await submit(client, request);
      if (outcome.outcome === 'answered') await outcome.answer.json();
    }
    expect(server.connections).to.have.length(2);
  });

  it('is of unknown outcome where its answer of success is not the JSON that was due', async () => {
    const server = await answeringWith('200 OK', ['content-type: text/html'], '<p>It works.</p>');
    const outcome = await send(server.url);
    if (outcome.outcome !== 'answered') throw new Error('It was refused.');
    expect(await errorOf(outcome.answer.json())).to.include({ kind: 'bad-answer', requestSent: true });
  });

  it('is unreachable where nothing listens, no name resolves, TLS fails or the connection takes too long', async () => {
    const gone = await RawServer.open(() => undefined);
    const { url: nowhere } = gone;
    await gone.close();
    const silent = kept(await RawServer.open(() => undefined));
    const plain = kept(await RawServer.open(({ socket }) => void socket.once('data', () => socket.end('no TLS\r\n'))));
    const nameless = kept(localClient({ resolve: async () => [] }));
    const hasty = kept(localClient({ limits: { connectTimeoutMs: 50 } }));
    for (const refused of [
      await send(nowhere),
      await send('https://nothing.example/', { by: nameless }),
      await send(`https://127.0.0.1:${plain.port}/`),
      await send(`https://127.0.0.1:${silent.port}/`, { by: hasty }),
      await send('https://10.0.0.1/'),
    ])
      expect(refused).to.deep.equal({ outcome: 'refused', because: 'unreachable' });
    for (const server of [silent, plain]) expect(server.received).to.not.include('lighthouse');
  });

  it('is refused with what the answer says', async () => {
    const headers = ['retry-after: 7', 'content-type: application/json'];
    const server = await answeringWith('429 Too Many Requests', headers, '{"code":"rate_limit_exceeded"}');
    const body = { code: 'rate_limit_exceeded' };
    const full = { outcome: 'refused', because: 'capacity', status: 429, retryAfterMs: 7_000, body };
    expect(await send(server.url)).to.deep.equal(full);
    const proxy = await answeringWith('413 Too Large', ['content-type: text/html'], '<h1>413</h1>');
    expect(await send(proxy.url)).to.deep.equal({ outcome: 'refused', because: 'rejected', status: 413 });
    for (const one of [server, proxy]) expect(requestsTo(one)).to.equal(1);
  });

  it('throws for an answer that leaves its outcome open, without repeating it', async () => {
    for (const [status, type, body] of [
      ['502 Bad Gateway', 'text/html', '<h1>s3cret</h1>'],
      ['409 Conflict', 'application/json', '{"s3cret":1}'],
      ['307 Temporary Redirect', 'text/html', ''],
      ['400 Bad Request', 'application/json', '{"s3cret":'],
      ['400 Bad Request', 'application/json', `"${'s3cret'.repeat(200_000)}"`],
    ] as const) {
      const server = await answeringWith(status, [`content-type: ${type}`, 'location: https://two.example/'], body);
      const error = await errorOf(send(server.url));
      expect(error.requestSent, status).to.equal(true);
      expect(error.message)
        .to.match(/^POST http:\/\/127/)
        .and.not.include('s3cret');
      expect(requestsTo(server), status).to.equal(1);
    }
  });

  it('follows the contract of its API', async () => {
    const seenBefore = await answeringWith('422 No', ['content-type: application/json'], '{"code":"seen"}');
    const full = await answeringWith('503 Full', ['content-type: application/json', 'retry-after: 3'], '{}');
    const contract: SubmissionContract = {
      seenBefore: (status) => status === 422,
      refuses: (status) => (status === 503 ? 'capacity' : undefined),
    };
    expect(await errorOf(send(seenBefore.url, { contract }))).to.include({ kind: 'unknown-outcome' });
    expect(await send(full.url, { contract })).to.include({ because: 'capacity', retryAfterMs: 3_000 });
  });

  const reset = ({ socket }: Connection) => void socket.resetAndDestroy();
  const answerThenReset = (answer: string) => (c: Connection) =>
    onceReceived(c, BODY, () => void c.socket.write(answer, () => reset(c)));
  for (const [when, onConnection] of [
    ['within its headers', (c: Connection) => void c.socket.once('data', () => reset(c))],
    ['after all of it', (c: Connection) => onceReceived(c, BODY, () => reset(c))],
    ['within the answer', answerThenReset('HTTP/1.1 200 O')],
    ['within the body of a refusal', answerThenReset('HTTP/1.1 400 No\r\ncontent-length: 9\r\n\r\n{}')],
  ] as const) {
    it(`is sent once, and of unknown outcome, when the connection is reset ${when}`, async () => {
      const server = kept(await RawServer.open(onConnection));
      const error = await errorOf(send(server.url));
      expect([error.kind, error.requestSent]).to.deep.equal(['unknown-outcome', true]);
      // A retry of the first request would arrive before this one.
      await errorOf(send(server.url));
      expect([server.connections.length, requestsTo(server)]).to.deep.equal([2, 2]);
    });
  }

  it('is sent once at most when the connection is reset before anything is read', async () => {
    const server = kept(await RawServer.open(reset));
    const outcome = await send(server.url).catch(() => undefined);
    if (outcome?.outcome === 'refused') expect([outcome.because, server.received]).to.deep.equal(['unreachable', '']);
    await send(server.url).catch(() => undefined);
    expect(server.connections).to.have.length(2);
  });
});
