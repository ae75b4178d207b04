/**
 * Goal: faults can be put on a link and taken off while clients come, do not read, and go.
 * Method: a server that answers without end behind a real toxiproxy, clients that read a little of it slowly, and changes of
 * the link meanwhile. With connections that are destroyed, toxiproxy 2.5.0 stops at the first of them.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { orSkip, toxiproxyServer } from '../../servers/servers.js';
import { Toxiproxy } from './toxiproxy.js';

const CLIENTS = 16;
const CHANGES = 10;
const READ_BYTES = 64 * 1024;

describe('a link through toxiproxy', () => {
  let endless: Server;
  let over: AbortController;

  beforeEach(async () => {
    over = new AbortController();
    endless = createServer((socket) => {
      socket.on('error', () => undefined);
      const more = () => {
        while (socket.writable && socket.write(Buffer.alloc(16_384)));
      };
      socket.on('drain', more);
      socket.once('data', more);
    });
    endless.listen(0, '127.0.0.1');
    await once(endless, 'listening');
  });

  afterEach(() => {
    // Clients of a test that failed go on otherwise.
    over.abort();
    endless.close();
  });

  it('takes faults and loses them while answers without end are cut by clients', async function changes() {
    const toxiproxy = new Toxiproxy((await orSkip(this, toxiproxyServer())).url);
    const { port } = endless.address() as AddressInfo;
    const link = await toxiproxy.link(`endless-${process.pid}`, port);
    const clients = Array.from({ length: CLIENTS }, async (_, place) => {
      while (!over.signal.aborted) await readSome(link.port, place % 5);
    });
    for (let change = 0; change < CHANGES; change += 1) {
      const heal = await link.poison({ type: 'latency', attributes: { latency: 1, jitter: 0 } }, 'downstream', 0.5);
      await sleep(20);
      await heal();
    }
    over.abort();
    await Promise.all(clients);
    await link.remove();
    expect(await toxiproxy.ask('GET', '/proxies')).to.be.an('object');
  });
});

/** A client that reads slowly and goes in the middle of the answer. */
async function readSome(port: number, pauseMs: number): Promise<void> {
  const client = connect({ host: '127.0.0.1', port });
  client.on('error', () => undefined);
  // `once` of Node rejects where an error comes first.
  const closed = new Promise<void>((resolve) => client.once('close', () => resolve()));
  let bytes = 0;
  client.on('connect', () => client.write('x'));
  client.on('data', (piece) => {
    bytes += piece.length;
    client.pause();
    setTimeout(() => {
      if (bytes > READ_BYTES) client.destroy();
      else client.resume();
    }, pauseMs);
  });
  await Promise.race([closed, sleep(200)]);
  client.destroy();
}
