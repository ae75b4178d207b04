import { expect } from 'chai';
import fc from 'fast-check';
import type { HttpClient } from '../../../adapters/http/http-client.js';
import { HttpError, type HttpErrorKind } from '../../../adapters/http/http-error.js';
import {
  type AnswerBody,
  outcomeOfAnswer,
  outcomeOfFailure,
  type SubmissionContract,
} from '../../../adapters/http/submission-outcome.js';
import { closedAfterEach, deferred, untilClosed } from '../../fixtures/opened.js';
import { errorOf, get, localClient, post } from './client.js';
import { answering, type Connection, onceReceived, RawServer } from './raw-server.js';

/*
 * Goal: a failure says exactly whether its request can have had an effect: `requestSent` is false only where the server received none
 * of it, and every other failure after the first byte is of unknown outcome.
 * Method: real servers that accept, read and break off at each point of an exchange; the bytes they received are
 * compared with the client's report. Every case is played on a new connection and on one that was kept.
 */

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
const BODY = '{"prompt":"a lighthouse"}';

const reset = ({ socket }: Connection) => void socket.resetAndDestroy();
const answerThen = (answer: string, then: (connection: Connection) => void) => (connection: Connection) =>
  onceReceived(connection, BODY, () => {
    connection.socket.write(answer, () => then(connection));
  });

const end = ({ socket }: Connection) => void socket.end();
const nothing = () => undefined;
const HTTP_OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = 'transfer-encoding: chunked\r\n\r\n';

/** The behaviour of a server once a request is on its way. */
type Behaviours = Readonly<Record<string, (connection: Connection) => void>>;

/** Ways in which a server can break a connection. */
const BREAKS: Behaviours = {
  'resets as soon as the headers have come': (c) => onceReceived(c, '\r\n\r\n', () => reset(c)),
  'resets after the whole request': (c) => onceReceived(c, BODY, () => reset(c)),
  'closes after the whole request': (c) => onceReceived(c, BODY, () => end(c)),
  'resets within the status line': answerThen('HTTP/1.1 20', reset),
  'closes within the headers': answerThen(`${HTTP_OK}content-le`, end),
  'closes after an answer of 103 alone': answerThen('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n', end),
  'closes after an answer of 100 alone': answerThen('HTTP/1.1 100 Continue\r\n\r\n', end),
};

/** The same after the headers of an answer, which come. */
const BREAKS_IN_BODY: Behaviours = {
  'closes within a body of known length': answerThen(`${HTTP_OK}content-length: 10\r\n\r\n12345`, end),
  'closes within a body of known length, after which it would have closed': answerThen(
    `${HTTP_OK}connection: close\r\ncontent-length: 10\r\n\r\n12345`,
    end,
  ),
  'closes within a chunk': answerThen(`${HTTP_OK}${CHUNKED}a\r\n12345`, end),
  'closes before the last chunk': answerThen(`${HTTP_OK}connection: close\r\n${CHUNKED}5\r\n12345\r\n`, end),
};

const ENDS: readonly (readonly [on: Behaviours, kind: HttpErrorKind, inBody: boolean])[] = [
  [BREAKS, 'unknown-outcome', false],
  [BREAKS_IN_BODY, 'unknown-outcome', true],
  [{ 'answers something else than HTTP': answerThen('SSH-2.0-OpenSSH_9.2\r\n\r\n', nothing) }, 'bad-answer', false],
  [{ 'answers with a broken chunk': answerThen(`${HTTP_OK}${CHUNKED}xyz\r\n`, nothing) }, 'bad-answer', true],
];

