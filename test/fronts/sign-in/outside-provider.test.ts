/*
 * Goal: a person signs in through an outside OpenID provider with an identity that they have connected, and with no other:
 * not by their e-mail address, not with an answer meant for another browser, not twice with one answer.
 * Method: a whole service over HTTP in this process, and a real OpenID provider beside it whose forms the test fills in.
 */
import { expect } from 'chai';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';
import { OpenIdProvider } from '../../../adapters/openid/openid-provider.js';
import { createPerson, disablePerson } from '../../../core/people/manage-people.js';
import { isRecentSignIn, listSessions, type Session } from '../../../core/people/sessions.js';
import { linkIdentity } from '../../../core/people/sign-in.js';
import { SILENT } from '../../fixtures/memory-stores.js';
import { TestBrowser, type TestPage } from '../../harness/test-browser.js';
import { clientOf, type ConsoleClient } from '../console/console-harness.js';
import { OAuthHarness } from '../oauth/oauth-harness.js';

const SUBJECT = 'subject-of-ada';

describe('sign-in through an outside provider', () => {
  let outside: Server;
  let issuer: string;
  let provider: OpenIdProvider;
  let service: OAuthHarness;
  let browser: TestBrowser;

  const { warn, info } = console;
  before(async () => {
    // The provider says that its defaults are for development only, and so they are.
    console.warn = console.info = () => undefined;
    outside = createServer();
    await new Promise<void>((resolve) => {
      outside.listen(0, '127.0.0.1', resolve);
    });
    issuer = `http://127.0.0.1:${(outside.address() as AddressInfo).port}`;
  });
  after(() => {
    Object.assign(console, { warn, info });
    outside.close();
  });

  beforeEach(async () => {
    provider = new OpenIdProvider({
      issuer,
      clientId: 'darkroom',
      clientSecret: 'secret-of-the-client',
      name: 'the company',
      redirectUri: () => `${service.origin}/sign-in/provider/callback`,
      log: SILENT,
    });
    service = await OAuthHarness.open({ people: { outsideProvider: provider } });
    browser = new TestBrowser(service.origin);
    outside.removeAllListeners('request');
    const serve = openIdServer(issuer, `${service.origin}/sign-in/provider/callback`);
    outside.on('request', (request, response) => void serve(request, response));
  });
  afterEach(async () => {
    await provider.close();
    await service.close();
  });

  /** Goes to the provider, signs in there, and returns the address that the provider redirects back to. */
  async function signInThere(
    subject = SUBJECT,
    from = browser,
    leave = '/sign-in/provider?return=/docs',
  ): Promise<string> {
    const { headers } = await from.open(leave);
    const there = new TestBrowser(issuer);
    const login = await there.open(headers.get('location') ?? '');
    const consent = await there.submit(new URL(login.url).pathname, { prompt: 'login', login: subject, password: 'x' });
    const back = await there.submit(new URL(consent.url).pathname, { prompt: 'consent' });
    return back.headers.get('location') ?? '';
  }
  const comeBack = (address: string, to = browser): Promise<TestPage> =>
    to.open(address.slice(service.origin.length), { 'Sec-Fetch-Site': 'cross-site' });
  const link = (subject = SUBJECT) => linkIdentity(service.harness.context, service.person, { issuer, subject });

  it('is offered on the page', async () => {
    expect((await browser.open('/sign-in')).text).to.include('Sign in with the company');
  });

  it('begins, and takes back, 120 a minute from one address', async () => {
    // The state stored for each sign-in contains this path.
    const longest = await browser.open(`/sign-in/provider?return=/${'%22'.repeat(600)}`);
    expect(longest.status).to.equal(303);
    const statuses: number[] = [longest.status];
    for (let tries = 0; tries < 125; tries += 1) statuses.push((await browser.open('/sign-in/provider')).status);
    expect(statuses.indexOf(429)).to.be.within(119, 122);
    expect((await browser.open('/sign-in/provider/callback?code=x')).status).to.equal(429);
  });

  it('signs in the person who has connected the identity, and leads on', async () => {
    await link();
    expect((await comeBack(await signInThere())).url).to.equal(`${service.origin}/docs`);
    expect((await browser.open('/sign-in?return=/docs')).url).to.equal(`${service.origin}/docs`);
  });

  it('is asked to have the person authenticate now, and reports when, where a program is to be connected', async () => {
    await link();
    await comeBack(await signInThere());
    service.harness.clock.advance(16 * 60_000);
    const asked = await browser.open(service.request(await service.register()).path);
    const [, leave = ''] = /href="(\/sign-in\/provider[^"]*)"/.exec(asked.text) ?? [];
    const { headers } = await browser.open(leave.replaceAll('&amp;', '&'));
    const there = new URL(headers.get('location') ?? '');
    expect(there.searchParams.get('max_age')).to.equal('0');
    const ordinary = await browser.open('/sign-in/provider?return=/docs');
    expect(new URL(ordinary.headers.get('location') ?? '').searchParams.has('max_age')).to.equal(false);
    const consent = await comeBack(await signInThere(SUBJECT, browser, leave.replaceAll('&amp;', '&')));
    // The provider's clock did not move with the service's, so what it reports is too old here.
    expect(new URL(consent.url).pathname).to.equal('/sign-in');
    const [session] = await listSessions(service.harness.context, service.person);
    expect(session?.authenticatedAt).to.be.closeTo(Date.now(), 60_000);
  });

  for (const [what, howLong, isRecent] of [
    ['just now', 0, true],
    ['an hour ago', 3_600, false],
    ['at a time that the provider does not say', undefined, false],
  ] as const)
    it(`counts a sign-in there ${what} as ${isRecent ? 'a' : 'no'} recent one`, async () => {
      await link();
      await comeBack(await signInThere());
      const { context, clock } = service.harness;
      const identity = { issuer, subject: SUBJECT };
      provider.finish = () =>
        Promise.resolve(
          howLong === undefined ? identity : { ...identity, authenticatedAt: clock.now() - howLong * 1_000 },
        );
      await comeBack(await signInThere());
      const [session] = await listSessions(context, service.person);
      expect(isRecentSignIn(context, session as Session)).to.equal(isRecent);
      expect(session?.createdAt).to.be.closeTo(clock.now(), 60_000);
    });

  it('signs nobody in with an identity that nobody has connected, whatever it is called', async () => {
    await link('another subject');
    const page = await comeBack(await signInThere('ada@example.com'));
    expect(page.status).to.equal(422);
    expect(page.text).to.include('Nobody here is connected with this identity.');
  });

  it('signs nobody in who is disabled', async () => {
    await link();
    await disablePerson(service.harness.context, service.person.personId);
    expect((await comeBack(await signInThere())).status).to.equal(422);
  });

  it('refuses an answer that another browser received', async () => {
    await link();
    const address = await signInThere();
    const victim = new TestBrowser(service.origin);
    expect((await comeBack(address, victim)).text).to.include('was not completed');
    await victim.open('/sign-in/provider');
    expect((await comeBack(address, victim)).status).to.equal(422);
  });

  it('takes an answer once', async () => {
    await link();
    const address = await signInThere();
    const cookies = browser.cookieHeader('/');
    expect((await comeBack(address)).status).to.equal(200);
    const again = new TestBrowser(service.origin);
    again.setCookie('darkroom_outside', /darkroom_outside=([^;]+)/.exec(cookies)?.[1] ?? '');
    expect((await comeBack(address, again)).status).to.equal(422);
  });

  it('refuses an answer that names another issuer', async () => {
    await link();
    const address = new URL(await signInThere());
    address.searchParams.set('iss', 'https://evil.example');
    expect((await comeBack(address.href)).status).to.be.oneOf([422, 503]);
    expect((await browser.open('/sign-in')).url).to.include('/sign-in');
  });

  it('tells a person who gave up that it was not completed', async () => {
    const { headers } = await browser.open('/sign-in/provider');
    const state = new URL(headers.get('location') ?? '').searchParams.get('state') ?? '';
    const address = `${service.origin}/sign-in/provider/callback?error=access_denied&state=${state}&iss=${encodeURIComponent(issuer)}`;
    const page = await comeBack(address);
    expect([page.status, page.text.includes('was not completed')]).to.deep.equal([422, true]);
  });

  it('refuses an answer after ten minutes', async () => {
    await link();
    const address = await signInThere();
    service.harness.clock.advance(600_000);
    expect((await comeBack(address)).status).to.equal(422);
  });

  describe('links an identity', () => {
    /** Asks for it on the account page, goes to the provider, and answers where that sends the browser back to. */
    const askThere = async (client: ConsoleClient): Promise<string> => {
      const { data, headers, status } = await client.post('/identities/link');
      expect(status).to.equal(200);
      const there = new TestBrowser(issuer);
      const login = await there.open(String(data['location']));
      const consent = await there.submit(new URL(login.url).pathname, {
        prompt: 'login',
        login: SUBJECT,
        password: 'x',
      });
      const back = await there.submit(new URL(consent.url).pathname, { prompt: 'consent' });
      const [, secret = ''] = /^darkroom_outside=([^;]+)/.exec(headers.getSetCookie().join('\n')) ?? [];
      browser.setCookie('darkroom_outside', secret);
      return back.headers.get('location') ?? '';
    };
    const asSession = ({ cookie }: ConsoleClient) => browser.setCookie('darkroom_session', cookie.split('=')[1] ?? '');
    const linked = () => service.harness.context.people.findIdentity({ issuer, subject: SUBJECT });

    it('to the person who asked for it on the account page, who then signs in with it', async () => {
      const ada = await clientOf(service, service.person);
      const address = await askThere(ada);
      asSession(ada);
      await comeBack(address);
      expect((await linked())?.personId).to.equal(service.person.personId);
      browser = new TestBrowser(service.origin);
      expect((await comeBack(await signInThere())).url).to.equal(`${service.origin}/docs`);
    });

    it('in the session that asked for it, and in no other of the same person or without one', async () => {
      const ada = await clientOf(service, service.person);
      expect((await comeBack(await askThere(ada))).status).to.equal(401);
      const address = await askThere(ada);
      asSession(await clientOf(service, service.person));
      expect((await comeBack(address)).status).to.equal(401);
      expect(await linked()).to.equal(null);
    });

    it('soon after signing in, and not later', async () => {
      const ada = await clientOf(service, service.person);
      service.harness.clock.advance(15 * 60_000 + 1_000);
      expect(await ada.post('/identities/link')).to.include({ status: 403, code: 'RECENT_SIGN_IN_REQUIRED' });
    });

    it('not to a second person', async () => {
      const { context } = service.harness;
      const bob = await createPerson(context, { accountId: service.person.accountId, email: 'bob@example.com' });
      await link();
      const client = await clientOf(service, bob);
      const address = await askThere(client);
      asSession(client);
      expect((await comeBack(address)).status).to.equal(409);
      expect((await linked())?.personId).to.equal(service.person.personId);
    });
  });

  it('says so when the provider does not answer, and works again once it does', async () => {
    await link();
    const [serveRequest] = outside.listeners('request');
    outside.removeAllListeners('request');
    outside.on('request', (_, response: { statusCode: number; end(): void }) => {
      response.statusCode = 500;
      response.end();
    });
    const page = await browser.open('/sign-in/provider');
    expect([page.status, page.text.includes('the company cannot be reached')]).to.deep.equal([503, true]);
    outside.removeAllListeners('request');
    outside.on('request', serveRequest as never);
    expect((await comeBack(await signInThere())).url).to.equal(`${service.origin}/docs`);
  });
});

/** The library's own server with its forms for development: any name signs in. */
function openIdServer(issuer: string, redirectUri: string) {
  const server = new Provider(issuer, {
    clients: [{ client_id: 'darkroom', client_secret: 'secret-of-the-client', redirect_uris: [redirectUri] }],
    features: { devInteractions: { enabled: true } },
    cookies: { keys: ['for the test'] },
    pkce: { required: () => true },
  });
  return server.callback();
}
