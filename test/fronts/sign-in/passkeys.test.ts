/*
 * Goal: a person signs in with a passkey alone, from the page of this service and in the browser that asked; nothing else
 * gets a session, every refusal reads the same, and tries are slowed.
 * Method: a whole service over HTTP in this process under the name localhost, a browser without scripts that sends what
 * the page's script would, and an authenticator in software.
 */
import { expect } from 'chai';
import { relyingParty } from '../../../apps/http/pages/browser-sessions.js';
import { disablePerson } from '../../../core/people/manage-people.js';
import { addPasskey, beginPasskey, removePasskey } from '../../../core/people/passkeys.js';
import { beginSession, listSessions } from '../../../core/people/sessions.js';
import { type Ceremony, SoftwareAuthenticator } from '../../harness/software-authenticator.js';
import { TestBrowser, type TestPage } from '../../harness/test-browser.js';
import { OAuthHarness } from '../oauth/oauth-harness.js';

const BEGIN = '/sign-in/passkey/begin';
const FINISH = '/sign-in/passkey/finish';

interface Asked {
  readonly challenge: string;
  readonly rp_id: string;
  readonly timeout_ms: number;
}

describe('sign-in with a passkey', () => {
  let service: OAuthHarness;
  let browser: TestBrowser;
  let authenticator: SoftwareAuthenticator;
  const origin = () => service.origin.replace('127.0.0.1', 'localhost');
  const party = () => ({ id: 'localhost', origin: origin() });

  beforeEach(async () => {
    // A slow store lets concurrent answers overtake each other.
    service = await OAuthHarness.open({ publicUrl: () => origin() }, { storeDelayMs: 2 });
    browser = new TestBrowser(origin());
    authenticator = new SoftwareAuthenticator();
    const { context } = service.harness;
    const signedIn = await beginSession(context, service.person, { method: 'password', userAgent: '' });
    const challenge = await beginPasskey(context, signedIn);
    const attestation = authenticator.register({ challenge, party: party() });
    await addPasskey(context, signedIn, party(), { challenge, name: 'laptop', attestation });
  });
  afterEach(() => service.close());

  const dataOf = ({ text }: TestPage) => (JSON.parse(text) as { data: unknown }).data;
  const codeOf = ({ text }: TestPage) => (JSON.parse(text) as { code: string }).code;
  const begin = async (from = browser) => dataOf(await from.post(BEGIN, {})) as Asked;
  const answerTo = (challenge: string, wrong: Partial<Ceremony> = {}) => {
    const { credentialId, clientData, authenticatorData, signature } = authenticator.authenticate({
      challenge,
      party: party(),
      ...wrong,
    });
    return {
      credential_id: credentialId,
      user_handle: Buffer.from(service.person.personId).toString('base64url'),
      client_data: clientData,
      authenticator_data: authenticatorData,
      signature,
    };
  };
  const signIn = async (more: object = {}, wrong: Partial<Ceremony> = {}): Promise<TestPage> => {
    const { challenge } = await begin();
    return browser.post(FINISH, { ...answerTo(challenge, wrong), ...more });
  };
  const isSignedIn = async (of = browser) => new URL((await of.open('/sign-in?return=/docs')).url).pathname === '/docs';

  it('is offered by a hidden button and a script of this service', async () => {
    const { text, headers } = await browser.open('/sign-in?return=/docs');
    expect(text).to.match(/<div id="passkey" hidden>\s*<p>\s*<button type="button" [^>]*data-return="\/docs"/);
    const script = /<script type="module" src="([^"]*)">/.exec(text)?.[1] ?? '';
    expect(headers.get('content-security-policy')).to.include("script-src 'self'");
    const served = await browser.open(script);
    expect(served.status).to.equal(200);
    expect(served.headers.get('content-type')).to.equal('text/javascript; charset=utf-8');
    expect(served.text).to.include(BEGIN).and.include(FINISH);
  });

  it('asks for any passkey of this service, and begins a session of its own kind', async () => {
    const { challenge, ...asked } = await begin();
    expect(asked).to.deep.equal({ rp_id: 'localhost', timeout_ms: 300_000 });
    const answer = await browser.post(FINISH, { ...answerTo(challenge), return: '/docs?x=1' });
    expect([answer.status, dataOf(answer)]).to.deep.equal([200, { location: '/docs?x=1' }]);
    expect(await isSignedIn()).to.equal(true);
    const sessions = await listSessions(service.harness.context, service.person);
    expect(sessions.map(({ method }) => method)).to.have.members(['password', 'passkey']);
  });

  it('leads on to the consent that a program had sent the person for', async () => {
    const { path } = service.request(await service.register());
    const asked = new URL((await browser.open(path)).url);
    expect(asked.pathname).to.equal('/sign-in');
    const answer = await signIn({ return: asked.searchParams.get('return') });
    const { location } = dataOf(answer) as { location: string };
    expect((await browser.open(location)).text).to.include('Connect a program');
  });

  it('leads nobody to another server', async () => {
    for (const evil of ['https://evil.example', '//evil.example', '/\\evil.example', 'javascript:alert(1)'])
      expect(dataOf(await signIn({ return: evil })), evil).to.deep.equal({ location: '/' });
  });

  it('is refused in the same words, whatever is wrong', async () => {
    const { context } = service.harness;
    const unknown = { user_handle: Buffer.from('01900000-0000-7000-8000-00000000ffff').toString('base64url') };
    const answers = [
      await signIn({}, { isVerified: false }),
      await signIn({}, { party: { ...party(), origin: 'https://evil.example' } }),
      await signIn({}, { party: { ...party(), id: 'evil.example' } }),
      await signIn({}, { challenge: 'AAAA' }),
      await signIn({}, { counter: 0 }),
      await signIn({ signature: 'AAAA' }),
      await signIn({ credential_id: 'AAAA' }),
      await signIn(unknown),
      await new TestBrowser(origin()).post(FINISH, answerTo('AAAA')),
    ];
    const owner = await beginSession(context, service.person, { method: 'password', userAgent: '' });
    await removePasskey(context, owner, authenticator.credentialId);
    answers.push(await signIn());
    await disablePerson(context, service.person.personId);
    answers.push(await signIn());
    const shown = answers.map(({ status, text }) => ({ status, ...(JSON.parse(text) as object), request_id: '' }));
    expect(new Set(shown.map((one) => JSON.stringify(one))).size).to.equal(1);
    expect(shown[0]).to.include({ status: 422, code: 'PASSKEY_REFUSED' });
    expect(await isSignedIn()).to.equal(false);
  });

  it('takes an answer from the browser that asked, once, within five minutes', async () => {
    const { challenge } = await begin();
    const answer = answerTo(challenge);
    const other = new TestBrowser(origin());
    await begin(other);
    expect(codeOf(await other.post(FINISH, answer))).to.equal('PASSKEY_REFUSED');
    const cookie = /darkroom_passkey=([^;]+)/.exec(browser.cookieHeader('/'))?.[1] ?? '';
    expect((await browser.post(FINISH, answer)).status).to.equal(200);
    expect(browser.cookieHeader('/')).not.to.include('darkroom_passkey');
    browser.setCookie('darkroom_passkey', cookie);
    expect(codeOf(await browser.post(FINISH, answer))).to.equal('PASSKEY_REFUSED');
    const late = answerTo((await begin()).challenge);
    service.harness.clock.advance(300_000);
    expect(codeOf(await browser.post(FINISH, late))).to.equal('PASSKEY_REFUSED');
  });

  it('signs one of twelve answers in that come at the same time', async () => {
    const { challenge } = await begin();
    const cookie = /darkroom_passkey=([^;]+)/.exec(browser.cookieHeader('/'))?.[1] ?? '';
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => {
        const one = new TestBrowser(origin());
        one.setCookie('darkroom_passkey', cookie);
        return one.post(FINISH, answerTo(challenge));
      }),
    );
    expect(answers.map(({ status }) => status)).to.have.members([200, ...Array.from({ length: 11 }, () => 422)]);
  });

  it('is for pages of this service alone', async () => {
    for (const headers of [{ Origin: 'https://evil.example' }, { Origin: 'null' }])
      for (const path of [BEGIN, FINISH]) {
        const answer = await browser.post(path, {}, headers);
        expect([answer.status, codeOf(answer)], path).to.deep.equal([403, 'ORIGIN_REFUSED']);
        expect(answer.headers.get('www-authenticate')).to.equal(null);
      }
    await begin();
    const form = await browser.submit(FINISH, { credential_id: 'AAAA' });
    expect(codeOf(form)).to.equal('MEDIA_TYPE_UNSUPPORTED');
  });

  it('refuses an answer without a challenge, whatever its body is', async () => {
    expect(codeOf(await browser.post(FINISH, { more: 1 }))).to.equal('PASSKEY_REFUSED');
  });

  it('refuses what is not an answer of a browser, and keeps the challenge for one that is', async () => {
    const { challenge } = await begin();
    const answer = answerTo(challenge);
    const { signature: _signature, ...unsigned } = answer;
    expect(codeOf(await browser.post(FINISH, unsigned))).to.equal('FIELD_REQUIRED');
    for (const wrong of [{ signature: 'a b' }, { signature: '' }, { signature: 'A'.repeat(4_097) }, { more: 1 }])
      expect(codeOf(await browser.post(FINISH, { ...answer, ...wrong }))).to.equal('FIELD_INVALID');
    expect(codeOf(await browser.post(FINISH, { more: 'A'.repeat(16_384) }))).to.equal('BODY_TOO_LARGE');
    expect((await browser.post(FINISH, answer)).status).to.equal(200);
  });

  it('is rate limited for one address, with the time of the next try', async () => {
    const answers: TestPage[] = [];
    for (let tries = 0; tries < 30; tries += 1) answers.push(await browser.post(BEGIN, {}));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).to.be.greaterThan(0);
    expect(answers.slice(0, 20).every(({ status }) => status === 200)).to.equal(true);
    for (const { headers } of refused) expect(Number(headers.get('retry-after'))).to.be.within(1, 10);
  });

  it('is not offered where browsers keep no passkeys', async () => {
    const plain = await OAuthHarness.open({ publicUrl: () => 'http://pictures.example' });
    const there = new TestBrowser(plain.origin);
    expect((await there.open('/sign-in')).text).not.to.include('passkey');
    expect(codeOf(await there.post(BEGIN, {}, { Origin: 'http://pictures.example' }))).to.equal('NOT_FOUND');
    await plain.close();
  });

  it('is offered under localhost where the public address is a number of this computer', async () => {
    const plain = await OAuthHarness.open();
    const there = new TestBrowser(plain.origin);
    const named = plain.origin.replace('127.0.0.1', 'localhost');
    const { text } = await there.open('/sign-in?return=/docs');
    expect(text).to.include(`To use a passkey, sign in at <a href="${named}/sign-in?return=%2Fdocs">`);
    expect(text).not.to.include('passkey-sign-in.js');
    const begun = await there.post(BEGIN, {}, { Origin: named });
    expect(JSON.parse(begun.text)).to.have.nested.property('data.rp_id', 'localhost');
    await plain.close();
  });

  it('keeps its cookie to TLS and to this host where the public address is encrypted', async () => {
    const encrypted = await OAuthHarness.open({ publicUrl: () => 'https://pictures.example' });
    const answer = await fetch(encrypted.origin + BEGIN, {
      method: 'POST',
      headers: { Origin: 'https://pictures.example' },
    });
    const { data } = (await answer.json()) as { data: Asked };
    await encrypted.close();
    expect(data.rp_id).to.equal('pictures.example');
    const [cookie, ...more] = answer.headers.getSetCookie();
    expect(more).to.deep.equal([]);
    expect(cookie)
      .to.match(/^__Host-darkroom_passkey=/)
      .and.match(/; secure/i)
      .and.match(/; httponly/i);
  });
});

describe('the relying party of a public address', () => {
  for (const [publicUrl, id] of [
    ['https://pictures.example', 'pictures.example'],
    ['https://pictures.example:8443', 'pictures.example'],
    ['http://localhost:3000', 'localhost'],
    ['http://pictures.localhost:3000', 'pictures.localhost'],
    ['https://localhost', 'localhost'],
  ] as const)
    it(`is ${id} at ${publicUrl}`, () => {
      expect(relyingParty(publicUrl)).to.deep.equal({ id, origin: publicUrl });
    });

  for (const publicUrl of ['http://127.0.0.1:3000', 'http://[::1]:3000'])
    it(`is localhost at ${publicUrl}`, () => {
      expect(relyingParty(publicUrl)).to.deep.equal({ id: 'localhost', origin: 'http://localhost:3000' });
    });

  for (const publicUrl of [
    'https://127.0.0.1:3000',
    'http://127.0.0.2:3000',
    'https://192.0.2.1',
    'https://[2001:db8::1]',
    'http://pictures.example',
    'http://localhost.example',
    'http://notlocalhost',
  ])
    it(`is none at ${publicUrl}`, () => {
      expect(relyingParty(publicUrl)).to.equal(undefined);
    });
});
