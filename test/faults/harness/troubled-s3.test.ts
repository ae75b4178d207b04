/**
 * Goal: the proxy in front of an object store changes nothing while it is well, and each trouble is what it says.
 * Method: a small server behind it that answers with what it was sent.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { TroubledS3, type Trouble } from './troubled-s3.js';

const BODY = 'x'.repeat(100_000);

describe('an object store in trouble', () => {
  let server: Server;
  let proxy: TroubledS3;
  let received: number;

  beforeEach(async () => {
    received = 0;
    server = createServer((request, response) => {
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

  /** Every second request is in trouble. */
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
