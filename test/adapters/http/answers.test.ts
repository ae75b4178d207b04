import { expect } from 'chai';
import fc from 'fast-check';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { createServer as createTlsServer } from 'node:tls';
import { ListedHosts } from '../../../adapters/http/allow-list.js';
import { answerAddress, type HttpAnswer } from '../../../adapters/http/http-answer.js';
import type { HttpClient } from '../../../adapters/http/http-client.js';
import { HttpError } from '../../../adapters/http/http-error.js';
import { untilClosed } from '../../fixtures/opened.js';
import { orSkip } from '../../servers/servers.js';
import { errorOf, get, localClient, post } from './client.js';
import { RawServer, turns } from './raw-server.js';
import { TlsServers } from './tls-servers.js';

/*
 * Goal: an address out of an answer is used only if it has the configured origin, or is https at a listed host.
 * Method: a table of addresses, and a property: no name is taken for one below a suffix unless it ends with a dot and that suffix.
 */

const RULES = {
  base: 'http://10.0.0.5:8188/api/',
  hosts: new ListedHosts(['.example.com', 'cdn.example.net', 'media.example.org:8443']),
};

function refusalOf(address: unknown): HttpError {
  try {
    answerAddress(address, RULES);
  } catch (error) {
    if (error instanceof HttpError) return error;
    throw error;
  }
  throw new Error(`${String(address)} was accepted.`);
}

describe('an address out of an answer', () => {
  it('may be of the configured origin, also relative', () => {
    for (const [address, url] of [
      ['http://10.0.0.5:8188/view?id=1', 'http://10.0.0.5:8188/view?id=1'],
      ['/view?id=1#part', 'http://10.0.0.5:8188/view?id=1'],
      ['jobs/1', 'http://10.0.0.5:8188/api/jobs/1'],
      ['../../../etc', 'http://10.0.0.5:8188/etc'],
    ])
      expect(answerAddress(address, RULES)).to.deep.equal({ url, isOwnOrigin: true });
  });

  it('may be https at a listed host', () => {
    const below = ['https://a.example.com/x', 'https://b.a.EXAMPLE.com./x', 'https://cdn.example.net/x?signature=1'];
    for (const url of [...below, 'https://media.example.org:8443/x'])
      expect(answerAddress(url, RULES)).to.include({ isOwnOrigin: false });
  });

  it('is refused otherwise, without being repeated', () => {
    const others = [
      'https://evilexample.com/s3cret https://example.com/s3cret https://example.com.evil.net/s3cret',
      'https://a.example.com:8443/s3cret https://media.example.org/s3cret http://a.example.com/s3cret',
      'https://10.0.0.5:8188/s3cret http://10.0.0.5/s3cret http://10.0.0.5:8189/s3cret //evil.net/s3cret',
      '\\\\evil.net\\s3cret https:evil.net/s3cret http://s3cret@10.0.0.5:8188/ https://[s3cret/',
      'https://s3cret:s3cret@a.example.com/ file:///s3cret data:text/plain,s3cret ftp://a.example.com/s3cret',
      'https://[::1]/s3cret',
    ].flatMap((addresses) => addresses.split(' '));
    const long = `https://a.example.com/${'s3cret'.repeat(2_000)}`;
    for (const address of [...others, long, '', null, undefined, 7, { url: 's3cret' }]) {
      const error = refusalOf(address);
      expect([error.kind, error.requestSent], JSON.stringify(address)).to.deep.equal(['bad-answer', true]);
      expect(error.message).to.not.include('s3cret');
    }
  });

  it('is of a host below a suffix only at a dot', () => {
    const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?$/);
    const hosts = new ListedHosts(['.example.com']);
    fc.assert(
      fc.property(fc.array(label, { maxLength: 3 }), label, (labels, glued) => {
        const target = (hostname: string) => ({ protocol: 'https:', hostname, port: '443' }) as const;
        expect(hosts.has(target([...labels, 'example', 'com'].join('.')))).to.equal(labels.length > 0);
        expect(hosts.has(target([...labels, `${glued}example`, 'com'].join('.')))).to.equal(false);
      }),
    );
  });

  it('needs a list whose entries can be read', () => {
    const names = '. ..example.com *.example.com https://example.com example.com/x example.com:0 example.com:65536';
    for (const entry of ['', 'a b', ...`${names} .127.0.0.1 u@example.com`.split(' ')])
      expect(() => new ListedHosts([entry]), entry).to.throw(RangeError);
  });
});

