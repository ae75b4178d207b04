import { expect } from 'chai';
import { erasePerson } from '../../../core/erasure/request-erasure.js';
import { disconnect, listGrants } from '../../../core/people/grants.js';
import { disablePerson } from '../../../core/people/manage-people.js';
import { type Artefact, OWNED_ARTEFACTS } from '../../../core/people/person.js';
import { Recovery } from '../../../core/recovery/recover.js';
import { MemoryArtefactStore } from '../../adapters/memory/people-stores.js';
import { hiddenFields, type TestBrowser, type TestPage } from '../../harness/test-browser.js';
import { type Answer, OAuthHarness, REDIRECT } from './oauth-harness.js';

/*
 * Goal: a client that a person allows gets tokens that permit only what was allowed, only at the intended address.
 * Method: the whole service over HTTP in this process; a browser without scripts goes through the pages.
 */

const HOUR_MS = 3_600_000;
const MODELS = '/api/v1/developer/models';
const codeOf = ({ body }: Answer) => body['code'];

/** Keeps the kinds of artefacts that each owner ever had. */
class OwnedKinds extends MemoryArtefactStore {
  readonly kinds = new Map<string, Set<string>>();

  override put(artefact: Artefact): Promise<'kept' | 'ended'> {
    const { owner = '', kind } = artefact;
    this.kinds.set(owner, (this.kinds.get(owner) ?? new Set()).add(kind));
    return super.put(artefact);
  }
}

