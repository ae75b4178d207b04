/*
 * Goal: a submission reaches the server once at most, and what comes of it is told from what the server did.
 * Method: real servers and real failures: nothing listens, no TLS, no name, a connection that breaks off, and answers of every kind.
 * Each counts the requests and the connections it gets.
 */
import { expect } from 'chai';
import type { HttpClient } from '../../../adapters/http/http-client.js';
import { type SubmissionContract, submit } from '../../../adapters/http/submission-outcome.js';
import { errorOf, localClient, UNABORTED } from './client.js';
import { type Connection, onceReceived, RawServer } from './raw-server.js';

const BODY = '{"prompt":"a lighthouse"}';

describe('a submission', () => {
  const opened: { close(): Promise<unknown> }[] = [];
  const kept = <T extends { close(): Promise<unknown> }>(one: T): T => {
    opened.push(one);
    return one;
  };
  let client: HttpClient;
  beforeEach(() => {
    client = kept(localClient());
  });
  afterEach(async () => void (await Promise.all(opened.splice(0).map((one) => one.close()))));

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
    const server = await answeringWith(
      '429 Too Many Requests',
      ['retry-after: 7', 'content-type: application/json'],
      '{"code":"rate_limit_exceeded"}',
    );
    expect(await send(server.url)).to.deep.equal({
      outcome: 'refused',
      because: 'capacity',
      status: 429,
      retryAfterMs: 7_000,
      body: { code: 'rate_limit_exceeded' },
    });
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
  for (const [when, onConnection] of [
    ['within its headers', (c: Connection) => void c.socket.once('data', () => reset(c))],
    ['after all of it', (c: Connection) => onceReceived(c, BODY, () => reset(c))],
    [
      'within the answer',
      (c: Connection) => onceReceived(c, BODY, () => void c.socket.write('HTTP/1.1 200 O', () => reset(c))),
    ],
    [
      'within the body of a refusal',
      (c: Connection) =>
        onceReceived(
          c,
          BODY,
          () => void c.socket.write('HTTP/1.1 400 No\r\ncontent-length: 9\r\n\r\n{}', () => reset(c)),
        ),
    ],
  ] as const) {
    it(`is sent once, and of unknown outcome, when the connection is reset ${when}`, async () => {
      const server = kept(await RawServer.open(onConnection));
      const error = await errorOf(send(server.url));
      expect([error.kind, error.requestSent]).to.deep.equal(['unknown-outcome', true]);
      // What would be sent a second time would be here before this.
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
