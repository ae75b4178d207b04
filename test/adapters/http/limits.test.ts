import { expect } from 'chai';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import type { Resolver } from '../../../adapters/http/connections.js';
import type { HttpAnswer } from '../../../adapters/http/http-answer.js';
import { type HttpClient, HttpClient as Client } from '../../../adapters/http/http-client.js';
import { until } from '../../fixtures/clocks.js';
import { untilClosed } from '../../fixtures/opened.js';
import { errorOf, get, localClient, post, UNABORTED } from './client.js';
import { LimitTimers } from './limit-timers.js';
import { answering, BodyServers, RawServer } from './raw-server.js';

const servers = new BodyServers();
let client: HttpClient;

/** A client that takes 1,000 bytes, and servers that are closed after the test. */
function openForEachTest(): void {
  beforeEach(() => {
    client = servers.keep(localClient({ limits: { maxBodyBytes: 1_000 } }));
  });
  afterEach(() => servers.close());
}

const bodyOf = async (url: string, limits = {}) => (await get(client, url, { limits })).bytes();

/*
 * Goal: an answer takes no more memory than its limits say: headers, body, and what the body decompresses to.
 * Method: real servers that send too much, too fast, or compressed beyond reason.
 */

describe('the limits of an answer', () => {
  openForEachTest();

  it('accept a body of exactly the allowed size, and refuse one byte more', async () => {
    const fits = await servers.serving(Buffer.alloc(1_000, 'x'));
    expect(await bodyOf(fits.url)).to.have.length(1_000);
    for (const headers of [undefined, { 'transfer-encoding': 'chunked' }]) {
      const { url } = await servers.serving(Buffer.alloc(1_001, 'x'), headers);
      expect(await errorOf(bodyOf(url))).to.include({ kind: 'too-large', requestSent: true });
    }
  });

  it('end an endless answer', async () => {
    const server = await servers.serving('endless');
    expect(await errorOf(bodyOf(server.url, { maxBodyBytes: 100_000 }))).to.include({ kind: 'too-large' });
  });

  it('apply back-pressure to a server whose answer is not read', async () => {
    const server = await servers.serving('endless');
    const answer = await get(client, server.url, { limits: { maxBodyBytes: 2 ** 40 } });
    const reader = answer.body()[Symbol.asyncIterator]();
    await reader.next();
    const idle = await servers.serving(Buffer.from('x'));
    // While the reader waits, other requests are answered, and the amount sent comes to rest at what the buffers of
    // both sides hold.
    let before = -1;
    while (before !== server.sent) {
      before = server.sent;
      for (let count = 0; count < 20; count += 1) await bodyOf(idle.url);
    }
    expect(server.sent).to.be.below(32 * 1024 * 1024);
    await reader.return?.();
  });

  for (const [encoding, compress] of [
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['x-gzip', gzipSync],
  ] as const) {
    it(`count a body of ${encoding} once it is decompressed`, async () => {
      const [fits, exceeds] = [
        await servers.serving(compress(Buffer.alloc(1_000, 'x')), { 'content-encoding': encoding }),
        await servers.serving(compress(Buffer.alloc(1_001, 'x')), { 'content-encoding': encoding }),
      ];
      expect(String(await bodyOf(fits.url))).to.equal('x'.repeat(1_000));
      expect(await errorOf(bodyOf(exceeds.url))).to.include({ kind: 'too-large', requestSent: true });
    });

    it(`refuse a body of ${encoding} that is broken or cut`, async () => {
      const whole = compress(Buffer.from('a'.repeat(300) + 'b'.repeat(300)));
      const broken = Buffer.concat([Buffer.from('not compressed at all, by any means')]);
      for (const body of [whole.subarray(0, whole.length - 5), broken]) {
        const server = await servers.serving(body, { 'content-encoding': encoding });
        expect(await errorOf(bodyOf(server.url))).to.include({ kind: 'bad-answer', requestSent: true });
      }
    });
  }

  it('let an answer without a body pass, whatever encoding and length it names', async () => {
    const server = await servers.serving(Buffer.alloc(0), { 'content-encoding': 'gzip' });
    expect(await bodyOf(server.url)).to.have.length(0);
    const large = await servers.serving(Buffer.alloc(5_000), { 'content-encoding': 'gzip', 'content-length': '5000' });
    const answer = await client.request({ method: 'HEAD', url: large.url, signal: UNABORTED });
    expect([
      answer.header('Content-Length'),
      answer.header('constructor'),
      (await answer.bytes()).byteLength,
    ]).to.deep.equal(['5000', undefined, 0]);
  });

  it('refuse what decompresses to many times its size, before it is large', async () => {
    const bomb = await servers.serving(gzipSync(Buffer.alloc(50 * 1024 * 1024)), { 'content-encoding': 'gzip' });
    const pieces: number[] = [];
    const error = await errorOf(
      (async () => {
        for await (const piece of (await get(client, bomb.url, { limits: { maxBodyBytes: 2 ** 30 } })).body())
          pieces.push(piece.byteLength);
      })(),
    );
    expect(error).to.include({ kind: 'too-large' });
    expect(error.message).to.include('100 times');
    expect(pieces.reduce((sum, bytes) => sum + bytes, 0)).to.be.below(8 * 1024 * 1024);
  });

  it('refuse a compression that was not requested, or is stacked', async () => {
    for (const encoding of ['zstd', 'compress', 'gzip, gzip', 'toString', '__proto__']) {
      const server = await servers.serving(Buffer.from('x'), { 'content-encoding': encoding });
      expect(await errorOf(bodyOf(server.url)), encoding).to.include({ kind: 'bad-answer', requestSent: true });
    }
  });

  it('close the connection of an answer that is refused, or left, before its end', async () => {
    const endings: readonly (readonly [string, (answer: HttpAnswer) => Promise<unknown>])[] = [
      ['content-encoding: zstd\r\n', (answer) => errorOf(answer.bytes())],
      ['content-length: 5000\r\n', (answer) => errorOf(answer.bytes())],
      [
        'content-length: 500\r\n',
        async (answer) => {
          for await (const _ of answer.body()) break;
        },
      ],
      ['content-length: 500\r\n', async (answer) => answer.discard()],
    ];
    for (const [header, end] of endings) {
      const server = servers.keep(await RawServer.open(answering(`HTTP/1.1 200 OK\r\n${header}\r\n12345`)));
      await end(await get(client, server.url));
      await untilClosed(server.connections[0]!.socket);
    }
  });

  it('close the connection of a compressed answer that is left, without waiting for the rest', async () => {
    const begun = gzipSync(Buffer.alloc(500, 'x'), { finishFlush: constants.Z_SYNC_FLUSH });
    const head = 'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 5000\r\n\r\n';
    const server = servers.keep(await RawServer.open(answering(Buffer.concat([Buffer.from(head), begun]))));
    const other = servers.keep(await RawServer.open(answering('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')));
    // No limit of time ends the call while the test runs.
    const limits = { idleTimeoutMs: 600_000, totalTimeoutMs: 600_000, maxBodyBytes: 10_000 };
    const answer = await get(client, server.url, { limits });
    const taken: string[] = [];
    let hasLeft = false;
    const leaving = (async () => {
      for await (const piece of answer.body()) {
        taken.push(String(piece));
        break;
      }
      hasLeft = true;
    })();
    for (let others = 0; others < 50; others += 1) await (await get(client, other.url)).bytes();
    expect(taken).to.deep.equal(['x'.repeat(500)]);
    expect(hasLeft, 'it was left before 50 other calls ended').to.equal(true);
    await leaving;
    await untilClosed(server.connections[0]!.socket);
  });

  it('refuse headers that are too large', async () => {
    const large = servers.keep(localClient({ maxHeaderBytes: 2_000 }));
    for (const headers of [`x: ${'y'.repeat(3_000)}\r\n`, 'x: y\r\n'.repeat(1_500)]) {
      const server = servers.keep(
        await RawServer.open(answering(`HTTP/1.1 200 OK\r\n${headers}content-length: 0\r\n\r\n`)),
      );
      const error = await errorOf(get(large, server.url));
      expect(error, headers.slice(0, 4)).to.include({ kind: 'too-large', requestSent: true });
    }
  });

  it('read JSON, and refuse anything else, without repeating it', async () => {
    const good = await servers.serving(Buffer.from('{"id":"a"}'));
    expect(await (await get(client, good.url)).json()).to.deep.equal({ id: 'a' });
    for (const body of ['', '{"s3cret":', '<html>s3cret</html>', Buffer.from([0x22, 0xff, 0x22])]) {
      const server = await servers.serving(Buffer.from(body));
      const error = await errorOf((await get(client, server.url)).json());
      expect([error.kind, error.requestSent]).to.deep.equal(['bad-answer', true]);
      expect(error.message)
        .to.match(/status 200 is not JSON\.$/)
        .and.not.include('s3cret');
    }
  });

  it('read JSON whatever type it declares, and with what servers write around it', async () => {
    const types = [
      'application/x-ndjson',
      'application/octet-stream',
      'text/plain; charset=utf-8',
      'text/html',
      'json',
    ];
    const python = '{"a":NaN,"b":[-Infinity,Infinity],"c":"NaN -Infinity \\" NaN"}';
    for (const type of types)
      for (const [body, expected] of [
        ['{"id":"a"}\n', { id: 'a' }],
        ['\ufeff{"id":"a"}', { id: 'a' }],
        [' \r\n\t {"id":"a"} ', { id: 'a' }],
        [' \n\ufeff{"id":"a"}', { id: 'a' }],
        ['[null,{"a":1}]', [null, { a: 1 }]],
        [python, { a: null, b: [null, null], c: 'NaN -Infinity " NaN' }],
        ['NaN', null],
      ] as const) {
        const { url } = await servers.serving(Buffer.from(body), { 'content-type': type });
        expect(await (await get(client, url)).json(), `${type}: ${body}`).to.deep.equal(expected);
        const short = await (await get(client, url)).requiredShortJson(1_000);
        expect(short, `${type}: ${body}`).to.deep.equal(expected);
      }
  });

  it('refuse what is not JSON under any type, and repeat none of it', async () => {
    const texts = ['<html>s3cret</html>', '  <p>s3cret', 's3cret'];
    for (const type of ['application/json', 'text/html', 'application/octet-stream'])
      for (const body of [...texts, '{"s3cret":nan}', '{"s3cret":NaNs}', '{"a":1}{"s3cret":1}']) {
        const server = await servers.serving(Buffer.from(body), { 'content-type': type });
        const error = await errorOf((await get(client, server.url)).json());
        expect(error, body).to.include({ kind: 'bad-answer', requestSent: true });
        expect(error.message).to.not.include('s3cret');
      }
  });

  it('come with what the answer asks of its caller', async () => {
    const limited = await servers.serving(Buffer.from('<p>'), { 'retry-after': '7' });
    expect(await errorOf((await get(client, limited.url)).json())).to.include({ retryAfterMs: 7_000 });
  });

  it('can be less for one reading, and not more', async () => {
    const server = await servers.serving(Buffer.from(`"${'x'.repeat(998)}"`));
    expect(await errorOf((await get(client, server.url)).json(999))).to.include({ kind: 'too-large' });
    expect(await (await get(client, server.url)).json(1_000)).to.have.length(998);
    const exceeds = await servers.serving(Buffer.alloc(1_001, 'x'), { 'transfer-encoding': 'chunked' });
    expect(await errorOf((await get(client, exceeds.url)).bytes(2_000))).to.include({ kind: 'too-large' });
  });

  it('allow a body to be read once', async () => {
    const answer = await get(client, (await servers.serving(Buffer.from('x'))).url);
    await answer.bytes();
    expect(() => answer.body()).to.throw('read once');
  });

  it('must be numbers above zero', () => {
    const notNumbers = [{ idleTimeoutMs: Number.NaN }, { connectTimeoutMs: 2 ** 31 }];
    for (const limits of [{ maxBodyBytes: 0 }, { totalTimeoutMs: -1 }, ...notNumbers])
      expect(() => new Client({ limits })).to.throw(RangeError);
  });
});

