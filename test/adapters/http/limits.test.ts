/*
 * Goal: an answer takes no more memory, and no more time, than its limits say: headers, body, what the body decompresses to, and each phase.
 * Method: real servers that send too much, too fast, compressed beyond reason, or nothing more. Time limits are small and their being
 * exceeded is all that is looked at.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import type { HttpAnswer } from '../../../adapters/http/http-answer.js';
import type { HttpClient } from '../../../adapters/http/http-client.js';
import { HttpClient as Client } from '../../../adapters/http/http-client.js';
import { errorOf, get, localClient, post, UNABORTED } from './client.js';
import { answering, RawServer } from './raw-server.js';

const MIB = 1024 * 1024;
const never = () => new Promise<never>(() => undefined);

describe('the limits of an answer', () => {
  const opened: { close(): Promise<unknown> }[] = [];
  const kept = <T extends { close(): Promise<unknown> }>(one: T): T => {
    opened.push(one);
    return one;
  };
  let client: HttpClient;
  beforeEach(() => {
    client = kept(localClient({ limits: { maxBodyBytes: 1_000 } }));
  });
  afterEach(async () => void (await Promise.all(opened.splice(0).map((one) => one.close()))));

  /** The address of a server, which is closed after the test. */
  async function listening(server: Server): Promise<string> {
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    kept({
      close: async () => {
        server.closeAllConnections();
        server.close();
      },
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  }

  /** A server that answers everything with this body; it counts what it could send of one that has no end. */
  async function serving(
    body: Uint8Array | 'endless',
    headers: Record<string, string> = {},
  ): Promise<{ readonly url: string; sent: number }> {
    const counted = { url: '', sent: 0 };
    const server = createServer((_, response) => {
      response.writeHead(200, headers);
      if (body !== 'endless') return void response.end(body);
      const piece = Buffer.alloc(16 * 1024, 'x');
      const more = () => {
        do counted.sent += piece.byteLength;
        while (response.write(piece) && !response.destroyed);
      };
      response.on('drain', more);
      more();
    });
    counted.url = await listening(server);
    return counted;
  }

  const bodyOf = async (url: string, limits = {}) => (await get(client, url, { limits })).bytes();

  it('accept a body of exactly the allowed size, and refuse one byte more', async () => {
    const [fits, exceeds] = [await serving(Buffer.alloc(1_000, 'x')), await serving(Buffer.alloc(1_001, 'x'))];
    expect(await bodyOf(fits.url)).to.have.length(1_000);
    expect(await errorOf(bodyOf(exceeds.url))).to.include({ kind: 'too-large', requestSent: true });
    const [chunked] = [await serving(Buffer.alloc(1_001, 'x'), { 'transfer-encoding': 'chunked' })];
    expect(await errorOf(bodyOf(chunked.url))).to.include({ kind: 'too-large', requestSent: true });
  });

  it('end an endless answer', async () => {
    const server = await serving('endless');
    expect(await errorOf(bodyOf(server.url, { maxBodyBytes: 100_000 }))).to.include({ kind: 'too-large' });
  });

  it('apply back-pressure to a server whose answer is not read', async () => {
    const server = await serving('endless');
    const answer = await get(client, server.url, { limits: { maxBodyBytes: 2 ** 40 } });
    const reader = answer.body()[Symbol.asyncIterator]();
    await reader.next();
    const idle = await serving(Buffer.from('x'));
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
        await serving(compress(Buffer.alloc(1_000, 'x')), { 'content-encoding': encoding }),
        await serving(compress(Buffer.alloc(1_001, 'x')), { 'content-encoding': encoding }),
      ];
      expect(String(await bodyOf(fits.url))).to.equal('x'.repeat(1_000));
      expect(await errorOf(bodyOf(exceeds.url))).to.include({ kind: 'too-large', requestSent: true });
    });

    it(`refuse a body of ${encoding} that is broken or cut`, async () => {
      const whole = compress(Buffer.from('a'.repeat(300) + 'b'.repeat(300)));
      const broken = Buffer.concat([Buffer.from('not compressed at all, by any means')]);
      for (const body of [whole.subarray(0, whole.length - 5), broken]) {
        const server = await serving(body, { 'content-encoding': encoding });
        expect(await errorOf(bodyOf(server.url))).to.include({ kind: 'bad-answer', requestSent: true });
      }
    });
  }

  it('let an answer without a body pass, whatever encoding and length it names', async () => {
    const server = await serving(Buffer.alloc(0), { 'content-encoding': 'gzip' });
    expect(await bodyOf(server.url)).to.have.length(0);
    const large = await serving(Buffer.alloc(5_000), { 'content-encoding': 'gzip', 'content-length': '5000' });
    const answer = await client.request({ method: 'HEAD', url: large.url, signal: UNABORTED });
    expect([
      answer.header('Content-Length'),
      answer.header('constructor'),
      (await answer.bytes()).byteLength,
    ]).to.deep.equal(['5000', undefined, 0]);
  });

  it('refuse what decompresses to many times its size, before it is large', async () => {
    const bomb = await serving(gzipSync(Buffer.alloc(50 * 1024 * 1024)), { 'content-encoding': 'gzip' });
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
      const server = await serving(Buffer.from('x'), { 'content-encoding': encoding });
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
      let closed: () => void = () => undefined;
      const closes = new Promise<void>((resolve) => {
        closed = resolve;
      });
      const server = kept(
        await RawServer.open((connection) => {
          connection.socket.once('close', closed);
          answering(`HTTP/1.1 200 OK\r\n${header}\r\n12345`)(connection);
        }),
      );
      await end(await get(client, server.url));
      await closes;
    }
  });

  it('close the connection of a compressed answer that is left, without waiting for the rest', async () => {
    const begun = gzipSync(Buffer.alloc(500, 'x'), { finishFlush: constants.Z_SYNC_FLUSH });
    const head = 'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 5000\r\n\r\n';
    const server = kept(await RawServer.open(answering(Buffer.concat([Buffer.from(head), begun]))));
    const other = kept(await RawServer.open(answering('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')));
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
    const [connection] = server.connections;
    if (connection?.socket.closed === false)
      await new Promise<void>((resolve) => {
        connection.socket.once('close', () => resolve());
      });
  });

  it('refuse headers that are too large', async () => {
    const large = kept(localClient({ maxHeaderBytes: 2_000 }));
    for (const headers of [`x: ${'y'.repeat(3_000)}\r\n`, 'x: y\r\n'.repeat(1_500)]) {
      const server = kept(await RawServer.open(answering(`HTTP/1.1 200 OK\r\n${headers}content-length: 0\r\n\r\n`)));
      expect(await errorOf(get(large, server.url)), headers.slice(0, 4)).to.include({
        kind: 'too-large',
        requestSent: true,
      });
    }
  });

  it('read JSON, and refuse anything else, without repeating it', async () => {
    const good = await serving(Buffer.from('{"id":"a"}'));
    expect(await (await get(client, good.url)).json()).to.deep.equal({ id: 'a' });
    for (const body of ['', '{"s3cret":', '<html>s3cret</html>', Buffer.from([0x22, 0xff, 0x22])]) {
      const server = await serving(Buffer.from(body));
      const error = await errorOf((await get(client, server.url)).json());
      expect([error.kind, error.requestSent]).to.deep.equal(['bad-answer', true]);
      expect(error.message)
        .to.match(/status 200 is not JSON\.$/)
        .and.not.include('s3cret');
    }
  });

  it('read as JSON only what does not declare another type', async () => {
    for (const [type, isJson] of [
      ['application/json', true],
      ['Application/JSON ; charset=utf-8', true],
      ['application/problem+json', true],
      ['text/json', true],
      ['text/html', false],
      ['text/plain; charset=utf-8', false],
      ['application/jsonp', false],
      ['application/x-ndjson', false],
      ['json', false],
    ] as const) {
      const server = await serving(Buffer.from('{}'), { 'content-type': type });
      const answer = await get(client, server.url);
      if (isJson) expect(await answer.json(), type).to.deep.equal({});
      else expect(await errorOf(answer.json()), type).to.include({ kind: 'bad-answer', requestSent: true });
    }
  });

  it('can be less for one reading, and not more', async () => {
    const server = await serving(Buffer.from(`"${'x'.repeat(998)}"`));
    expect(await errorOf((await get(client, server.url)).json(999))).to.include({ kind: 'too-large' });
    expect(await (await get(client, server.url)).json(1_000)).to.have.length(998);
    const exceeds = await serving(Buffer.alloc(1_001, 'x'), { 'transfer-encoding': 'chunked' });
    expect(await errorOf((await get(client, exceeds.url)).bytes(2_000))).to.include({ kind: 'too-large' });
  });

  it('allow a body to be read once', async () => {
    const answer = await get(client, (await serving(Buffer.from('x'))).url);
    await answer.bytes();
    expect(() => answer.body()).to.throw('read once');
  });

  it('must be numbers above zero', () => {
    for (const limits of [
      { maxBodyBytes: 0 },
      { totalTimeoutMs: -1 },
      { idleTimeoutMs: Number.NaN },
      { connectTimeoutMs: 2 ** 31 },
    ])
      expect(() => new Client({ limits })).to.throw(RangeError);
  });

  describe('of time', () => {
    it('end the wait for a name, with nothing sent', async () => {
      const named = kept(localClient({ resolve: never }));
      const error = await errorOf(post(named, 'https://some.name/', { limits: { connectTimeoutMs: 20 } }));
      expect(error).to.include({ kind: 'timed-out', phase: 'connect', requestSent: false });
    });

    it('end the wait for TLS, with nothing sent', async () => {
      const server = kept(await RawServer.open(() => undefined));
      const error = await errorOf(
        post(client, `https://127.0.0.1:${server.port}/`, { limits: { connectTimeoutMs: 50 } }),
      );
      expect(error).to.include({ kind: 'timed-out', phase: 'connect', requestSent: false });
    });

    it('end the wait for a free connection, with nothing sent', async () => {
      const only = kept(localClient({ maxConnectionsPerOrigin: 1 }));
      const server = kept(await RawServer.open(() => undefined));
      const first = errorOf(post(only, server.url, { limits: { headersTimeoutMs: 500 } }));
      expect(await errorOf(post(only, server.url, { limits: { connectTimeoutMs: 20 } }))).to.include({
        kind: 'timed-out',
        phase: 'connect',
        requestSent: false,
      });
      expect(await first).to.include({ kind: 'timed-out', phase: 'headers', requestSent: true });
      expect(server.received.split('POST /').length - 1, 'the one that waited never came').to.equal(1);
    });

    it('end the wait for a free connection without using one afterwards', async () => {
      const only = kept(localClient({ maxConnectionsPerOrigin: 1 }));
      let release: (() => void) | undefined;
      const server = kept(
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
      // The kernel holds some MiB: until the server has taken those, nothing moves for the client. That takes a fraction of the
      // limit, and all together more than twice as long.
      const long = Buffer.alloc(64 * MIB, 'x');
      let receivedBytes = 0;
      const server = createServer((request, response) => {
        request.on('data', (piece: Buffer) => {
          const pauses = Math.floor((receivedBytes + piece.byteLength) / MIB) > Math.floor(receivedBytes / MIB);
          receivedBytes += piece.byteLength;
          if (!pauses) return;
          request.pause();
          setTimeout(() => request.resume(), 40);
        });
        request.on('end', () => response.end('ok'));
      });
      const url = await listening(server);
      const answer = await post(client, url, { body: long, limits: { headersTimeoutMs: 1_000 } });
      expect(String(await answer.bytes())).to.equal('ok');
      expect(receivedBytes).to.equal(long.byteLength);
    });

    it('end the wait for an answer', async () => {
      for (const begin of [
        '',
        'HTTP/1.1 200',
        'HTTP/1.1 103 Early Hints\r\n\r\n',
        'HTTP/1.1 200 OK\r\ncontent-length: 3\r\n',
      ]) {
        const server = kept(await RawServer.open(({ socket }) => void socket.once('data', () => socket.write(begin))));
        const error = await errorOf(get(client, server.url, { limits: { headersTimeoutMs: 50 } }));
        expect(error, begin).to.include({ kind: 'timed-out', phase: 'headers', requestSent: true });
      }
    });

    it('end a pause in a body, but not one the reader makes', async () => {
      const server = kept(await RawServer.open(answering('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345')));
      const answer = await get(client, server.url, { limits: { idleTimeoutMs: 30 } });
      const error = await errorOf(
        (async () => {
          for await (const piece of answer.body()) {
            expect(String(piece)).to.equal('12345');
            // Far longer than the limit: other exchanges are carried out meanwhile.
            for (let count = 0; count < 100; count += 1) await bodyOf((await serving(Buffer.from('x'))).url);
          }
        })(),
      );
      expect(error).to.include({ kind: 'timed-out', phase: 'idle', requestSent: true });
    });

    it('end a call, though bytes keep arriving', async () => {
      const server = await serving('endless');
      const error = await errorOf(bodyOf(server.url, { totalTimeoutMs: 100, maxBodyBytes: 2 ** 50 }));
      expect(error).to.include({ kind: 'timed-out', phase: 'total' });
    });
  });
});
