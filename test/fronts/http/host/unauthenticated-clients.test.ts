// Goal: one unauthenticated client holds bounded resources: connections, and bodies that no request needs any more.
// Method: raw sockets against servers with small bounds; connections are counted, and a body that is sent byte by byte
// is aborted before it is complete.
import { expect } from 'chai';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { type ConnectionRefusal, MAX_BODY_BYTES } from '../../../../apps/http/host/http-context.js';
import type { JsonObject } from '../../../../core/json.js';
import { createRequestFixture } from '../../../harness/request-fixture.js';
import { openServiceHarness, type ServiceHarness } from '../../../harness/service-harness.js';
import { PICTURE } from '../../vectors/vector.js';
import { exchange, parseAnswer } from './raw-socket.js';
import { BASE, type RunningServer, serve } from './rest-client.js';

const HEALTH = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';

describe('REST bounds the resources of an unauthenticated client', () => {
  let harness: ServiceHarness;
  let running: RunningServer;
  let refused: ConnectionRefusal[];
  const sockets: Socket[] = [];

  beforeEach(async () => {
    refused = [];
    harness = await openServiceHarness();
  });
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await running.server.close(100);
    await harness.close();
  });

  const open = async (options: Parameters<typeof serve>[1]) => {
    running = await serve(harness, {
      ...options,
      observer: {
        begun: () => undefined,
        ended: () => undefined,
        refused: (reason) => {
          refused.push(reason);
        },
      },
    });
  };

  /** A connection on which a request was sent, and whether it was answered or closed. */
  async function asked(): Promise<{ readonly socket: Socket; readonly isAnswered: boolean }> {
    const socket = connect(running.port, '127.0.0.1').on('error', () => undefined);
    sockets.push(socket);
    socket.write(HEALTH);
    const isAnswered = await new Promise<boolean>((resolve) => {
      socket.once('data', () => resolve(true)).once('close', () => resolve(false));
    });
    return { socket, isAnswered };
  }

  it('refuses connections of one address beyond its limit, and accepts others once some are closed', async () => {
    await open({ limits: { maxConnectionsPerAddress: 20 } });
    const taken = [];
    for (let count = 0; count < 20; count += 1) taken.push(await asked());
    expect(taken.every(({ isAnswered }) => isAnswered)).to.equal(true);
    for (let count = 0; count < 5; count += 1) expect((await asked()).isAnswered).to.equal(false);
    expect(refused).to.deep.equal(Array.from({ length: 5 }, () => 'full_for_address'));
    // The server closes it too, once it has seen the end of the stream.
    taken[0]?.socket.end();
    await once(taken[0]?.socket as Socket, 'close');
    while (!(await asked()).isAnswered) expect(refused.length).to.be.below(1_000);
  });

  it('does not limit a trusted proxy', async () => {
    await open({ limits: { maxConnectionsPerAddress: 2 }, trustedProxies: ['127.0.0.0/8'] });
    for (let count = 0; count < 30; count += 1) expect((await asked()).isAnswered).to.equal(true);
    expect(refused).to.deep.equal([]);
  });

  const REFUSED: readonly (readonly [string, number])[] = [
    [`POST ${BASE}/generations`, 401],
    ['POST /nowhere', 404],
    ['PUT /healthz', 405],
    ['GET /healthz', 200],
    [`GET ${BASE}/models`, 413],
    ['GET /docs', 200],
    ['HEAD /healthz', 200],
    ['GET /objects/streamed', 200],
  ];
  for (const [line, status] of REFUSED) {
    it(`aborts a body that arrives slowly after its answer: ${line}`, async () => {
      await open({
        lingerMs: 20,
        signedObjects: {
          handle: () => Promise.resolve({ status: 200, headers: {}, body: Readable.from([Buffer.from('an object')]) }),
        },
      });
      const declared = 1_000_000;
      const socket = connect(running.port, '127.0.0.1').on('error', () => undefined);
      sockets.push(socket);
      let text = '';
      let dripped = 0;
      socket.on('data', (chunk) => {
        text += chunk.toString('utf8');
      });
      socket.write(
        `${line} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${declared}\r\n\r\n`,
      );
      const closed = new Promise((resolve) => {
        socket.once('close', resolve);
      });
      await once(socket, 'data');
      const drip = (): void => {
        if (socket.destroyed || dripped >= declared) return;
        dripped += 1;
        socket.write('x');
        setImmediate(drip);
      };
      drip();
      await closed;
      expect(parseAnswer(text).status).to.equal(status);
      expect(dripped, 'bytes that were sent before the end').to.be.below(declared);
    });
  }

  for (const [line, status] of [
    [`POST ${BASE}/generations`, 401],
    ['POST /nowhere', 404],
    ['GET /healthz', 200],
    [`GET ${BASE}/models`, 413],
  ] as const) {
    it(`closes the connection of a body that comes in chunks of one byte: ${line}`, async () => {
      await open({ lingerMs: 2_000_000_000 });
      const socket = connect(running.port, '127.0.0.1').on('error', () => undefined);
      sockets.push(socket);
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk.toString('utf8');
      });
      socket.write(
        `${line} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
      );
      let sent = 0;
      while (!socket.destroyed && sent < 20_000) {
        for (let more = 0; more < 100; more += 1) socket.write('1\r\nx\r\n');
        sent += 100;
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
      }
      // A client that continues sending may miss its answer.
      if (text !== '') expect(parseAnswer(text).status).to.equal(status);
      expect(sent, 'chunks that were sent before the end').to.be.below(20_000);
    });
  }

  it('accepts a body that arrives in segments of 200 bytes', async () => {
    await open({ limits: { bodyTimeoutMs: 600_000 } });
    const fixture = await createRequestFixture(harness.context);
    const body = JSON.stringify(PICTURE).padEnd(MAX_BODY_BYTES);
    const socket = connect({ port: running.port, host: '127.0.0.1', noDelay: true }).on('error', () => undefined);
    sockets.push(socket);
    const answered = once(socket, 'data') as Promise<[Buffer]>;
    const headers = [
      'Host: x',
      `Authorization: Bearer ${fixture.secrets.get('owner') as string}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
    ];
    socket.write(`POST ${BASE}/generations/estimate HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`);
    for (let at = 0; at < body.length; at += 200) {
      socket.write(body.slice(at, at + 200));
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    expect(parseAnswer((await answered)[0].toString('utf8')).status).to.equal(200);
  });

  it('keeps the connection of a client that sends the rest of its body in time', async () => {
    await open({ lingerMs: 2_000_000_000 });
    const socket = connect(running.port, '127.0.0.1').on('error', () => undefined);
    sockets.push(socket);
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('utf8');
    });
    socket.write(`POST ${BASE}/generations HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n`);
    await once(socket, 'data');
    socket.write(`12345${HEALTH.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')}`);
    await once(socket, 'close');
    expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).to.deep.equal(['401', '200']);
  });

  it('answers requests that arrive in parts, and half-closed connections', async () => {
    await open({ limits: { headersTimeoutMs: 40, requestTimeoutMs: 60_000 } });
    const half = parseAnswer(await exchange(running.port, 'GET /healthz HTTP/1.1\r\nHo'));
    expect([half.status, (JSON.parse(half.body) as JsonObject)['code']]).to.deep.equal([408, 'REQUEST_TIMEOUT']);
    const socket = connect({ port: running.port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined);
    sockets.push(socket);
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('utf8');
    });
    socket.end(HEALTH + HEALTH);
    await once(socket, 'close');
    expect(text === '' || parseAnswer(text).status === 200).to.equal(true);
  });
});
