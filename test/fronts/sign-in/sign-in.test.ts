import { expect } from 'chai';
import { get as httpGet } from 'node:http';
import { SignInRates, type SignInTry } from '../../../apps/http/pages/browser-sessions.js';
import { createPerson, disablePerson, setPassword } from '../../../core/people/manage-people.js';
import { createSignInLink } from '../../../core/people/sign-in.js';
import { TestBrowser, type TestPage } from '../../harness/test-browser.js';
import { OAuthHarness, PASSWORD } from '../oauth/oauth-harness.js';

/*
 * Goal: people sign in by a form or a link, from pages of the service alone, into a session that nobody else can have;
 * guessing is slowed and reveals nothing; no one is redirected to another server.
 * Method: a whole service over HTTP in this process, and a browser without scripts.
 */

const EMAIL = 'ada@example.com';
const WRONG = 'The e-mail address or the password is wrong.';

describe('the sign-in page', () => {
  let service: OAuthHarness;
  let browser: TestBrowser;
  beforeEach(async () => {
    service = await OAuthHarness.open();
    browser = new TestBrowser(service.origin);
  });
  afterEach(() => service.close());

  const signIn = (fields: Record<string, string> = {}, headers: Record<string, string> = {}): Promise<TestPage> =>
    browser.submit('/sign-in', { email: EMAIL, password: PASSWORD, return: '/docs', ...fields }, headers);
  /** Whether the browser has a session: the page sends those who have one on. */
  const isSignedIn = async (of = browser) => new URL((await of.open('/sign-in?return=/docs')).url).pathname === '/docs';
  const link = async () => {
    const { secret } = await createSignInLink(service.harness.context, service.person.personId);
    return `/sign-in/link/${secret}`;
  };

  it('signs in with address and password, and leads on', async () => {
    expect((await browser.open('/sign-in?return=/docs')).text).to.include('name="return" value="/docs"');
    expect((await signIn()).url).to.equal(`${service.origin}/docs`);
    expect(await isSignedIn()).to.equal(true);
  });

  it('tells an unknown person and a wrong password in the same words', async () => {
    await createPerson(service.harness.context, { accountId: service.person.accountId, email: 'no@password.example' });
    const answers = [
      await signIn({ password: `${PASSWORD}x` }),
      await signIn({ email: 'nobody@example.com' }),
      await signIn({ email: 'no@password.example' }),
      await signIn({ email: 'no address' }),
      await signIn({ password: '' }),
    ];
    expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([422]));
    for (const { text } of answers) expect(text).to.include(WRONG);
    expect(await isSignedIn()).to.equal(false);
  });

  it('names the refusal at both fields, which may be at fault, and leads to the password', async () => {
    const { text } = await signIn({ password: `${PASSWORD}x` });
    const tagOf = (name: string) => new RegExp(String.raw`<input[^>]*name="${name}"[^>]*>`).exec(text)?.[0] ?? '';
    for (const name of ['email', 'password'])
      expect(tagOf(name)).to.match(/aria-invalid="true"\s+aria-describedby="refusal"/);
    expect(tagOf('password')).to.match(/\bautofocus\b/);
    expect(text).to.match(new RegExp(`id="refusal">${WRONG}`));
    expect((await browser.open('/sign-in')).text).not.to.match(/aria-invalid|refusal|autofocus/);
  });

  describe('keeps its cookie', () => {
    it('from scripts and from requests of other sites', async () => {
      const response = await fetch(`${service.origin}/sign-in`, {
        method: 'POST',
        redirect: 'manual',
        headers: { Origin: service.origin },
        body: new URLSearchParams({ email: EMAIL, password: PASSWORD }),
      });
      const cookie = response.headers.getSetCookie().find((line) => line.startsWith('darkroom_session=')) ?? '';
      expect(cookie)
        .to.match(/; path=\/;/)
        .and.match(/; httponly/i)
        .and.match(/; samesite=lax/i);
      expect(cookie).not.to.match(/secure|domain/i);
    });

    it('to TLS and to this host where the public address is encrypted', async () => {
      const encrypted = await OAuthHarness.open({ publicUrl: () => 'https://pictures.example' });
      const response = await fetch(`${encrypted.origin}/sign-in`, {
        method: 'POST',
        redirect: 'manual',
        headers: { Origin: 'https://pictures.example' },
        body: new URLSearchParams({ email: EMAIL, password: PASSWORD }),
      });
      await encrypted.close();
      const cookies = response.headers.getSetCookie();
      expect(cookies).to.have.lengthOf(2);
      for (const cookie of cookies)
        expect(cookie)
          .to.match(/^__Host-darkroom_(session|device)=/)
          .and.match(/; secure/i)
          .and.not.match(/domain/i);
    });

    it('from those who set one before: each sign-in has a new one', async () => {
      const planted = 'A'.repeat(43);
      browser.setCookie('darkroom_session', planted);
      await signIn();
      const first = browser.cookieHeader('/');
      expect(first).not.to.include(planted);
      const attacker = new TestBrowser(service.origin);
      attacker.setCookie('darkroom_session', planted);
      expect(await isSignedIn(attacker)).to.equal(false);
      const old = new TestBrowser(service.origin);
      old.setCookie('darkroom_session', /darkroom_session=([^;]+)/.exec(first)?.[1] ?? '');
      expect(await isSignedIn(old)).to.equal(true);
      await signIn();
      expect(await isSignedIn(old)).to.equal(false);
    });
  });

  describe('ends a session', () => {
    it('at sign-out', async () => {
      await signIn();
      const stolen = new TestBrowser(service.origin);
      stolen.setCookie('darkroom_session', /darkroom_session=([^;]+)/.exec(browser.cookieHeader('/'))?.[1] ?? '');
      await browser.submit('/sign-out', {});
      expect(await isSignedIn()).to.equal(false);
      expect(await isSignedIn(stolen)).to.equal(false);
    });

    it('and leads to the next sign-in, which leads back to a page of this server alone', async () => {
      await signIn();
      expect((await browser.submit('/sign-out?return=/docs', {})).url).to.equal(
        `${service.origin}/sign-in?return=%2Fdocs`,
      );
      for (const other of ['https://evil.example', '//evil.example', '/%5Cevil.example/..//x'])
        expect((await browser.submit(`/sign-out?return=${encodeURIComponent(other)}`, {})).url).to.match(
          new RegExp(`^${service.origin}/sign-in\\?return=%2F(?!%2F|%5C|\\\\)`),
        );
    });

    it('with another password and with disabling', async () => {
      const { context } = service.harness;
      await signIn();
      await setPassword(context, service.person.personId, `${PASSWORD} too`);
      expect(await isSignedIn()).to.equal(false);
      await signIn({ password: `${PASSWORD} too` });
      expect(await isSignedIn()).to.equal(true);
      await disablePerson(context, service.person.personId);
      expect(await isSignedIn()).to.equal(false);
    });
  });

  describe('by a link', () => {
    it('signs in once, and not by looking at it', async () => {
      const path = await link();
      for (let looks = 0; looks < 3; looks += 1)
        expect((await browser.open(path)).text).to.include('signs you in once');
      await browser.submit(path, {});
      expect(await isSignedIn()).to.equal(true);
      const other = new TestBrowser(service.origin);
      expect((await other.submit(path, {})).status).to.equal(410);
      const over = (await other.open(path)).text;
      expect(over).to.include('used already, or is older than half an hour').and.not.include('go to the console');
      expect((await browser.open(path)).text).to.include('go to the console');
    });

    it('signs in one of twelve browsers that use it at the same time', async () => {
      const path = await link();
      const browsers = Array.from({ length: 12 }, () => new TestBrowser(service.origin));
      const answers = await Promise.all(browsers.map((one) => one.submit(path, {})));
      expect(answers.filter(({ status }) => status === 410)).to.have.lengthOf(11);
    });

    it('refuses one that is too old, or is none', async () => {
      const path = await link();
      service.harness.clock.advance(30 * 60_000);
      for (const one of [path, '/sign-in/link/none', `/sign-in/link/${'A'.repeat(43)}`])
        expect((await browser.submit(one, {})).status, one).to.equal(410);
      expect(await isSignedIn()).to.equal(false);
    });
  });

  describe('refuses what another page sends', () => {
    for (const headers of [
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
      { Origin: 'http://127.0.0.1' },
    ] as const)
      it(`from ${headers.Origin}`, async () => {
        expect((await signIn({}, headers)).status).to.equal(403);
        expect((await browser.submit(await link(), {}, headers)).status).to.equal(403);
        expect(await isSignedIn()).to.equal(false);
        await signIn();
        expect((await browser.submit('/sign-out', {}, headers)).status).to.equal(403);
        expect(await isSignedIn()).to.equal(true);
      });

    it('without an origin, unless the browser says that it is the same', async () => {
      const send = (headers: Record<string, string>) =>
        fetch(`${service.origin}/sign-in`, {
          method: 'POST',
          redirect: 'manual',
          headers,
          body: new URLSearchParams({ email: EMAIL, password: PASSWORD }),
        });
      expect((await send({})).status).to.equal(403);
      expect((await send({ 'Sec-Fetch-Site': 'cross-site' })).status).to.equal(403);
      expect((await send({ 'Sec-Fetch-Site': 'same-origin' })).status).to.equal(303);
    });
  });

  describe('leads to no other server', () => {
    for (const path of [
      'https://evil.example/',
      '//evil.example/',
      '/\\evil.example/',
      '/\t/evil.example/',
      '/..//evil.example/',
      '/./\\evil.example',
      'javascript:alert(1)',
      'docs',
      `/${'x'.repeat(2_001)}`,
    ])
      it(`by ${JSON.stringify(path).slice(0, 40)}`, async () => {
        const response = await fetch(`${service.origin}/sign-in`, {
          method: 'POST',
          redirect: 'manual',
          headers: { Origin: service.origin },
          body: new URLSearchParams({ email: EMAIL, password: PASSWORD, return: path }),
        });
        const location = response.headers.get('location') ?? '';
        expect(new URL(location, service.origin).origin).to.equal(service.origin);
        expect(location).to.match(/^\/(?![/\\])/);
      });
  });

  describe('slows guesses down', () => {
    it('for one person after ten, whether there is such a person or not', async () => {
      for (const email of [EMAIL, 'nobody@example.com']) {
        const statuses: number[] = [];
        for (let tries = 0; tries < 12; tries += 1)
          statuses.push((await signIn({ email, password: 'wrong password' })).status);
        expect(statuses.indexOf(429), email).to.be.within(10, 11);
        service = await reopened();
      }
    });

    it('for one address after twenty, whoever is guessed', async () => {
      const statuses: number[] = [];
      for (let tries = 0; tries < 30; tries += 1)
        statuses.push((await signIn({ email: `${tries}@example.com`, password: 'wrong password' })).status);
      expect(statuses.indexOf(429)).to.be.within(20, 22);
    });

    it('and says when to try again', async () => {
      let page = await signIn({ password: 'wrong password' });
      for (let tries = 0; tries < 12; tries += 1) page = await signIn({ password: 'wrong password' });
      expect(page.status).to.equal(429);
      expect(Number(page.headers.get('retry-after'))).to.be.within(1, 10);
      expect(page.text).to.include('too many attempts');
    });

    it('but not in a browser in which the person has signed in before', async () => {
      await signIn();
      await browser.submit('/sign-out', {});
      const attacker = new TestBrowser(service.origin);
      for (let tries = 0; tries < 12; tries += 1)
        await attacker.submit('/sign-in', { email: EMAIL, password: 'wrong password' });
      expect((await attacker.submit('/sign-in', { email: EMAIL, password: PASSWORD })).status).to.equal(429);
      await signIn();
      expect(await isSignedIn()).to.equal(true);
    });

    it('and looks at no password beyond that', async () => {
      let checked = 0;
      const { passwords } = service.harness.context;
      const matches = passwords.matches.bind(passwords);
      passwords.matches = (...given) => {
        checked += 1;
        return matches(...given);
      };
      await Promise.all(Array.from({ length: 40 }, () => signIn({ password: 'wrong password' })));
      expect(checked).to.be.at.most(11);
    });

    async function reopened(): Promise<OAuthHarness> {
      await service.close();
      const next = await OAuthHarness.open();
      browser = new TestBrowser(next.origin);
      return next;
    }
  });

  describe('under another name of this computer', () => {
    const port = () => new URL(service.origin).port;
    const asked = (host: string, path = '/sign-in?return=/docs') =>
      new Promise<{ readonly status: number | undefined; readonly location: string | undefined }>((resolve, reject) => {
        httpGet(service.origin + path, { headers: { host } }, (response) => {
          response.resume();
          resolve({ status: response.statusCode, location: response.headers.location });
        }).on('error', reject);
      });

    it('signs in as well, with a session for that name', async () => {
      for (const name of ['localhost', '127.0.0.1', '[::1]']) {
        const host = `${name}:${port()}`;
        expect(await asked(host), host).to.deep.equal({ status: 200, location: undefined });
        expect(await asked(host, await link()), host).to.include({ status: 200 });
        const other = new TestBrowser(service.origin);
        const page = await other.submit(
          '/sign-in',
          { email: EMAIL, password: PASSWORD, return: '/docs' },
          { Origin: `http://${host}` },
        );
        expect(page.url, host).to.equal(`${service.origin}/docs`);
        expect(await isSignedIn(other), host).to.equal(true);
      }
    });

    for (const origin of [
      'http://localhost:1',
      'https://localhost',
      'http://127.0.0.2',
      'http://localhost.evil.example',
    ])
      it(`refuses a form sent from ${origin}`, async () => {
        const at = origin.includes(':1') ? origin : `${origin}:${port()}`;
        expect((await signIn({}, { Origin: at })).status).to.equal(403);
      });

    for (const host of ['evil.example', 'localhost.evil.example', 'localhost:1', '127.0.0.1@evil.example'])
      it(`leads nowhere for ${JSON.stringify(host)}`, async () => {
        const { status, location } = await asked(host);
        expect([status, location]).to.deep.equal([200, undefined]);
      });
  });

  it('rejects an oversized form, and one of another type', async () => {
    expect((await signIn({ password: 'x'.repeat(20_000) })).status).to.equal(413);
    const json = await fetch(`${service.origin}/sign-in`, {
      method: 'POST',
      headers: { 'Origin': service.origin, 'Content-Type': 'application/json' },
      body: '{}',
    });
    expect(json.status).to.equal(415);
    expect(json.headers.get('content-type')).to.include('text/html');
  });
});

