/*
 * Goal: a page of an origin that the operator lists uses the MCP server from a browser, with a key and by OAuth; a page
 * of any other origin can read the public documents alone.
 * Method: pages of two sites in Chromium with the official client in TypeScript, which esbuild bundles for browsers; where it
 * waits for a person, a browser without scripts signs in and allows the request.
 */
import { expect } from 'chai';
import { build } from 'esbuild';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { createApp, createKey } from '../../core/access/manage.js';
import { OAuthHarness } from '../fronts/oauth/oauth-harness.js';
import { orSkip } from '../servers/server-absent.js';
import { startChromium } from './chromium.js';

/** What a page runs: it connects a client, with a key or by OAuth, and says what became of it. */
const PROGRAM = `
  import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '/client.js';

  const kept = {};
  const storage = {
    redirectUrl: location.origin + '/callback',
    clientMetadata: { client_name: 'a page', redirect_uris: [location.origin + '/callback'] },
    clientInformation: () => kept.client,
    saveClientInformation: (client) => void (kept.client = client),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void (kept.tokens = tokens),
    codeVerifier: () => kept.verifier,
    saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
    discoveryState: () => kept.discovery,
    saveDiscoveryState: (state) => void (kept.discovery = state),
    redirectToAuthorization: (url) => void (kept.opened = url.href),
  };
  const transport = (url, key) =>
    new StreamableHTTPClientTransport(
      new URL(url),
      key ? { requestInit: { headers: { Authorization: 'Bearer ' + key } } } : { authProvider: storage },
    );

  window.finish = (url, callback) => transport(url).finishAuth(new URL(callback).searchParams);
  window.use = async (url, mode, key) => {
    const client = new Client({ name: 'a page', version: '1' }, { versionNegotiation: { mode } });
    try {
      await client.connect(transport(url, key));
      const { tools } = await client.listTools();
      const { structuredContent } = await client.callTool({ name: 'get_credits', arguments: {} });
      return { tools: tools.length, credits: structuredContent.balance_credits };
    } catch (error) {
      return error instanceof UnauthorizedError ? { opened: kept.opened } : { refused: String(error.message) };
    }
  };
  window.ready = true;
`;

const PAGE =
  '<!doctype html><title>A site</title><link rel="icon" href="data:,"><script type="module" src="/program.js"></script>';

/** A site with one page that has the client. */
class Site {
  private constructor(
    private readonly server: Server,
    readonly origin: string,
  ) {}

  static async open(client: string): Promise<Site> {
    const files: Readonly<Record<string, readonly [type: string, text: string]>> = {
      '/': ['text/html', PAGE],
      '/client.js': ['text/javascript', client],
      '/program.js': ['text/javascript', PROGRAM],
    };
    const server = createServer(({ url = '' }, res) => {
      const [type, text] = files[url] ?? ['text/plain', ''];
      res.writeHead(200, { 'Content-Type': type }).end(text);
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    return new Site(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

/** The client as a module for browsers. */
async function bundledClient(): Promise<string> {
  const entry = fileURLToPath(import.meta.resolve('@modelcontextprotocol/client'));
  const { outputFiles } = await build({ entryPoints: [entry], bundle: true, format: 'esm', write: false });
  return outputFiles[0]?.text ?? '';
}

interface Outcome {
  readonly tools?: number;
  readonly credits?: number;
  readonly opened?: string;
  readonly refused?: string;
}

describe('the MCP server in a browser', () => {
  let browser: Browser | undefined;
  let sites: readonly Site[] = [];
  let service: OAuthHarness;
  let url: string;
  let page: Page;
  before(async function () {
    browser = await orSkip(this, startChromium());
    const client = await bundledClient();
    sites = [await Site.open(client), await Site.open(client)];
    service = await OAuthHarness.open({ mcp: { confirmAboveCredits: 100, allowedOrigins: [siteAt(0)] } });
    url = `${service.origin}/api/v1/developer/mcp`;
  });
  after(async () => {
    await browser?.close();
    await service?.close();
    for (const site of sites) site.close();
  });
  beforeEach(async () => {
    page = (await browser?.newPage()) as Page;
  });
  afterEach(() => page.close());

  const siteAt = (index: number): string => sites[index]?.origin ?? '';
  const run = <T>(expression: string): Promise<T> => page.evaluate<T>(expression);
  const open = async (index: number): Promise<void> => {
    await page.goto(siteAt(index));
    await page.waitForFunction('window.ready');
  };
  const use = (mode: string, key = ''): Promise<Outcome> => run(`use(${JSON.stringify(url)}, ${mode}, '${key}')`);
  const newKey = async (): Promise<string> => {
    const { context } = service.harness;
    const { appId } = await createApp(context, { accountId: service.person.accountId, name: 'an App' });
    return (await createKey(context, { appId, name: 'a key' })).secret;
  };

  const MODES = { 'initialize': `'legacy'`, 'server/discover': `{ pin: '2026-07-28' }` };
  for (const [begins, mode] of Object.entries(MODES)) {
    it(`serves a page of a listed origin with a key, which begins with ${begins}`, async () => {
      await open(0);
      expect(await use(mode, await newKey())).to.deep.equal({ tools: 9, credits: 1_000 });
    });

    it(`leads a page of a listed origin from the refusal to a token, which begins with ${begins}`, async () => {
      await open(0);
      const { opened = '' } = await use(mode);
      const { pathname, search } = new URL(opened);
      const person = await service.signedIn();
      const callback = await service.allow(person, await person.open(pathname + search));
      await run(`finish(${JSON.stringify(url)}, ${JSON.stringify(callback.href)})`);
      expect(await use(mode)).to.deep.equal({ tools: 9, credits: 1_000 });
    });

    it(`refuses a page of another origin, which begins with ${begins}`, async () => {
      await open(1);
      const { refused, ...others } = await use(mode, await newKey());
      expect(others).to.deep.equal({});
      expect(refused).to.match(/^(Failed to fetch|Version negotiation failed)/);
    });
  }

  it('allows pages of any origin to read public documents', async () => {
    await open(1);
    for (const path of [
      '/.well-known/ai-catalog.json',
      '/api/v1/developer/mcp/server-card',
      '/.well-known/oauth-protected-resource/api/v1/developer/mcp',
      '/.well-known/oauth-authorization-server',
    ]) {
      const headers = `{ 'Content-Type': 'application/json', 'MCP-Protocol-Version': '2026-07-28' }`;
      const status = run(`fetch('${service.origin}${path}', { headers: ${headers} }).then(({ status }) => status)`);
      expect(await status, path).to.equal(200);
    }
  });
});
