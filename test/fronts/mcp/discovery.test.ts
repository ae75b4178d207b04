import { type ClientOptions, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import type { JsonObject } from '../../../core/json.js';
import { asText, MCP, McpHarness, modernMessage, REVISIONS } from './mcp-harness.js';

/*
 * Goal: clients find the server and its authorization from the address of the host alone, and every document says the
 * same of it as the server itself.
 * Method: the documents read over HTTP as a stranger, followed from one to the next, under a forged Host too.
 */

const CATALOG = '/.well-known/ai-catalog.json';

describe('the discovery of the MCP server', () => {
  let mcp: McpHarness;
  before(async () => {
    mcp = await McpHarness.open();
  });
  after(() => mcp.close());

  const read = async (url: string): Promise<{ readonly type: string | null; readonly body: JsonObject }> => {
    const response = await fetch(url, { headers: { Origin: 'https://somewhere.example' } });
    expect(response.status, url).to.equal(200);
    expect(response.headers.get('access-control-allow-origin'), url).to.equal('*');
    return { type: response.headers.get('content-type'), body: (await response.json()) as JsonObject };
  };

  it('leads from the catalog over the card to the server, which has the version of the package', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    const catalog = await read(mcp.origin + CATALOG);
    expect(catalog.type).to.equal('application/ai-catalog+json');
    const [entry] = catalog.body['entries'] as JsonObject[];
    expect(entry).to.include({
      identifier: 'urn:air:127.0.0.1:mcp:darkroom',
      type: 'application/mcp-server-card+json',
      version,
    });
    const card = await read(asText(entry?.['url']));
    expect(card.type).to.equal('application/mcp-server-card+json');
    expect(card.body).to.include({ name: '127.0.0.1/darkroom', version, title: 'Darkroom' });
    expect(asText(card.body['description']).length).to.be.at.most(100);
    expect(card.body['remotes']).to.deep.equal([
      {
        type: 'streamable-http',
        url: mcp.url,
        supportedProtocolVersions: ['2026-07-28', '2025-11-25', '2025-06-18'],
      },
    ]);
    for (const revision of REVISIONS) {
      const client = await mcp.connect(revision, await mcp.key());
      expect(client.serverVersion).to.include({ name: 'darkroom', version });
    }
  });

  it('lists the tools in the card as the server does', async () => {
    const { body } = await read(`${mcp.url}/server-card`);
    const client = await mcp.connect('2026-07-28', await mcp.key());
    expect(body['tools']).to.deep.equal(await client.tools());
  });

  it('gives a public URL with a path to clients whole', async () => {
    const publicUrl = 'https://example.org/darkroom';
    const other = await McpHarness.open({ publicUrl: () => publicUrl, people: { hasSignIn: false, hasOAuth: false } });
    try {
      const at = async (path: string) => (await read(other.origin + path)).body;
      const [entry] = (await at(CATALOG))['entries'] as JsonObject[];
      expect(entry?.['url']).to.equal(`${publicUrl}${MCP}/server-card`);
      const card = await at(`${MCP}/server-card`);
      expect(card).to.include({ websiteUrl: `${publicUrl}/docs` });
      expect(card['remotes']).to.have.deep.nested.property('[0].url', publicUrl + MCP);
    } finally {
      await other.close();
    }
  });

  it('leads from the refusal of the server to its metadata', async () => {
    const challenge = (await mcp.post({})).headers.get('www-authenticate') ?? '';
    const [, address = ''] = /resource_metadata="([^"]+)"/.exec(challenge) ?? [];
    expect((await read(address)).body).to.include({ resource: mcp.url });
  });

  it('ignores the address in a forged Host', async () => {
    const { port } = new URL(mcp.origin);
    for (const path of [CATALOG, `${MCP}/server-card`]) {
      const text = await new Promise<string>((resolve, reject) => {
        request({ port, path, headers: { 'Host': 'evil.example', 'X-Forwarded-Host': 'evil.example' } }, (response) => {
          let got = '';
          response.on('data', (chunk: Buffer) => (got += chunk.toString())).on('end', () => resolve(got));
        })
          .on('error', reject)
          .end();
      });
      expect(text).to.include(mcp.origin);
      expect(text).not.to.include('evil.example');
    }
  });
});

/*
 * Goal: what the server is can be asked by anybody, at a bounded rate, and by that message alone nobody gets further.
 * Method: messages over HTTP without a credential and with those that are refused; the official client.
 */