// Goal: guesses of passwords are slowed down, and who guesses does not keep the person out.
// Method: tries of several addresses and browsers until they are refused.

/** How many of so many tries are let through. */
async function passed(rates: SignInRates, tries: number, one: SignInTry): Promise<number> {
  let count = 0;
  for (let done = 0; done < tries; done += 1) {
    await rates.take(one).then(
      () => (count += 1),
      (refusal: unknown) => expect(refusal).to.have.property('code', 'RATE_LIMITED'),
    );
  }
  return count;
}

describe('the rates of sign-in', () => {
  it('let no address use up the tries of another one', async () => {
    const rates = new SignInRates();
    expect(await passed(rates, 40, { address: 'a', person: 'p' })).to.be.within(10, 12);
    expect(await passed(rates, 5, { address: 'b', person: 'p' })).to.equal(5);
  });

  it('slow many addresses down that guess for one person', async () => {
    const rates = new SignInRates();
    let count = 0;
    for (let address = 0; address < 20; address += 1)
      count += await passed(rates, 10, { address: `a${address}`, person: 'p' });
    expect(count).to.be.within(100, 105);
    expect(await passed(rates, 5, { address: 'b', person: 'p', device: 'd' }), 'a browser of theirs').to.equal(5);
    expect(await passed(rates, 5, { address: 'b', person: 'q' }), 'another person').to.equal(5);
  });
});
