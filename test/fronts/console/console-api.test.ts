import { expect } from 'chai';
import { ROUTES } from '../../../apps/http/developer/routes.js';
import { createApp, createKey, resumeAccount, suspendAccount } from '../../../core/access/manage.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { createGrant, disconnect } from '../../../core/people/grants.js';
import { createPerson, disablePerson } from '../../../core/people/manage-people.js';
import { consoleApp, MAX_KEYS } from '../../../core/people/own-keys.js';
import { endOtherSessions, findSession } from '../../../core/people/sessions.js';
import type { ObjectStore } from '../../../core/ports/object-store.js';
import { TestBrowser } from '../../harness/test-browser.js';
import { OAuthHarness, PASSWORD } from '../oauth/oauth-harness.js';
import { clientOf, type ConsoleAnswer, ConsoleClient, stranger } from './console-harness.js';

/*
 * Goal: the base address leads people to their account page, who must sign in to see it; the page loads nothing but its
 * own files, and no other page can hold it in a frame.
 * Method: a whole service over HTTP in this process, with the page that was built.
 */

const PAGES = ['/console', '/console/keys', '/console/usage', '/console/account'];

describe('the account page', () => {
  let service: OAuthHarness;
  beforeEach(async () => {
    service = await OAuthHarness.open();
  });
  afterEach(() => service.close());

  it('is where the base address leads, for those who are signed in', async () => {
    const browser = await service.signedIn();
    for (const path of ['/', '/console'])
      expect((await browser.open(path)).url, path).to.equal(`${service.origin}/console`);
  });

  it('leads others to sign in, and back to the section that they opened', async () => {
    for (const path of PAGES) {
      const { url } = await new TestBrowser(service.origin).open(path);
      expect(url).to.equal(`${service.origin}/sign-in?return=${encodeURIComponent(path)}`);
    }
  });

  it('has no address but those of its sections and files', async () => {
    const browser = await service.signedIn();
    for (const path of [
      '/console/',
      '/console/other',
      '/console/assets/',
      '/console/assets/..%2Findex.html',
      '/console/assets/%2Fetc%2Fpasswd',
      '/console/api/other',
    ])
      expect((await browser.open(path)).status, path).to.equal(404);
  });

  it('allows nothing inline and nothing from outside, and has none of it', async () => {
    const browser = await service.signedIn();
    const { headers, text, status } = await browser.open('/console/usage');
    expect(status).to.equal(200);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy)
      .to.include("default-src 'none'")
      .and.include("frame-ancestors 'none'")
      .and.include("script-src 'self'")
      .and.include("style-src 'self'")
      .and.not.include('unsafe');
    expect(headers.get('cache-control')).to.equal('no-store');
    expect(text).not.to.match(/https?:|<script>|<style|\son\w+=|\sstyle=/);
    const files = [...text.matchAll(/(?:src|href)="(\/console\/[^"]+)"/g)].map(([, path = '']) => path);
    expect(files).to.have.lengthOf.at.least(3);
    for (const path of files) {
      const file = await browser.open(path);
      expect([file.status, file.headers.get('cache-control')], path).to.deep.equal([
        200,
        'public, max-age=31536000, immutable',
      ]);
      expect(file.text, path).not.to.match(/@import|url\(["']?(https?:)?\/\//);
    }
  });

  it('leads from the old address of the credits to where they are now, and keeps what an address asks for', async () => {
    const browser = await service.signedIn();
    expect((await browser.open('/console/credits')).url).to.equal(`${service.origin}/console/usage`);
    const asked = '/console/generations?status=failed';
    const { url } = await new TestBrowser(service.origin).open(asked);
    expect(url).to.equal(`${service.origin}/sign-in?return=${encodeURIComponent(asked)}`);
    for (const path of ['/console/generations/some-id', '/console/webhooks/default'])
      expect((await browser.open(path)).status, path).to.equal(200);
  });

  it('allows nothing more while the object store has not been reached', async () => {
    const objects = {
      signGet: () => Promise.reject(new StoreUnavailable('It was not reached.')),
    } as unknown as ObjectStore;
    const away = await OAuthHarness.open({}, { ports: { objects } });
    const { headers, status } = await (await away.signedIn()).open('/console/playground');
    await away.close();
    expect(status).to.equal(200);
    expect(headers.get('content-security-policy')).to.include("img-src 'self' data: blob:;").and.not.include('http');
  });

  it('is left out with sign-in, and the base address then leads to the documentation', async () => {
    const without = await OAuthHarness.open({ people: { hasSignIn: false } });
    const bare = await fetch(`${without.origin}/`, { redirect: 'manual' });
    const page = await fetch(`${without.origin}/console`);
    const api = await fetch(`${without.origin}/console/api/overview`);
    await without.close();
    expect([bare.status, bare.headers.get('location')]).to.deep.equal([302, '/docs']);
    expect([page.status, api.status]).to.deep.equal([404, 404]);
  });
});

/*
 * Goal: the account page's requests act for the person of the session alone, and only if the page itself sent them; a
 * secret is shown once.
 * Method: a whole service over HTTP in this process; sessions of two people of two accounts, and of two of one.
 */

const UNKNOWN = '00000000-0000-7000-8000-000000000000';

const READS = [
  '/overview',
  '/apps',
  '/usable-apps',
  `/generations/${UNKNOWN}`,
  `/playground/generations/${UNKNOWN}/input`,
  '/keys',
  '/webhooks',
  `/webhooks/${UNKNOWN}`,
  '/deliveries',
  `/deliveries/${UNKNOWN}`,
  '/connections',
  '/sessions',
  '/passkeys',
  '/identities',
];
const CHANGES: readonly [path: string, body: object][] = [
  ['/keys', { name: 'laptop' }],
  [`/keys/${UNKNOWN}/revoke`, {}],
  [`/deliveries/${UNKNOWN}/resend`, {}],
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
  readonly hint: string | null;
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

    it('a body beyond 16 KiB, and one that is not an object', async () => {
      expect(await ada.post('/keys', { name: 'x'.repeat(17_000) })).to.include({ code: 'BODY_TOO_LARGE' });
      expect(await ada.post('/keys', ['x'])).to.include({ status: 422 });
      expect(await ada.post('/sessions/end-others', { surprise: 1 })).to.include({ status: 422 });
    });

    it('more than 60 changes of one person in a minute, and serves others', async () => {
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

    it('show the beginning and the end of their secret, and null for one that was made before they were stored', async () => {
      const { key, secret } = await makeKey();
      const hint = `svc_live_${secret.slice(9, 12)}…${secret.slice(-4)}`;
      const { credentials } = service.harness.context;
      const stored = await credentials.findKey({ keyId: key.id });
      const { hint: _hint, ...before } = stored!;
      await credentials.insertKey({ ...before, keyId: UNKNOWN, digest: 'of an earlier release' });
      expect(key.hint).to.equal(hint);
      expect((await keysOf(ada)).map((one) => one.hint)).to.have.members([hint, null]);
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

/*
 * Goal: what a person does on the account page in an App of their account is what a key of that App would do: the same
 * operations, refusals and rates, under the person's own name. Other Apps are unknown to them.
 * Method: a whole service over HTTP in this process; sessions of people of two accounts, and a program that one of them
 * has connected.
 */

const PICTURE = { model_key: 'picture', operation: 'image_generation', prompt: 'a cat', parameters: { size: '96x64' } };
const HELD = { ...PICTURE, model_key: 'picture-held' };
const PROTECTED = ROUTES.filter(({ scope }) => scope !== undefined);

interface Task {
  readonly generation_id: string;
  readonly status: string;
}

describe('a person acting in an App on the account page', () => {
  let service: OAuthHarness;
  let ada: ConsoleClient;
  let own: string;
  beforeEach(async () => {
    service = await OAuthHarness.open();
    ada = await clientOf(service, service.person);
    own = (await consoleApp(service.harness.context, service.person.accountId)).appId;
  });
  afterEach(() => service.close());

  const context = () => service.harness.context;
  const at = (path: string, appId = own) => `/apps/${appId}${path}`;
  const create = (body: object = PICTURE, key: string = context().ids.uuid(), client = ada, appId = own) =>
    client.post(at('/generations', appId), body, { 'Idempotency-Key': key });
  const taskOf = ({ data, message }: ConsoleAnswer): Task => {
    expect(data['generation_id'], message).to.be.a('string');
    return data as unknown as Task;
  };
  const usableNames = async (client = ada) =>
    ((await client.get('/usable-apps')).data['apps'] as { name: string; kind: string }[]).map(
      ({ name, kind }) => `${kind}: ${name}`,
    );

  describe('is refused', () => {
    const send = (client: ConsoleClient, method: string, path: string, headers: Record<string, string>) =>
      client.send(
        method,
        at(path.replaceAll(/:\w+/g, UNKNOWN)),
        { ...(method === 'GET' ? {} : { 'Content-Type': 'application/json' }), ...headers },
        method === 'GET' ? undefined : '{}',
      );

    it('every endpoint without a session', async () => {
      const nobody = new ConsoleClient(service.origin, '');
      for (const { method, path } of PROTECTED)
        expect(await send(nobody, method, path, { Origin: service.origin }), path).to.include({
          status: 401,
          code: 'SESSION_REQUIRED',
        });
    });

    it('everything but reads that a page of another origin asks for, or nobody says which', async () => {
      const asked = PROTECTED.filter(({ method }) => method !== 'GET');
      expect(asked.length).to.be.above(10);
      for (const { method, path } of asked)
        for (const headers of [{ Origin: 'https://evil.example' }, { Origin: 'null' }, { Origin: '' }])
          expect(await send(ada, method, path, headers), `${method} ${path}`).to.include({
            status: 403,
            code: 'ORIGIN_REFUSED',
          });
    });

    it('an API key in place of the session', async () => {
      const { defaultKey } = await keyOfAccount();
      const nobody = new ConsoleClient(service.origin, '');
      expect(await nobody.get(at('/credits'), { Authorization: `Bearer ${defaultKey}` })).to.include({
        code: 'SESSION_REQUIRED',
      });
    });

    it('an App of another account, of a program of somebody else, and one that is none, alike', async () => {
      const foreign = await createApp(context(), {
        accountId: (await stranger(service)).accountId,
        name: 'hers',
      });
      const bob = await createPerson(context(), { accountId: service.person.accountId, email: 'bob@example.com' });
      const { appId: bobs } = await createGrant(context(), bob, {
        clientId: 'https://client.example/id',
        clientName: 'a program',
        audience: 'rest',
        asked: ['generations:read'],
        ticked: ['generations:read'],
      });
      const answers = [];
      for (const appId of [foreign.appId, bobs, UNKNOWN, 'x', '%00'])
        answers.push(await ada.get(at('/generations', appId)));
      for (const { status, code, message } of answers)
        expect([status, code, message]).to.deep.equal([404, 'NOT_FOUND', 'There is no such App.']);
    });

    it('every endpoint of a suspended account, in the sentence for it, until it is resumed', async () => {
      await suspendAccount(context(), service.person.accountId);
      for (const { method, path } of PROTECTED)
        expect(await send(ada, method, path, { Origin: service.origin }), path).to.include({
          code: 'DEVELOPER_TOKEN_REVOKED',
          message: 'The account is suspended.',
        });
      await resumeAccount(context(), service.person.accountId);
      expect(await create()).to.include({ status: 202 });
    });
  });

  describe('sees', () => {
    it('the App of the page, those for keys, and those of programs they connected, also once disconnected', async () => {
      const { person } = service;
      await createApp(context(), { accountId: person.accountId, name: 'studio' });
      const { grantId, appId } = await createGrant(context(), person, {
        clientId: 'https://client.example/id',
        clientName: 'a program',
        audience: 'rest',
        asked: ['generations:read'],
        ticked: ['generations:read'],
      });
      const bob = await clientOf(
        service,
        await createPerson(context(), { accountId: person.accountId, email: 'bob@example.com' }),
      );
      const everybodys = ['console: account page', 'keys: studio'];
      expect(await usableNames()).to.deep.equal([...everybodys, 'program: a program']);
      expect(await usableNames(bob)).to.deep.equal(everybodys);
      await disconnect(context(), person.personId, grantId);
      expect(await usableNames()).to.deep.equal([...everybodys, 'program: a program']);
      expect(await ada.get(at('/generations', appId))).to.include({ status: 200 });
    });

    it('what keys of the App have made, and may cancel and delete it', async () => {
      const { defaultKey, appId } = await keyOfAccount();
      const response = await fetch(`${service.origin}/api/v1/developer/generations`, {
        method: 'POST',
        headers: {
          'Authorization': `Bearer ${defaultKey}`,
          'Content-Type': 'application/json',
          'Idempotency-Key': 'one',
        },
        body: JSON.stringify(HELD),
      });
      const { data } = (await response.json()) as { data: Task };
      const path = at(`/generations/${data.generation_id}`, appId);
      expect((await ada.get(at('/generations', appId))).data['generations']).to.have.lengthOf(1);
      expect((await ada.get(at('/generations'))).data['generations']).to.have.lengthOf(0);
      expect(await ada.get(at(`/generations/${data.generation_id}`))).to.include({ code: 'TASK_NOT_FOUND' });
      expect((await ada.post(`${path}/cancel`)).data).to.include({ status: 'cancelled' });
      expect(await ada.send('DELETE', path, { Origin: service.origin })).to.include({ status: 200 });
      expect(await ada.get(path)).to.include({ code: 'GENERATION_JOB_NOT_FOUND' });
    });

    it('what the page was asked for, and never what a program was', async () => {
      const { generation_id: mine } = taskOf(await create({ ...PICTURE, negative_prompt: 'dogs' }));
      expect((await ada.get(`/playground/generations/${mine}/input`)).data['input']).to.deep.equal({
        model_key: 'picture',
        operation: 'image_generation',
        prompt: 'a cat',
        negative_prompt: 'dogs',
        parameters: { size: '96x64', n: 1 },
        references: [],
      });
      const { appId } = await keyOfAccount();
      const { generation_id: others } = taskOf(await create(PICTURE, 'k', ada, appId));
      expect(await ada.get(`/playground/generations/${others}/input`)).to.include({ code: 'TASK_NOT_FOUND' });
    });
  });

  describe('creates', () => {
    it('once, however often a key is sent', async () => {
      const answers = await Promise.all([create(PICTURE, 'same'), create(PICTURE, 'same'), create(PICTURE, 'same')]);
      answers.push(await create(PICTURE, 'same'));
      const ids = answers.filter(({ status }) => status === 202).map((answer) => taskOf(answer).generation_id);
      expect(new Set(ids).size).to.equal(1);
      for (const { status, code } of answers)
        expect([status, code]).to.be.deep.oneOf([
          [202, 'OK'],
          [409, 'IDEMPOTENCY_IN_PROGRESS'],
        ]);
      expect(answers.at(-1)?.headers.get('idempotency-replayed')).to.equal('true');
      expect((await ada.get('/overview')).data['account']).to.include({ available_credits: 990, reserved_credits: 10 });
    });

    it('as themselves: the ledger and the usage name the person', async () => {
      taskOf(await create());
      const { data } = await ada.get(at('/credits/entries'));
      expect((data['entries'] as object[])[0]).to.include({
        kind: 'hold',
        credential_id: service.person.personId,
        credential_name: 'ada@example.com',
      });
      const usage = await ada.get(at('/usage?by=key'));
      expect((usage.data['usage'] as object[])[0]).to.include({ credential_name: 'ada@example.com', generations: 1 });
    });

    it('not without enough credits, and shows how many there are', async () => {
      const dear = { ...PICTURE, parameters: { size: '96x64', n: 4 } };
      for (let index = 0; index < 24; index += 1) taskOf(await create(dear));
      taskOf(await create({ ...PICTURE, parameters: { size: '96x64', n: 2 } }));
      taskOf(await create(PICTURE));
      const refused = await create(dear);
      expect(refused).to.include({ status: 402, code: 'CREDITS_INSUFFICIENT' });
      expect(refused.message).to.include('10 available');
      expect(refused.headers.get('darkroom-credits-available')).to.equal('10');
    });

    it('not with a bad field, which it names by its pointer', async () => {
      const refused = await create({ ...PICTURE, parameters: { size: '96x64', n: 9 } });
      expect(refused).to.include({ status: 422, code: 'FIELD_INVALID' });
      expect(JSON.parse(refused.text)).to.include({ pointer: '/parameters/n' });
      const estimate = await ada.post(at('/generations/estimate'), { ...PICTURE, parameters: {} });
      expect(JSON.parse(estimate.text)).to.include({ pointer: '/parameters/size', code: 'FIELD_REQUIRED' });
    });

    it('within the rates of the API, of which an estimate is a read', async () => {
      const limited = await OAuthHarness.open({}, { limits: { readsPerMinute: 5, writesPerMinute: 2 } });
      try {
        const client = await clientOf(limited, limited.person);
        const { appId } = await consoleApp(limited.harness.context, limited.person.accountId);
        const codes = [];
        for (let index = 0; index < 3; index += 1)
          codes.push((await create(PICTURE, String(index), client, appId)).code);
        expect(codes).to.deep.equal(['OK', 'OK', 'RATE_LIMITED']);
        expect(await client.post(at('/generations/estimate', appId), PICTURE)).to.include({ status: 200 });
      } finally {
        await limited.close();
      }
    });
  });

  describe('follows', () => {
    it('a generation by its events, from the first to the end', async () => {
      const { generation_id: id } = taskOf(await create());
      await service.harness.startWorker();
      const { body } = await stream(at(`/generations/${id}/events`));
      const text = await new Response(body).text();
      const types = [...text.matchAll(/^event: (\w+)$/gm)].map(([, type]) => type);
      expect([types[0], types.at(-1)]).to.deep.equal(['queued', 'ended']);
    });

    it('until the session ends, and not beyond', async () => {
      const { generation_id: id } = taskOf(await create(HELD));
      const other = await clientOf(service, service.person);
      const { body } = await stream(at(`/generations/${id}/events`), other);
      const ended = new Response(body).text();
      const signedIn = await findSession(context(), ada.cookie.split('=')[1] ?? '');
      if (!signedIn) throw new Error('The session is gone.');
      await endOtherSessions(context(), signedIn);
      expect(await ended).to.include('event: queued');
    });

    it('until the account is suspended', async () => {
      const { body } = await stream(at('/events'));
      const ended = new Response(body).text();
      await suspendAccount(context(), service.person.accountId);
      expect(await ended).to.be.a('string');
    });

    const stream = (path: string, client = ada) =>
      fetch(`${service.origin}/console/api${path}`, { headers: { Cookie: client.cookie } });
  });

  it('gets the usage as CSV', async () => {
    taskOf(await create());
    const response = await fetch(`${service.origin}/console/api${at('/usage?by=model')}`, {
      headers: { Cookie: ada.cookie, Accept: 'text/csv' },
    });
    expect(response.headers.get('content-type')).to.include('text/csv');
    expect(await response.text()).to.match(/^model_key,generations.*\r\npicture,1,0,10,0,0\r\n$/);
  });

  const keyOfAccount = async () => {
    const { appId } = await createApp(context(), { accountId: service.person.accountId, name: 'studio' });
    return { appId, defaultKey: (await createKey(context(), { appId, name: 'a key' })).secret };
  };
});
