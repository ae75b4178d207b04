/*
 * Goal: what the account page asks of its server is done for the person of the session alone, at the request of the
 * page alone; a secret is told once.
 * Method: a whole service over HTTP in this process; sessions of two people of two accounts, and of two of one.
 */
import { expect } from 'chai';
import { createApp, createKey } from '../../../core/access/manage.js';
import { createPerson, disablePerson } from '../../../core/people/manage-people.js';
import { MAX_KEYS } from '../../../core/people/own-keys.js';
import { OAuthHarness, PASSWORD } from '../oauth/oauth-harness.js';
import { clientOf, ConsoleClient, stranger } from './console-harness.js';

const UNKNOWN = '00000000-0000-7000-8000-000000000000';

const READS = [
  '/overview',
  '/apps',
  '/usable-apps',
  `/generations/${UNKNOWN}`,
  `/playground/generations/${UNKNOWN}/input`,
  '/keys',
  '/connections',
  '/sessions',
  '/passkeys',
  '/identities',
];
const CHANGES: readonly [path: string, body: object][] = [
  ['/keys', { name: 'laptop' }],
  [`/keys/${UNKNOWN}/revoke`, {}],
  [`/connections/${UNKNOWN}/disconnect`, {}],
  ['/sessions/abc/end', {}],
  ['/sessions/end-others', {}],
  ['/password', { current_password: PASSWORD, new_password: `${PASSWORD} too` }],
  ['/passkeys/begin', {}],
  ['/passkeys', { name: 'laptop', challenge: 'AAAA', client_data: 'AAAA', attestation_object: 'AAAA' }],
  ['/passkeys/rename', { id: 'AAAA', name: 'phone' }],
  ['/passkeys/remove', { id: 'AAAA' }],
  ['/identities/link', {}],
  ['/identities/unlink', { issuer: 'https://id.example', subject: 'ada' }],
];

interface ShownKey {
  readonly id: string;
  readonly name: string;
  readonly app: { readonly id: string; readonly name: string };
  readonly scopes: readonly string[];
  readonly monthly_cap: number | null;
  readonly used_this_month: number | null;
  readonly revoked_at: string | null;
  readonly is_over: boolean;
}