describe('an OAuth client of a person who is erased', () => {
  it('is refused as revoked, and an erasure knows every kind of artefact that the person owned', async () => {
    const artefacts = new OwnedKinds();
    const service = await OAuthHarness.open({}, { ports: { artefacts } });
    try {
      const clientId = await service.register();
      const tokens = await service.connect(await service.signedIn(), clientId);
      await service.refresh(clientId, tokens.refresh_token);
      const { context } = service.harness;
      const { personId } = service.person;
      const owned = [...(artefacts.kinds.get(personId) ?? [])];
      expect(owned).to.include.members(['session', 'grant', 'access-token', 'refresh-token', 'authorization-code']);
      expect(OWNED_ARTEFACTS).to.include.members(owned);
      await erasePerson(context, personId);
      await new Recovery(context).pass();
      expect(codeOf(await service.call(tokens.access_token))).to.equal('DEVELOPER_TOKEN_REVOKED');
      expect((await service.refresh(clientId, tokens.refresh_token)).body).to.include({ error: 'invalid_grant' });
      const left = await Promise.all(owned.map((kind) => artefacts.listOwned(kind, personId, 10)));
      expect(new Set(left.flat().map(({ kind }) => kind))).to.deep.equal(new Set(['grant', 'access-token']));
    } finally {
      await service.close();
    }
  });
});

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

  it('learns that it was refused', async () => {
    const { path, state } = service.request(clientId);
    const { searchParams } = await service.allow(browser, await browser.open(path), { decision: 'deny' });
    expect(Object.fromEntries(searchParams)).to.deep.include({ error: 'access_denied', state, iss: service.origin });
    expect(await listGrants(service.harness.context, service.person)).to.deep.equal([]);
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
    const grants = await listGrants(service.harness.context, service.person);
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

    it('is refused with distinct reasons for expired, revoked and unknown ones', async () => {
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

    it('is refused as ended for a day, and then as unknown', async () => {
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

/*
 * Goal: a code is exchanged once, even by twelve requests at the same time, and its reuse revokes the tokens issued for
 * it. A refresh token is replaced at each use; processes of one client may use it at the same time; later use ends the
 * whole connection. Tokens issued while a connection ends do not outlive it.
 * Method: the whole service over HTTP in this process. A store around the memory adapter delays reads, so that decisions
 * based on stale reads go wrong.
 */

const GRACE_MS = 30_000;
const TWELVE = Array.from({ length: 12 }, (_, index) => index);
const accessToken = ({ body }: Answer) => String(body['access_token']);

describe('OAuth codes and refresh tokens', () => {
  let service: OAuthHarness;
  let browser: TestBrowser;
  let clientId: string;
  beforeEach(async () => {
    service = await OAuthHarness.open({}, { storeDelayMs: 5 });
    browser = await service.signedIn();
    clientId = await service.register();
  });
  afterEach(() => service.close());

  async function code(): Promise<{ readonly code: string; readonly verifier: string }> {
    const { path, verifier } = service.request(clientId);
    const callback = await service.allow(browser, await browser.open(path));
    return { code: callback.searchParams.get('code') ?? '', verifier };
  }

  it('exchange a code for one of twelve at the same time', async () => {
    const { code: secret, verifier } = await code();
    const answers = await Promise.all(TWELVE.map(() => service.exchange(clientId, secret, verifier)));
    expect(answers.filter(({ status }) => status === 200)).to.have.lengthOf(1);
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.map(({ body }) => body['error'])).to.deep.equal(refused.map(() => 'invalid_grant'));
  });

  it('end the tokens of a code that is used again', async () => {
    const { code: secret, verifier } = await code();
    const first = await service.exchange(clientId, secret, verifier);
    expect((await service.call(accessToken(first))).status).to.equal(200);
    const again = await service.exchange(clientId, secret, verifier);
    expect(again.body['error']).to.equal('invalid_grant');
    service.harness.authenticator.close();
    expect((await service.call(accessToken(first))).body['code']).to.equal('DEVELOPER_TOKEN_REVOKED');
    const refreshed = await service.refresh(clientId, String(first.body['refresh_token']));
    expect(refreshed.body['error']).to.equal('invalid_grant');
  });

  it('refuse a code with another verifier, client or redirect address', async () => {
    const { code: secret, verifier } = await code();
    const other = await service.register();
    const right = { grant_type: 'authorization_code', client_id: clientId, code: secret, code_verifier: verifier };
    const elsewhere = { ...right, redirect_uri: 'http://127.0.0.1:3999/other' };
    const answers = [
      await service.exchange(clientId, secret, 'x'.repeat(43)),
      await service.exchange(other, secret, verifier),
      await service.token(elsewhere),
    ];
    expect(answers.map(({ status }) => status)).to.deep.equal([400, 400, 400]);
    expect((await service.exchange(clientId, secret, verifier)).status).to.equal(200);
  });

  it('refuse a code after a minute', async () => {
    const { code: secret, verifier } = await code();
    const { artefacts, clock } = service.harness.context;
    service.harness.clock.advance(61_000);
    await artefacts.removeExpired(clock.now() + 86_400_000, 1_000);
    expect((await service.exchange(clientId, secret, verifier)).body['error']).to.equal('invalid_grant');
  });

  it('replace the refresh token at each use', async () => {
    const { refresh_token: first } = await service.connect(browser, clientId);
    const { body } = await service.refresh(clientId, first);
    expect(body['refresh_token']).to.be.a('string').and.not.equal(first);
    expect((await service.refresh(clientId, String(body['refresh_token']))).status).to.equal(200);
  });

  it('let four processes of a client refresh at the same time', async () => {
    const { refresh_token: refresh } = await service.connect(browser, clientId);
    const answers = await Promise.all([0, 1, 2, 3].map(() => service.refresh(clientId, refresh)));
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200]);
    for (const answer of answers) expect((await service.call(accessToken(answer))).status).to.equal(200);
    const next = await service.refresh(clientId, String(answers[3]?.body['refresh_token']));
    expect(next.status).to.equal(200);
  });

  it('end the connection at the fifth exchange of a refresh token, however quickly it comes', async () => {
    const { refresh_token: refresh } = await service.connect(browser, clientId);
    const answers = [];
    for (let number = 1; number <= 5; number += 1) answers.push(await service.refresh(clientId, refresh));
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200, 400]);
    expect(answers[4]?.body['error']).to.equal('invalid_grant');
    service.harness.authenticator.close();
    for (const answer of answers.slice(0, 4)) {
      expect((await service.call(accessToken(answer))).body['code']).to.equal('DEVELOPER_TOKEN_REVOKED');
      const { body } = await service.refresh(clientId, String(answer.body['refresh_token']));
      expect(body['error']).to.equal('invalid_grant');
    }
    expect(await listGrants(service.harness.context, service.person)).to.deep.equal([]);
  });

  it('exchange a refresh token for at most four of twelve at the same time, and end the connection', async () => {
    const { refresh_token: refresh } = await service.connect(browser, clientId);
    const answers = await Promise.all(TWELVE.map(() => service.refresh(clientId, refresh)));
    expect(answers.filter(({ status }) => status === 200).length).to.be.at.most(4);
    expect((await service.refresh(clientId, refresh)).body['error']).to.equal('invalid_grant');
    expect(await listGrants(service.harness.context, service.person)).to.deep.equal([]);
  });

  it('end the connection when a used refresh token is used later', async () => {
    const { refresh_token: first } = await service.connect(browser, clientId);
    const second = await service.refresh(clientId, first);
    service.harness.clock.advance(GRACE_MS + 1);
    expect((await service.refresh(clientId, first)).body['error']).to.equal('invalid_grant');
    expect((await service.call(accessToken(second))).body['code']).to.equal('DEVELOPER_TOKEN_REVOKED');
    const { body } = await service.refresh(clientId, String(second.body['refresh_token']));
    expect(body['error']).to.equal('invalid_grant');
    expect(await listGrants(service.harness.context, service.person)).to.deep.equal([]);
  });

  it('give a refreshed token no scope and no resource beyond those of the grant', async () => {
    const asked = { scope: 'credits:read' };
    const { refresh_token: refresh } = await service.connect(browser, clientId, asked);
    const wider = await service.refresh(clientId, refresh, { scope: 'credits:read generations:write' });
    expect(wider.body['error']).to.equal('invalid_scope');
    for (const resource of [`${service.origin}/api/v1/developer/mcp`, 'https://other.example/', 'x']) {
      // More often than a used token may be used again: a refused request does not use it up.
      for (let number = 0; number < 3; number += 1) {
        const elsewhere = await service.refresh(clientId, refresh, { resource });
        expect(elsewhere.body['error'], resource).to.equal('invalid_target');
      }
    }
    expect((await service.refresh(clientId, refresh)).body['scope']).to.equal('credits:read');
  });

  it('refuse the refresh token of another client', async () => {
    const { refresh_token: refresh } = await service.connect(browser, clientId);
    const other = await service.register();
    expect((await service.refresh(other, refresh)).body['error']).to.equal('invalid_grant');
    expect((await service.refresh(clientId, refresh)).status).to.equal(200);
  });

  it('leave no token of a connection that ends while it is refreshed', async () => {
    const { context } = service.harness;
    const { personId } = service.person;
    for (const afterMs of [0, 3, 6, 9, 12, 15, 18, 24]) {
      const { refresh_token: refresh } = await service.connect(browser, clientId);
      const [grant] = await listGrants(context, service.person);
      const ended = new Promise((resolve) => {
        setTimeout(resolve, afterMs);
      }).then(() => disconnect(context, personId, grant?.grantId ?? ''));
      const [answer] = await Promise.all([service.refresh(clientId, refresh), ended]);
      if (answer.status !== 200) continue;
      service.harness.authenticator.close();
      expect((await service.call(accessToken(answer))).body['code']).to.equal('DEVELOPER_TOKEN_REVOKED');
      expect((await service.refresh(clientId, String(answer.body['refresh_token']))).status).to.equal(400);
    }
  });
});

/*
 * Goal: a device without a browser is connected by a person who compares its code, and by nobody else.
 * Method: a whole service over HTTP in this process; the device polls, a browser without scripts confirms.
 */

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

interface DeviceCodes {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete: string;
  readonly expires_in: number;
}

describe('a device', () => {
  let service: OAuthHarness;
  let browser: TestBrowser;
  let clientId: string;
  let codes: DeviceCodes;
  beforeEach(async () => {
    service = await OAuthHarness.open();
    browser = await service.signedIn();
    clientId = await service.register({ grant_types: [DEVICE_GRANT], redirect_uris: [] });
    const { body } = await service.token(
      { client_id: clientId, scope: 'credits:read', resource: `${service.origin}/api/v1/developer` },
      '/oauth/device/code',
    );
    codes = body as unknown as DeviceCodes;
  });
  afterEach(() => service.close());
  const poll = (deviceCode = codes.device_code) =>
    service.token({ grant_type: DEVICE_GRANT, client_id: clientId, device_code: deviceCode });
  const enter = async (fields: Record<string, string>): Promise<TestPage> =>
    browser.submit('/oauth/device', { ...hiddenFields(await browser.open('/oauth/device')), ...fields });

  it('learns where its person enters the code', () => {
    expect(codes.verification_uri).to.equal(`${service.origin}/oauth/device`);
    expect(codes.user_code).to.match(/^[A-Z]{4}-[A-Z]{4}$/);
    expect(codes.expires_in).to.equal(600);
  });

  it('gets tokens once its person has confirmed the code and allowed it', async () => {
    expect((await poll()).body['error']).to.equal('authorization_pending');
    const confirm = await enter({ user_code: codes.user_code.toLowerCase() });
    expect(confirm.text).to.include(codes.user_code);
    const consent = await browser.submit('/oauth/device', { ...hiddenFields(confirm), confirm: 'yes' });
    expect(consent.text).to.include('Connect a program').and.include('the device that shows the code');
    const done = await browser.submit(new URL(consent.url).pathname, { decision: 'allow', scope: 'credits:read' });
    expect(done.text).to.include('The device is connected');
    const { body, status } = await poll();
    expect(status).to.equal(200);
    expect((await service.call(String(body['access_token']))).status).to.equal(200);
    expect((await poll()).body['error']).to.equal('invalid_grant');
  });

  it('is shown its code in the form when its person follows the link', async () => {
    const page = await browser.open(codes.verification_uri_complete);
    expect(page.text).to.include(`value="${codes.user_code}"`);
    expect((await poll()).body['error']).to.equal('authorization_pending');
  });

  it('is refused when its person refuses it', async () => {
    const confirm = await enter({ user_code: codes.user_code });
    const consent = await browser.submit('/oauth/device', { ...hiddenFields(confirm), confirm: 'yes' });
    await browser.submit(new URL(consent.url).pathname, { decision: 'deny' });
    expect((await poll()).body['error']).to.equal('access_denied');
  });

  it('is refused when the code is not the one that it shows', async () => {
    const confirm = await enter({ user_code: codes.user_code });
    await browser.submit('/oauth/device', { ...hiddenFields(confirm), abort: 'yes' });
    expect((await poll()).body['error']).to.equal('access_denied');
  });

  it('is not found by a code that is wrong', async () => {
    expect((await enter({ user_code: 'BBBB-BBBB' })).text).to.include('There is no such code.');
    expect((await enter({ user_code: '' })).text).to.include('Enter the code');
  });

  it('is not confirmed by a page of another address', async () => {
    const fields = { user_code: codes.user_code, confirm: 'yes' };
    const without = await browser.submit('/oauth/device', fields);
    expect(without.text).to.include('The code that your device shows');
    await browser.open('/oauth/device');
    const wrong = await browser.submit('/oauth/device', { ...fields, xsrf: 'x'.repeat(43) });
    expect(wrong.text).not.to.include('Connect a program');
    expect((await poll()).body['error']).to.equal('authorization_pending');
  });

  it('gets nothing with what the store has of its code', async () => {
    const { artefacts, digests } = service.harness.context;
    const userCode = codes.user_code.replace('-', '');
    const stored = await artefacts.findByAlias('device-code', digests.keyed(`user-code ${userCode}`));
    expect(stored?.id).to.be.a('string');
    for (const guess of [stored?.id ?? '', `reference:${stored?.id}.${stored?.id}`])
      expect((await poll(guess)).body['error']).to.equal('invalid_grant');
  });
});
