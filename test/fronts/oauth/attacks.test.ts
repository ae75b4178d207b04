import { expect } from 'chai';
import { request as httpRequest } from 'node:http';
import { listGrants } from '../../../core/people/grants.js';
import { createPerson } from '../../../core/people/manage-people.js';
import { TestBrowser } from '../../harness/test-browser.js';
import { OAuthHarness, PASSWORD, REDIRECT } from './oauth-harness.js';

/*
 * Goal: nobody gets a code, a token or a consent that a person did not mean to give: by addresses that are almost right, by
 * weaker requests, by other pages, by other browsers, or by a forged host.
 * Method: each attack as its author would try it, against a whole service over HTTP in this process.
 */

describe('attacks on the OAuth server', () => {
  let service: OAuthHarness;
  let browser: TestBrowser;
  let clientId: string;
  beforeEach(async () => {
    service = await OAuthHarness.open();
    browser = await service.signedIn();
    clientId = await service.register({ redirect_uris: [REDIRECT, 'https://client.example/callback'] });
  });
  afterEach(() => service.close());
  const grants = () => listGrants(service.harness.context, service.person);

  describe('with other redirect addresses', () => {
    for (const uri of [
      'https://client.example/callback/',
      'https://client.example/callback?more=1',
      'https://client.example/callback/../other',
      'https://client.example.evil.example/callback',
      'https://client.example@evil.example/callback',
      'https://CLIENT.example/callback2',
      'http://127.0.0.1:3999/other',
      'http://127.0.0.2:3999/callback',
      'http://localhost:3999/callback',
      'javascript:alert(1)',
      '//evil.example/callback',
      '',
    ])
      it(`send no code to ${uri === '' ? 'an empty one' : uri}`, async () => {
        const page = await browser.open(service.request(clientId, { redirect_uri: uri }).path);
        expect(page.headers.get('location')).to.equal(null);
        expect(page.status).to.equal(400);
        expect(page.headers.get('content-type')).to.include('text/html');
      });

    it('redirect the browser after a refusal only to a program on its computer', async () => {
      const refused = { prompt: 'none', redirect_uri: 'https://client.example/callback' };
      const { path, state } = service.request(clientId, refused);
      const page = await new TestBrowser(service.origin).open(path);
      expect([page.status, page.headers.get('location')]).to.deep.equal([400, null]);
      expect(page.text).to.include('client.example').and.include('login_required');
      const [, link = ''] = /href="(https:[^"]*)"/.exec(page.text) ?? [];
      expect(Object.fromEntries(new URL(link.replaceAll('&amp;', '&')).searchParams)).to.deep.include({
        error: 'login_required',
        state,
      });
      const native = await browser.open(service.request(clientId, { prompt: 'none' }).path);
      expect(native.headers.get('location')).to.include(`${REDIRECT}?error=login_required`);
    });

    it('are refused in sentences that spell parameters as they are', async () => {
      const other = await browser.open(
        service.request(clientId, { redirect_uri: 'https://evil.example/callback' }).path,
      );
      expect(other.text).to.include('>redirect_uri did not match any of');
      const nobody = await browser.open(service.request('nobody').path);
      expect(nobody.text).to.include(
        '>This service does not know the program. Remove the connection in the program, and add it again.<',
      );
    });

    it('may use a loopback address on any port, since programs take a free one', async () => {
      const page = await browser.open(
        service.request(clientId, { redirect_uri: 'http://127.0.0.1:51234/callback' }).path,
      );
      expect(page.text).to.include('Connect a program');
    });
  });

  describe('with weaker requests', () => {
    for (const [what, params, error] of [
      ['no proof key', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
      ['a plain proof key', { code_challenge_method: 'plain' }, 'invalid_request'],
      ['no method of the proof key, which means plain', { code_challenge_method: undefined }, 'invalid_request'],
      ['the implicit flow', { response_type: 'token' }, 'unsupported_response_type'],
      ['an identity token', { response_type: 'code id_token' }, 'unsupported_response_type'],
      ['a fragment', { response_mode: 'fragment' }, 'invalid_request'],
      ['a form that posts itself', { response_mode: 'form_post' }, 'invalid_request'],
      ['another resource', { resource: 'https://other.example/api' }, 'invalid_target'],
      ['a request by reference', { request_uri: 'https://evil.example/request' }, 'request_uri_not_supported'],
      ['a signed request', { request: 'e30.e30.' }, 'request_not_supported'],
      ['no interaction', { prompt: 'none' }, 'login_required'],
    ] as const)
      it(`fail with ${what}`, async () => {
        const page = await browser.open(service.request(clientId, params).path);
        const location = page.headers.get('location') ?? page.text;
        expect(location).to.include(error);
        expect(location).not.to.include('code=');
      });

    it('cannot use a password at the token endpoint', async () => {
      for (const grantType of ['password', 'client_credentials', 'implicit']) {
        const { body } = await service.token({
          grant_type: grantType,
          client_id: clientId,
          username: 'ada@example.com',
          password: PASSWORD,
        });
        expect(body['error'], grantType).to.equal('unsupported_grant_type');
      }
    });

    it('find no introspection endpoint', async () => {
      expect((await service.token({ token: 'x', client_id: clientId }, '/oauth/introspect')).status).to.equal(404);
    });

    it('show no consent to an unknown client', async () => {
      const page = await browser.open(service.request('0199f0d2-6d1c-7c4e-9a53-3f2b8e1d7a60').path);
      expect(page.status).to.equal(400);
      expect(page.headers.get('location')).to.equal(null);
    });
  });

  describe('from other pages', () => {
    it('cannot send consent', async () => {
      const page = await browser.open(service.request(clientId).path);
      const path = new URL(page.url).pathname;
      const fields = { decision: 'allow', scope: 'credits:read' };
      for (const headers of [
        { Origin: 'https://evil.example' },
        { Origin: 'null' },
        { 'Origin': `${service.origin}.evil.example`, 'Sec-Fetch-Site': 'same-origin' },
      ] as Record<string, string>[])
        expect((await browser.submit(path, fields, headers)).status, JSON.stringify(headers)).to.equal(403);
      expect(await grants()).to.deep.equal([]);
    });

    it('cannot frame our pages, and run no script in them', async () => {
      const consent = await browser.open(service.request(clientId).path);
      const others = await Promise.all(
        ['/sign-in', '/oauth/device', '/oauth/authorize'].map((path) => new TestBrowser(service.origin).open(path)),
      );
      for (const { headers, url } of [consent, ...others]) {
        const policy = headers.get('content-security-policy') ?? '';
        expect(policy, url).to.include("frame-ancestors 'none'").and.include("default-src 'none'");
        expect(policy, url).not.to.include('unsafe');
        expect(headers.get('referrer-policy'), url).to.equal('same-origin');
        expect(headers.get('cache-control'), url).to.equal('no-store');
      }
    });

    it('show the name of a client as text', async () => {
      const name = `<script>alert('x')</script>"&`;
      const other = await service.register({ client_name: name });
      const { text } = await browser.open(service.request(other).path);
      expect(text).to.include('&lt;script&gt;').and.not.include('<script>');
    });

    it('cannot use cookies with the API', async () => {
      const { status } = await fetch(`${service.origin}/api/v1/developer/credits`, {
        headers: { Cookie: browser.cookieHeader('/') },
      });
      expect(status).to.equal(401);
    });
  });

  describe('from other browsers', () => {
    it('cannot finish a consent that started in another', async () => {
      const page = await browser.open(service.request(clientId).path);
      const victim = await service.signedIn();
      const path = new URL(page.url).pathname;
      expect((await victim.open(path)).status).to.equal(404);
      const answer = await victim.submit(path, { decision: 'allow', scope: 'credits:read' });
      expect(answer.status).to.equal(404);
      expect(await grants()).to.deep.equal([]);
    });

    it('consent as the person who is signed in now', async () => {
      const page = await browser.open(service.request(clientId).path);
      const { accountId } = service.person;
      await createPerson(service.harness.context, { accountId, email: 'bob@example.com', password: PASSWORD });
      await browser.submit('/sign-out', {});
      const refused = await browser.submit(new URL(page.url).pathname, { decision: 'allow', scope: 'credits:read' });
      expect(refused.url).to.include('/sign-in?return=');
      await browser.submit('/sign-in', { email: 'bob@example.com', password: PASSWORD });
      await service.allow(browser, await browser.open(new URL(page.url).pathname));
      expect(await grants()).to.deep.equal([]);
    });

    it('ask another person even after one has consented in it', async () => {
      await service.connect(browser, clientId);
      const { accountId } = service.person;
      const bob = await createPerson(service.harness.context, {
        accountId,
        email: 'bob@example.com',
        password: PASSWORD,
      });
      await browser.submit('/sign-out', {});
      await browser.submit('/sign-in', { email: 'bob@example.com', password: PASSWORD });
      await service.connect(browser, clientId);
      expect(await grants()).to.have.lengthOf(1);
      expect(await listGrants(service.harness.context, bob)).to.have.lengthOf(1);
    });
  });

  it('change no address with a forged host', async () => {
    const forged = {
      'Host': 'evil.example',
      'X-Forwarded-Host': 'evil.example',
      'X-Forwarded-Proto': 'https',
      'Forwarded': 'host=evil.example',
    };
    const { path } = service.request(clientId);
    for (const target of [
      path,
      '/.well-known/oauth-authorization-server',
      '/.well-known/oauth-protected-resource/api/v1/developer/mcp',
      '/oauth/device',
    ]) {
      const answer = await raw(service.origin, target, forged);
      expect(answer, target).not.to.include('evil.example');
    }
  });

  it('get nothing with a secret of another kind', async () => {
    const { path, verifier } = service.request(clientId);
    const callback = await service.allow(browser, await browser.open(path));
    const code = callback.searchParams.get('code') ?? '';
    expect((await service.refresh(clientId, code)).body['error']).to.equal('invalid_grant');
    const tokens = (await service.exchange(clientId, code, verifier)).body;
    expect((await service.refresh(clientId, String(tokens['access_token']))).body['error']).to.equal('invalid_grant');
    expect((await service.call(String(tokens['refresh_token']))).status).to.equal(401);
  });
});

