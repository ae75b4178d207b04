// Goal: the official TypeScript clients connect by the server's address alone, whether they begin with `initialize` or
// with `server/discover`, and whether a person pasted the address with a slash at its end.
// Method: both generations of the client in this process against a whole service; where they wait for a person, a browser
// without scripts signs in and allows the request.
import { Client as NewClient, StreamableHTTPClientTransport as NewTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect } from 'chai';
import { OAuthHarness, REDIRECT } from '../../fronts/oauth/oauth-harness.js';

/** What a client stores of its connection, in memory; the address that a person must open is kept. */
class Storage {
  readonly redirectUrl = REDIRECT;
  readonly clientMetadata = { client_name: 'a client in TypeScript', redirect_uris: [REDIRECT] };
  opened: URL | undefined;
  private readonly kept = new Map<string, unknown>();

  clientInformation = () => this.kept.get('client') as never;
  saveClientInformation = (client: unknown) => void this.kept.set('client', client);
  tokens = () => this.kept.get('tokens') as never;
  saveTokens = (tokens: unknown) => void this.kept.set('tokens', tokens);
  discoveryState = () => this.kept.get('discovery') as never;
  saveDiscoveryState = (state: unknown) => void this.kept.set('discovery', state);
  codeVerifier = () => this.kept.get('verifier') as string;
  saveCodeVerifier = (verifier: string) => void this.kept.set('verifier', verifier);
  redirectToAuthorization = (url: URL) => void (this.opened = url);
}

/** A client that is connected, or not yet. */
interface Connecting {
  /** What its first steps throw until it has a token: the connection, or else the list of tools. */
  readonly tools: () => Promise<number>;
  readonly finish: (callback: URL) => Promise<void>;
}

/** `begins`: the first message of the client. */
function connecting(
  begins: 'initialize' | 'server/discover' | 'either' | 'old initialize',
  url: URL,
  storage: Storage,
): Connecting {
  if (begins === 'old initialize') {
    const transport = new OldTransport(url, { authProvider: storage });
    return {
      tools: async () => {
        const client = new OldClient({ name: 'a client', version: '1' });
        await client.connect(new OldTransport(url, { authProvider: storage }));
        return (await client.listTools()).tools.length;
      },
      finish: (callback) => transport.finishAuth(callback.searchParams.get('code') ?? ''),
    };
  }
  const transport = new NewTransport(url, { authProvider: storage });
  const mode = { 'initialize': 'legacy', 'server/discover': { pin: '2026-07-28' }, 'either': 'auto' } as const;
  return {
    tools: async () => {
      const client = new NewClient({ name: 'a client', version: '1' }, { versionNegotiation: { mode: mode[begins] } });
      await client.connect(new NewTransport(url, { authProvider: storage }));
      return (await client.listTools()).tools.length;
    },
    finish: (callback) => transport.finishAuth(callback.searchParams),
  };
}

describe('the MCP server with clients in TypeScript', () => {
  let service: OAuthHarness;
  before(async () => {
    service = await OAuthHarness.open();
  });
  after(() => service.close());

  for (const begins of ['initialize', 'server/discover', 'either', 'old initialize'] as const)
    for (const slash of ['', '/'])
      it(`connects one that begins with ${begins}, at the address ending in ${slash === '' ? 'mcp' : 'a slash'}`, async () => {
        const storage = new Storage();
        const client = connecting(begins, new URL(`${service.origin}/api/v1/developer/mcp${slash}`), storage);
        const refusal = await client.tools().catch((error: Error) => error.constructor.name);
        expect(refusal).to.equal('UnauthorizedError');
        const { pathname, search, searchParams } = storage.opened ?? new URL('about:blank');
        expect(searchParams.get('scope'), 'the scopes of the challenge').to.equal(
          'credits:read generations:read generations:write uploads:write',
        );
        const browser = await service.signedIn();
        await client.finish(await service.allow(browser, await browser.open(pathname + search)));
        expect(await client.tools()).to.equal(9);
      });
});
