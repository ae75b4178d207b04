import { expect } from 'chai';
import fc from 'fast-check';
import { SCOPES } from '../../../core/access/credential.js';
import {
  askedScopes,
  createGrant,
  disconnect,
  findAccessToken,
  findLivingGrant,
  listAccountGrants,
  listGrants,
  shownName,
} from '../../../core/people/grants.js';
import {
  createPerson,
  disablePerson,
  enablePerson,
  resetPerson,
  setPassword,
} from '../../../core/people/manage-people.js';
import type { Person } from '../../../core/people/person.js';
import { endOtherSessions, beginSession } from '../../../core/people/sessions.js';
import { MAX_FURTHER_EXCHANGES, exchangeRefreshToken, REFRESH_GRACE_MS } from '../../../core/people/refresh-tokens.js';
import { issueToken } from '../../fixtures/access-tokens.js';
import { CoreHarness, expectCode } from '../../harness/core-harness.js';
import { forAll, forAllSync } from '../../harness/for-all.js';

/*
 * Goal: a program may do what it asked for and its person ticked, and never more; it is disconnected with a reset and
 * another password, whatever happens at the same time; its name cannot mislead.
 * Method: the use cases on memory adapters; properties compare with sets, and with a count of what was exchanged.
 */

const PASSWORD = 'correct horse battery';
const DAY_MS = 86_400_000;

describe('grants', () => {
  let harness: CoreHarness;
  let ada: Person;
  const ports = () => harness.context;
  const current = async () => (await ports().people.read(ada.personId)) as Person;
  beforeEach(async () => {
    harness = await CoreHarness.open();
    ada = await createPerson(ports(), {
      accountId: harness.caller.accountId,
      email: 'ada@example.com',
      password: PASSWORD,
    });
  });

  it('have the scopes that were asked for and ticked, and their tokens have no others', async () => {
    const some = fc.subarray(['credits:read', 'generations:read', 'generations:write', 'uploads:write', 'openid', 'x']);
    await forAll(100, [some, some, some], async (named, ticked, ofToken) => {
      const asked = askedScopes(named.join(' ')).scopes;
      const known = named.filter((one) => one.includes(':'));
      const isDefault = known.length === 0;
      expect([...asked].toSorted()).to.deep.equal(
        isDefault ? SCOPES.filter((one) => one !== 'webhooks:manage').toSorted() : known.toSorted(),
      );
      const expected = ticked.filter((one) => (asked as readonly string[]).includes(one));
      const wanted = { clientId: 'c', clientName: 'c', audience: 'rest', asked, ticked } as const;
      if (expected.length === 0) return expectCode('FIELD_INVALID', createGrant(ports(), ada, wanted));
      expect((await createGrant(ports(), ada, wanted)).scopes).to.have.members(expected);
      const { secret } = await issueToken(ports(), ada, { clientId: 'c', scopes: asked, ticked, ofToken });
      const found = await findAccessToken(ports(), secret);
      expect(found?.scopes).to.have.members(expected.filter((one) => ofToken.includes(one)));
    });
  });

  for (const [name, end] of [
    ['a reset', () => resetPerson(ports(), ada.personId)],
    ['another password', () => setPassword(ports(), ada.personId, 'another password')],
  ] as const)
    describe(`end with ${name}`, () => {
      it('with their tokens, and stay ended', async () => {
        const { secret, grant } = await issueToken(ports(), ada, { clientId: 'c', scopes: ['credits:read'] });
        await end();
        expect((await findAccessToken(ports(), secret))?.isRevoked).to.equal(true);
        expect(await findLivingGrant(ports(), grant.grantId)).to.equal(undefined);
        expect(await listGrants(ports(), await current())).to.deep.equal([]);
        await end();
        await enablePerson(ports(), ada.personId);
        expect((await findAccessToken(ports(), secret))?.isRevoked).to.equal(true);
      });

      it('also those that a session of before allows meanwhile', async () => {
        const before = await current();
        await end();
        const { secret, grant } = await issueToken(ports(), before, { clientId: 'c', scopes: ['credits:read'] });
        expect((await findAccessToken(ports(), secret))?.isRevoked).to.equal(true);
        expect(await findLivingGrant(ports(), grant.grantId)).to.equal(undefined);
      });

      it('and later ones live, as do those of other people', async () => {
        const bob = await createPerson(ports(), { accountId: ada.accountId, email: 'bob@example.com' });
        const bobs = await issueToken(ports(), bob, { clientId: 'c', scopes: ['credits:read'] });
        await end();
        const next = await issueToken(ports(), await current(), { clientId: 'c', scopes: ['credits:read'] });
        for (const { secret } of [bobs, next])
          expect((await findAccessToken(ports(), secret))?.isRevoked).to.equal(false);
        const listed = await listAccountGrants(ports(), ada.accountId);
        expect(listed.map(({ person: { email } }) => email)).to.have.members(['ada@example.com', 'bob@example.com']);
      });
    });

  it('outlive the end of all other sessions', async () => {
    const { secret } = await issueToken(ports(), ada, { clientId: 'c', scopes: ['credits:read'] });
    await endOtherSessions(ports(), await beginSession(ports(), ada, { method: 'password', userAgent: '' }));
    expect((await findAccessToken(ports(), secret))?.isRevoked).to.equal(false);
  });

  it('of all people of an account are listed with their person, and without those that cannot be used', async () => {
    const people = [ada];
    for (let number = 0; number < 120; number += 1)
      people.push(await createPerson(ports(), { accountId: ada.accountId, email: `p${number}@example.com` }));
    for (const person of people) await issueToken(ports(), person, { clientId: 'c', scopes: ['credits:read'] });
    expect(await listAccountGrants(ports(), ada.accountId)).to.have.lengthOf(121);
    await disablePerson(ports(), ada.personId);
    const [, second] = people;
    const [grant] = await listGrants(ports(), second as Person);
    await disconnect(ports(), (second as Person).personId, grant?.grantId ?? '');
    const emails = (await listAccountGrants(ports(), ada.accountId)).map(({ person: { email } }) => email);
    expect(emails).to.have.lengthOf(119).and.not.include.members(['ada@example.com']);
    harness.clock.jump(ports().settings.grantIdleMs + DAY_MS);
    expect(await listAccountGrants(ports(), ada.accountId)).to.deep.equal([]);
  });
});

