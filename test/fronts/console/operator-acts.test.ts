import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { createAccount, createApp, createKey } from '../../../core/access/manage.js';
import { verifyCredits } from '../../../core/credits/verify.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { createPerson } from '../../../core/people/manage-people.js';
import { demotePerson, requireOperator } from '../../../core/people/operators.js';
import { findSession } from '../../../core/people/sessions.js';
import {
  clientOf,
  type ConsoleClient,
  generate as generateWith,
  makeOperator,
  OperatorHarness,
  stranger,
} from './console-harness.js';

/*
 * Goal: an operator finds accounts, changes them, their credits and people, and looks at and cancels work, in a browser as
 * on the command line; each change and each read of content is in the log before it is answered; money moves once.
 * Method: a whole service over HTTP in this process; the effects are read from its stores, its ledger and its log.
 */

type Records = readonly Readonly<Record<string, unknown>>[];

const UNKNOWN = '00000000-0000-7000-8000-000000000000';
const PROMPT = 'a secret lighthouse';

describe('what operators do in a browser', () => {
  let harness: OperatorHarness;
  let olga: ConsoleClient;
  let accountId: string;
  const context = () => harness.service.harness.context;

  beforeEach(async () => {
    harness = await OperatorHarness.open();
    olga = await harness.signedIn();
    ({ accountId } = harness.service.person);
  });
  afterEach(() => harness.close());

  const listOf = async (path: string, name: string) => {
    const { data, status, message } = await olga.get(`/operator${path}`);
    expect(status, message).to.equal(200);
    return data[name] as Records;
  };
  const post = (path: string, body: object = {}) => olga.post(`/operator${path}`, body);
  const available = async () => (await context().accounts.read(accountId))?.available;
  const generate = async (): Promise<string> => {
    const { appId } = await createApp(context(), { accountId, name: 'an App' });
    const { secret } = await createKey(context(), { appId, name: 'a key' });
    return generateWith(harness.service, secret, PROMPT);
  };
  /** The log of this act: its outcomes, in order. */
  const outcomes = (act: string) => harness.told.filter((told) => told['act'] === act).map(({ outcome }) => outcome);

  describe('with accounts', () => {
    it('lists them in pages, and finds one by everything that names it', async () => {
      for (let index = 0; index < 30; index += 1) await createAccount(context(), { name: `studio ${index}` });
      const first = await olga.get('/operator/accounts');
      expect(first.data['accounts']).to.have.lengthOf(25);
      const rest = await listOf(`/accounts?cursor=${String(first.data['next_cursor'])}`, 'accounts');
      expect(rest).to.have.lengthOf(6);
      const { appId } = await createApp(context(), { accountId, name: 'an App' });
      const { key } = await createKey(context(), { appId, name: 'a key' });
      const generationId = await generate();
      const names = [
        accountId.toUpperCase(),
        appId,
        key.keyId,
        harness.operator.personId,
        generationId,
        ' Ada@example.com ',
        'N ACCOUNT',
      ];
      for (const name of names) {
        const found = await listOf(`/accounts?search=${encodeURIComponent(name)}`, 'accounts');
        expect(
          found.map((one) => one['account_id']),
          name,
        ).to.deep.equal([accountId]);
      }
      for (const name of [UNKNOWN, 'nobody@example.com', 'no such name'])
        expect(await listOf(`/accounts?search=${encodeURIComponent(name)}`, 'accounts'), name).to.deep.equal([]);
      const byPart = await olga.get('/operator/accounts?search=STUDIO');
      expect(byPart.data['accounts']).to.have.lengthOf(25);
      expect(byPart.data).to.have.property('next_cursor');
    });

    it('reads on behind a page of any search, one with a line break, too', async () => {
      // More than are looked at for one page.
      for (let made = 0; made < 2_600; made += 1) await createAccount(context(), { name: 'one of many' });
      const search = `/operator/accounts?search=${encodeURIComponent('two\nlines')}`;
      const first = await olga.get(search);
      expect(first.data).to.deep.include({ accounts: [] }).and.have.property('next_cursor');
      const second = await olga.get(`${search}&cursor=${String(first.data['next_cursor'])}`);
      expect(second).to.deep.include({ status: 200, data: { accounts: [] } });
    });

    it('refuses searches and cursors that no page sends', async () => {
      for (const query of [
        'search=',
        'search=%20',
        `search=${'x'.repeat(255)}`,
        'cursor=there',
        'limit=1',
        'search=a&search=b',
      ])
        expect(await olga.get(`/operator/accounts?${query}`), query).to.include({ status: 422 });
      const { data } = await olga.get('/operator/accounts?search=account');
      expect(data).not.to.have.property('next_cursor');
    });

    it('shows one with its books, storage, Apps, keys, people and newest entries', async () => {
      const generationId = await generate();
      const account = (await olga.get(`/operator/accounts/${accountId}`)).data['account'];
      expect(account).to.include({ account_id: accountId, issued_credits: 1_000, open_holds: 1 });
      const storage = (await olga.get(`/operator/accounts/${accountId}/storage`)).data;
      expect(storage['apps']).to.have.lengthOf(1);
      expect(storage).to.have.keys('uncharged_content', 'thumbnails', 'apps', 'limits');
      const [key] = await listOf(`/accounts/${accountId}/keys`, 'keys');
      expect(key).to.include({ name: 'a key' }).and.not.have.any.keys('digest', 'secret');
      const people = await listOf(`/accounts/${accountId}/people`, 'people');
      expect(people.map(({ email }) => email)).to.have.members(['ada@example.com', 'olga@example.com']);
      const [newest, oldest] = await listOf(`/accounts/${accountId}/entries`, 'entries');
      expect(newest).to.include({ kind: 'hold', generation_id: generationId, credential_name: 'a key' });
      expect(oldest).to.include({ kind: 'grant', credits: 1_000, available_change: 1_000 });
      expect(harness.told).to.deep.equal([]);
    });

    it('erases one, a person or a trace only if that is confirmed, records no text, and shows how far it is', async () => {
      const other = await createAccount(context(), { name: 'Northern studio' });
      const person = await createPerson(context(), { accountId: other.accountId, email: 'eve@example.com' });
      const account = `/accounts/${other.accountId}`;
      const asked = [
        [`${account}/erase-trace`, { client_trace_id: 'order-17' }],
        [`/people/${person.personId}/erase`, {}],
        [`${account}/erase`, {}],
      ] as const;
      for (const [path, body] of asked) {
        for (const unconfirmed of [body, { ...body, is_final: false }])
          expect(await post(path, unconfirmed), path).to.include({ status: 422 });
        const erased = await post(path, { ...body, is_final: true });
        expect(erased, erased.message).to.include({ status: 200 });
        const { erasure_id: id } = erased.data['erasure'] as Readonly<Record<string, string>>;
        const { data } = await olga.get(`/operator/erasures/${id}`);
        expect(data['erasure'])
          .to.include({ erasure_id: id, account_id: other.accountId })
          .and.have.property('requested_at');
      }
      const shown = (await olga.get(`/operator${account}`)).data['account'];
      expect(shown).to.include({ name: 'erased' }).and.have.property('erased_at');
      expect(outcomes('erase an account')).to.deep.equal(['begun', 'done']);
      expect(JSON.stringify(harness.told)).to.not.match(/order-17|eve@|Northern/);
      // The operator's own account has an operator in it.
      expect(await post(`/accounts/${accountId}/erase`, { is_final: true })).to.include({ code: 'CONFLICT' });
    });

    it('creates, renames, suspends and resumes one, and says what became of its open work', async () => {
      const created = (await post('/accounts', { name: ' New ', currency: 'frames' })).data['account'];
      expect(created).to.include({ name: 'New', currency: 'frames' });
      const generationId = await generate();
      expect((await post(`/accounts/${accountId}/rename`, { name: 'Renamed' })).data['account']).to.include({
        name: 'Renamed',
      });
      const { data } = await post(`/accounts/${accountId}/suspend`, { cancel_work: true });
      expect(data['work']).to.deep.equal({ cancelled: 1, stopping: 0, unfinished: 0 });
      expect(await context().generations.read(generationId)).to.include({ status: 'cancelled' });
      expect(data['account']).to.have.property('suspended_at');
      expect((await post(`/accounts/${accountId}/resume`)).data['account']).not.to.have.property('suspended_at');
      for (const act of ['create an account', 'rename an account', 'suspend an account', 'resume an account'])
        expect(outcomes(act), act).to.deep.equal(['begun', 'done']);
    });

    it('creates Apps and keys, and renames Apps', async () => {
      const app = (await post(`/accounts/${accountId}/apps`, { name: 'shop' })).data['app'] as Record<string, unknown>;
      const appId = String(app['app_id']);
      expect(app).to.include({ account_id: accountId, name: 'shop' });
      expect(harness.told.at(-1)).to.include({ act: 'create an App', accountId, appId, outcome: 'done' });
      const renamed = await post(`/apps/${appId}/rename`, { name: 'shop two' });
      expect(renamed.data['app']).to.include({ app_id: appId, name: 'shop two' });
      expect(harness.told.at(-1)).to.include({ act: 'rename an App', accountId, appId, outcome: 'done' });
      expect(await listOf(`/accounts/${accountId}/apps`, 'apps')).to.deep.include(renamed.data['app']);
      const expiry = '2999-01-31T00:00:00.000Z';
      const body = { name: 'till', scopes: ['credits:read'], expires_at: expiry, monthly_cap: 50 };
      const { data, headers } = await post(`/apps/${appId}/keys`, body);
      const secret = String(data['secret']);
      const key = data['key'] as Record<string, unknown>;
      expect(key).to.include({ app_id: appId, name: 'till', expires_at: expiry, monthly_cap: 50 });
      expect(key['scopes']).to.deep.equal(['credits:read']);
      expect(headers.get('cache-control')).to.equal('no-store');
      expect(harness.told.at(-1)).to.include({
        act: 'create a key',
        accountId,
        appId,
        keyId: key['key_id'],
        outcome: 'done',
      });
      const used = await fetch(`${harness.service.origin}/api/v1/developer/credits`, {
        headers: { Authorization: `Bearer ${secret}` },
      });
      expect(used.status).to.equal(200);
      expect((await olga.get(`/operator/accounts/${accountId}/keys`)).text).not.to.include(secret);
      expect(JSON.stringify(harness.told)).not.to.include(secret).and.not.include('till').and.not.include('shop');
    });

    it('refuses Apps and keys that no page asks for', async () => {
      const { appId } = await createApp(context(), { accountId, name: 'an App' });
      for (const body of [
        {},
        { name: '' },
        { name: 'k', scopes: [] },
        { name: 'k', scopes: ['all'] },
        { name: 'k', app_id: appId },
        { name: 'k', expires_at: '2001-01-01T00:00:00Z' },
        { name: 'k', monthly_cap: -1 },
      ])
        expect((await post(`/apps/${appId}/keys`, body)).status, JSON.stringify(body)).to.equal(422);
      expect((await post(`/apps/${randomUUID()}/keys`, { name: 'k' })).status).to.equal(404);
      expect((await post(`/accounts/${randomUUID()}/apps`, { name: 'k' })).status).to.equal(404);
    });

    it('revokes a key', async () => {
      const { appId } = await createApp(context(), { accountId, name: 'an App' });
      const { key } = await createKey(context(), { appId, name: 'a key' });
      expect((await post(`/keys/${key.keyId}/revoke`)).data['key']).to.have.property('revoked_at');
      expect(harness.told.at(-1)).to.include({ act: 'revoke a key', keyId: key.keyId, accountId, outcome: 'done' });
    });
  });

  describe('with credits', () => {
    const grant = (operationId: string, credits = 50, client = olga) =>
      client.post(`/operator/accounts/${accountId}/grants`, {
        operation_id: operationId,
        credits,
        reason: 'an invoice',
      });

    it('grants once, however often the page sends it, also at the same time', async () => {
      const id = randomUUID();
      const answers = await Promise.all(Array.from({ length: 5 }, () => grant(id)));
      expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([200]));
      expect(await available()).to.equal(1_050);
      const again = await grant(id.toUpperCase());
      expect(again.data).to.have.property('earlier_at');
      expect(await available()).to.equal(1_050);
      expect(await grant(id, 51)).to.include({ status: 409, code: 'CONFLICT' });
      expect(await available()).to.equal(1_050);
    });

    it('names the operator in the ledger for good, and clients are not told who it was', async () => {
      const id = randomUUID();
      await grant(id);
      const other = await clientOf(harness.service, await makeOperator(harness.service, 'otto@example.com'), 'passkey');
      await grant(id, 7, other);
      expect(await available()).to.equal(1_057);
      const entries = await listOf(`/accounts/${accountId}/entries`, 'entries');
      expect(entries.slice(0, 2).map(({ operator_email: email }) => email)).to.deep.equal([
        'otto@example.com',
        'olga@example.com',
      ]);
      expect(entries[1]).to.include({
        operation_id: `operator:${harness.operator.personId}:${id}`,
        reason: 'an invoice',
      });
      expect(entries[2]).to.not.have.property('operator_email');
      const { appId } = await createApp(context(), { accountId, name: 'an App' });
      const { secret } = await createKey(context(), { appId, name: 'a key' });
      const { body } = await harness.service.call(secret, '/api/v1/developer/credits/entries');
      expect(JSON.stringify(body)).to.include('an invoice').and.not.include(harness.operator.personId);
    });

    it('adjusts either way, with a reason, and not below zero', async () => {
      const adjust = (credits: number, reason = 'a mistake') =>
        post(`/accounts/${accountId}/adjustments`, { operation_id: randomUUID(), credits, reason });
      expect(await adjust(-1_001)).to.include({ status: 402, code: 'CREDITS_INSUFFICIENT' });
      expect(await adjust(-400)).to.include({ status: 200 });
      expect(await adjust(1)).to.include({ status: 200 });
      expect(await available()).to.equal(601);
      expect(outcomes('adjust credits')).to.deep.equal([
        'begun',
        'CREDITS_INSUFFICIENT',
        'begun',
        'done',
        'begun',
        'done',
      ]);
    });

    it('refuses amounts, reasons and ids that no page sends, before anything starts', async () => {
      const right = { operation_id: randomUUID(), credits: 5, reason: 'r' };
      const wrong: readonly object[] = [
        { ...right, credits: 1.5 },
        { ...right, credits: '5' },
        { ...right, credits: 2 ** 53 },
        { ...right, reason: ' ' },
        { ...right, reason: 'r'.repeat(1_001) },
        { ...right, operation_id: 'mine' },
        { ...right, operator: 'x' },
      ];
      for (const path of ['grants', 'adjustments'])
        for (const body of wrong)
          expect(await post(`/accounts/${accountId}/${path}`, body), JSON.stringify(body)).to.include({ status: 422 });
      expect(harness.told).to.deep.equal([]);
      for (const credits of [0, -5])
        expect(await post(`/accounts/${accountId}/grants`, { ...right, credits })).to.include({ status: 422 });
      expect(await available()).to.equal(1_000);
    });

    it('records who, what and how much before it happens, and no reason', async () => {
      await grant(randomUUID());
      const [begun, done] = harness.told;
      const about = { act: 'grant credits', operatorId: harness.operator.personId, accountId };
      expect(begun).to.include({ ...about, outcome: 'begun' });
      expect(done).to.include({ ...about, outcome: 'done', credits: 50, isRepeated: false });
      expect(done?.['requestId']).to.equal(begun?.['requestId']).and.be.a('string');
      expect(JSON.stringify(harness.told)).not.to.include('an invoice');
    });
  });

  describe('with people', () => {
    it('creates one with a link, which works once and is in no other answer', async () => {
      const { data } = await post(`/accounts/${accountId}/people`, { email: 'New@example.com' });
      const link = String(data['sign_in_link']);
      expect(link).to.match(new RegExp(`^${harness.service.origin}/sign-in/link/`));
      const use = () =>
        fetch(link, { method: 'POST', headers: { Origin: harness.service.origin }, redirect: 'manual' });
      expect((await use()).status).to.equal(303);
      expect((await use()).status).to.equal(410);
      expect((await olga.get(`/operator/accounts/${accountId}/people`)).text).not.to.include('/sign-in/link');
      expect(JSON.stringify(harness.told)).not.to.include('/sign-in/link').and.not.include('new@example.com');
      expect(harness.told.at(-1)).to.include({ act: 'create a person', outcome: 'done', accountId });
      expect(harness.told.at(-1)).to.have.property('personId');
    });

    it('makes a new link for a person who never signed in, and for no other', async () => {
      const { data: created } = await post(`/accounts/${accountId}/people`, { email: 'new@example.com' });
      const { person_id: personId } = created['person'] as { person_id: string };
      const { data, headers } = await post(`/people/${personId}/sign-in-link`);
      expect(headers.get('cache-control')).to.equal('no-store');
      expect(data['person']).to.include({ person_id: personId });
      expect(data).to.have.property('sign_in_link_expires_at');
      expect(harness.told.at(-1)).to.include({ act: 'make a sign-in link', accountId, personId, outcome: 'done' });
      const use = (link: unknown) =>
        fetch(String(link), { method: 'POST', headers: { Origin: harness.service.origin }, redirect: 'manual' });
      expect((await use(created['sign_in_link'])).status).to.equal(410);
      expect((await use(data['sign_in_link'])).status).to.equal(303);
      const refused = await post(`/people/${personId}/sign-in-link`);
      expect(refused).to.include({ status: 409, code: 'CONFLICT' });
      expect(refused.message).to.match(/has signed in before; a reset makes a new link/);
      expect((await post(`/people/${harness.operator.personId}/sign-in-link`)).code).to.equal('CONFLICT');
    });

    it('disables, enables and resets others', async () => {
      const { personId } = harness.service.person;
      const ada = await clientOf(harness.service, harness.service.person);
      expect((await post(`/people/${personId}/disable`)).data['person']).to.have.property('disabled_at');
      expect(await ada.get('/overview')).to.include({ status: 401 });
      expect((await post(`/people/${personId}/enable`)).data['person']).not.to.have.property('disabled_at');
      const { data } = await post(`/people/${personId}/reset`);
      expect(data['person']).to.include({ has_password: false });
      expect(data).to.have.property('sign_in_link');
    });

    it('does not lock themselves out, and takes the rights of another operator away by a reset', async () => {
      for (const act of ['disable', 'reset'])
        expect(await post(`/people/${harness.operator.personId.toUpperCase()}/${act}`)).to.include({
          code: 'CONFLICT',
        });
      const otto = await makeOperator(harness.service, 'otto@example.com');
      const { data } = await post(`/people/${otto.personId}/reset`);
      expect(data['person']).not.to.have.property('operator_since');
    });
  });

  describe('with work', () => {
    it('shows what is open in all accounts, the oldest first, and cancels one', async () => {
      const first = await generate();
      harness.service.harness.clock.advance(60_000);
      const second = await generate();
      const work = await listOf('/work', 'work');
      expect(work.map((one) => one['generation_id'])).to.deep.equal([first, second]);
      expect(work[0]).to.include({ account_id: accountId, account_name: 'an account' });
      expect(work[0]?.['generation']).to.include({ status: 'queued' }).and.not.have.property('prompt');
      expect((await post(`/generations/${first}/cancel`)).data['generation']).to.include({ status: 'cancelled' });
      expect((await listOf('/work', 'work')).map((one) => one['generation_id'])).to.deep.equal([second]);
      expect(harness.told.at(-1)).to.include({ generationId: first, accountId, status: 'cancelled', outcome: 'done' });
    });

    it('shows a hold without a generation, which recovery will end', async () => {
      await context().accountWriter.execute(accountId, {
        kind: 'hold',
        generationId: UNKNOWN,
        credits: 5,
        maxOpenHolds: 10,
        attribution: { credentialId: 'a key', modelKey: 'picture' },
      });
      const [hold] = await listOf('/work', 'work');
      expect(hold).to.include({ generation_id: UNKNOWN, reserved_credits: 5 }).and.not.have.property('generation');
    });

    it('shows a generation without its prompt, and the prompt only with a record of it', async () => {
      const generationId = await generate();
      const { text } = await olga.get(`/operator/generations/${generationId}`);
      expect(text).not.to.include(PROMPT);
      expect(harness.told).to.deep.equal([]);
      expect((await olga.get(`/operator/generations/${generationId}/content`)).data).to.include({ prompt: PROMPT });
      expect(outcomes('read the content of a generation')).to.deep.equal(['begun', 'done']);
      expect(harness.told.at(-1)).to.include({ generationId, accountId, operatorId: harness.operator.personId });
      expect(JSON.stringify(harness.told)).not.to.include(PROMPT);
    });

    it('shows the providers', async () => {
      const [provider] = await listOf('/providers', 'providers');
      expect(provider).to.include({ name: 'canned', circuit: 'closed' });
    });
  });

  it('records an act that failed as failed, with nothing of what the path said but ids', async () => {
    expect(await post('/accounts/nobody%0A/resume')).to.include({ status: 422 });
    expect(await post(`/accounts/${UNKNOWN}/resume`)).to.include({ status: 404 });
    expect(outcomes('resume an account')).to.deep.equal(['begun', 'FIELD_INVALID', 'begun', 'NOT_FOUND']);
    expect(harness.told[0]).not.to.have.property('accountId');
    expect(harness.told[2]).to.include({ accountId: UNKNOWN });
  });

  it('is not open to a person of another account, whatever they name', async () => {
    const eve = await clientOf(harness.service, await stranger(harness.service), 'passkey');
    expect(await eve.get(`/operator/accounts/${accountId}`)).to.include({ code: 'OPERATOR_REQUIRED' });
    const signedIn = await findSession(context(), eve.cookie.split('=')[1] ?? '');
    expect(() => signedIn && requireOperator(context(), signedIn, 'read')).to.throw();
  });
});

