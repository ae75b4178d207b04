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

interface Break {
  readonly name: string;
  readonly on: (connection: Connection) => void;
  readonly kind: HttpErrorKind;
  /** Whether the failure comes with the body: the headers came. */
  readonly inBody?: boolean;
}

const reset = ({ socket }: Connection) => void socket.resetAndDestroy();
const answerThen = (answer: string, then: (connection: Connection) => void) => (connection: Connection) =>
  onceReceived(connection, BODY, () => {
    connection.socket.write(answer, () => then(connection));
  });

/** Ways in which a server can break a connection once a request is on its way. */
const BREAKS: readonly Break[] = [
  {
    name: 'resets as soon as the headers have come',
    on: (c) => onceReceived(c, '\r\n\r\n', () => reset(c)),
    kind: 'unknown-outcome',
  },
  { name: 'resets after the whole request', on: (c) => onceReceived(c, BODY, () => reset(c)), kind: 'unknown-outcome' },
  {
    name: 'closes after the whole request',
    on: (c) => onceReceived(c, BODY, () => c.socket.end()),
    kind: 'unknown-outcome',
  },
  { name: 'resets within the status line', on: answerThen('HTTP/1.1 20', reset), kind: 'unknown-outcome' },
  {
    name: 'closes within the headers',
    on: answerThen('HTTP/1.1 200 OK\r\ncontent-le', ({ socket }) => socket.end()),
    kind: 'unknown-outcome',
  },
  {
    name: 'closes after an answer of 103 alone',
    on: answerThen('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n', ({ socket }) => socket.end()),
    kind: 'unknown-outcome',
  },
  {
    name: 'closes after an answer of 100 alone',
    on: answerThen('HTTP/1.1 100 Continue\r\n\r\n', ({ socket }) => socket.end()),
    kind: 'unknown-outcome',
  },
  {
    name: 'closes within a body of known length',
    on: answerThen('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345', ({ socket }) => socket.end()),
    kind: 'unknown-outcome',
    inBody: true,
  },
  {
    name: 'closes within a body of known length, after which it would have closed',
    on: answerThen('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 10\r\n\r\n12345', ({ socket }) =>
      socket.end(),
    ),
    kind: 'unknown-outcome',
    inBody: true,
  },
  {
    name: 'closes within a chunk',
    on: answerThen('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\na\r\n12345', ({ socket }) => socket.end()),
    kind: 'unknown-outcome',
    inBody: true,
  },
  {
    name: 'closes before the last chunk',
    on: answerThen(
      'HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n5\r\n12345\r\n',
      ({ socket }) => socket.end(),
    ),
    kind: 'unknown-outcome',
    inBody: true,
  },
  {
    name: 'answers something else than HTTP',
    on: answerThen('SSH-2.0-OpenSSH_9.2\r\n\r\n', () => undefined),
    kind: 'bad-answer',
  },
  {
    name: 'answers with a broken chunk',
    on: answerThen('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n', () => undefined),
    kind: 'bad-answer',
    inBody: true,
  },
];

