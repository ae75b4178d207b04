/*
 * Goal: no phase of a call takes more time than its limits say, and what is making progress is not ended.
 * Method: real servers that send nothing more, or without an end. Time limits are small and their being exceeded is all that is looked
 * at. Where a limit must not be exceeded, its time is the test's own and advances by events.
 */
import { expect } from 'chai';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Resolver } from '../../../adapters/http/connections.js';
import type { HttpClient } from '../../../adapters/http/http-client.js';
import { until } from '../../fixtures/until.js';
import { BodyServers } from './body-servers.js';
import { errorOf, get, localClient, post } from './client.js';
import { LimitTimers } from './limit-timers.js';
import { answering, RawServer } from './raw-server.js';

const MIB = 1024 * 1024;
/** No other timer has it. */
const LIMIT_MS = 987_653;
const never = () => new Promise<never>(() => undefined);

/** What a server has received of a body. It answers when it has all. */
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
  const servers = new BodyServers();
  let client: HttpClient;
  beforeEach(() => {
    client = servers.keep(localClient({ limits: { maxBodyBytes: 1_000 } }));
  });
  afterEach(() => servers.close());

  const bodyOf = async (url: string, limits = {}) => (await get(client, url, { limits })).bytes();

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
    expect(await errorOf(post(only, server.url, { limits: { connectTimeoutMs: 20 } }))).to.include({
      kind: 'timed-out',
      phase: 'connect',
      requestSent: false,
    });
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
    const timers = LimitTimers.replace(LIMIT_MS);
    try {
      const received = new Received();
      const url = await servers.listening(createServer((request, response) => received.all(request, response)));
      async function* slow(): AsyncGenerator<Uint8Array> {
        for (let count = 1; count <= 20; count += 1) {
          yield Buffer.alloc(1_000, 'x');
          await received.until(count * 1_000);
          timers.advance(0.75 * LIMIT_MS);
        }
      }
      const body = { stream: slow(), byteSize: 20_000 };
      const answer = await post(client, url, { body, limits: { headersTimeoutMs: LIMIT_MS } });
      expect(String(await answer.bytes())).to.equal('ok');
      expect(timers.nowMs, 'the body took far longer').to.equal(15 * LIMIT_MS);
    } finally {
      timers.restore();
    }
  });

  it('count the time in which a long body does not move', async () => {
    const timers = LimitTimers.replace(LIMIT_MS);
    try {
      const received = new Received();
      const url = await servers.listening(createServer((request, response) => received.all(request, response)));
      async function* stopping(): AsyncGenerator<Uint8Array> {
        yield Buffer.alloc(1_000, 'x');
        await received.until(1_000);
        timers.advance(0.75 * LIMIT_MS);
        yield Buffer.alloc(1_000, 'x');
        await received.until(2_000);
        timers.advance(0.75 * LIMIT_MS);
        timers.advance(0.25 * LIMIT_MS);
        await never();
      }
      const body = { stream: stopping(), byteSize: 20_000 };
      const error = await errorOf(post(client, url, { body, limits: { headersTimeoutMs: LIMIT_MS } }));
      expect(error).to.include({ kind: 'timed-out', phase: 'headers', requestSent: true });
    } finally {
      timers.restore();
    }
  });

  it('begin anew with each piece of a body that is in memory', async () => {
    const timers = LimitTimers.replace(LIMIT_MS);
    try {
      const received = new Received();
      const url = await servers.listening(createServer((request, response) => received.all(request, response)));
      const body = Buffer.alloc(8 * MIB, 'x');
      const answer = await post(client, url, { body, limits: { headersTimeoutMs: LIMIT_MS } });
      expect(String(await answer.bytes())).to.equal('ok');
      const pieces = body.byteLength / (64 * 1024);
      expect(timers.begun, 'once for the request, and for each piece').to.equal(1 + pieces);
    } finally {
      timers.restore();
    }
  });

  it('end the wait for an answer', async () => {
    for (const begin of [
      '',
      'HTTP/1.1 200',
      'HTTP/1.1 103 Early Hints\r\n\r\n',
      'HTTP/1.1 200 OK\r\ncontent-length: 3\r\n',
    ]) {
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
