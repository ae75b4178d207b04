/*
 * Goal: every page and every operation of the operator's area is for operators alone, after a sign-in with a passkey, a
 * recent one for changes, from a page of the service; if the area is disabled, none of it exists.
 * Method: a whole service over HTTP in this process; every operation of the table, requested by every kind of client
 * that lacks access.
 */
import { expect } from 'chai';
import { OPERATOR_OPERATIONS, OPERATOR_PAGES } from '../../../apps/http/console/operator/routes.js';
import { demotePerson } from '../../../core/people/operators.js';
import type { SignInMethod } from '../../../core/people/sessions.js';
import type { CatalogSource, ReadCatalog } from '../../../core/ports/catalog.js';
import { clientOf, type ConsoleAnswer, ConsoleClient, OperatorHarness } from './console-harness.js';

const UNKNOWN = '00000000-0000-7000-8000-000000000000';
const RECENT_MS = 15 * 60_000;
const CREDITS = { operation_id: UNKNOWN, credits: 1, reason: 'a test' };

/** The body that a page would send, by the path of the change. */
const BODIES: Readonly<Record<string, object>> = {
  '/accounts': { name: 'new' },
  '/accounts/:account_id/suspend': { cancel_work: false },
  '/accounts/:account_id/rename': { name: 'other' },
  '/accounts/:account_id/grants': CREDITS,
  '/accounts/:account_id/adjustments': CREDITS,
  '/accounts/:account_id/apps': { name: 'new' },
  '/apps/:app_id/rename': { name: 'other' },
  '/apps/:app_id/keys': { name: 'new' },
  '/accounts/:account_id/people': { email: 'new@example.com' },
  '/accounts/:account_id/erase': { is_final: true },
  '/accounts/:account_id/erase-trace': { client_trace_id: 'order-17', is_final: true },
  '/people/:person_id/erase': { is_final: true },
};

const READING: ReadCatalog = { models: [], text: '', readAt: 0 };
const SOURCE: CatalogSource = {
  name: 'catalog.yaml',
  inUse: () => READING,
  read: () => Promise.resolve(READING),
  reload: () => Promise.resolve(READING),
};

const OTHER_METHODS: readonly SignInMethod[] = ['password', 'link', 'provider'];
type Operation = (typeof OPERATOR_OPERATIONS)[number];

const nameOf = ({ method, path }: Operation) => `${method} ${path}`;
const addressOf = (path: string) => `/operator${path.replaceAll(/:\w+/g, UNKNOWN)}`;
const ask = (client: ConsoleClient, { method, path }: Operation): Promise<ConsoleAnswer> =>
  method === 'GET' ? client.get(addressOf(path)) : client.post(addressOf(path), BODIES[path] ?? {});