/** The start of a text, with what a terminal would interpret as escapes. */
const printable = (text: string): string =>
  encodeURIComponent(text.slice(0, 12).replaceAll(/\p{Surrogate}/gu, '?')).replaceAll('%20', ' ');

describe('the name of a program', () => {
  for (const [sent, shown] of [
    ['Studio', 'Studio'],
    ['  a\r\n\tb  ', 'a b'],
    ['a\u2028b\u2029c\u0085d', 'a b c d'],
    ['evil\u202Egnp.exe', 'evilgnp.exe'],
    ['\u2066a\u2069\u200B\u200D\uFEFF\u00ADb', 'ab'],
    ['a\u0000\u001B[31mb', 'a [31mb'],
    ['\u{E0041}\u{E0042}x', 'x'],
    ['\u3164\u115F\u200F', 'unnamed program'],
    ['', 'unnamed program'],
    ['\uD800', 'unnamed program'],
    ['\u{1F3A8}'.repeat(100), '\u{1F3A8}'.repeat(50)],
    [`x${'\u{1F3A8}'.repeat(100)}`, `x${'\u{1F3A8}'.repeat(49)}`],
    ['é'.repeat(300), 'é'.repeat(100)],
  ] as const)
    it(`${printable(sent)} is shown as ${printable(shown)}`, () => {
      expect(shownName(sent)).to.equal(shown);
    });

  it('is one line of 1 to 100 visible characters, whatever the program sends', () => {
    forAllSync(200, [fc.string({ unit: 'binary', maxLength: 300 })], (sent) => {
      expect(shownName(sent)).to.match(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]{1,100}$/u);
    });
  });
});

/*
 * Goal: a refresh token is exchanged at most four times in its grace, by all processes together; any other exchange ends
 * the family, and afterwards nothing of it can be exchanged.
 * Method: random schedules of exchanges in three processes, whose every call of the store is a step, on one store.
 */
describe('families of refresh tokens', () => {
  let harness: CoreHarness;
  const ports = () => harness.context;
  const kind = 'refresh-token';
  const put = (id: string, group: string) =>
    ports().artefacts.put({
      kind,
      id,
      group,
      data: {},
      createdAt: ports().clock.now(),
      expiresAt: ports().clock.now() + DAY_MS,
      removeAt: ports().clock.now() + 2 * DAY_MS,
    });
  beforeEach(async () => {
    harness = await CoreHarness.open();
  });

  it('let four exchanges of one token through, in any order of the calls of three processes', async () => {
    let families = 0;
    await forAll(200, [fc.integer({ min: 1, max: 9 }), fc.scheduler()], async (times, scheduler) => {
      const family = `family-${(families += 1)}`;
      await put(family, family);
      const artefacts = new Proxy(ports().artefacts, {
        get: (target, name: 'find' | 'put' | 'consume') => {
          const method = target[name].bind(target) as (...given: unknown[]) => Promise<unknown>;
          return (...given: unknown[]) => scheduler.schedule(Promise.resolve(), name).then(() => method(...given));
        },
      });
      const exchanges = Array.from({ length: times }, () => exchangeRefreshToken({ ...ports(), artefacts }, family));
      const outcomes = await scheduler.waitFor(Promise.all(exchanges));
      const exchanged = outcomes.filter((outcome) => outcome === 'exchanged').length;
      const most = 1 + MAX_FURTHER_EXCHANGES;
      if (times <= most) expect(exchanged).to.equal(times);
      else expect(exchanged).to.be.within(1, most);
      const left = await ports().artefacts.find({ kind, id: family });
      expect(left?.endedAt !== undefined, 'the family has ended').to.equal(times > most);
    });
  });

  it('end with an exchange after the grace, and refuse every later one of any of their tokens', async () => {
    for (const id of ['first', 'second']) await put(id, 'one');
    await put('other', 'another');
    expect(await exchangeRefreshToken(ports(), 'first')).to.equal('exchanged');
    harness.clock.jump(REFRESH_GRACE_MS);
    expect(await exchangeRefreshToken(ports(), 'first'), 'at the end of the grace').to.equal('exchanged');
    harness.clock.jump(1);
    for (const id of ['first', 'second', 'none']) expect(await exchangeRefreshToken(ports(), id)).to.equal('refused');
    expect(await exchangeRefreshToken(ports(), 'other')).to.equal('exchanged');
  });

  it('count the exchanges of each token alone', async () => {
    for (const id of ['first', 'second']) await put(id, 'one');
    for (let number = 0; number <= MAX_FURTHER_EXCHANGES; number += 1)
      for (const id of ['first', 'second']) expect(await exchangeRefreshToken(ports(), id)).to.equal('exchanged');
    expect(await exchangeRefreshToken(ports(), 'first')).to.equal('refused');
    expect(await exchangeRefreshToken(ports(), 'second')).to.equal('refused');
  });
});
