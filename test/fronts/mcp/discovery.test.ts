/*
 * Goal: clients find the server and its authorization from the address of the host alone, and every document says the
 * same of it as the server itself.
 * Method: the documents read over HTTP as a stranger, followed from one to the next, under a forged Host too.
 */
import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import type { JsonObject } from '../../../core/json.js';
import { asText, MCP, McpHarness, REVISIONS } from './mcp-harness.js';

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

  it('leads from the catalog over the card to the server, whose name and version are those of the package', async () => {
    const { name, version } = JSON.parse(readFileSync('package.json', 'utf8')) as { name: string; version: string };
    const catalog = await read(mcp.origin + CATALOG);
    expect(catalog.type).to.equal('application/ai-catalog+json');
    const [entry] = catalog.body['entries'] as JsonObject[];
    expect(entry).to.include({
      identifier: `urn:air:127.0.0.1:mcp:${name}`,
      type: 'application/mcp-server-card+json',
      version,
    });
    const card = await read(asText(entry?.['url']));
    expect(card.type).to.equal('application/mcp-server-card+json');
    expect(card.body).to.include({ name: `127.0.0.1/${name}`, version, title: 'Darkroom' });
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
      expect(client.serverVersion).to.include({ name, version });
    }
  });

  it('leads from the refusal of the server to its metadata', async () => {
    const challenge = (await mcp.post({})).headers.get('www-authenticate') ?? '';
    const [, address = ''] = /resource_metadata="([^"]+)"/.exec(challenge) ?? [];
    expect((await read(address)).body).to.include({ resource: mcp.url });
  });

  it('takes no address from a forged Host', async () => {
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
