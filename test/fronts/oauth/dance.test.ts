/*
 * Goal: a client that a person allows gets tokens that do what was allowed, at the address that they are for, and no more.
 * Method: the whole service over HTTP in this process; a browser without scripts goes through the pages.
 */
import { expect } from 'chai';
import { disconnect, listGrants } from '../../../core/people/grants.js';
import { disablePerson } from '../../../core/people/manage-people.js';
import type { TestBrowser } from '../../harness/test-browser.js';
import { type Answer, OAuthHarness, REDIRECT } from './oauth-harness.js';

const HOUR_MS = 3_600_000;
const MODELS = '/api/v1/developer/models';
const codeOf = ({ body }: Answer) => body['code'];

describe('an OAuth client', () => {
  let service: OAuthHarness;
  let browser: TestBrowser;
  let clientId: string;
  beforeEach(async () => {
    service = await OAuthHarness.open();
    browser = await service.signedIn();
    clientId = await service.register();
  });
  afterEach(() => service.close());

  it('gets tokens that the API takes', async () => {
    const tokens = await service.connect(browser, clientId);
    expect(tokens.access_token).to.match(/^svc_oauth_[A-Za-z0-9_-]{43}$/);
    expect(tokens).to.deep.include({ token_type: 'Bearer', expires_in: 3_600 });
    const { status, body } = await service.call(tokens.access_token);
    expect(status).to.equal(200);
    expect(body['data']).to.deep.include({ available_credits: 1_000 });
  });

  it('gets the state back, and who answered', async () => {
    const { path, state } = service.request(clientId);
    const { searchParams, href } = await service.allow(browser, await browser.open(path));
    expect(href.startsWith(REDIRECT)).to.equal(true);
    expect(searchParams.get('state')).to.equal(state);
    expect(searchParams.get('iss')).to.equal(service.origin);
  });

  it('is shown to its person by its name as text, with where it leads, for whom, and what it may spend', async () => {
    const named = await service.register({ client_name: '<b>Studio</b>' });
    const { text } = await browser.open(service.request(named).path);
    for (const shown of [
      '&lt;b&gt;Studio&lt;/b&gt;',
      'a program on this computer',
      'ada@example.com',
      'an account',
      '1,000 credits',
      'which spends credits of the account',
      'Spend at most, in credits',
    ])
      expect(text).to.include(shown);
    expect(text).not.to.include('<b>');
  });

  for (const [languages, written] of [
    ['de-DE,de;q=0.9', '1.000 credits'],
    ['xx-nowhere, fr', /1\s000 credits/],
    ['*', '1,000 credits'],
    [`${'x'.repeat(5_000)},de`, '1,000 credits'],
  ] as const)
    it(`is shown with the balance as a reader of ${languages.slice(0, 20)} writes it`, async () => {
      const page = await browser.open(service.request(clientId).path);
      const { text } = await browser.open(new URL(page.url).pathname, { 'Accept-Language': languages });
      if (typeof written === 'string') expect(text).to.include(written);
      else expect(text).to.match(written);
    });

  it('is told that it was refused', async () => {
    const { path, state } = service.request(clientId);
    const { searchParams } = await service.allow(browser, await browser.open(path), { decision: 'deny' });
    expect(Object.fromEntries(searchParams)).to.deep.include({ error: 'access_denied', state, iss: service.origin });
    expect(await listGrants(service.harness.context, service.person.personId)).to.deep.equal([]);
  });

  it('gets only those scopes that it asked for and that were ticked', async () => {
    const asked = { scope: 'credits:read generations:write' };
    const fields = { scope: ['credits:read', 'uploads:write'] };
    const { scope, access_token: token } = await service.connect(browser, clientId, asked, fields);
    expect(scope).to.equal('credits:read');
    expect((await service.call(token)).status).to.equal(200);
    const refused = await service.call(token, '/api/v1/developer/generations/0199f0d2-6d1c-7c4e-9a53-3f2b8e1d7a60');
    expect([refused.status, codeOf(refused)]).to.deep.equal([403, 'DEVELOPER_SCOPE_INSUFFICIENT']);
  });

  it('is not connected without any scope', async () => {
    const { path } = service.request(clientId);
    const page = await browser.open(path);
    const answer = await browser.submit(new URL(page.url).pathname, { decision: 'allow' });
    expect(answer.status).to.equal(422);
    expect(answer.text).to.include('Tick what the program may do');
  });

  it('asks again each time, and gets a grant of its own for it', async () => {
    const first = await service.connect(browser, clientId);
    const second = await service.connect(browser, clientId);
    const grants = await listGrants(service.harness.context, service.person.personId);
    expect(grants).to.have.lengthOf(2);
    expect(new Set(grants.map(({ appId }) => appId))).to.have.lengthOf(1);
    await disconnect(service.harness.context, service.person.personId, grants[0]?.grantId ?? '');
    const answers = await Promise.all([service.call(first.access_token), service.call(second.access_token)]);
    expect(answers.map(({ status }) => status)).to.have.members([200, 401]);
  });

  it('has an App for each person, so that it sees only what it made for one of them', async () => {
    const { context } = service.harness;
    const one = await service.connect(browser, clientId);
    const other = await service.connect(browser, await service.register());
    const callers = await Promise.all(
      [one, other].map(({ access_token: token }) => service.harness.authenticator.authenticate(token)),
    );
    expect(callers[0]?.appId).not.to.equal(callers[1]?.appId);
    expect(callers[0]?.accountId).to.equal(service.person.accountId);
    expect(await context.credentials.readApp(callers[0]?.appId ?? '')).to.deep.include({ name: 'a client' });
  });

  it('spends no more than the person allowed, however many tokens it gets', async () => {
    const { access_token: token, refresh_token: refresh } = await service.connect(browser, clientId, {}, { cap: '7' });
    const { authenticator } = service.harness;
    const before = await authenticator.authenticate(token);
    expect(before.cap).to.deep.equal({ credits: 7, per: 'life' });
    const { body } = await service.refresh(clientId, refresh);
    const after = await authenticator.authenticate(String(body['access_token']));
    expect(after).to.deep.equal(before);
  });

  it('is not connected with a limit that is none', async () => {
    for (const cap of ['-1', '1.5', 'many', '9'.repeat(16)]) {
      const { path } = service.request(clientId);
      const page = await browser.open(path);
      const fields = { decision: 'allow', scope: 'credits:read', cap };
      const answer = await browser.submit(new URL(page.url).pathname, fields);
      expect(answer.status, cap).to.equal(422);
    }
  });

  describe('with its tokens', () => {
    it('is refused at the address that they are not for', async () => {
      const rest = await service.connect(browser, clientId);
      const mcp = await service.connect(browser, clientId, { resource: `${service.origin}/api/v1/developer/mcp` });
      const { authenticator } = service.harness;
      expect((await authenticator.authenticate(mcp.access_token, 'mcp')).accountId).to.equal(service.person.accountId);
      for (const [token, audience] of [
        [rest.access_token, 'mcp'],
        [mcp.access_token, 'rest'],
      ] as const) {
        const error: { code?: string } = await authenticator.authenticate(token, audience).then(
          () => ({}),
          (refusal: object) => refusal,
        );
        expect(error.code).to.equal('DEVELOPER_TOKEN_INVALID');
      }
      expect(codeOf(await service.call(mcp.access_token))).to.equal('DEVELOPER_TOKEN_INVALID');
    });

    it('is told apart whether one has expired, was revoked, or never was', async () => {
      const { access_token: token, refresh_token: refresh } = await service.connect(browser, clientId);
      const { body } = await service.refresh(clientId, refresh);
      await service.token({ token, client_id: clientId }, '/oauth/revoke');
      expect(codeOf(await service.call(token))).to.equal('DEVELOPER_TOKEN_REVOKED');
      const other = String(body['access_token']);
      expect((await service.call(other)).status).to.equal(200);
      service.harness.clock.advance(HOUR_MS);
      expect(codeOf(await service.call(other))).to.equal('DEVELOPER_TOKEN_EXPIRED');
      expect(codeOf(await service.call(`svc_oauth_${'A'.repeat(43)}`))).to.equal('DEVELOPER_TOKEN_INVALID');
    });

    it('is told of an ended one for a day, and then that there is none', async () => {
      const { access_token: token } = await service.connect(browser, clientId);
      const { artefacts, clock } = service.harness.context;
      service.harness.clock.advance(24 * HOUR_MS);
      await artefacts.removeExpired(clock.now(), 1_000);
      expect(codeOf(await service.call(token))).to.equal('DEVELOPER_TOKEN_EXPIRED');
      service.harness.clock.advance(2 * HOUR_MS);
      await artefacts.removeExpired(clock.now(), 1_000);
      expect(codeOf(await service.call(token))).to.equal('DEVELOPER_TOKEN_INVALID');
    });

    it('loses all of them with its refresh token', async () => {
      const { access_token: token, refresh_token: refresh } = await service.connect(browser, clientId);
      await service.token({ token: refresh, client_id: clientId }, '/oauth/revoke');
      expect(codeOf(await service.call(token))).to.equal('DEVELOPER_TOKEN_REVOKED');
      expect((await service.refresh(clientId, refresh)).body['error']).to.equal('invalid_grant');
    });

    it('cannot revoke those of another client', async () => {
      const { access_token: token, refresh_token: refresh } = await service.connect(browser, clientId);
      const other = await service.register();
      for (const theirs of [token, refresh]) await service.token({ token: theirs, client_id: other }, '/oauth/revoke');
      expect((await service.call(token)).status).to.equal(200);
      expect((await service.refresh(clientId, refresh)).status).to.equal(200);
    });

    it('loses them with the person, who may not sign in any more', async () => {
      const { access_token: token, refresh_token: refresh } = await service.connect(browser, clientId);
      await disablePerson(service.harness.context, service.person.personId);
      expect(codeOf(await service.call(token))).to.equal('DEVELOPER_TOKEN_REVOKED');
      expect((await service.refresh(clientId, refresh)).body['error']).to.equal('invalid_grant');
    });

    it('may name no App but its own', async () => {
      const { access_token: token } = await service.connect(browser, clientId);
      const { appId } = await service.harness.authenticator.authenticate(token);
      expect((await service.call(token, undefined, { 'X-App-Id': appId })).status).to.equal(200);
      const other = '0199f0d2-6d1c-7c4e-9a53-3f2b8e1d7a60';
      expect((await service.call(token, undefined, { 'X-App-Id': other })).status).to.equal(403);
      expect((await service.call(token, MODELS)).status).to.equal(200);
    });
  });
});
