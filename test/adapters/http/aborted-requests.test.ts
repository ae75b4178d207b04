import { expect } from 'chai';
import { getEventListeners } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { HttpAnswer } from '../../../adapters/http/http-answer.js';
import type { HttpClient } from '../../../adapters/http/http-client.js';
import type { HttpRequest } from '../../../adapters/http/http-request.js';
import { Authority, type Pair } from '../../fixtures/authority.js';
import { FakeServer, type Fault } from '../../providers/fakes/fake-server.js';
import { closedAfterEach, deferred, folderForSuite, listening, untilClosed } from '../../fixtures/opened.js';
import { orSkip } from '../../servers/servers.js';
import { errorOf, get, localClient, post, UNABORTED } from './client.js';
import { onceReceived, RawServer, turns } from './raw-server.js';

/*
 * Goal: once a call is aborted, nothing more of its request reaches the server, and its connection is closed: also what the operating
 * system has taken and not sent yet, of a request on its own connection.
 * Method: servers that do not read until the call has been aborted, bodies that are held back, and a relay that holds back the handshake.
 * The bytes that the servers received in the end are compared with the bytes sent.
 */

const MIB = 1024 * 1024;
const PIECE = Buffer.alloc(64 * 1024, 'x');

/** A server that reads nothing until the test lets it. */
interface WaitingServer {
  readonly port: number;
  readonly accepted: Promise<void>;
  /** Reads to the end of the connection; how many bytes came. */
  readToEnd(): Promise<number>;
}

