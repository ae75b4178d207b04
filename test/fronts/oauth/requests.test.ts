import { expect } from 'chai';
import type { TestBrowser, TestPage } from '../../harness/test-browser.js';
import { OAuthHarness, REDIRECT } from './oauth-harness.js';

/*
 * Goal: requests of existing clients work that name scopes, prompts and parameters of OpenID Connect, or a resource in
 * another spelling; a request that can be read in two ways is refused on our own page.
 * Method: a whole service over HTTP in this process, and a browser without scripts; each row is what some client sends.
 */

const MINUTE_MS = 60_000;
const ALL = ['credits:read', 'generations:read', 'generations:write', 'uploads:write', 'webhooks:manage'];
const USUAL = ALL.slice(0, 4);

describe('an authorization request', () => {
  let service: OAuthHarness;
  let browser: TestBrowser;
  let clientId: string;
  beforeEach(async () => {
    service = await OAuthHarness.open();
    browser = await service.signedIn();
    clientId = await service.register();
  });
  afterEach(() => service.close());
  const open = (params: Record<string, string | undefined>) => browser.open(service.request(clientId, params).path);
  const boxes = ({ text }: TestPage) =>
    [...text.matchAll(/name="scope" value="([^"]*)"\s*(checked)?/g)].map(([, scope, checked]) => [
      scope,
      checked !== undefined,
    ]);
  const mcp = () => `${service.origin}/api/v1/developer/mcp`;
  const audienceOf = async (token: string) => {
    for (const audience of ['rest', 'mcp'] as const)
      if (
        await service.harness.authenticator.authenticate(token, audience).then(
          () => true,
          () => false,
        )
      )
        return audience;
    return undefined;
  };

  describe('by its scopes', () => {
    for (const [what, scope, asked, unticked] of [
      ['none', undefined, USUAL, ['generations:write']],
      ['an empty list', '', USUAL, ['generations:write']],
      ['unknown ones only', 'openid profile offline_access', USUAL, ['generations:write']],
      ['one with characters that scopes cannot have', 'ä"\\', USUAL, ['generations:write']],
      [
        'known beside unknown ones',
        'openid credits:read x generations:write',
        ['credits:read', 'generations:write'],
        [],
      ],
      ['known ones twice', 'credits:read credits:read', ['credits:read'], []],
      ['all', ALL.join(' '), ALL, ['webhooks:manage']],
      ['another spelling, which is unknown', 'CREDITS:READ', USUAL, ['generations:write']],
    ] as const)
      it(`with ${what} asks for ${asked.join(', ')}`, async () => {
        const page = await open({ scope });
        expect(boxes(page)).to.deep.equal(asked.map((one) => [one, !(unticked as readonly string[]).includes(one)]));
      });

    it('gives a client that named only unknown ones what its person ticked of the default', async () => {
      const params = { scope: 'openid email' };
      const ticked = await service.connect(browser, clientId, params, {
        scope: ['generations:write', 'webhooks:manage'],
      });
      expect(ticked.scope).to.equal('generations:write');
    });

    it('accepts unknown scopes in a refresh, alone or beside known ones', async () => {
      const { refresh_token: first } = await service.connect(browser, clientId, { scope: 'openid credits:read' });
      const second = await service.refresh(clientId, first, { scope: 'openid credits:read' });
      expect([second.status, second.body['scope']]).to.deep.equal([200, 'credits:read']);
      const third = await service.refresh(clientId, String(second.body['refresh_token']), { scope: 'offline_access' });
      expect([third.status, third.body['scope']]).to.deep.equal([200, 'credits:read']);
      const wider = { scope: 'openid generations:write' };
      const refused = await service.refresh(clientId, String(third.body['refresh_token']), wider);
      expect(refused.body['error']).to.equal('invalid_scope');
    });

    it('reads those of a device in the same way', async () => {
      const grant = 'urn:ietf:params:oauth:grant-type:device_code';
      const device = await service.register({ grant_types: [grant], redirect_uris: [] });
      for (const more of [
        { scope: 'openid' },
        {},
        { scope: 'openid credits:read', nonce: 'n', max_age: '5' },
      ] as const) {
        const { status, body } = await service.token({ client_id: device, ...more }, '/oauth/device/code');
        expect(status, JSON.stringify(body)).to.equal(200);
      }
    });
  });

  describe('by its prompt and the age of the sign-in', () => {
    for (const params of [
      { prompt: 'select_account' },
      { prompt: 'select_account consent' },
      { prompt: 'login consent select_account' },
      { prompt: 'consent' },
      { prompt: 'login' },
      { prompt: 'create' },
      { prompt: 'consent create' },
      { prompt: '' },
      { max_age: '0' },
      { max_age: '1' },
      { max_age: '3600' },
      { max_age: '0', prompt: 'select_account' },
      { max_age: '' },
      { nonce: 'n', claims: '{', acr_values: 'x', ui_locales: 'de', id_token_hint: 'x', registration: 'x' },
      { login_hint: 'ada@example.com', display: 'popup', unknown: 'x' },
    ] as Record<string, string>[])
      it(`leads to a code with ${new URLSearchParams(params).toString()}`, async () => {
        const tokens = await service.connect(browser, clientId, params);
        expect((await service.call(tokens.access_token)).status).to.equal(200);
      });

    for (const [params, error] of [
      [{ prompt: 'none' }, 'login_required'],
      [{ prompt: 'none login' }, 'invalid_request'],
      [{ prompt: 'select_account none' }, 'invalid_request'],
      [{ max_age: '-1' }, 'invalid_request'],
      [{ max_age: '1.5' }, 'invalid_request'],
      [{ max_age: 'soon' }, 'invalid_request'],
      [{ max_age: '9'.repeat(30) }, 'invalid_request'],
    ] as [Record<string, string>, string][])
      it(`is refused with ${new URLSearchParams(params).toString()}`, async () => {
        const { headers } = await open(params);
        const { searchParams, href } = new URL(headers.get('location') ?? '');
        expect(href.startsWith(REDIRECT)).to.equal(true);
        expect(searchParams.get('error')).to.equal(error);
      });

    for (const [params, ageMs, isEnough] of [
      [{ max_age: '300' }, 4 * MINUTE_MS, true],
      [{ max_age: '300' }, 6 * MINUTE_MS, false],
      [{ max_age: '0' }, 2 * MINUTE_MS, false],
      [{ prompt: 'login' }, 2 * MINUTE_MS, false],
      [{ prompt: 'login', max_age: '3600' }, 2 * MINUTE_MS, false],
      [{ prompt: 'select_account' }, 14 * MINUTE_MS, true],
      [{ max_age: '86400' }, 14 * MINUTE_MS, true],
      [{ max_age: '86400' }, 16 * MINUTE_MS, false],
    ] as [Record<string, string>, number, boolean][])
      it(`with ${new URLSearchParams(params).toString()} takes a sign-in of ${ageMs / MINUTE_MS} minutes ago: ${isEnough}`, async () => {
        service.harness.clock.advance(ageMs);
        const page = await open(params);
        expect(page.text.includes('Connect a program')).to.equal(isEnough);
        if (isEnough) return;
        expect(new URL(page.url).pathname).to.equal('/sign-in');
        expect(page.text).to.include('Sign in again to continue: this needs a new sign-in.');
        const returnTo = new URL(page.url).searchParams.get('return') ?? '';
        const again = await browser.submit('/sign-in', {
          email: 'ada@example.com',
          password: 'correct horse battery',
          return: returnTo,
        });
        expect(again.text).to.include('Connect a program');
      });

    it('cannot be sent what the consent page keeps for itself', async () => {
      service.harness.clock.advance(5 * MINUTE_MS);
      const page = await open({ max_age: '60', darkroom_signed_in_since: '0', darkroom_scope_is_default: '' });
      expect(new URL(page.url).pathname).to.equal('/sign-in');
    });
  });

  describe('by its resource', () => {
    it('without one is for the MCP server', async () => {
      const { access_token: token, refresh_token: refresh } = await service.connect(browser, clientId, {
        resource: undefined,
      });
      expect(await audienceOf(token)).to.equal('mcp');
      const { body } = await service.refresh(clientId, refresh);
      expect(await audienceOf(String(body['access_token']))).to.equal('mcp');
      expect((await service.call(token)).body).to.include({ code: 'DEVELOPER_TOKEN_INVALID' });
    });

    it('without one is for REST where there is no MCP server', async () => {
      const without = await OAuthHarness.open({ mcp: undefined });
      try {
        const { access_token: token } = await without.connect(await without.signedIn(), await without.register(), {
          resource: undefined,
        });
        expect((await without.call(token)).status).to.equal(200);
      } finally {
        await without.close();
      }
    });

    const spellings = (): readonly string[] => [
      mcp(),
      `${mcp()}/`,
      mcp().replace('http:', 'HTTP:'),
      mcp().replace('/api', '/./api'),
    ];
    it('may be spelled with a slash at its end, or otherwise, in each request alone', async () => {
      for (const asked of spellings())
        for (const redeemed of spellings()) {
          const { path, verifier } = service.request(clientId, { resource: asked });
          const callback = await service.allow(browser, await browser.open(path));
          const tokens = await service.token({
            grant_type: 'authorization_code',
            client_id: clientId,
            code: callback.searchParams.get('code') ?? '',
            code_verifier: verifier,
            redirect_uri: REDIRECT,
            resource: redeemed,
          });
          expect(tokens.status, `${asked} ${redeemed} ${JSON.stringify(tokens.body)}`).to.equal(200);
          expect(await audienceOf(String(tokens.body['access_token']))).to.equal('mcp');
          const refreshed = await service.refresh(clientId, String(tokens.body['refresh_token']), { resource: asked });
          expect(refreshed.status, asked).to.equal(200);
        }
    });

    it('may be spelled as an earlier release stored it in a token', async () => {
      for (const stored of [`${mcp()}/`, [`${mcp()}/`], [mcp(), `${mcp()}/`]])
        for (const asked of [undefined, ...spellings()]) {
          const { refresh_token: secret } = await service.connect(browser, clientId, { resource: mcp() });
          const { context } = service.harness;
          const key = { kind: 'refresh-token', id: context.digests.keyed(`refresh-token ${secret}`) };
          const token = await context.artefacts.find(key);
          if (!token) throw new Error('The refresh token is not stored.');
          await context.artefacts.put({ ...token, data: { ...token.data, resource: stored } });
          const first = await service.refresh(clientId, secret, asked === undefined ? {} : { resource: asked });
          expect(first.status, `${String(stored)} ${asked}: ${JSON.stringify(first.body)}`).to.equal(200);
          expect(await audienceOf(String(first.body['access_token']))).to.equal('mcp');
          const next = await service.refresh(clientId, String(first.body['refresh_token']), { resource: mcp() });
          expect(next.status).to.equal(200);
        }
    });

    for (const resource of [
      'https://other.example/api/v1/developer/mcp',
      '/api/v1/developer/mcp',
      'api',
      'urn:x',
      'PATH//',
      'PATH?x=1',
      'PATH#x',
      'PATH/mcp',
    ])
      it(`is refused before its person is asked: ${resource}`, async () => {
        const page = await open({ resource: resource.replace('PATH', mcp()) });
        expect(page.headers.get('location')).to.include('error=invalid_target');
      });

    it('may be sent more than once if all are the same one', async () => {
      const { path } = service.request(clientId, { resource: mcp() });
      const same = await browser.open(`${path}&resource=${encodeURIComponent(`${mcp()}/`)}`);
      expect(same.text).to.include('the tools of this service (MCP)');
      const other = await browser.open(`${path}&resource=${encodeURIComponent(`${service.origin}/api/v1/developer`)}`);
      expect(other.headers.get('location')).to.include('error=invalid_target');
    });
  });

  describe('with a parameter that is sent twice', () => {
    for (const name of [
      'redirect_uri',
      'client_id',
      'state',
      'scope',
      'response_type',
      'code_challenge',
      'code_challenge_method',
      'prompt',
      'max_age',
    ])
      for (const [what, value] of [
        ['another value', 'https://evil.example/callback'],
        ['no value', ''],
        ['the same value', undefined],
      ] as const)
        it(`is refused on our own page: ${name} with ${what}`, async () => {
          const { path } = service.request(clientId, { prompt: 'consent', max_age: '9', scope: 'credits:read' });
          const first = new URL(path, service.origin).searchParams.get(name) ?? '';
          for (const repeated of [
            `${path}&${name}=${encodeURIComponent(value ?? first)}`,
            path.replace('?', `?${name}=${encodeURIComponent(value ?? first)}&`),
          ]) {
            const page = await browser.open(repeated);
            expect(page.status).to.equal(400);
            expect(page.headers.get('location')).to.equal(null);
            expect(page.headers.get('content-type')).to.include('text/html');
            expect(page.text).to.include('invalid_request').and.include('was sent more than once.');
            expect(page.text).not.to.include('href="https').and.not.include('evil').and.not.include('127.0.0.1:3999');
          }
        });

    it('is read if it is one that means nothing here', async () => {
      const { path } = service.request(clientId);
      expect((await browser.open(`${path}&utm_source=a&utm_source=b`)).text).to.include('Connect a program');
    });

    it('is refused by the token endpoint', async () => {
      for (const name of ['grant_type', 'refresh_token', 'scope', 'client_id']) {
        const fields = { grant_type: 'refresh_token', refresh_token: 'x', client_id: clientId, scope: 'credits:read' };
        const response = await fetch(`${service.origin}/oauth/token`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
          body: `${new URLSearchParams(fields).toString()}&${name}=x`,
        });
        expect([response.status, ((await response.json()) as { error: string }).error], name).to.deep.equal([
          400,
          'invalid_request',
        ]);
      }
    });
  });

  it('that fails leads back to no address that its client may not use any more', async () => {
    const { context } = service.harness;
    const remote = await service.register({ redirect_uris: ['https://client.example/callback'] });
    const params = { redirect_uri: 'https://client.example/callback', prompt: 'none' };
    expect((await browser.open(service.request(remote, params).path)).text).to.include('href="https://client.example');
    const key = { kind: 'oauth-client', id: context.digests.keyed(`oauth-client ${remote}`) };
    const stored = await context.artefacts.find(key);
    if (!stored) throw new Error('The client is not stored.');
    // As an earlier release would have registered it.
    await context.artefacts.put({ ...stored, data: { ...stored.data, redirect_uris: ['myapp:/callback'] } });
    for (const redirectUri of ['myapp:/callback', 'https://client.example/callback']) {
      const page = await browser.open(service.request(remote, { ...params, redirect_uri: redirectUri }).path);
      expect([page.status, page.headers.get('location')]).to.deep.equal([400, null]);
      expect(page.text).not.to.match(/href="(myapp|https):/);
    }
  });

  it('may be made of forms that a browser page of any origin sends to the token endpoint', async () => {
    for (const path of ['/oauth/token', '/oauth/register', '/oauth/revoke', '/oauth/device/code']) {
      const preflight = await fetch(service.origin + path, {
        method: 'OPTIONS',
        headers: {
          'Origin': 'https://inspector.example',
          'Access-Control-Request-Method': 'POST',
          'Access-Control-Request-Headers': 'content-type,mcp-protocol-version',
        },
      });
      expect(preflight.status, path).to.equal(204);
      expect(preflight.headers.get('access-control-allow-origin'), path).to.be.oneOf([
        '*',
        'https://inspector.example',
      ]);
      expect(preflight.headers.get('access-control-allow-headers'), path).to.include('mcp-protocol-version');
      expect(preflight.headers.get('access-control-allow-methods'), path).to.equal('POST');
      const sent = await fetch(service.origin + path, {
        method: 'POST',
        headers: { Origin: 'https://inspector.example' },
      });
      expect(sent.headers.get('access-control-allow-origin'), path).to.be.oneOf(['*', 'https://inspector.example']);
    }
  });
});
