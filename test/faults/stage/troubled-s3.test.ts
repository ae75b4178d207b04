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
      request.on('data', (chunk: Buffer) => { received += chunk.byteLength; chunks.push(chunk); });
      request.on('end', () => {
        const body = Buffer.concat(chunks);
        response.writeHead(200, { 'Content-Length': body.byteLength, 'X-Host': request.headers.host, 'X-Path': request.url }).end(body);
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

  /** Every second request is in trouble. */
  async function troubled(trouble: Trouble): Promise<Response> {
    proxy.suffer(trouble);
    expect((await put()).status).to.equal(200);
    return put();
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
    const response = await troubled('half-answers');
    expect(response.headers.get('content-length')).to.equal(String(BODY.length));
    expect(await response.text().catch(() => 'broken')).to.equal('broken');
    expect(received).to.equal(2 * BODY.length);
  });

  it('is well again', async () => {
    await troubled('slow-down');
    proxy.suffer(undefined);
    for (const response of await Promise.all([put(), put(), put()])) expect(await response.text()).to.equal(BODY);
  });
});
