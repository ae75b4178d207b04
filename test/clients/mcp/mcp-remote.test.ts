// Goal: clients that only start programs reach the MCP server through mcp-remote, with a key or by the address alone.
// Method: mcp-remote as a separate process, which a client drives by its standard streams; where it waits for a person, a
// browser without scripts signs in and allows the request. Without mcp-remote on the machine they are skipped.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { expect } from 'chai';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp, createKey } from '../../../core/access/manage.js';
import { OAuthHarness } from '../../fronts/oauth/oauth-harness.js';
import { freePort } from '../../servers/free-port.js';
import { orSkip } from '../foreign-clients.js';
import { MCP_TOOLS, type McpTool } from './mcp-tools.js';

describe('the MCP server through mcp-remote', () => {
  let remote: McpTool;
  let service: OAuthHarness;
  let url: string;
  let folder: string;
  before(async function () {
    ({ remote } = await orSkip(this, () => MCP_TOOLS.find()));
    service = await OAuthHarness.open();
    url = `${service.origin}/api/v1/developer/mcp`;
  });
  after(() => service?.close());
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-mcp-remote-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** Connects a client through the bridge; `onPage` gets the address that a person must open. */
  async function connected(args: readonly string[], onPage: (address: string) => Promise<void>): Promise<Client> {
    const transport = new StdioClientTransport({
      command: remote.command,
      args: [...remote.args, ...args],
      // Without a browser to start, it prints the address alone.
      env: { HOME: folder, PATH: '', MCP_REMOTE_CONFIG_DIR: folder },
      stderr: 'pipe',
    });
    let complaint = '';
    let opened: Promise<void> | undefined;
    transport.stderr?.on('data', (text: Buffer) => {
      complaint += text.toString();
      const [address] = /http:\/\/\S+\/oauth\/authorize\?\S+(?=\s)/.exec(complaint) ?? [];
      // It listens for the browser a moment after it has printed the address.
      if (address !== undefined && complaint.includes('callback server running')) opened ??= onPage(address);
    });
    const client = new Client({ name: 'a client of programs', version: '1' });
    await client.connect(transport, { timeout: 30_000 }).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${complaint}`);
    });
    await opened;
    return client;
  }

  async function allow(address: string): Promise<void> {
    const browser = await service.signedIn();
    const { pathname, search } = new URL(address);
    const callback = await service.allow(browser, await browser.open(pathname + search));
    await (await fetch(callback)).text();
  }

  async function expectTools(client: Client): Promise<void> {
    expect((await client.listTools()).tools).to.have.length(9);
    const balance = await client.callTool({ name: 'get_credits', arguments: {} });
    expect(balance.structuredContent).to.include({ balance_credits: 1_000 });
    await client.close();
  }

  it('calls tools with a key', async () => {
    const { context } = service.harness;
    const { appId } = await createApp(context, { accountId: service.person.accountId, name: 'an App' });
    const { secret } = await createKey(context, { appId, name: 'a key' });
    const port = String(await freePort());
    const args = [url, port, '--transport', 'http-only', '--header', `Authorization:Bearer ${secret}`];
    await expectTools(await connected(args, () => Promise.reject(new Error('It needs nobody.'))));
  });

  for (const slash of ['', '/'])
    it(`finds where to be allowed from the address alone, at /mcp${slash}`, async () => {
      const port = String(await freePort());
      await expectTools(await connected([url + slash, port, '--transport', 'http-only'], allow));
    });
});