describe('a request that is aborted', () => {
  const folder = folderForSuite('aborted');
  const kept = closedAfterEach();
  let authority: Authority;
  let pair: Pair;
  let client: HttpClient;
  let abort: AbortController;
  before(async function () {
    authority = await orSkip(this, Authority.make(folder, 'aborted-authority'));
    pair = authority.issue({ names: ['IP:127.0.0.1'], commonName: 'one', usage: 'serverAuth' });
  });
  beforeEach(() => {
    abort = new AbortController();
    client = kept(localClient({ extraCa: [authority.cert.toString()] }));
  });

  const send = (url: string, request: Partial<HttpRequest>) =>
    errorOf(client.request({ method: 'POST', url, signal: abort.signal, ...request }));

  async function waitingServer(kind: 'plain' | 'TLS'): Promise<WaitingServer> {
    const accepted = deferred<Socket>();
    const take = (socket: Socket) => accepted.resolve(socket.on('error', () => undefined).pause());
    const server = kind === 'TLS' ? createTlsServer({ ...pair }, take) : createServer({ pauseOnConnect: true }, take);
    const { port } = kept(await listening(server));
    return {
      port,
      accepted: accepted.promise.then(() => undefined),
      readToEnd: async () => {
        const socket = await accepted.promise;
        let byteLength = 0;
        socket.on('data', (piece: Buffer) => {
          byteLength += piece.byteLength;
        });
        socket.resume();
        await untilClosed(socket);
        return byteLength;
      },
    };
  }

  /** Waits while something still changes within many turns of the event loop. */
  async function settled(look: () => number): Promise<void> {
    for (let [before, unchanged] = [-1, 0]; unchanged < 200; unchanged += 1) {
      if (look() !== before) [before, unchanged] = [look(), 0];
      await turns(1);
    }
  }

  for (const method of ['POST', 'PUT'] as const) {
    it(`sends nothing of a body of ${method} that was held back until then`, async () => {
      const server = kept(await RawServer.open(() => undefined));
      const held = deferred();
      async function* body() {
        yield Buffer.from('first half, ');
        await held.promise;
        yield Buffer.from('second half');
      }
      const ended = send(server.url, { method, body: { stream: body(), byteSize: 23 } });
      await settled(() => server.received.length);
      abort.abort();
      expect(await ended).to.include({ kind: 'aborted', requestSent: true });
      held.resolve();
      await untilClosed(server.connections[0]!.socket);
      await settled(() => server.connections.length);
      expect(server.received).to.include('first half').and.not.include('second');
      expect(server.received.split(`${method} /`)).to.have.length(2);
    });
  }

  it('closes the source of its body, also one that is waited for', async () => {
    const server = kept(await RawServer.open(({ socket }) => void socket.pause()));
    for (const isWaited of [true, false]) {
      abort = new AbortController();
      let hasClosed = false;
      const body: AsyncIterable<Uint8Array> = {
        [Symbol.asyncIterator]: () => ({
          next: () => (isWaited ? new Promise(() => undefined) : Promise.resolve({ done: false, value: PIECE })),
          return: async () => {
            hasClosed = true;
            return { done: true, value: undefined };
          },
        }),
      };
      const ended = send(server.url, { body: { stream: body, byteSize: 2 ** 40 } });
      await settled(() => server.connections.length);
      abort.abort();
      await ended;
      await settled(() => Number(hasClosed));
      expect(hasClosed, String(isWaited)).to.equal(true);
    }
  });

  for (const kind of ['plain', 'TLS'] as const) {
    const schemeOf = kind === 'TLS' ? 'https' : 'http';

    it(`never arrives whole at a slow reader: one large buffer, ${kind}`, async () => {
      const server = await waitingServer(kind);
      const ended = send(`${schemeOf}://127.0.0.1:${server.port}/`, { body: Buffer.alloc(64 * MIB, 'x') });
      await server.accepted;
      abort.abort();
      expect((await ended).kind).to.equal('aborted');
      expect(await server.readToEnd()).to.be.below(64 * MIB);
    });

    it(`never arrives whole at a slow reader, though the system has taken all of it, ${kind}`, async () => {
      const server = await waitingServer(kind);
      let taken = 0;
      async function* body() {
        for (; taken < 16; taken += 1) yield PIECE;
      }
      const byteSize = 16 * PIECE.byteLength;
      const ended = send(`${schemeOf}://127.0.0.1:${server.port}/`, { body: { stream: body(), byteSize } });
      await server.accepted;
      await settled(() => taken);
      abort.abort();
      expect((await ended).kind).to.equal('aborted');
      expect(await server.readToEnd()).to.be.below(byteSize);
    });
  }

  it('never arrives whole once its time is over, or its client is closed', async () => {
    for (const end of ['time', 'close'] as const) {
      const server = await waitingServer('plain');
      const limits = end === 'time' ? { totalTimeoutMs: 200 } : {};
      const ended = send(`http://127.0.0.1:${server.port}/`, { body: Buffer.alloc(16 * MIB, 'x'), limits });
      await server.accepted;
      if (end === 'close') await client.close();
      expect((await ended).kind).to.equal(end === 'time' ? 'timed-out' : 'aborted');
      expect(await server.readToEnd()).to.be.below(16 * MIB);
    }
  });

  it('sends nothing, and closes its connection, between TCP and the end of the handshake', async () => {
    const requests: string[] = [];
    const server = createTlsServer({ ...pair }, (socket) => {
      socket.on('data', (piece: Buffer) => requests.push(String(piece)));
      socket.on('error', () => undefined);
    });
    const { port } = kept(await listening(server));
    // The relay lets the handshake continue once the call has been aborted.
    const held = deferred();
    const relay = kept(
      await RawServer.open(({ socket }) => {
        const onwards = connect(port, '127.0.0.1');
        onwards.on('error', () => undefined);
        socket.once('close', () => onwards.destroy());
        void held.promise.then(() => {
          onwards.pipe(socket);
          socket.pipe(onwards);
        });
      }),
    );
    const ended = send(`https://127.0.0.1:${relay.port}/`, { body: 's3cret' });
    await settled(() => relay.received.length);
    expect(relay.received.length, 'the handshake began').to.be.above(0);
    abort.abort();
    expect(await ended).to.include({ kind: 'aborted', requestSent: false });
    await untilClosed(relay.connections[0]!.socket);
    held.resolve();
    await settled(() => requests.length);
    expect([requests, relay.connections.length]).to.deep.equal([[], 1]);
  });

  it('reports an aborted request as sent unless none of it can have arrived', async () => {
    for (let count = 0; count < 30; count += 1) {
      const server = kept(await RawServer.open(() => undefined));
      abort = new AbortController();
      const ended = send(server.url, { body: 'x'.repeat(100) });
      await turns(count);
      abort.abort();
      const { requestSent } = await ended;
      await settled(() => server.received.length);
      if (!requestSent) expect(server.received, String(count)).to.equal('');
      for (const { socket } of server.connections) expect(socket.destroyed || socket.readableEnded).to.equal(true);
    }
  });

  it('leaves other requests alone', async () => {
    const server = kept(
      await RawServer.open((connection) =>
        onceReceived(connection, 'second', () => {
          abort.abort();
          connection.socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
        }),
      ),
    );
    const first = send(server.url, { body: 'first' });
    const second = await client.request({ method: 'POST', url: server.url, body: 'second', signal: UNABORTED });
    expect(String(await second.bytes())).to.equal('ok');
    expect(await first).to.include({ kind: 'aborted' });
  });
});

