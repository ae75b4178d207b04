import { expect } from 'chai';
import { once } from 'node:events';
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { orSkip, toxiproxyServer } from '../../servers/servers.js';
import { Toxiproxy } from './toxiproxy.js';
import { type Trouble, TroubledS3 } from './troubled-s3.js';

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

/**
 * Goal: the proxy in front of an object store changes nothing while it has no trouble, and each trouble behaves as
 * named. Method: a small echo server behind it.
 */

const BODY = 'x'.repeat(100_000);

describe('an object store in trouble', () => {
  let server: HttpServer;
  let proxy: TroubledS3;
  let received: number;

  beforeEach(async () => {
    received = 0;
    server = createHttpServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('error', () => undefined);
      request.on('data', (chunk: Buffer) => {
        received += chunk.byteLength;
        chunks.push(chunk);
      });
      request.on('end', () => {
        const body = request.method === 'GET' ? Buffer.from(BODY) : Buffer.concat(chunks);
        response
          .writeHead(200, { 'Content-Length': body.byteLength, 'X-Host': request.headers.host, 'X-Path': request.url })
          .end(body);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    proxy = await TroubledS3.open((server.address() as AddressInfo).port);
  });

  afterEach(async () => {
    await proxy.close();
    server.close();
    server.closeAllConnections();
  });

  const put = () => fetch(`http://127.0.0.1:${proxy.port}/bucket/a%20key?x=%2F`, { method: 'PUT', body: BODY });

  const get = () => fetch(`http://127.0.0.1:${proxy.port}/bucket/a%20key`);

  /** Sends two requests; every second one meets the trouble. */
  async function troubled(trouble: Trouble, ask: () => Promise<Response> = put): Promise<Response> {
    const suffering = proxy.suffer(trouble);
    try {
      expect((await ask()).status).to.equal(200);
      expect(suffering.hits).to.equal(0);
      return await ask();
    } finally {
      expect(suffering.hits).to.equal(1);
      proxy.cure(suffering);
    }
  }

  it('passes on everything as it is while it is well, Host among it', async () => {
    const response = await put();
    expect(await response.text()).to.equal(BODY);
    expect(response.headers.get('x-host')).to.equal(`127.0.0.1:${proxy.port}`);
    expect(response.headers.get('x-path')).to.equal('/bucket/a%20key?x=%2F');
  });

  it('asks to slow down, or fails, without passing anything on', async () => {
    expect((await troubled('slow-down')).status).to.equal(503);
    expect((await troubled('internal-error')).status).to.equal(500);
    expect(received).to.equal(2 * BODY.length);
  });

  it('takes half of what it is sent', async () => {
    const outcome = await troubled('half-requests').catch(() => 'broken');
    expect(outcome).to.equal('broken');
    expect(received).to.be.lessThan(2 * BODY.length);
  });

  it('gives half of what it should, and breaks the connection', async () => {
    const response = await troubled('half-answers', get);
    expect(response.headers.get('content-length')).to.equal(String(BODY.length));
    expect(await response.text().catch(() => 'broken')).to.equal('broken');
  });

  it('is well again', async () => {
    await troubled('slow-down');
    for (const response of await Promise.all([put(), put(), put()])) expect(await response.text()).to.equal(BODY);
  });

  it('suffers several things at once, and is cured of each alone', async () => {
    const slow = proxy.suffer('slow-down');
    const broken = proxy.suffer('internal-error');
    const statuses = async (count: number) => {
      const seen: number[] = [];
      for (let asked = 0; asked < count; asked += 1) seen.push((await put()).status);
      return seen;
    };
    expect(await statuses(4)).to.include.members([503, 500]);
    proxy.cure(slow);
    expect(await statuses(4))
      .to.include(500)
      .and.not.include(503);
    proxy.cure(broken);
    expect(await statuses(4)).to.deep.equal([200, 200, 200, 200]);
  });

  it('takes half only of what there is something of', async () => {
    const suffering = proxy.suffer('half-requests');
    for (const response of [await get(), await get()]) expect(await response.text()).to.equal(BODY);
    expect(suffering.hits).to.equal(0);
  });
});