/*
 * Goal: no phase of a call takes more time than its limits allow, and a call that makes progress is not ended.
 * Method: real servers that stop sending or never stop. Time limits are small, and the tests check only that they are
 * exceeded. If a limit must not be exceeded, the test controls its clock and advances it by events.
 */

const MIB = 1024 * 1024;
/** No other timer has it. */
const LIMIT_MS = 987_653;
const never = () => new Promise<never>(() => undefined);

/** Counts the bytes of a body that a server has received. The server answers once it has the whole body. */
class Received {
  private byteSize = 0;
  private arrived = () => undefined as void;

  all(request: IncomingMessage, response: ServerResponse): void {
    request.on('data', (piece: Buffer) => {
      this.byteSize += piece.byteLength;
      this.arrived();
    });
    request.on('end', () => response.end('ok'));
  }

  async until(byteSize: number): Promise<void> {
    while (this.byteSize < byteSize)
      await new Promise<void>((resolve) => {
        this.arrived = resolve;
      });
  }
}

describe('the time limits of a call', () => {
  openForEachTest();

  let timers: LimitTimers | undefined;
  afterEach(() => timers?.restore());

  /** A server that counts what it receives, while the time of the limits passes only as the test says. */
  async function timed() {
    const [received, own] = [new Received(), LimitTimers.replace(LIMIT_MS)];
    timers = own;
    const url = await servers.listening(createServer((request, response) => received.all(request, response)));
    return { url, received, timers: own, limits: { headersTimeoutMs: LIMIT_MS } };
  }

  it('end the wait for a name, with nothing sent', async () => {
    const named = servers.keep(localClient({ resolve: never }));
    const error = await errorOf(post(named, 'https://some.name/', { limits: { connectTimeoutMs: 20 } }));
    expect(error).to.include({ kind: 'timed-out', phase: 'connect', requestSent: false });
  });

  it('end the resolution of a name that the connection waits for', async () => {
    let closed: AbortSignal | undefined;
    const resolve: Resolver = (_hostname, signal) => {
      closed = signal;
      return never();
    };
    const named = servers.keep(localClient({ resolve, limits: { connectTimeoutMs: 20 } }));
    await errorOf(post(named, 'https://some.name/'));
    await until(() => closed?.aborted === true);
  });

  it('end the wait for TLS, with nothing sent', async () => {
    const server = servers.keep(await RawServer.open(() => undefined));
    const error = await errorOf(
      post(client, `https://127.0.0.1:${server.port}/`, { limits: { connectTimeoutMs: 50 } }),
    );
    expect(error).to.include({ kind: 'timed-out', phase: 'connect', requestSent: false });
  });

  it('end the wait for a free connection, with nothing sent', async () => {
    const only = servers.keep(localClient({ maxConnectionsPerOrigin: 1 }));
    const server = servers.keep(await RawServer.open(() => undefined));
    const first = errorOf(post(only, server.url, { limits: { headersTimeoutMs: 500 } }));
    const waiting = await errorOf(post(only, server.url, { limits: { connectTimeoutMs: 20 } }));
    expect(waiting).to.include({ kind: 'timed-out', phase: 'connect', requestSent: false });
    expect(await first).to.include({ kind: 'timed-out', phase: 'headers', requestSent: true });
    expect(server.received.split('POST /').length - 1, 'the one that waited never came').to.equal(1);
  });

  it('end the wait for a free connection without using one afterwards', async () => {
    const only = servers.keep(localClient({ maxConnectionsPerOrigin: 1 }));
    let release: (() => void) | undefined;
    const server = servers.keep(
      await RawServer.open((connection, index) => {
        const answer = answering('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
        if (index > 0) return answer(connection);
        release = () => void connection.socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
      }),
    );
    const first = get(only, server.url, { limits: { headersTimeoutMs: 60_000 } });
    const waiting = Array.from({ length: 3 }, () =>
      errorOf(get(only, server.url, { limits: { connectTimeoutMs: 20 } })),
    );
    for (const error of await Promise.all(waiting))
      expect(error).to.include({ kind: 'timed-out', phase: 'connect', requestSent: false });
    const last = get(only, server.url, { limits: { connectTimeoutMs: 60_000 } });
    release?.();
    await (await first).bytes();
    expect(server.connections).to.have.length(1);
    release = undefined;
    const [connection] = server.connections;
    connection?.socket.on('data', () => connection.socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'));
    await (await last).bytes();
    expect(server.connections, 'the connection was kept').to.have.length(1);
  });

  it('do not count the time that a long body is on its way, while it moves', async () => {
    const { url, received, timers: own, limits } = await timed();
    async function* slow(): AsyncGenerator<Uint8Array> {
      for (let count = 1; count <= 20; count += 1) {
        yield Buffer.alloc(1_000, 'x');
        await received.until(count * 1_000);
        own.advance(0.75 * LIMIT_MS);
      }
    }
    const answer = await post(client, url, { body: { stream: slow(), byteSize: 20_000 }, limits });
    expect(String(await answer.bytes())).to.equal('ok');
    expect(own.nowMs, 'the body took far longer').to.equal(15 * LIMIT_MS);
  });

  it('count the time in which a long body does not move', async () => {
    const { url, received, timers: own, limits } = await timed();
    async function* stopping(): AsyncGenerator<Uint8Array> {
      for (const count of [1, 2]) {
        yield Buffer.alloc(1_000, 'x');
        await received.until(count * 1_000);
        own.advance(0.75 * LIMIT_MS);
      }
      own.advance(0.25 * LIMIT_MS);
      await never();
    }
    const error = await errorOf(post(client, url, { body: { stream: stopping(), byteSize: 20_000 }, limits }));
    expect(error).to.include({ kind: 'timed-out', phase: 'headers', requestSent: true });
  });

  it('begin anew with each piece of a body that is in memory', async () => {
    const { url, timers: own, limits } = await timed();
    const body = Buffer.alloc(8 * MIB, 'x');
    const answer = await post(client, url, { body, limits });
    expect(String(await answer.bytes())).to.equal('ok');
    const pieces = body.byteLength / (64 * 1024);
    expect(own.begun, 'once for the request, and for each piece').to.equal(1 + pieces);
  });

  it('end the wait for an answer', async () => {
    const early = 'HTTP/1.1 103 Early Hints\r\n\r\n';
    for (const begin of ['', 'HTTP/1.1 200', early, 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\n']) {
      const server = servers.keep(
        await RawServer.open(({ socket }) => void socket.once('data', () => socket.write(begin))),
      );
      const error = await errorOf(get(client, server.url, { limits: { headersTimeoutMs: 50 } }));
      expect(error, begin).to.include({ kind: 'timed-out', phase: 'headers', requestSent: true });
    }
  });

  it('end a pause in a body, but not one the reader makes', async () => {
    const server = servers.keep(await RawServer.open(answering('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345')));
    const answer = await get(client, server.url, { limits: { idleTimeoutMs: 30 } });
    const error = await errorOf(
      (async () => {
        for await (const piece of answer.body()) {
          expect(String(piece)).to.equal('12345');
          // Far longer than the limit: other exchanges are carried out meanwhile.
          for (let count = 0; count < 100; count += 1) await bodyOf((await servers.serving(Buffer.from('x'))).url);
        }
      })(),
    );
    expect(error).to.include({ kind: 'timed-out', phase: 'idle', requestSent: true });
  });

  it('end a call, though bytes keep arriving', async () => {
    const server = await servers.serving('endless');
    const error = await errorOf(bodyOf(server.url, { totalTimeoutMs: 100, maxBodyBytes: 2 ** 50 }));
    expect(error).to.include({ kind: 'timed-out', phase: 'total' });
  });
});