describe('server/discover', () => {
  let mcp: McpHarness;
  before(async () => {
    mcp = await McpHarness.open();
  });
  after(() => mcp.close());

  const discover = modernMessage('server/discover');
  const statusAndCode = async (response: Response): Promise<string> => {
    const body = (await response.json()) as JsonObject;
    return `${response.status} ${asText(body['code'])}`;
  };

  for (const [name, more] of Object.entries({
    'without a credential': {},
    'with a credential that is not valid': { Authorization: 'Bearer svc_live_x' },
    'with another scheme': { Authorization: 'Basic eDp5' },
  }))
    it(`is answered ${name}, and keeps no session`, async () => {
      const response = await mcp.post(discover.body, { ...discover.headers, ...more });
      expect(response.status).to.equal(200);
      expect(response.headers.get('mcp-session-id')).to.equal(null);
      const { result } = (await response.json()) as { readonly result: JsonObject };
      expect(result).to.deep.include({ supportedVersions: ['2026-07-28'], cacheScope: 'public' });
      expect(result['capabilities']).to.include.keys('tools');
    });

  it('is refused in the words of the protocol without the headers of its revision', async () => {
    const response = await mcp.post(discover.body);
    expect(response.status).to.equal(400);
    expect(await response.json()).to.have.nested.property('error.code', -32_020);
  });

  it('opens nothing for another method that comes under its name', async () => {
    for (const method of ['tools/list', 'tools/call', 'initialize', 'ping', 'subscriptions/listen']) {
      const { body, headers } = modernMessage(method, { name: 'list_models', arguments: {} });
      const named = await mcp.post(body, { ...headers, 'Mcp-Method': 'server/discover' });
      expect(await statusAndCode(named), method).to.equal('400 BODY_INVALID');
      const legacy = await mcp.post({ jsonrpc: '2.0', id: 1, method, params: {} }, { 'Mcp-Method': 'server/discover' });
      expect(await statusAndCode(legacy), method).to.equal('400 BODY_INVALID');
      const other = await mcp.post(discover.body, { ...discover.headers, 'Mcp-Method': method });
      expect(await statusAndCode(other), method).to.equal('401 DEVELOPER_TOKEN_REQUIRED');
    }
    expect(await statusAndCode(await mcp.post([discover.body], discover.headers))).to.equal('400 BODY_INVALID');
  });

  it('is asked for its body where its head names it, and any other is refused by its head', async () => {
    const ask = (more: Readonly<Record<string, string>>) =>
      new Promise<string>((resolve, reject) => {
        const { port } = new URL(mcp.url);
        const body = JSON.stringify(discover.body);
        const headers = { 'Content-Type': 'application/json', 'Content-Length': body.length, 'Expect': '100-continue' };
        let continued = '';
        const sent = request({ port, path: MCP, method: 'POST', headers: { ...headers, ...more } }, (response) => {
          response.resume();
          resolve(`${continued}${response.statusCode}`);
        });
        sent.on('error', reject).on('continue', () => {
          continued = '100 ';
          sent.end(body);
        });
        sent.flushHeaders();
      });
    expect(await ask(discover.headers)).to.equal('100 200');
    expect(await ask({ ...discover.headers, 'Mcp-Method': 'tools/list' })).to.equal('401');
    expect(await ask({})).to.equal('401');
  });

  it('has a short body', async () => {
    const { body, headers } = modernMessage('server/discover', { x: 'x'.repeat(20_000) });
    expect(await statusAndCode(await mcp.post(body, headers))).to.equal('413 BODY_TOO_LARGE');
  });

  it('connects a client of the newest revision, which is then challenged by the list of tools', async () => {
    const options: ClientOptions = { versionNegotiation: { mode: { pin: '2026-07-28' } } };
    const client = new Client({ name: 'a client', version: '1' }, options);
    await client.connect(new StreamableHTTPClientTransport(new URL(mcp.url)));
    expect(client.getServerVersion()).to.include({ name: 'darkroom' });
    expect(await client.listTools().catch((error: Error) => error.message)).to.include('DEVELOPER_TOKEN_REQUIRED');
    await client.close();
  });

  it('is limited for an address, but neither for a credential nor in what is refused anyway', async () => {
    const other = await McpHarness.open();
    try {
      const ask = (more: Record<string, string> = {}) => other.post(discover.body, { ...discover.headers, ...more });
      const statuses: number[] = [];
      while (statuses.at(-1) !== 429 && statuses.length < 1_000) {
        const response = await ask();
        await response.text();
        statuses.push(response.status);
      }
      expect(statuses).to.have.length(601);
      const refused = await ask();
      expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 60);
      expect(await statusAndCode(refused)).to.equal('429 RATE_LIMITED');
      const card = await fetch(`${other.url}/server-card`);
      expect([card.status, card.headers.get('access-control-allow-origin')]).to.deep.equal([429, '*']);
      expect((await ask({ Authorization: `Bearer ${await other.key()}` })).status).to.equal(200);
      const ping = await other.post({ jsonrpc: '2.0', id: 1, method: 'ping' });
      expect(await statusAndCode(ping)).to.equal('401 DEVELOPER_TOKEN_REQUIRED');
    } finally {
      await other.close();
    }
  });
});