/*
 * Goal: an operator checks the books in a browser, which shows the progress and the findings. A process runs one check
 * at a time; the check ends with the connection, the session and the process, and does not block other requests.
 * Method: a whole service over HTTP in this process, whose accounts the test holds back, breaks and counts.
 */

type Said = Readonly<Record<string, unknown>>;

/** Begins a check whose output is read line by line. */
async function beginCheck({ service }: OperatorHarness, { cookie }: ConsoleClient) {
  const leaving = new AbortController();
  const headers = { 'Cookie': cookie, 'Origin': service.origin, 'Content-Type': 'application/json' };
  const at = `${service.origin}/console/api/operator/verify`;
  const response = await fetch(at, { method: 'POST', headers, body: '{}', signal: leaving.signal });
  expect(response.status).to.equal(200);
  const lines = createInterface(Readable.fromWeb(response.body as never))[Symbol.asyncIterator]();
  const next = async () => {
    const { value } = await lines.next();
    return value === undefined ? undefined : (JSON.parse(value) as Said);
  };
  const last = async () => {
    let said: Said = {};
    for (let line = await next(); line !== undefined; line = await next()) said = line;
    return said;
  };
  return { next, last, leave: () => leaving.abort() };
}

describe('the check of the books in a browser', () => {
  let harness: OperatorHarness;
  let olga: ConsoleClient;
  beforeEach(async () => {
    harness = await OperatorHarness.open();
    olga = await harness.signedIn();
  });
  afterEach(() => harness.close());

  const begin = () => beginCheck(harness, olga);
  const store = () => harness.service.harness.context.accounts;
  /** Holds each page of accounts back until it is released. */
  const held = (): { readonly letGo: () => void } => {
    let letGo: () => void = () => undefined;
    const waiting = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const list = store().list.bind(store());
    store().list = async (page, call) => {
      await waiting;
      return list(page, call);
    };
    return { letGo };
  };
  const stopped = async (): Promise<void> => {
    while (!harness.told.some(({ outcome }) => outcome === 'stopped')) await olga.get('/overview');
  };

  it('reports that all is right, what it checked, and the same as the command', async () => {
    const last = await (await begin()).last();
    expect(last).to.deep.equal({ ...(await verifyCredits(harness.service.harness.context)) });
    expect(last).to.include({ accounts: 1, entries: 1 }).and.deep.include({ findings: [] });
    const outcomes = harness.told.map(({ outcome }) => outcome);
    expect(outcomes).to.deep.equal(['begun', 'done']);
    expect(harness.told[1]).to.include({ accounts: 1, findings: 0 });
  });

  it('reports what is wrong', async () => {
    const read = store().read.bind(store()) as (...given: unknown[]) => Promise<{ readonly spent: number } | null>;
    store().read = (async (...given: unknown[]) => {
      const account = await read(...given);
      return account === null ? null : { ...account, spent: account.spent + 1 };
    }) as never;
    const { findings } = await (await begin()).last();
    expect(findings).to.be.an('array').with.lengthOf.at.least(1);
  });

  it('reports that it could not continue, and is free again', async () => {
    const list = store().list.bind(store());
    store().list = () => Promise.reject(new StoreUnavailable('The store is away.'));
    expect(await (await begin()).last()).to.include({ fault: 'The service cannot answer right now.' });
    expect(harness.told.at(-1)).to.include({ outcome: 'SERVICE_UNAVAILABLE' });
    store().list = list;
    expect(await (await begin()).last()).to.have.property('findings');
  });

  it('is made once at a time in a process, and again afterwards', async () => {
    const { letGo } = held();
    const first = await begin();
    expect(await first.next()).to.deep.equal({ accounts: 0, entries: 0, generations: 0 });
    expect(await olga.post('/operator/verify')).to.include({ status: 409, code: 'CONFLICT' });
    letGo();
    expect(await first.last()).to.have.property('findings');
    expect(await (await begin()).last()).to.have.property('findings');
  });

  it('ends when the page is left, and frees its place', async () => {
    const { letGo } = held();
    const left = await begin();
    await left.next();
    left.leave();
    await stopped();
    letGo();
    expect(await (await begin()).last()).to.have.property('findings');
  });

  it('ends when the operator is one no more', async () => {
    const { letGo } = held();
    const listening = await begin();
    await demotePerson(harness.service.harness.context, harness.operator.personId);
    await listening.next();
    await listening.next();
    letGo();
    expect(await listening.last()).to.deep.include({ is_stopped: true });
  });

  it('yields to other requests between two pages of what it reads', async () => {
    for (let index = 0; index < 40; index += 1)
      await createAccount(harness.service.harness.context, { name: 'one of many' });
    let pages = 0;
    const seen: number[] = [];
    const entries = store().entries.bind(store());
    store().entries = async (...given) => {
      pages += 1;
      return entries(...given);
    };
    const listening = await begin();
    const ended = listening.last();
    while (!harness.told.some(({ outcome }) => outcome === 'done')) {
      await olga.get('/overview');
      if (seen.at(-1) !== pages) seen.push(pages);
    }
    expect(await ended).to.include({ accounts: 41 });
    expect(seen.length).to.be.at.least(3);
  });
});