describe('the outcome of a request', () => {
  const kept = closedAfterEach();
  let client: HttpClient;
  beforeEach(() => {
    client = kept(localClient());
  });

  const failed = async (work: ReturnType<typeof post>): Promise<HttpError> =>
    errorOf(work.then((answer) => answer.bytes()));

  for (const [name, on, kind, inBody] of ENDS.flatMap(([behaviours, ...about]) =>
    Object.entries(behaviours).map((behaviour) => [...behaviour, ...about] as const),
  )) {
    it(`is ${kind} when the server ${name}`, async () => {
      const server = kept(await RawServer.open(on));
      const answer = post(client, server.url);
      if (inBody) expect((await answer).status).to.equal(200);
      const error = await failed(answer);
      expect([error.kind, error.requestSent]).to.deep.equal([kind, true]);
      expect(error.message).to.match(/^POST http:\/\/127\.0\.0\.1:\d+\/: /);
      expect(server.connections, 'sent once').to.have.length(1);
    });

    it(`is ${kind} when the server ${name}, on a connection that was kept`, async () => {
      const server = kept(
        await RawServer.open((connection) =>
          onceReceived(connection, 'GET /first', () => {
            connection.socket.write(OK, () => {
              const before = connection.received().length;
              on({ socket: connection.socket, received: () => connection.received().slice(before) });
            });
          }),
        ),
      );
      const only = kept(localClient({ maxConnectionsPerOrigin: 1 }));
      await (await get(only, `${server.url}/first`)).bytes();
      const error = await failed(post(only, server.url, { onOwnConnection: false }));
      expect([error.kind, error.requestSent]).to.deep.equal([kind, true]);
      expect(server.connections, 'the kept connection, and the request once').to.have.length(1);
      expect(server.received.split('POST /').length - 1).to.equal(1);
    });
  }

  it('is none when interim answers come before the answer, on a new connection and on one that was kept', async () => {
    const interim = ['100 Continue', '102 Processing', '103 Early Hints', '100 Continue']
      .map((line) => `HTTP/1.1 ${line}\r\n\r\n`)
      .join('');
    const server = kept(await RawServer.open(answering(interim + OK)));
    const only = kept(localClient({ maxConnectionsPerOrigin: 1 }));
    for (const path of ['/first', '/second'])
      expect(Buffer.from(await (await get(only, server.url + path)).bytes()).toString()).to.equal('ok');
    expect(server.connections).to.have.length(1);
    const own = kept(await RawServer.open((c) => onceReceived(c, BODY, () => c.socket.end(interim + OK))));
    expect((await post(client, own.url)).status).to.equal(200);
  });

  it('is unknown when the server resets without having read: some of the request may have reached it', async () => {
    const server = kept(await RawServer.open(reset));
    const error = await failed(post(client, server.url));
    if (error.requestSent) expect(error.kind).to.equal('unknown-outcome');
    else expect([error.kind, server.received]).to.deep.equal(['not-connected', '']);
  });

  it('is unknown when our body ends early after its beginning was sent', async () => {
    const server = kept(await RawServer.open(() => undefined));
    async function* breaking() {
      yield Buffer.from('half');
      throw new Error('The reference cannot be read: s3cret.');
    }
    const error = await failed(post(client, server.url, { body: { stream: breaking(), byteSize: 8 } }));
    expect([error.kind, error.requestSent]).to.deep.equal(['unknown-outcome', true]);
    expect(error.message).to.not.include('s3cret');
  });

  const NOT_CONNECTED = { kind: 'not-connected', requestSent: false } as const;

  it('is not-connected when nothing listens', async () => {
    const server = await RawServer.open(() => undefined);
    const { url } = server;
    await server.close();
    expect(await failed(post(client, url))).to.include({ ...NOT_CONNECTED, code: 'ECONNREFUSED' });
    expect(await failed(post(client, url, { onOwnConnection: false }))).to.include(NOT_CONNECTED);
  });

  it('is not-connected when the name has no address', async () => {
    const unanswered = Object.assign(new Error('no answer from dns'), { code: 'EAI_AGAIN' });
    for (const [code, resolve] of [
      ['ENOTFOUND', async () => []],
      ['EAI_AGAIN', () => Promise.reject(unanswered)],
    ] as const) {
      const named = kept(localClient({ resolve }));
      const error = await failed(post(named, 'https://nothing.example/'));
      expect(error).to.include({ ...NOT_CONNECTED, code });
    }
  });

  it('is not-connected when the system resolves no such name', async () => {
    expect(await failed(post(client, 'https://nothing.invalid/'))).to.include(NOT_CONNECTED);
  });

  it('is not-connected for a request that waits while the connection it waits for breaks', async () => {
    const only = kept(localClient({ maxConnectionsPerOrigin: 1 }));
    const server = kept(
      await RawServer.open((connection, index) =>
        index === 0 ? onceReceived(connection, BODY, () => reset(connection)) : answering(OK)(connection),
      ),
    );
    const first = failed(post(only, server.url, { onOwnConnection: false }));
    const second = get(only, `${server.url}/second`);
    expect(await first).to.include({ kind: 'unknown-outcome', requestSent: true });
    expect((await second).status, 'it goes on, on another connection').to.equal(200);
    expect(server.received.split('POST /').length - 1, 'sent once').to.equal(1);
  });

  it('is aborted, and not sent, when the call is aborted before', async () => {
    const server = kept(await RawServer.open(answering(OK)));
    const notSent = { kind: 'aborted', requestSent: false };
    expect(await failed(post(client, server.url, { signal: AbortSignal.abort() }))).to.include(notSent);
    const found = deferred<{ address: string; family: number }[]>();
    const named = kept(localClient({ resolve: () => found.promise }));
    const abort = new AbortController();
    const answer = failed(post(named, `http://some.name:${server.port}/`, { signal: abort.signal }));
    await Promise.resolve();
    abort.abort();
    expect(await answer).to.include(notSent);
    found.resolve([{ address: '127.0.0.1', family: 4 }]);
    await (await get(client, server.url)).bytes();
    expect(server.received, 'the aborted request never came').to.not.include('POST');
  });

  it('is aborted, and sent, when the call is aborted while it is answered', async () => {
    const abort = new AbortController();
    const server = kept(await RawServer.open((connection) => onceReceived(connection, BODY, () => abort.abort())));
    const error = await failed(post(client, server.url, { signal: abort.signal }));
    expect(error).to.include({ kind: 'aborted', requestSent: true });
  });

  it("is aborted, and sent, when the call is aborted within the answer's body, and the connection is closed", async () => {
    const abort = new AbortController();
    const server = kept(
      await RawServer.open(answerThen('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345', nothing)),
    );
    const answer = await post(client, server.url, { signal: abort.signal });
    const pieces: string[] = [];
    const error = await errorOf(
      (async () => {
        for await (const piece of answer.body()) {
          pieces.push(Buffer.from(piece).toString());
          abort.abort();
        }
      })(),
    );
    expect([error.kind, error.requestSent, pieces]).to.deep.equal(['aborted', true, ['12345']]);
    await untilClosed(server.connections[0]!.socket);
  });

  it('is aborted when the client is closed, and what comes after is not sent', async () => {
    const server = kept(
      await RawServer.open((connection) => onceReceived(connection, BODY, () => void client.close())),
    );
    expect(await failed(post(client, server.url))).to.include({ kind: 'aborted', requestSent: true });
    expect(await failed(post(client, server.url))).to.include({ kind: 'aborted', requestSent: false });
    expect(server.connections).to.have.length(1);
  });

  it('reveals no secret in any message', async () => {
    const server = kept(
      await RawServer.open((connection) => onceReceived(connection, '\r\n\r\n', () => reset(connection))),
    );
    const error = await failed(
      post(client, `${server.url}/path?key=s3cret#s3cret`, {
        headers: { authorization: 'Bearer s3cret' },
        body: 's3cret',
      }),
    );
    expect(error.message).to.include('/path').and.not.include('s3cret');
    expect(JSON.stringify(error)).to.not.include('s3cret');
    expect(error.stack).to.not.include('s3cret');
    expect(error).to.not.have.property('cause');
  });
});

