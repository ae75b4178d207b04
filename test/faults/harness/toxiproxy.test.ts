import { expect } from 'chai';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { orSkip, toxiproxyServer } from '../../servers/servers.js';
import { Toxiproxy } from './toxiproxy.js';

/**
 * Goal: faults can be added to a link and removed while clients connect, do not read, and disconnect. Method: a server
 * that responds endlessly behind a real toxiproxy, clients that read a little of it slowly, and changes of the link
 * meanwhile. If connections are destroyed, toxiproxy 2.5.0 stops at the first of them.
 */

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
    // Clients of a failed test would otherwise keep running.
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

/** A client that reads slowly and disconnects in the middle of the response. */
async function readSome(port: number, pauseMs: number): Promise<void> {
  const client = connect({ host: '127.0.0.1', port });
  client.on('error', () => undefined);
  // Node's `once` rejects when an error comes first.
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
