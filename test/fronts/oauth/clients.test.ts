/*
 * Goal: clients register themselves within bounds, with addresses that codes can be sent to safely; what they ask for and
 * does not exist is left out.
 * Method: requests to a whole service in this process, with metadata as clients in use send it and as attackers would.
 */
import { expect } from 'chai';
import { OAuthHarness, REDIRECT } from './oauth-harness.js';

const DAY_MS = 86_400_000;

describe('the registration of OAuth clients', () => {
  let service: OAuthHarness;
  beforeEach(async () => {
    service = await OAuthHarness.open();
  });
  afterEach(() => service.close());
  const register = (metadata: object) => service.post('/oauth/register', metadata);

  it('answers what was registered: a public client with a code and a refresh token', async () => {
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
      headers: { 'Origin': 'https://inspector.example', 'Access-Control-Request-Method': 'POST' },
    });
    expect(status).to.equal(204);
    expect(headers.get('access-control-allow-headers')).to.equal('content-type');
  });

  for (const uri of [
    'https://client.example/callback',
    'http://127.0.0.1/callback',
    'http://localhost:1234/callback',
    'http://[::1]:1234/callback',
    'cursor://anysphere.cursor-retrieval/oauth/callback',
    'com.example.app:/callback',
  ])
    it(`takes ${uri}`, async () => {
      expect((await register({ redirect_uris: [uri] })).status).to.equal(201);
    });

  for (const [uri, why] of [
    ['http://client.example/callback', 'without TLS'],
    ['http://10.0.0.1/callback', 'without TLS'],
    ['http://localhost.example/callback', 'without TLS'],
    ['javascript:alert(1)', 'javascript:'],
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

  it('keeps a thousand clients that nobody uses, and those that somebody uses', async () => {
    const { context } = service.harness;
    const used = await service.register();
    await service.connect(await service.signedIn(), used);
    const first = await service.register();
    const oldest = { kind: 'oauth-client', owner: 'unused', data: {}, expiresAt: Infinity, removeAt: Infinity };
    const now = context.clock.now();
    for (let index = 0; index < 999; index += 1)
      await context.artefacts.put({ ...oldest, id: `other-${index}`, createdAt: now + 1 + index });
    expect((await register({ redirect_uris: [REDIRECT] })).status).to.equal(429);
    service.harness.clock.advance(DAY_MS);
    expect((await register({ redirect_uris: [REDIRECT] })).status).to.equal(201);
    expect((await context.artefacts.listOwned('oauth-client', 'unused', 1_000)).length).to.equal(1_000);
    const browser = await service.signedIn();
    expect((await browser.open(service.request(first).path)).status).to.equal(400);
    expect((await browser.open(service.request(used).path)).text).to.include('Connect a program');
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