/*
 * Goal: a call that is over listens to its signal no longer, however it has ended: a signal may outlive many calls.
 * Method: a real server that answers in every way; the platform counts the listeners of a signal that all calls share.
 */

const ENDS: readonly (readonly [name: string, fault: Fault | undefined])[] = [
  ['answered', undefined],
  ['answered with an error', { type: 'status', status: 503, body: '{}' }],
  ['refused without a body', { type: 'status', status: 401 }],
  ['not answered', { type: 'lose-answer' }],
  ['closed at once', { type: 'drop' }],
  ['answered with half a body', { type: 'truncated' }],
  ['answered without end', { type: 'huge' }],
  ['answered too late', { type: 'hang' }],
  ['redirected', { type: 'redirect', to: 'http://127.0.0.1:1/' }],
];

const READ: Readonly<Record<string, (answer: HttpAnswer) => unknown>> = {
  'read to its end': (answer) => answer.bytes(),
  'read as JSON': (answer) => answer.json(),
  'discarded': (answer) => answer.discard(),
  'left after its first piece': async (answer) => {
    for await (const _ of answer.body()) break;
  },
};

describe('a signal of calls that are over', () => {
  for (const [how, send] of Object.entries({ POST: post, GET: get }))
    for (const [end, fault] of ENDS)
      for (const [way, read] of Object.entries(READ))
        it(`has no listener when a ${how} was ${end} and its answer ${way}`, async () => {
          const handle = () => ({ json: { pictures: 'x'.repeat(1_000) } });
          const server = await FakeServer.open([
            { method: 'POST', path: '/tasks', handle },
            { method: 'GET', path: '/tasks', handle },
          ]);
          const client = localClient({ limits: { maxBodyBytes: 100_000, headersTimeoutMs: 50 } });
          const { signal } = new AbortController();
          try {
            if (fault !== undefined) server.plan(fault);
            await send(client, `${server.url}/tasks`, { signal })
              .then(read)
              .catch(() => undefined);
            expect(getEventListeners(signal, 'abort')).to.have.length(0);
          } finally {
            await client.close();
            await server.close();
          }
        });

  it('has none when nothing listens, and when the address is refused', async () => {
    const client = localClient();
    const { signal } = new AbortController();
    for (const url of ['http://127.0.0.1:1/', 'http://10.0.0.1/', 'ftp://127.0.0.1/'])
      await get(client, url, { signal }).catch(() => undefined);
    expect(getEventListeners(signal, 'abort')).to.have.length(0);
    await client.close();
  });
});
