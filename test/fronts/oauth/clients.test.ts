import { expect } from 'chai';
import fc from 'fast-check';
import { AsyncLocalStorage, executionAsyncId } from 'node:async_hooks';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as oauth from 'oauth4webapi';
import { disabledWhenIdle } from '../../../apps/http/oauth/oauth-front.js';
import { ClientDocuments } from '../../../apps/http/oauth/client-documents.js';
import { Authority } from '../../fixtures/authority.js';
import { until } from '../../fixtures/clocks.js';
import { orSkip } from '../../servers/server-absent.js';
import { OAuthHarness, REDIRECT } from './oauth-harness.js';
import { forAll } from '../../harness/for-all.js';

/*
 * Goal: clients register themselves within bounds, with addresses that codes can be sent to safely; what they ask for and
 * does not exist is left out.
 * Method: requests to a whole service in this process, with metadata as clients in use send it and as attackers would.
 */

const DAY_MS = 86_400_000;

describe('the registration of OAuth clients', () => {
  let service: OAuthHarness;
  beforeEach(async () => {
    service = await OAuthHarness.open();
  });
  afterEach(() => service.close());
  const register = (metadata: object) => service.post('/oauth/register', metadata);

  it('returns the registration: a public client with a code and a refresh token', async () => {
    const { status, body, headers } = await register({
      client_name: 'an editor',
      redirect_uris: [REDIRECT],
      grant_types: ['authorization_code', 'refresh_token', 'implicit', 'password'],
      response_types: ['code', 'token'],
      token_endpoint_auth_method: 'client_secret_post',
      scope: 'openid everything',
      jwks: { keys: [] },
    });
    expect(status).to.equal(201);
    expect(headers.get('access-control-allow-origin')).to.equal('*');
    expect(body).to.deep.include({
      client_name: 'an editor',
      redirect_uris: [REDIRECT],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    });
    expect(body).not.to.have.any.keys('client_secret', 'scope', 'jwks');
  });

  it('may be asked by a page of any origin', async () => {
    const { status, headers } = await fetch(`${service.origin}/oauth/register`, {
      method: 'OPTIONS',
      headers: {
        'Origin': 'https://inspector.example',
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'content-type',
      },
    });
    expect(status).to.equal(204);
    expect(headers.get('access-control-allow-headers')).to.equal('content-type');
  });

  for (const uri of [
    'https://client.example/callback',
    'http://127.0.0.1/callback',
    'http://localhost:1234/callback',
    'http://[::1]:1234/callback',
    'com.example.app:/callback',
    'com.example.app://callback/path',
    'COM.Example.App:/callback',
    'org.example.my-app+test:/',
  ])
    it(`takes ${uri}`, async () => {
      expect((await register({ redirect_uris: [uri] })).status).to.equal(201);
    });

  for (const [uri, why] of [
    ['http://client.example/callback', 'without TLS'],
    ['http://10.0.0.1/callback', 'without TLS'],
    ['http://localhost.example/callback', 'without TLS'],
    ['javascript:alert(1)', 'javascript:'],
    ['myapp:/callback', 'a domain name of yours in reverse order, as in com.example.app:/callback'],
    ['cursor://anysphere.cursor-mcp/oauth/callback', 'a domain name of yours in reverse order'],
    ['ms-officecmd:x', 'ms-officecmd:'],
    ['search-ms:query=x', 'search-ms:'],
    ['myapp.:/callback', 'myapp.:'],
    ['my..app:/callback', 'my..app:'],
    ['com.example.app:/callback#x', 'fragment'],
    ['com.example.app://user@host/callback', 'user name'],
    ['intent://scan/#Intent;scheme=zxing;end', 'fragment'],
    ['ws://client.example/callback', 'ws:'],
    ['JavaScript://client.example/%0aalert(1)', 'javascript:'],
    ['data:text/html,x', 'data:'],
    ['file:///etc/passwd', 'file:'],
    ['vbscript:x', 'vbscript:'],
    ['https://client.example/callback#fragment', 'fragment'],
    ['https://client.example/callback#', 'fragment'],
    ['https://user@client.example/callback', 'user name'],
    ['not an address', 'must be an address'],
    ['/callback', 'must be an address'],
    ['', 'must be an address'],
    [{ toString: 'x' }, 'must be an address'],
    [null, 'must be an address'],
    [`https://client.example/${'x'.repeat(2_000)}`, 'at most 2000 characters'],
  ] as const)
    it(`refuses ${JSON.stringify(uri).slice(0, 60)}`, async () => {
      const { status, body } = await register({ redirect_uris: ['https://client.example/right', uri] });
      expect([status, body['error']]).to.deep.equal([400, 'invalid_redirect_uri']);
      expect(body['error_description']).to.include(why);
    });

  it('refuses metadata that is none, without failing', async () => {
    for (const body of ['[]', '"text"', 'null', '{', '{"redirect_uris":"https://client.example/"}', '{}']) {
      const response = await fetch(`${service.origin}/oauth/register`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body,
      });
      const { error } = (await response.json()) as { readonly error: string };
      expect([response.status, error], body).to.deep.equal([
        400,
        body.startsWith('{') && body.endsWith('}') ? 'invalid_redirect_uri' : 'invalid_client_metadata',
      ]);
    }
  });

  it('refuses metadata that is too large', async () => {
    const { status } = await register({ redirect_uris: [REDIRECT], client_name: 'x'.repeat(17_000) });
    expect(status).to.equal(413);
  });

  it('refuses more than twenty clients a minute from one address', async () => {
    for (let made = 0; made < 20; made += 1)
      expect((await register({ redirect_uris: [REDIRECT] })).status).to.equal(201);
    const { status, headers, body } = await register({ redirect_uris: [REDIRECT] });
    expect([status, body['error']]).to.deep.equal([429, 'temporarily_unavailable']);
    expect(Number(headers.get('retry-after'))).to.be.greaterThan(0);
  });

  it('keeps a client for as long as it is used', async () => {
    const clientId = await service.register();
    const { context, clock } = service.harness;
    const clean = () => context.artefacts.removeExpired(context.clock.now(), 1_000);
    const { refresh_token: refresh } = await service.connect(await service.signedIn(), clientId);
    clock.advance(60 * DAY_MS);
    await clean();
    const { body, status } = await service.refresh(clientId, refresh);
    expect(status).to.equal(200);
    clock.advance(60 * DAY_MS);
    await clean();
    expect((await service.refresh(clientId, String(body['refresh_token']))).status).to.equal(200);
  });
});