describe('the outcome of a request', () => {
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

  const failed = async (work: ReturnType<typeof post>): Promise<HttpError> =>
    errorOf(work.then((answer) => answer.bytes()));

  for (const { name, on, kind, inBody = false } of BREAKS) {
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

  it('is not-connected when nothing listens', async () => {
    const server = await RawServer.open(() => undefined);
    const { url } = server;
    await server.close();
    expect(await failed(post(client, url))).to.include({
      kind: 'not-connected',
      requestSent: false,
      code: 'ECONNREFUSED',
    });
    expect(await failed(post(client, url, { onOwnConnection: false }))).to.include({
      kind: 'not-connected',
      requestSent: false,
    });
  });

  it('is not-connected when the name has no address', async () => {
    for (const [code, resolve] of [
      ['ENOTFOUND', async () => []],
      [
        'EAI_AGAIN',
        async () => {
          throw Object.assign(new Error('no answer from dns'), { code: 'EAI_AGAIN' });
        },
      ],
    ] as const) {
      const named = kept(localClient({ resolve }));
      expect(await failed(post(named, 'https://nothing.example/'))).to.include({
        kind: 'not-connected',
        requestSent: false,
        code,
      });
    }
  });

  it('is not-connected when the system resolves no such name', async () => {
    expect(await failed(post(client, 'https://nothing.invalid/'))).to.include({
      kind: 'not-connected',
      requestSent: false,
    });
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
    expect(await failed(post(client, server.url, { signal: AbortSignal.abort() }))).to.include({
      kind: 'aborted',
      requestSent: false,
    });
    let found: (value: { address: string; family: number }[]) => void = () => undefined;
    const named = kept(
      localClient({
        resolve: () =>
          new Promise((resolve) => {
            found = resolve;
          }),
      }),
    );
    const abort = new AbortController();
    const answer = failed(post(named, `http://some.name:${server.port}/`, { signal: abort.signal }));
    await Promise.resolve();
    abort.abort();
    expect(await answer).to.include({ kind: 'aborted', requestSent: false });
    found([{ address: '127.0.0.1', family: 4 }]);
    await (await get(client, server.url)).bytes();
    expect(server.received, 'the aborted request never came').to.not.include('POST');
  });

  it('is aborted, and sent, when the call is aborted while it is answered', async () => {
    const abort = new AbortController();
    const server = kept(await RawServer.open((connection) => onceReceived(connection, BODY, () => abort.abort())));
    expect(await failed(post(client, server.url, { signal: abort.signal }))).to.include({
      kind: 'aborted',
      requestSent: true,
    });
  });

  it("is aborted, and sent, when the call is aborted within the answer's body, and the connection is closed", async () => {
    const abort = new AbortController();
    let closed: () => void = () => undefined;
    const closes = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const server = kept(
      await RawServer.open((connection) => {
        connection.socket.once('close', closed);
        answerThen('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345', () => undefined)(connection);
      }),
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
    await closes;
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
      const outcome = outcomeOfAnswer(
        { status: 429, retryAfter, ...(date === undefined ? {} : { date }), body: json({}) },
        {},
        NOW,
      );
      expect(outcome).to.include({ outcome: 'refused', because: 'capacity' });
      return typeof outcome === 'object' ? outcome.retryAfterMs : undefined;
    };
    expect(outcomeOf(429)).to.deep.equal({ outcome: 'refused', because: 'capacity', status: 429, body: {} });
    expect(waitOf('30')).to.equal(30_000);
    expect(waitOf(' 0 ')).to.equal(0);
    expect(waitOf('1.25')).to.equal(1_250);
    expect(waitOf('Mon, 23 Nov 2026 12:01:00 GMT')).to.equal(60_000);
    expect(
      waitOf('Mon, 23 Nov 2026 15:01:00 GMT', 'Mon, 23 Nov 2026 15:00:00 GMT'),
      'by the clock of the server',
    ).to.equal(60_000);
    expect(waitOf('Mon, 23 Nov 2026 12:01:00 GMT', 'yesterday'), 'a date that is none').to.equal(60_000);
    for (const absurd of [
      '',
      '-1',
      '1e3',
      '0x10',
      'soon',
      '99999999999',
      '2592001',
      'Mon, 23 Nov 2026 11:59:59 GMT',
      'Mon, 23 Nov 2126 12:00:00 GMT',
      'Sun Nov  6 08:49:37 2026',
    ])
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
    const KINDS: readonly HttpErrorKind[] = [
      'refused-address',
      'not-connected',
      'unknown-outcome',
      'too-large',
      'timed-out',
      'aborted',
      'bad-answer',
    ];

    it('is unreachable if no byte was sent, except for a call that was aborted', () => {
      for (const kind of KINDS) {
        const error = new HttpError(kind, 'It failed.', { requestSent: false });
        if (kind === 'aborted') expect(() => outcomeOfFailure(error)).to.throw(error);
        else expect(outcomeOfFailure(error)).to.deep.equal({ outcome: 'refused', because: 'unreachable' });
      }
    });

    it('is unknown if any byte was sent', () => {
      for (const kind of KINDS) {
        const error = new HttpError(kind, 'It failed.', { requestSent: true });
        expect(() => outcomeOfFailure(error)).to.throw(error);
      }
    });
  });
});