/*
 * Goal: abandoning an answer while more of it is pending than the client would drain closes its connection, and does no
 * other harm.
 * Method: a real server that sends without end; requests on new connections and on kept ones.
 */

describe('an answer that is left', () => {
  let server: RawServer;
  let client: HttpClient;
  const closed = () => Promise.all(server.connections.map(({ socket }) => untilClosed(socket)));
  beforeEach(async () => {
    server = await RawServer.open(({ socket }) => {
      socket.once('data', () => Readable.from(endless()).pipe(socket));
    });
    client = localClient({ limits: { maxBodyBytes: 100_000_000 } });
  });
  afterEach(() => Promise.all([client.close(), server.close()]));

  for (const [how, send] of Object.entries({ 'its own connection': post, 'a kept connection': get })) {
    it(`closes ${how} though more of it waits`, async () => {
      const reading = (await send(client, server.url)).body()[Symbol.asyncIterator]();
      await reading.next();
      await stalled(server);
      await reading.return?.();
      await closed();
    });

    it(`closes ${how} when the call is aborted, and breaks off`, async () => {
      const abort = new AbortController();
      const answer = await send(client, server.url, { signal: abort.signal });
      const reading = answer.body()[Symbol.asyncIterator]();
      await reading.next();
      await stalled(server);
      abort.abort();
      await closed();
      expect(await errorOf(rest(reading))).to.have.property('kind', 'aborted');
    });
  }
});

async function* endless(): AsyncGenerator<Buffer> {
  yield Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 99000000\r\nConnection: close\r\n\r\n');
  for (;;) yield Buffer.alloc(256 * 1024, ' ');
}

async function rest(reading: AsyncIterator<Uint8Array>): Promise<void> {
  for (let next = await reading.next(); next.done !== true; next = await reading.next());
}

/** Resolves when the client reads no more, so that written bytes stay in the server's buffer. */
async function stalled(server: RawServer): Promise<void> {
  const { socket } = server.connections.at(-1)!;
  let [before, unchanged] = [-1, 0];
  while (unchanged < 100) {
    unchanged = socket.bytesWritten === before && socket.writableLength > 0 ? unchanged + 1 : 0;
    before = socket.bytesWritten;
    await turns(1);
  }
}

/*
 * Goal: no way in which a connection ends brings the process down.
 * Method: a real server whose answer ends with its connection, left in every way. Whatever a connection throws where nobody catches it
 * fails the run.
 */

const HEADS = {
  'ends with its connection': 'HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\n\r\n',
  'is of HTTP 1.0': 'HTTP/1.0 200 OK\r\n\r\n',
};

interface Left {
  readonly client: HttpClient;
  readonly answer: HttpAnswer;
  readonly abort: AbortController;
}

const WAYS: Readonly<Record<string, (left: Left) => Promise<unknown>>> = {
  'is given up': async ({ answer }) => answer.discard(),
  'is aborted': async ({ answer, abort }) => {
    const reading = errorOf(answer.bytes());
    abort.abort();
    await reading;
  },
  'pauses for too long': ({ answer }) => errorOf(answer.bytes()),
  'is too large': ({ answer }) => errorOf(answer.bytes()),
  'is left by closing the client': async ({ answer, client }) => {
    const reading = errorOf(answer.bytes());
    await client.close();
    await reading;
  },
};

