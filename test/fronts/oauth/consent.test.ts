import { expect } from 'chai';
import { disconnect, listGrants } from '../../../core/people/grants.js';
import { createPerson, resetPerson } from '../../../core/people/manage-people.js';
import { hiddenFields, type TestBrowser, type TestPage } from '../../harness/test-browser.js';
import { OAuthHarness, PASSWORD } from './oauth-harness.js';

/*
 * Goal: only a person who has just signed in connects a program, only the one who was shown the request, and they see
 * where the program is and a name that cannot mislead them.
 * Method: a whole service over HTTP in this process, with a clock that the test moves; a browser without scripts in which
 * people sign in and out while a request is open.
 */

const MINUTE_MS = 60_000;
const BOB = 'bob@example.com';

describe('consent', () => {
  let service: OAuthHarness;
  let browser: TestBrowser;
  let clientId: string;
  beforeEach(async () => {
    service = await OAuthHarness.open();
    browser = await service.signedIn();
    clientId = await service.register();
  });
  afterEach(() => service.close());
  const open = (of = clientId, params: Record<string, string> = {}) => browser.open(service.request(of, params).path);
  const pathOf = ({ url }: TestPage) => new URL(url).pathname;
  const allow = (page: TestPage, more: Record<string, string> = {}) =>
    browser.submit(pathOf(page), { ...hiddenFields(page), scope: 'credits:read', decision: 'allow', ...more });
  const grants = () => listGrants(service.harness.context, service.person);
  const signIn = (email = 'ada@example.com', returnTo = '/') =>
    browser.submit('/sign-in', { email, password: PASSWORD, return: returnTo });

  describe('takes a sign-in of the last 15 minutes', () => {
    it('to show the request, and leads back to it after another one', async () => {
      service.harness.clock.advance(15 * MINUTE_MS + 1_000);
      const page = await open();
      expect(pathOf(page)).to.equal('/sign-in');
      expect(page.text).to.include('Sign in again to continue').and.not.include('name="decision"');
      const returnTo = new URL(page.url).searchParams.get('return') ?? '';
      const wrong = await browser.submit('/sign-in', {
        ...hiddenFields(page),
        email: 'ada@example.com',
        password: 'x',
      });
      expect(hiddenFields(wrong)).to.deep.include({ return: returnTo, again: '1' });
      const consent = await browser.submit('/sign-in', {
        ...hiddenFields(wrong),
        email: 'ada@example.com',
        password: PASSWORD,
      });
      expect(consent.text).to.include('Connect a program');
      expect((await allow(consent)).headers.get('location')).to.include('code=');
      expect(await grants()).to.have.lengthOf(1);
    });

    it('to be answered, however lately the page was opened', async () => {
      service.harness.clock.advance(14 * MINUTE_MS);
      const page = await open();
      expect(page.text).to.include('Connect a program');
      service.harness.clock.advance(2 * MINUTE_MS);
      expect(pathOf(await allow(page))).to.equal('/sign-in');
      expect(await grants()).to.deep.equal([]);
      const consent = await signIn('ada@example.com', pathOf(page));
      expect((await allow(consent)).headers.get('location')).to.include('code=');
    });

    it('and not to be refused', async () => {
      const page = await open();
      service.harness.clock.advance(20 * MINUTE_MS);
      const answer = await browser.submit(pathOf(page), { decision: 'deny' });
      expect(answer.headers.get('location')).to.include('error=access_denied');
    });

    it('which using the session does not replace', async () => {
      for (let minute = 0; minute < 20; minute += 1) {
        service.harness.clock.advance(MINUTE_MS);
        await browser.open('/sign-in?return=/docs');
      }
      expect(pathOf(await open())).to.equal('/sign-in');
    });
  });

  describe('is of the person whom the request was shown to', () => {
    let shown: TestPage;
    beforeEach(async () => {
      const { accountId } = service.person;
      await createPerson(service.harness.context, { accountId, email: BOB, password: PASSWORD });
      shown = await open();
      await browser.submit('/sign-out', {});
      await signIn(BOB);
    });

    for (const [what, fields] of [
      ['as it was', (page: TestPage) => hiddenFields(page)],
      ['without the person in it', () => ({})],
    ] as const)
      it(`and a form ${what} is refused once another one is signed in, who is then asked`, async () => {
        const answer = await browser.submit(pathOf(shown), {
          ...fields(shown),
          scope: 'credits:read',
          decision: 'allow',
        });
        expect(answer.status).to.equal(422);
        expect(answer.text).to.include('was shown to another person').and.include(BOB);
        expect(await grants()).to.deep.equal([]);
        expect((await allow(answer)).headers.get('location')).to.include('code=');
        expect(await grants()).to.deep.equal([]);
      });

    it('also where that one has opened the request in another window', async () => {
      const others = await browser.open(pathOf(shown));
      expect(others.text).to.include(BOB);
      expect((await allow(shown)).text).to.include('was shown to another person');
      expect((await allow(others)).headers.get('location')).to.include('code=');
    });

    it('and a request that was never shown cannot be allowed', async () => {
      const hidden = await fetch(service.origin + service.request(clientId).path, {
        redirect: 'manual',
        headers: { Cookie: browser.cookieHeader('/') },
      });
      for (const line of hidden.headers.getSetCookie()) {
        const [pair = ''] = line.split(';');
        const [name = '', value = ''] = pair.split('=');
        browser.setCookie(name, value);
      }
      const answer = await browser.submit(hidden.headers.get('location') ?? '', {
        scope: 'credits:read',
        decision: 'allow',
      });
      expect(answer.status).to.equal(422);
      expect(answer.text).to.include('Connect a program');
    });

    it('and another account can be picked on the page, for the same request', async () => {
      const page = await open();
      const [, action = ''] = /action="(\/sign-out[^"]*)"/.exec(page.text) ?? [];
      const form = await browser.submit(action, {});
      expect(pathOf(form)).to.equal('/sign-in');
      const ada = await browser.submit('/sign-in', {
        ...hiddenFields(form),
        email: 'ada@example.com',
        password: PASSWORD,
      });
      expect(ada.text).to.include('Connect a program').and.include('ada@example.com');
      expect((await allow(ada)).headers.get('location')).to.include('code=');
      expect(await grants()).to.have.lengthOf(1);
    });
  });

  describe('that is given twice', () => {
    /** Sends the form, and does not follow the redirect that takes the code to the program. */
    const answer = (page: TestPage, more: Record<string, string> = {}) =>
      fetch(service.origin + pathOf(page), {
        method: 'POST',
        redirect: 'manual',
        headers: { Origin: service.origin, Cookie: browser.cookieHeader(pathOf(page)) },
        body: new URLSearchParams({ ...hiddenFields(page), scope: 'credits:read', decision: 'allow', ...more }),
      });

    it('at the same time, as by a double click, makes one connection', async () => {
      await service.close();
      service = await OAuthHarness.open({}, { storeDelayMs: 2 });
      browser = await service.signedIn();
      clientId = await service.register();
      const page = await open();
      const answers = await Promise.all([1, 2, 3].map(() => allow(page)));
      expect(answers.filter(({ headers }) => headers.get('location')?.includes('code='))).not.to.deep.equal([]);
      for (const { status, text } of answers) expect(status, text).to.be.below(500);
      expect(await grants()).to.have.lengthOf(1);
    });

    it('before the program has its code counts as it was given last, and afterwards not at all', async () => {
      const page = await open();
      for (const cap of ['5', '7']) expect((await answer(page, { cap })).status).to.equal(303);
      expect(await grants()).to.have.lengthOf(1);
      expect((await allow(page, { scope: 'generations:read', cap: '9' })).headers.get('location')).to.include('code=');
      expect((await answer(page)).status).to.equal(404);
      const [grant, ...others] = await grants();
      expect(others).to.deep.equal([]);
      expect(grant).to.deep.include({ scopes: ['generations:read'], capCredits: 9 });
    });

    it('and refused the second time connects nothing', async () => {
      const page = await open();
      expect((await answer(page)).status).to.equal(303);
      expect(await grants()).to.have.lengthOf(1);
      expect((await allow(page, { decision: 'deny' })).headers.get('location')).to.include('error=access_denied');
      expect(await grants()).to.deep.equal([]);
    });

    it('and was ended in between connects nothing', async () => {
      const page = await open();
      await answer(page);
      const [grant] = await grants();
      await disconnect(service.harness.context, service.person.personId, grant?.grantId ?? '');
      const again = await allow(page);
      expect(again.status).to.equal(404);
      expect(again.text).to.include('This connection was ended.');
      expect(await grants()).to.deep.equal([]);
    });
  });

  it('of a person who was reset while they read it connects nothing', async () => {
    const page = await open();
    await resetPerson(service.harness.context, service.person.personId);
    expect(pathOf(await allow(page))).to.equal('/sign-in');
    expect(await grants()).to.deep.equal([]);
  });

  describe('says where the program is', () => {
    for (const [redirect, shown] of [
      ['https://client.example/callback', 'client.example'],
      ['https://client.example:8443/callback', 'client.example:8443'],
      ['https://xn--pypal-4ve.example/callback', 'xn--pypal-4ve.example'],
      ['https://p\u0430ypal.example/callback', 'xn--pypal-4ve.example'],
      ['http://127.0.0.1:3999/callback', 'a program on this computer'],
      ['com.example.app:/callback', 'a program on this computer (com.example.app:)'],
    ] as const)
      it(`by the host of ${encodeURI(redirect)}`, async () => {
        const client = await service.register({ redirect_uris: [redirect] });
        const { text } = await open(client, { redirect_uri: redirect });
        expect(text).to.match(new RegExp(`<dt>Answer goes to</dt>\\s*<dd>${shown.replaceAll(/[.()]/g, '\\$&')}</dd>`));
        expect(text).not.to.include('Described at');
      });
  });

  it('shows names as one line, without characters that hide or reverse text', async () => {
    const name = 'Photo\u202Egnp\u202C\r\n\u0000Ltd\u200B \u2028Inc';
    const client = await service.register({ client_name: name });
    const { text } = await open(client);
    expect(text).to.include('<strong>Photognp Ltd Inc</strong>');
    expect(text).not.to.match(/[\p{Cf}\p{Zl}\p{Zp}]|(?=\p{Cc})[^\n]/u);
    await allow(await open(client));
    expect((await grants())[0]?.clientName).to.equal('Photognp Ltd Inc');
  });
});