/*
 * Goal: a submission counts as refused only where it certainly was not accepted; everything else is unknown and throws.
 * Method: a table of answers and failures for the pure decision, properties over all statuses, and a real server for the whole call.
 */

const NOW = Date.UTC(2026, 10, 23, 12);
const HTML: AnswerBody = { kind: 'other' };
const BROKEN: AnswerBody = { kind: 'broken-json' };
const json = (value: unknown): AnswerBody => ({ kind: 'json', value });

/** The contract of a typical API: it answers a reused key with 422 and a full queue with 503. */
const CONTRACT: SubmissionContract = {
  seenBefore: (status, body) =>
    status === 422 && (body as { code?: string } | undefined)?.code === 'idempotency_key_reuse',
  refuses: (status, body) =>
    status === 503 && (body as { code?: string } | undefined)?.code === 'queue_full' ? 'capacity' : undefined,
};

function outcomeOf(status: number, body: AnswerBody = json({}), contract: SubmissionContract = {}) {
  return outcomeOfAnswer({ status, body }, contract, NOW);
}

describe('the outcome of a submission', () => {
  it('is answered for every status of success, whatever the body', () => {
    for (const status of [200, 201, 202, 204, 299])
      for (const body of [json({ id: 'a' }), HTML, BROKEN]) expect(outcomeOf(status, body)).to.equal('answered');
  });

  it('is a refusal for other 4xx, with the JSON of the answer', () => {
    for (const status of [400, 401, 402, 403, 404, 405, 410, 413, 415, 422, 451])
      expect(outcomeOf(status, json({ error: 'x' }))).to.deep.equal({
        outcome: 'refused',
        because: 'rejected',
        status,
        body: { error: 'x' },
      });
  });

  it('is a refusal for what a proxy answers before it passes the request on', () => {
    for (const status of [400, 413, 414, 417, 421, 426, 431, 463, 464, 494, 495, 496, 497, 498])
      for (const body of [json({}), HTML])
        expect(outcomeOf(status, body), String(status)).to.include({ outcome: 'refused', because: 'rejected' });
  });

  it("is a refusal for a proxy's or a firewall's 4xx in HTML", () => {
    for (const status of [403, 404, 413])
      expect(outcomeOf(status, HTML)).to.deep.equal({ outcome: 'refused', because: 'rejected', status });
  });

  it('is unknown for 4xx that may follow an accepted submission', () => {
    for (const status of [408, 409, 424, 425, 444, 460, 499])
      for (const body of [json({}), HTML]) expect(outcomeOf(status, body), String(status)).to.equal('unknown');
  });

  it('is a refusal for such 4xx where the contract says that nothing was accepted', () => {
    const contract: SubmissionContract = { refuses: (status) => (status === 409 ? 'capacity' : undefined) };
    expect(outcomeOf(409, json({}), contract)).to.include({ outcome: 'refused', because: 'capacity' });
    expect(outcomeOf(409, BROKEN, contract)).to.equal('unknown');
    expect(outcomeOf(408, json({}), contract)).to.equal('unknown');
    expect(outcomeOf(400, json({}), contract)).to.include({ because: 'rejected' });
  });

  it('is unknown for 4xx that claims to be JSON and is not', () => {
    for (const status of [400, 422, 429]) expect(outcomeOf(status, BROKEN)).to.equal('unknown');
  });

  it('is unknown for what the contract knows as seen before, and only that', () => {
    expect(outcomeOf(422, json({ code: 'idempotency_key_reuse' }), CONTRACT)).to.equal('unknown');
    expect(outcomeOf(422, json({ code: 'invalid_width' }), CONTRACT)).to.include({ because: 'rejected' });
    expect(outcomeOf(422, HTML, CONTRACT)).to.include({ because: 'rejected' });
  });

  it('is unknown for 5xx and 3xx unless the contract says that nothing was accepted', () => {
    for (const status of [301, 302, 307, 500, 501, 502, 503, 504, 524, 599])
      for (const body of [json({}), HTML, BROKEN]) expect(outcomeOf(status, body), String(status)).to.equal('unknown');
    expect(outcomeOf(503, json({ code: 'queue_full' }), CONTRACT)).to.include({ because: 'capacity', status: 503 });
    expect(outcomeOf(503, json({ code: 'other' }), CONTRACT)).to.equal('unknown');
    expect(outcomeOf(302, HTML, { refuses: (status) => (status === 302 ? 'rejected' : undefined) })).to.include({
      because: 'rejected',
    });
  });

  it('is a lack of capacity for 429, with the wait that the server asks for', () => {
    const waitOf = (retryAfter: string, date?: string) => {
      const dated = date === undefined ? {} : { date };
      const outcome = outcomeOfAnswer({ status: 429, retryAfter, ...dated, body: json({}) }, {}, NOW);
      expect(outcome).to.include({ outcome: 'refused', because: 'capacity' });
      return typeof outcome === 'object' ? outcome.retryAfterMs : undefined;
    };
    expect(outcomeOf(429)).to.deep.equal({ outcome: 'refused', because: 'capacity', status: 429, body: {} });
    for (const [retryAfter, date, waitMs] of [
      ['30', undefined, 30_000],
      [' 0 ', undefined, 0],
      ['1.25', undefined, 1_250],
      ['Mon, 23 Nov 2026 12:01:00 GMT', undefined, 60_000],
      // Measured by the server's clock.
      ['Mon, 23 Nov 2026 15:01:00 GMT', 'Mon, 23 Nov 2026 15:00:00 GMT', 60_000],
      ['Mon, 23 Nov 2026 12:01:00 GMT', 'yesterday', 60_000],
    ] as const)
      expect(waitOf(retryAfter, date), retryAfter).to.equal(waitMs);
    const past = 'Mon, 23 Nov 2026 11:59:59 GMT';
    const farAway = 'Mon, 23 Nov 2126 12:00:00 GMT';
    const numbers = ['', '-1', '1e3', '0x10', 'soon', '99999999999', '2592001'];
    for (const absurd of [...numbers, past, farAway, 'Sun Nov  6 08:49:37 2026'])
      expect(waitOf(absurd), absurd).to.equal(undefined);
    expect(outcomeOfAnswer({ status: 400, retryAfter: '30', body: json({}) }, {}, NOW)).to.not.have.property(
      'retryAfterMs',
    );
  });

  it('is never a refusal outside of 4xx without a contract, and never throws', () => {
    const bodies = fc.oneof(fc.constant(HTML), fc.constant(BROKEN), fc.jsonValue().map(json));
    fc.assert(
      fc.property(
        fc.integer({ min: 200, max: 999 }),
        bodies,
        fc.option(fc.string(), { nil: undefined }),
        (status, body, retryAfter) => {
          const outcome = outcomeOfAnswer(
            { status, body, ...(retryAfter === undefined ? {} : { retryAfter }) },
            {},
            NOW,
          );
          if (typeof outcome !== 'object') return;
          expect(status).to.be.within(400, 499).and.not.be.oneOf([408, 409, 424, 425, 444, 460, 499]);
          expect(outcome.because).to.equal(status === 429 ? 'capacity' : 'rejected');
          expect(outcome.retryAfterMs ?? 0).to.be.within(0, 30 * 24 * 60 * 60 * 1_000);
        },
      ),
    );
  });

  describe('after a failure', () => {
    const AFTER: readonly HttpErrorKind[] = ['unknown-outcome', 'too-large', 'timed-out', 'bad-answer'];
    const KINDS = [...AFTER, 'refused-address', 'not-connected', 'aborted'] as const;

    for (const requestSent of [false, true])
      it(`is ${requestSent ? 'unknown if any' : 'unreachable if no'} byte was sent, and thrown for an aborted call`, () => {
        for (const kind of KINDS) {
          const error = new HttpError(kind, 'It failed.', { requestSent });
          if (requestSent || kind === 'aborted') expect(() => outcomeOfFailure(error), kind).to.throw(error);
          else expect(outcomeOfFailure(error), kind).to.deep.equal({ outcome: 'refused', because: 'unreachable' });
        }
      });
  });
});
