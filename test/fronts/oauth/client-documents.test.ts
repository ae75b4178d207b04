/*
 * Goal: a client may be named by a document on a host that the operator has listed, and by no other; the service never
 * connects to its own network for it, however the address is written or resolved.
 * Method: a whole service in this process, and a TLS server with the document; a listener counts connections that must not
 * come.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { ClientDocuments } from '../../../apps/http/oauth/client-documents.js';
import { Authority } from '../../fixtures/authority.js';
import { orSkip } from '../../servers/server-absent.js';
import { OAuthHarness, REDIRECT } from './oauth-harness.js';

describe('documents of OAuth clients', () => {
  const folder = mkdtempSync(join(tmpdir(), 'darkroom-client-documents-'));
  let authority: Authority;
  let server: Server;
  let port: number;
  let documents: ClientDocuments;
  let service: OAuthHarness;
  let asked: string[];
  /** What the server answers, besides its own address as the id. */
  let answer: { readonly metadata: object; readonly status?: number; readonly headers?: Record<string, string> };
  const clientId = () => `https://client.example:${port}/client.json`;

  before(async function () {
    authority = await orSkip(this, Authority.make(folder, 'authority-of-clients'));
    const { cert, key } = authority.issue({ names: ['DNS:client.example'], usage: 'serverAuth' });
    server = createServer({ cert, key }, ({ url = '' }, response) => {
      asked.push(url);
      const { status = 200, headers = {}, metadata } = answer;
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(JSON.stringify({ client_id: clientId(), ...metadata }));
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    ({ port } = server.address() as AddressInfo);
  });
  after(() => {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    asked = [];
    answer = { metadata: { client_name: 'a client with a document', redirect_uris: [REDIRECT] } };
  });
  afterEach(async () => {
    await service.close();
    await documents.close();
  });

  /** A service whose operator lists these hosts. Names resolve to the loopback. */
  async function listing(hosts: readonly string[], address = '127.0.0.1'): Promise<void> {
    documents = new ClientDocuments(hosts, {
      extraCa: [authority.cert.toString()],
      resolve: () => Promise.resolve([{ address, family: address.includes(':') ? 6 : 4 }]),
    });
    service = await OAuthHarness.open({ people: { clientDocuments: documents } });
  }
  const open = async (id: string, params: Record<string, string> = {}) =>
    (await service.signedIn()).open(service.request(id, params).path);

  it('name a client of a listed host, which gets tokens like others', async () => {
    await listing(['client.example']);
    const tokens = await service.connect(await service.signedIn(), clientId());
    expect((await service.call(tokens.access_token)).status).to.equal(200);
    expect(asked).to.deep.equal(['/client.json']);
    expect((await service.refresh(clientId(), tokens.refresh_token)).status).to.equal(200);
  });

  it('are announced only where an operator lists hosts', async () => {
    await listing(['client.example']);
    const announced = async (of: OAuthHarness) =>
      ((await (await fetch(`${of.origin}/.well-known/oauth-authorization-server`)).json()) as Record<string, unknown>)[
        'client_id_metadata_document_supported'
      ];
    expect(await announced(service)).to.equal(true);
    const without = await OAuthHarness.open();
    expect(await announced(without)).to.equal(false);
    await without.close();
  });

  it('of other hosts are not asked for', async () => {
    await listing(['other.example']);
    expect((await open(clientId())).status).to.equal(400);
    expect(asked).to.deep.equal([]);
  });

  for (const [what, metadata] of [
    ['another id', { client_id: 'https://client.example/other.json' }],
    ['a secret', { client_secret: 'x' }],
    ['a secret as authentication', { token_endpoint_auth_method: 'client_secret_post' }],
    ['a redirect address without TLS', { redirect_uris: ['http://evil.example/'] }],
    ['a redirect address that is a script', { redirect_uris: ['javascript:alert(1)'] }],
    ['redirect addresses that are none', { redirect_uris: [{}] }],
    ['other redirect addresses', { redirect_uris: ['https://client.example/callback'] }],
    ['too much', { client_name: 'x'.repeat(20_000) }],
  ] as const)
    it(`with ${what} are refused`, async () => {
      await listing(['client.example']);
      answer = { metadata: { redirect_uris: [REDIRECT], ...metadata } };
      const page = await open(clientId());
      expect(page.status).to.equal(400);
      expect(page.headers.get('location')).to.equal(null);
    });

  it('are not followed elsewhere', async () => {
    await listing(['client.example']);
    answer = { metadata: {}, status: 302, headers: { location: '/other.json' } };
    expect((await open(clientId())).status).to.equal(400);
    expect(asked).to.include('/client.json').and.not.include('/other.json');
  });

  it('are asked for ten times a minute at most for one address', async () => {
    await listing(['client.example']);
    answer = { metadata: {}, status: 500 };
    for (let opened = 0; opened < 20; opened += 1) await fetch(service.origin + service.request(clientId()).path);
    expect(asked).to.have.lengthOf(10);
    expect(await documents.allows(clientId(), 'another address')).to.equal(true);
  });

  it('are asked for sixty times a minute at most for all addresses together, at each host', async () => {
    const [listed, url] = [new ClientDocuments(['*']), 'https://client.example/client.json'];
    let allowed = 0;
    for (let address = 0; address < 70; address += 1) if (await listed.allows(url, `a${address}`)) allowed += 1;
    expect(allowed).to.equal(60);
    expect(await listed.allows('https://other.example/client.json', 'a0')).to.equal(true);
    await listed.close();
  });

  describe('where any public host is listed', () => {
    for (const host of [
      '127.0.0.1',
      'localhost',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '2130706433',
      '0x7f.1',
      '0',
      '10.0.0.1',
      '169.254.169.254',
      '192.168.0.1',
      'metadata.internal',
    ])
      it(`are not asked for at ${host}, which is not even connected to`, async () => {
        let connections = 0;
        const listener = createTcpServer((socket) => {
          connections += 1;
          socket.destroy();
        });
        await new Promise<void>((resolve) => {
          listener.listen(0, '127.0.0.1', resolve);
        });
        await listing(['*']);
        const at = (listener.address() as AddressInfo).port;
        const page = await open(`https://${host}:${at}/client.json`);
        listener.close();
        expect(page.status).to.equal(400);
        expect(connections).to.equal(0);
      });

    it('are not asked for at a public name that leads into the network', async () => {
      await listing(['*'], '10.0.0.1');
      expect((await open('https://public.example/client.json')).status).to.equal(400);
    });
  });

  for (const id of ['http://client.example/client.json', 'https://user@client.example/c', 'https://client.example/c#f'])
    it(`are never asked for as ${id}`, async () => {
      await listing(['client.example', '*']);
      expect((await open(id)).status).to.equal(400);
      expect(asked).to.deep.equal([]);
    });
});