/** Headers and body of an answer to a request with any header at all. */
function raw(origin: string, path: string, headers: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    httpRequest(origin + path, { headers }, (response) => {
      let text = JSON.stringify(response.headers);
      response.setEncoding('utf8');
      response.on('data', (piece: string) => (text += piece));
      response.on('end', () => resolve(text));
    })
      .on('error', reject)
      .end();
  });
}

/*
 * Goal: nobody without an account can fill the stores through the OAuth server, and a client that asks too often learns
 * why; lives of any length can be configured.
 * Method: a whole service over HTTP in this process, asked as often as its limits allow and once more.
 */

const BEGUN_A_MINUTE = 120;
const REQUESTS_A_MINUTE = 600;
const MINUTE_MS = 60_000;

describe('the bounds of the OAuth server', () => {
  let service: OAuthHarness | undefined;
  const open = async (...options: Parameters<typeof OAuthHarness.open>) =>
    (service = await OAuthHarness.open(...options));
  afterEach(() => service?.close());

  /** Statuses of requests that were sent at once, each with how often it came. */
  const counted = async (times: number, send: () => Promise<{ readonly status: number }>) => {
    const counts: Record<number, number> = {};
    for (let sent = 0; sent < times; sent += 20) {
      const answers = await Promise.all(Array.from({ length: Math.min(20, times - sent) }, send));
      for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
    }
    return counts;
  };

  it('let one address begin 120 authorizations a minute, by page and by device together', async () => {
    const running = await open();
    const clientId = await running.register({
      grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'],
    });
    const { path } = running.request(clientId);
    const begin = () => fetch(running.origin + path, { redirect: 'manual' });
    expect(await counted(BEGUN_A_MINUTE - 1, begin)).to.deep.equal({ 303: BEGUN_A_MINUTE - 1 });
    const askDevice = () => running.token({ client_id: clientId }, '/oauth/device/code');
    expect((await askDevice()).status).to.equal(200);
    const refused = await askDevice();
    expect([refused.status, refused.body['error']]).to.deep.equal([429, 'temporarily_unavailable']);
    expect(refused.headers.get('access-control-allow-origin')).to.equal('*');
    expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 60);
    const page = await new TestBrowser(running.origin).open(path);
    expect(page.status).to.equal(429);
    expect(page.text).to.include('Too many requests came from this address');
  });

  it('let one address send 600 requests a minute, and count no other front with them', async () => {
    const running = await open();
    const { origin } = running;
    const guess = () => running.token({ grant_type: 'refresh_token', refresh_token: 'x', client_id: 'nobody' });
    const counts = await counted(REQUESTS_A_MINUTE, guess);
    expect(counts[429]).to.equal(undefined);
    expect((await guess()).status).to.equal(429);
    expect((await fetch(`${origin}/sign-in`)).status).to.equal(200);
    expect((await fetch(`${origin}/.well-known/oauth-authorization-server`)).status, 'of this front').to.equal(429);
  });

  it('keep an authorization that nobody finished no longer than it could be finished', async () => {
    const running = await open();
    const { context, clock } = running.harness;
    const { path } = running.request(await running.register());
    for (let begun = 0; begun < 5; begun += 1) await fetch(running.origin + path, { redirect: 'manual' });
    expect(await context.artefacts.removeExpired(clock.now(), 100)).to.equal(0);
    clock.advance(15 * MINUTE_MS);
    const removed = await context.artefacts.removeExpired(clock.now(), 100);
    expect(removed).to.be.at.least(5);
    clock.advance(24 * 60 * MINUTE_MS);
    expect(await context.artefacts.removeExpired(clock.now(), 100)).to.equal(0);
  });

  it('accept lifetimes that are not a whole number of seconds', async () => {
    const running = await open({}, { settings: { accessTokenMs: 61_500, grantIdleMs: 3_600_100 } });
    const tokens = await running.connect(await running.signedIn(), await running.register());
    expect(tokens.expires_in).to.equal(62);
  });
});