/*
 * Goal: a client may be named by a document on a host that the operator has listed, and by no other; the service never
 * connects to its own network for it, however the address is written or resolved.
 * Method: a whole service in this process, and a TLS server with the document; a listener counts connections that must not
 * come.
 */

/** The third letter is a Cyrillic one. */
const HOMOGRAPH = 'cl\u0456ent.example';
const HOMOGRAPH_HOST = new URL(`https://${HOMOGRAPH}`).host;

describe('documents of OAuth clients', () => {
  const folder = mkdtempSync(join(tmpdir(), 'darkroom-client-documents-'));
  let authority: Authority;
  let server: Server;
  let port: number;
  let documents: ClientDocuments;
  let service: OAuthHarness;
  let asked: string[];
  /** The server's answer, apart from its own address as the id. */
  let answer: { readonly metadata: object; readonly status?: number; readonly headers?: Record<string, string> };
  const clientId = () => `https://client.example:${port}/client.json`;

  before(async function () {
    authority = await orSkip(this, Authority.make(folder, 'authority-of-clients'));
    const names = ['DNS:client.example', `DNS:${HOMOGRAPH_HOST}`];
    const { cert, key } = authority.issue({ names, usage: 'serverAuth' });
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
    const { text } = await open(clientId());
    expect(text, 'where the program is').to.match(
      /<dt>Described at<\/dt>\s*<dd>https:\/\/client\.example:\d+\/client\.json<\/dd>/,
    );
    expect((await service.refresh(clientId(), tokens.refresh_token)).status).to.equal(200);
  });

  const withPort = (url: string) => url.replace(/(?<=example)(?=\/)/i, `:${port}`);
  for (const id of ['HTTPS://client.example/client.json', 'https://%63LIENT.example/client.json'])
    it(`are shown by their real address if they are named as ${id}`, async () => {
      await listing(['client.example']);
      answer = { metadata: { client_id: withPort(id), redirect_uris: [REDIRECT] } };
      const { text } = await open(withPort(id));
      expect(text).to.match(/<dt>Described at<\/dt>\s*<dd>https:\/\/client\.example:\d+\/client\.json<\/dd>/);
      expect(text, 'a client without a name').to.include(`<strong>${clientId()}</strong>`);
      await service.connect(await service.signedIn(), withPort(id));
    });

  for (const [what, id] of [
    ['an override that reverses the text', 'https://client.example/\u202Egnp'],
    ['a host that looks like another one', `https://${HOMOGRAPH}/c`],
  ] as const)
    it(`are refused, and not shown, at an address with ${what}`, async () => {
      await listing(['client.example', HOMOGRAPH_HOST]);
      answer = { metadata: { client_id: withPort(id), redirect_uris: [REDIRECT] } };
      const page = await open(withPort(id));
      expect(page.status).to.equal(400);
      expect(page.text).not.to.match(/[\p{Cf}\p{Script=Cyrillic}]/u);
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
    ['a redirect address with a scheme without a dot', { redirect_uris: [REDIRECT, 'myapp:/callback'] }],
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

/*
 * Goal: clients discover everything from the address of a resource alone, by documents that a strict reader accepts.
 * Method: oauth4webapi reads the documents of a service over HTTP in this process and continues with their contents.
 */

const LOCAL = { [oauth.allowInsecureRequests]: true } as const;

describe('the public documents of OAuth', () => {
  let service: OAuthHarness;
  before(async () => {
    service = await OAuthHarness.open();
  });
  after(() => service.close());

  for (const path of ['/api/v1/developer', '/api/v1/developer/mcp'])
    it(`lead from ${path} to tokens for it`, async () => {
      const resource = new URL(service.origin + path);
      const protectedResource = await oauth.processResourceDiscoveryResponse(
        resource,
        await oauth.resourceDiscoveryRequest(resource, LOCAL),
      );
      const issuer = new URL(protectedResource.authorization_servers?.[0] ?? '');
      const server = await oauth.processDiscoveryResponse(
        issuer,
        await oauth.discoveryRequest(issuer, { ...LOCAL, algorithm: 'oauth2' }),
      );
      const registered = await oauth.processDynamicClientRegistrationResponse(
        await oauth.dynamicClientRegistrationRequest(server, { redirect_uris: [REDIRECT] }, LOCAL),
      );
      const client: oauth.Client = { client_id: registered.client_id };
      const { path: asked, verifier, state } = service.request(client.client_id, { resource: resource.href });
      expect(server.authorization_endpoint).to.equal(service.origin + new URL(asked, service.origin).pathname);
      const browser = await service.signedIn();
      const callback = await service.allow(browser, await browser.open(asked));
      const params = oauth.validateAuthResponse(server, client, callback, state);
      const tokens = await oauth.processAuthorizationCodeResponse(
        server,
        client,
        await oauth.authorizationCodeGrantRequest(server, client, oauth.None(), params, REDIRECT, verifier, LOCAL),
      );
      const audience = path.endsWith('mcp') ? 'mcp' : 'rest';
      const caller = await service.harness.authenticator.authenticate(tokens.access_token, audience);
      expect(caller.accountId).to.equal(service.person.accountId);
    });

  it('may be read by a page of any origin', async () => {
    for (const path of [
      '/.well-known/oauth-authorization-server',
      '/.well-known/oauth-protected-resource/api/v1/developer',
      '/.well-known/oauth-protected-resource/api/v1/developer/',
      '/.well-known/oauth-protected-resource/api/v1/developer/mcp',
      '/.well-known/oauth-protected-resource/api/v1/developer/mcp/',
    ]) {
      const { headers, status } = await fetch(service.origin + path, {
        headers: { Origin: 'https://inspector.example' },
      });
      expect([status, headers.get('access-control-allow-origin')], path).to.deep.equal([200, '*']);
      const preflight = await fetch(service.origin + path, {
        method: 'OPTIONS',
        headers: {
          'Origin': 'https://inspector.example',
          'Access-Control-Request-Method': 'GET',
          'Access-Control-Request-Headers': 'mcp-protocol-version',
        },
      });
      expect(preflight.status, path).to.equal(204);
      expect(preflight.headers.get('access-control-allow-origin'), path).to.equal('*');
      expect(preflight.headers.get('access-control-allow-methods'), path).to.equal('GET');
      expect(preflight.headers.get('access-control-allow-headers'), path).to.equal('mcp-protocol-version');
    }
  });

  it('name the same resource at a path with a slash at its end', async () => {
    for (const resource of ['/api/v1/developer', '/api/v1/developer/mcp']) {
      const path = `/.well-known/oauth-protected-resource${resource}`;
      const read = async (at: string) => (await fetch(service.origin + at)).json();
      expect(await read(`${path}/`))
        .to.deep.equal(await read(path))
        .and.to.include({
          resource: service.origin + resource,
        });
    }
  });

  it('name scopes of the interface only, and no way that is weaker', async () => {
    const response = await fetch(`${service.origin}/.well-known/oauth-authorization-server`);
    const document = (await response.json()) as Record<string, readonly string[]>;
    const usual = ['credits:read', 'generations:read', 'generations:write', 'uploads:write'];
    expect(document['scopes_supported']).to.deep.equal([...usual, 'webhooks:manage']);
    const resource = await fetch(`${service.origin}/.well-known/oauth-protected-resource/api/v1/developer`);
    expect(await resource.json(), 'what a program asks for that does not choose').to.have.deep.property(
      'scopes_supported',
      usual,
    );
    expect(document['code_challenge_methods_supported']).to.deep.equal(['S256']);
    expect(document['response_types_supported']).to.deep.equal(['code']);
    expect(document['grant_types_supported']).not.to.include.members(['implicit']);
  });
});

/*
 * Goal: the library's context of a request costs nothing when no request of it is in progress, and is kept while one is.
 * Method: promises are tracked where two continuations have different ids (Node's documentation of `async_hooks`).
 */

const [NODE = 0] = process.versions.node.split('.').map(Number);
const LAST_WITH_TRACKING = 23;

async function arePromisesTracked(): Promise<boolean> {
  const [first, second] = await Promise.all([1, 2].map(() => Promise.resolve().then(executionAsyncId)));
  return first !== second;
}

describe('the context of the OAuth library', () => {
  it('leaves no promise tracked after a client got its tokens', async () => {
    const service = await OAuthHarness.open();
    try {
      await service.connect(await service.signedIn(), await service.register());
      // An answer may arrive before the library has ended its call.
      await until(async () => !(await arePromisesTracked()));
    } finally {
      await service.close();
    }
  });

  it('is found again after each wait of a call, whichever calls end meanwhile, and is off after the last', async () => {
    const calls = fc.array(fc.record({ waits: fc.integer({ min: 1, max: 4 }), fails: fc.boolean() }), {
      minLength: 1,
      maxLength: 6,
    });
    await forAll(100, [calls, fc.scheduler()], async (given, scheduler) => {
      const storage = new AsyncLocalStorage<unknown>();
      const serve = disabledWhenIdle(storage, (call: (typeof given)[number]) =>
        storage.run(call, async () => {
          for (let wait = 0; wait < call.waits; wait += 1) {
            await scheduler.schedule(Promise.resolve());
            expect(storage.getStore()).to.equal(call);
            if (NODE <= LAST_WITH_TRACKING) expect(await arePromisesTracked()).to.equal(true);
          }
          if (call.fails) throw new Error('refused');
        }),
      );
      const ended = Promise.allSettled(given.map((call) => serve(call)));
      await scheduler.waitFor(ended);
      const outcomes = (await ended).map(({ status }) => status);
      expect(outcomes).to.deep.equal(given.map(({ fails }) => (fails ? 'rejected' : 'fulfilled')));
      expect(await arePromisesTracked()).to.equal(false);
    });
  });
});