describe('a connection that ends', () => {
  for (const [how, send] of Object.entries({ POST: post, GET: get })) {
    for (const [kind, head] of Object.entries(HEADS)) {
      for (const [way, leave] of Object.entries(WAYS)) {
        it(`does no harm when the answer to a ${how} that ${kind} ${way}`, async () => {
          const isLarge = way === 'is too large';
          const server = await RawServer.open(({ socket }) => {
            socket.once('data', () => socket.write(head + 'x'.repeat(isLarge ? 200_000 : 6)));
          });
          const client = localClient({ limits: { idleTimeoutMs: 100, maxBodyBytes: 100_000 } });
          const abort = new AbortController();
          const answer = await send(client, server.url, { signal: abort.signal });
          await leave({ client, answer, abort });
          await Promise.all([client.close(), server.close()]);
          await turns(50);
        });
      }
    }
  }
});

/*
 * Goal: an answer that ends with its connection is whole only where the server closed that; a reset breaks it off, however much of it
 * waits to be read. Node reports such a reset as an end where the last bytes were read with it: with 400 KiB and more, always.
 * Method: servers over TCP and TLS that send such an answer, and reset or close the connection while its reader waits.
 */

/** The platform's buffers have room for all of it, so the whole answer has left the server. */
const SIZES_KIB = [50, 200, 290, 330, 360, 400, 500, 1_000];

