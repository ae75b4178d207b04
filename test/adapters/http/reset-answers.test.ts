/*
 * Goal: an answer that ends with its connection is whole only where the server closed that; a reset breaks it off, however much of it
 * waits to be read. Node reports such a reset as an end where the last bytes were read with it: with 400 KiB and more, always.
 * Method: servers over TCP and TLS that send such an answer, and reset or close the connection while its reader waits.
 */
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { orSkip } from '../../servers/servers.js';
import { errorOf, get, post } from './client.js';
import { TlsServers } from './tls-servers.js';
import { turns } from './turns.js';

/** The platform has room for all of it: what is sent has left the server. */
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