describe("access to the operator's area", () => {
  let harness: OperatorHarness;
  afterEach(() => harness.close());

  /** Expects this refusal of every operation for this client, and that none has started. */
  const expectRefused = async (
    client: ConsoleClient,
    code: string,
    operations = OPERATOR_OPERATIONS,
  ): Promise<void> => {
    for (const operation of operations) expect((await ask(client, operation)).code, nameOf(operation)).to.equal(code);
    expect(harness.told).to.deep.equal([]);
  };

  describe('where it is on', () => {
    beforeEach(async () => {
      harness = await OperatorHarness.open(true, { catalogSource: SOURCE });
    });

    it('is given to an operator who has signed in with a passkey: each operation answers of what it was asked', async () => {
      const operator = await harness.signedIn();
      for (const operation of OPERATOR_OPERATIONS) {
        if (operation.path === '/verify') continue;
        const { code, status } = await ask(operator, operation);
        const isOfNothing = operation.path.includes(':');
        expect([status, code], nameOf(operation)).to.deep.equal(isOfNothing ? [404, 'NOT_FOUND'] : [200, 'OK']);
      }
    });

    it('is refused without a session', () =>
      expectRefused(new ConsoleClient(harness.service.origin, ''), 'SESSION_REQUIRED'));

    it('is refused to people who are not operators, however they have signed in', async () => {
      for (const method of ['passkey', 'password'] as const)
        await expectRefused(await clientOf(harness.service, harness.service.person, method), 'OPERATOR_REQUIRED');
    });

    it('is refused to an operator who has signed in another way than with a passkey', async () => {
      for (const method of OTHER_METHODS) {
        await expectRefused(await clientOf(harness.service, harness.operator, method), 'PASSKEY_SIGN_IN_REQUIRED');
        // One person may send so many changes per minute and no more.
        await harness.close();
        harness = await OperatorHarness.open(true, { catalogSource: SOURCE });
      }
    });

    it('refuses changes of an operator who signed in more than 15 minutes ago, and still shows things', async () => {
      const operator = await harness.signedIn();
      harness.service.harness.clock.advance(RECENT_MS + 1_000);
      const changes = OPERATOR_OPERATIONS.filter(({ method }) => method === 'POST');
      expect(changes.length).to.be.at.least(12);
      await expectRefused(operator, 'RECENT_SIGN_IN_REQUIRED', changes);
      expect(await operator.get('/operator/accounts')).to.include({ status: 200 });
    });

    it('is refused at once to an operator who was demoted', async () => {
      const operator = await harness.signedIn();
      await demotePerson(harness.service.harness.context, harness.operator.personId);
      await expectRefused(operator, 'OPERATOR_REQUIRED');
    });

    it('refuses changes from a page of another origin, or in a type that a form can send', async () => {
      const operator = await harness.signedIn();
      const changes = OPERATOR_OPERATIONS.filter(({ method }) => method === 'POST');
      const types = ['text/plain', 'application/x-www-form-urlencoded', ''];
      for (const [index, { path }] of changes.entries()) {
        const body = BODIES[path] ?? {};
        for (const origin of ['https://evil.example', 'null', ''])
          expect(await operator.post(addressOf(path), body, { Origin: origin }), path).to.include({
            code: 'ORIGIN_REFUSED',
          });
        // One of the types each, as one person may send so many changes per minute and no more.
        const type = types[index % types.length] ?? '';
        expect(await operator.post(addressOf(path), body, { 'Content-Type': type }), path).to.include({
          status: 415,
        });
      }
      expect(harness.told).to.deep.equal([]);
    });

    it('records no reading of a prompt that a link on another page asked for', async () => {
      const operator = await harness.signedIn();
      const read = OPERATOR_OPERATIONS.filter(({ readsContent }) => readsContent);
      expect(read).to.have.lengthOf.at.least(1);
      for (const { path } of read)
        for (const site of ['cross-site', 'same-site', 'none', ''])
          expect(await operator.get(addressOf(path), { 'Sec-Fetch-Site': site }), path).to.include({
            code: 'ORIGIN_REFUSED',
          });
      expect(harness.told).to.deep.equal([]);
    });

    it('makes nobody an operator', async () => {
      const { context } = harness.service.harness;
      const { person } = harness.service;
      const operator = await harness.signedIn();
      for (const path of ['promote', 'demote'])
        expect(await operator.post(`/operator/people/${person.personId}/${path}`)).to.include({
          code: 'ROUTE_NOT_FOUND',
        });
      const sent = { email: 'eve@example.com', operatorSince: 1 };
      expect(await operator.post(`/operator/accounts/${person.accountId}/people`, sent)).to.include({ status: 422 });
      for (const { method, path } of OPERATOR_OPERATIONS)
        if (method === 'POST' && path.startsWith('/people/'))
          await operator.post(`/operator${path.replace(':person_id', person.personId)}`);
      expect(await context.people.read(person.personId)).not.to.have.property('operatorSince');
    });

    it('has pages that lead visitors to sign in, and that people who are not operators cannot find', async () => {
      const statusesFor = async (cookie: string) =>
        Promise.all(
          OPERATOR_PAGES.map(async (path) => {
            const at = `${harness.service.origin}/console${path.replaceAll(/:\w+/g, UNKNOWN)}`;
            return (await fetch(at, { headers: { Cookie: cookie }, redirect: 'manual' })).status;
          }),
        );
      const each = (status: number) => OPERATOR_PAGES.map(() => status);
      const ordinary = await clientOf(harness.service, harness.service.person, 'passkey');
      // The page tells an operator who has signed in another way what is missing.
      const byPassword = await clientOf(harness.service, harness.operator, 'password');
      expect(await statusesFor('')).to.deep.equal(each(303));
      expect(await statusesFor(ordinary.cookie)).to.deep.equal(each(404));
      expect(await statusesFor(byPassword.cookie)).to.deep.equal(each(200));
      expect(await statusesFor((await harness.signedIn()).cookie)).to.deep.equal(each(200));
    });

    it('is listed in the overview, for operators alone', async () => {
      const about = async (client: ConsoleClient) => (await client.get('/overview')).data['has_operator_area'];
      expect(await about(await harness.signedIn())).to.equal(true);
      expect(await about(await clientOf(harness.service, harness.service.person))).to.equal(false);
    });
  });

  describe('where it is off', () => {
    beforeEach(async () => {
      harness = await OperatorHarness.open(false);
    });

    it('is unknown: pages and operations, also to an operator', async () => {
      const operator = await harness.signedIn();
      await expectRefused(operator, 'ROUTE_NOT_FOUND');
      for (const path of OPERATOR_PAGES) {
        const at = `${harness.service.origin}/console${path.replaceAll(/:\w+/g, UNKNOWN)}`;
        expect((await fetch(at, { headers: { Cookie: operator.cookie } })).status, path).to.equal(404);
      }
      expect((await operator.get('/overview')).data['has_operator_area']).to.equal(false);
    });
  });
});