describe('an answer that ends with its connection', () => {
  let tls: TlsServers;
  before(async function () {
    tls = await orSkip(this, TlsServers.make());
  });
  afterEach(() => tls.close());
  after(() => tls.remove());

  interface Serving {
    readonly url: string;
    /** The TCP connection of the last answer, once all of it has left the server. */
    sent(): Promise<Socket>;
  }

  async function serving(protocol: 'http' | 'https', byteSize: number): Promise<Serving> {
    let under: Socket | undefined;
    let left: Promise<unknown> | undefined;
    const answer = (socket: Socket) => {
      socket.on('error', () => undefined);
      const head = 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n';
      socket.once('data', () => {
        left = new Promise((resolve) => {
          socket.write(head + 'x'.repeat(byteSize), resolve);
        });
      });
    };
    const server: Server = protocol === 'http' ? createTcpServer(answer) : createTlsServer(tls.pair, answer);
    server.on('connection', (socket: Socket) => {
      socket.on('error', () => undefined);
      under = socket;
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    tls.keep({
      close: async () => {
        under?.destroy();
        server.close();
      },
    });
    return {
      url: `${protocol}://one.example:${(server.address() as AddressInfo).port}/`,
      sent: async () => {
        await left;
        if (under === undefined) throw new Error('There was no request.');
        return under;
      },
    };
  }

  for (const protocol of ['http', 'https'] as const) {
    for (const [method, send] of Object.entries({ POST: post, GET: get })) {
      for (const kib of SIZES_KIB) {
        const byteSize = kib * 1024;
        const limits = { maxBodyBytes: 2 * 1024 * 1024 };

        it(`to a ${method} over ${protocol} is broken off by a reset while ${kib} KiB of it wait`, async () => {
          const server = await serving(protocol, byteSize);
          const answer = await send(tls.client({ limits }), server.url);
          const socket = await server.sent();
          await turns(50);
          socket.resetAndDestroy();
          await turns(50);
          const error = await errorOf(answer.bytes());
          expect(error).to.include({ kind: 'unknown-outcome', requestSent: true });
        });

        it(`to a ${method} over ${protocol} is whole when it is closed while ${kib} KiB of it wait`, async () => {
          const server = await serving(protocol, byteSize);
          const answer = await send(tls.client({ limits }), server.url);
          const socket = await server.sent();
          await turns(50);
          socket.end();
          await turns(50);
          expect(await answer.bytes()).to.have.length(byteSize);
        });
      }
    }
  }
});

/*
 * Goal: an answer whose connection ends before its reader has come to the last piece is read to its end.
 * Method: a real server that sends answers of every framing and closes; the reader begins when all has been sent. Whatever a
 * connection throws where nobody catches it fails the run.
 */

const BODIES = [300 * 1024, 320 * 1024 + 1, 384 * 1024, 1024 * 1024].map((size) => Buffer.alloc(size, 'x'));

const FRAMINGS: Readonly<Record<string, (body: Buffer) => readonly (string | Buffer)[]>> = {
  'a length': (body) => [`Content-Length: ${body.byteLength}\r\nConnection: close\r\n\r\n`, body],
  'a length, on a connection to be kept': (body) => [`Content-Length: ${body.byteLength}\r\n\r\n`, body],
  'chunks': (body) => [
    'Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n',
    ...piecesOf(body).flatMap((piece) => [`${piece.byteLength.toString(16)}\r\n`, piece, '\r\n']),
    '0\r\n\r\n',
  ],
  'the end of the connection': (body) => ['Connection: close\r\n\r\n', body],
};

const CUT_SHORT: Readonly<Record<string, (body: Buffer) => readonly (string | Buffer)[]>> = {
  'a length': (body) => [`Content-Length: ${body.byteLength + 1}\r\nConnection: close\r\n\r\n`, body],
  'chunks': (body) => [
    'Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n',
    `${body.byteLength.toString(16)}\r\n`,
    body,
    '\r\n',
  ],
};

describe('a reader that is slower than its server', () => {
  for (const [how, send] of Object.entries({ POST: post, GET: get })) {
    for (const [framing, partsOf] of Object.entries(FRAMINGS)) {
      it(`reads the answer to a ${how} with ${framing} to its end`, async () => {
        for (const body of BODIES) expect(await readLate(send, partsOf(body))).to.equal(body.byteLength);
      });
    }

    for (const [framing, partsOf] of Object.entries(CUT_SHORT)) {
      it(`fails with a truncated response to a ${how} with ${framing}`, async () => {
        for (const body of BODIES)
          expect(await errorOf(readLate(send, partsOf(body)))).to.have.property('kind', 'unknown-outcome');
      });
    }
  }

  it('gets bytes that came one at a time in few pieces, and a whole body in one buffer', async () => {
    const count = 200_000;
    const chunks = Buffer.alloc(6 * count, '1\r\nx\r\n');
    const server = await RawServer.open(({ socket }) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
        socket.write(chunks);
        socket.end('0\r\n\r\n');
      });
    });
    const client = localClient({ limits: { maxBodyBytes: count } });
    let [pieces, bytes] = [0, 0];
    for await (const piece of (await get(client, server.url)).body()) {
      pieces += 1;
      bytes += piece.byteLength;
    }
    expect(bytes).to.equal(count);
    expect(pieces).to.be.below(count / 100);
    const whole = await (await get(client, server.url)).bytes();
    expect(whole.byteLength).to.equal(count);
    expect(whole.buffer.byteLength).to.be.at.most(4 * count);
    await Promise.all([client.close(), server.close()]);
  });
});

/** How many bytes of the body were read, after the server has sent all of it and closed the connection. */
async function readLate(send: typeof get, parts: readonly (string | Buffer)[]): Promise<number> {
  const server = await RawServer.open(({ socket }) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\n');
      for (const part of parts) socket.write(part);
      socket.end();
    });
  });
  const client = localClient({ limits: { maxBodyBytes: 2 * 1024 * 1024 } });
  try {
    const answer = await send(client, server.url);
    const { socket } = server.connections.at(-1)!;
    for (await turns(200); !socket.writableFinished;) await turns(1);
    let byteLength = 0;
    for await (const piece of answer.body()) byteLength += piece.byteLength;
    return byteLength;
  } finally {
    await Promise.all([client.close(), server.close()]);
  }
}

function piecesOf(body: Buffer): readonly Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < body.byteLength; at += 64 * 1024) pieces.push(body.subarray(at, at + 64 * 1024));
  return pieces;
}