describe("the account page's API", () => {
  let service: OAuthHarness;
  let ada: ConsoleClient;
  let eve: ConsoleClient;
  beforeEach(async () => {
    service = await OAuthHarness.open();
    ada = await clientOf(service, service.person);
    eve = await clientOf(service, await stranger(service));
  });
  afterEach(() => service.close());

  const keysOf = async (client: ConsoleClient) => (await client.get('/keys')).data['keys'] as readonly ShownKey[];
  const makeKey = async (body: object = {}) => {
    const { data, status, message } = await ada.post('/keys', { name: 'laptop', ...body });
    expect(status, message).to.equal(200);
    return { key: data['key'] as ShownKey, secret: data['secret'] as string };
  };

  describe('refuses', () => {
    it('everything without a session, and with one that has ended', async () => {
      const nobody = new ConsoleClient(service.origin, '');
      const over = await clientOf(service, service.person);
      await disablePerson(service.harness.context, service.person.personId);
      for (const client of [nobody, over]) {
        for (const path of READS)
          expect(await client.get(path), path).to.include({ status: 401, code: 'SESSION_REQUIRED' });
        for (const [path, body] of CHANGES)
          expect(await client.post(path, body), path).to.include({ status: 401, code: 'SESSION_REQUIRED' });
      }
      expect((await nobody.get('/keys')).headers.get('www-authenticate')).to.equal(null);
    });

    it('every change that a page of another origin asks for, or nobody says which', async () => {
      const origins = [{ Origin: 'https://evil.example' }, { Origin: 'null' }, { Origin: '' }];
      for (const [path, body] of CHANGES)
        for (const headers of origins)
          expect(await ada.post(path, body, headers), path).to.include({ status: 403, code: 'ORIGIN_REFUSED' });
      expect(await ada.post('/keys', { name: 'x' }, { 'Origin': '', 'Sec-Fetch-Site': 'cross-site' })).to.include({
        code: 'ORIGIN_REFUSED',
      });
      expect(await keysOf(ada)).to.deep.equal([]);
    });

    it('every change in a type that a form can send', async () => {
      const types = ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x', ''];
      for (const [path, body] of CHANGES)
        for (const type of types)
          expect(await ada.post(path, body, { 'Content-Type': type }), `${path} ${type}`).to.include({ status: 415 });
      expect(await keysOf(ada)).to.deep.equal([]);
    });

    it('an API key in place of a session, and a session in place of an API key', async () => {
      const { secret } = await makeKey();
      const withKey = new ConsoleClient(service.origin, '');
      expect(await withKey.get('/keys', { Authorization: `Bearer ${secret}` })).to.include({
        code: 'SESSION_REQUIRED',
      });
      const response = await fetch(`${service.origin}/api/v1/developer/credits`, { headers: { Cookie: ada.cookie } });
      expect(response.status).to.equal(401);
      expect(await response.json()).to.include({ code: 'DEVELOPER_TOKEN_REQUIRED' });
    });

    it('fields that it does not know, and values that cannot be', async () => {
      const bad: readonly object[] = [
        {},
        { name: '' },
        { name: '  ' },
        { name: 'x'.repeat(101) },
        { name: 1 },
        { name: 'x', surprise: 1 },
        { name: 'x', scopes: [] },
        { name: 'x', scopes: ['everything'] },
        { name: 'x', expires_at: 'tomorrow' },
        { name: 'x', expires_at: '2030-99-01T00:00:00Z' },
        { name: 'x', expires_at: '2030-02-31T00:00:00Z' },
        { name: 'x', expires_at: '2001-01-01T00:00:00Z' },
        { name: 'x', monthly_cap: -1 },
        { name: 'x', monthly_cap: 1.5 },
        { name: 'x', app_id: 'x' },
      ];
      for (const body of bad) expect(await ada.post('/keys', body), JSON.stringify(body)).to.include({ status: 422 });
      expect(await keysOf(ada)).to.deep.equal([]);
    });

    it('a body beyond 16 KiB, and one that is no object', async () => {
      expect(await ada.post('/keys', { name: 'x'.repeat(17_000) })).to.include({ code: 'BODY_TOO_LARGE' });
      expect(await ada.post('/keys', ['x'])).to.include({ status: 422 });
      expect(await ada.post('/sessions/end-others', { surprise: 1 })).to.include({ status: 422 });
    });

    it('more than 60 changes of one person in a minute, and goes on for others', async () => {
      const answers = [];
      for (let index = 0; index < 61; index += 1) answers.push(await ada.post(`/keys/${UNKNOWN}/revoke`));
      expect(new Set(answers.slice(0, 60).map(({ code }) => code))).to.deep.equal(new Set(['NOT_FOUND']));
      expect(answers[60]).to.include({ status: 429, code: 'RATE_LIMITED' });
      expect(Number(answers[60]?.headers.get('retry-after'))).to.be.within(1, 60);
      expect(await eve.post(`/keys/${UNKNOWN}/revoke`)).to.include({ code: 'NOT_FOUND' });
    });
  });

  describe('keys', () => {
    it('are made by naming them, and work at once with all scopes', async () => {
      const { key, secret } = await makeKey();
      expect(secret).to.match(/^svc_live_/);
      expect(key).to.include({ name: 'laptop', monthly_cap: null, used_this_month: null, is_over: false });
      expect(key.scopes).to.have.lengthOf(4);
      expect((await service.call(secret)).status).to.equal(200);
    });

    it('tell their secret once: no later answer has it, or its digest', async () => {
      const { key, secret } = await makeKey();
      const digest = service.harness.context.digests.keyed(secret);
      for (const path of READS) {
        const { text } = await ada.get(path);
        expect(text, path).not.to.include(secret).and.not.to.include(digest);
      }
      const { text } = await ada.post(`/keys/${key.id}/revoke`);
      expect(text).not.to.include('svc_live_');
    });

    it('carry the scopes, the expiry, the limit and the App that were picked', async () => {
      const { context } = service.harness;
      const app = await createApp(context, { accountId: service.person.accountId, name: 'studio' });
      const { key } = await makeKey({
        scopes: ['credits:read'],
        expires_at: '2199-12-31T23:59:59Z',
        monthly_cap: 50,
        app_id: app.appId,
      });
      expect(key).to.deep.include({
        scopes: ['credits:read'],
        expires_at: '2199-12-31T23:59:59.000Z',
        monthly_cap: 50,
        used_this_month: 0,
        app: { id: app.appId, name: 'studio' },
      });
    });

    it('belong to the oldest App of an operator, and to one of their own where there is none', async () => {
      const { context } = service.harness;
      const { accountId } = service.person;
      const [one, two] = await Promise.all([makeKey(), makeKey()]);
      expect(one.key.app).to.deep.equal(two.key.app);
      expect(one.key.app.name).to.equal('default');
      const others = await clientOf(service, await createPerson(context, { accountId, email: 'bob@example.com' }));
      await createApp(context, { accountId, name: 'studio' });
      const { data } = await others.get('/apps');
      expect((data['apps'] as { name: string }[]).map(({ name }) => name)).to.deep.equal(['default', 'studio']);
      expect((await makeKey()).key.app.name).to.equal('default');
    });

    it('are never made for an App of another account, of a client, or of the account page', async () => {
      const { context } = service.harness;
      const foreign = await createApp(context, {
        accountId: (await context.people.findByEmail('eve@example.com'))?.accountId ?? '',
        name: 'hers',
      });
      await service.connect(await service.signedIn(), await service.register());
      const { data: overview } = await ada.get('/overview');
      const { items } = await context.credentials.listApps(service.person.accountId, { limit: 10 });
      const clients = items.map(({ appId }) => appId);
      expect(clients).to.have.lengthOf(2).and.to.include(overview['console_app_id']);
      for (const appId of [...clients, foreign.appId, UNKNOWN])
        expect(await ada.post('/keys', { name: 'x', app_id: appId })).to.include({ status: 404, code: 'NOT_FOUND' });
      expect(await keysOf(ada)).to.deep.equal([]);
    });

    it('are revoked for good, also a second time, and never by another account', async () => {
      const { key, secret } = await makeKey();
      expect(await eve.post(`/keys/${key.id}/revoke`)).to.include({ status: 404, code: 'NOT_FOUND' });
      expect((await service.call(secret)).status).to.equal(200);
      expect(await ada.post(`/keys/${key.id}/revoke`)).to.include({ status: 200 });
      expect(await ada.post(`/keys/${key.id}/revoke`)).to.include({ status: 200 });
      service.harness.clock.advance(5_000);
      expect((await service.call(secret)).body).to.include({ code: 'DEVELOPER_TOKEN_REVOKED' });
      expect((await keysOf(ada))[0]).to.include({ id: key.id, is_over: true });
    });

    it('of the whole account are listed, newest first and ended ones last, and none of another', async () => {
      const { context } = service.harness;
      const { id: appId } = (await makeKey({ name: 'first' })).key.app;
      service.harness.clock.advance(1_000);
      const revoked = (await makeKey({ name: 'revoked' })).key;
      await ada.post(`/keys/${revoked.id}/revoke`);
      service.harness.clock.advance(1_000);
      await createKey(context, { appId, name: 'by the operator' });
      expect((await keysOf(ada)).map(({ name }) => name)).to.deep.equal(['by the operator', 'first', 'revoked']);
      expect(await keysOf(eve)).to.deep.equal([]);
    });

    it('are at most 10,000, all of which are counted and the newest shown', async () => {
      const { context } = service.harness;
      const { key } = await makeKey();
      const stored = await context.credentials.findKey({ keyId: key.id });
      if (!stored) throw new Error('There is no key.');
      for (let index = 1; index < MAX_KEYS; index += 1)
        await context.credentials.insertKey({ ...stored, keyId: context.ids.uuid(), digest: `digest ${index}` });
      const { data } = await ada.get('/keys');
      expect([data['total'], (data['keys'] as unknown[]).length]).to.deep.equal([MAX_KEYS, 1_000]);
      expect(await ada.post('/keys', { name: 'x' })).to.include({ status: 409, code: 'CONFLICT' });
    });

    it('are found by nothing but their id', async () => {
      for (const id of ['x', '%00', '..%2F..', UNKNOWN.toUpperCase(), 'a'.repeat(500)])
        expect(await ada.post(`/keys/${id}/revoke`), id).to.include({ status: 404 });
    });
  });
});
