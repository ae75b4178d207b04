import { expect } from 'chai';
import {
  changePerson,
  createPerson,
  disablePerson,
  enablePerson,
  readEmail,
  resetPerson,
  setPassword,
} from '../../../core/people/manage-people.js';
import type { Person } from '../../../core/people/person.js';
import {
  beginSession,
  endOtherSessions,
  endSession,
  findSession,
  listSessions,
  lookAtSession,
} from '../../../core/people/sessions.js';
import {
  changePassword,
  createSignInLink,
  isLinkUsable,
  linkIdentity,
  noteSignIn,
  personByLink,
  personByPassword,
  renewSignInLink,
} from '../../../core/people/sign-in.js';
import type { PasswordHasher } from '../../../core/ports/machine.js';
import type { PersonStore } from '../../../core/ports/stores.js';
import { codeOf } from '../../fixtures/memory-stores.js';
import { aPerson } from '../../fixtures/stored-records.js';
import { CoreHarness, expectCode } from '../../harness/core-harness.js';

// Goal: people sign in by password or by a link that works once; a session lasts as long as its limits say and ends
// with sign-out, another password, a reset and disabling; no answer reveals whether a person with an address exists.
// Method: the use cases on memory adapters with a clock that the test moves; the hasher counts its work.

const PASSWORD = 'correct horse battery';
const HOUR_MS = 3_600_000;
const BROWSER = { method: 'password', userAgent: 'a browser' } as const;

describe('people', () => {
  let harness: CoreHarness;
  let person: Person;
  const people = () => harness.context;
  const create = (email: string, password?: string) =>
    createPerson(people(), {
      accountId: harness.caller.accountId,
      email,
      ...(password === undefined ? {} : { password }),
    });
  const signIn = (password: string, email = 'ada@example.com') => personByPassword(people(), { email, password });

  beforeEach(async () => {
    harness = await CoreHarness.open();
    person = await create('Ada@Example.com', PASSWORD);
  });

  describe('with a password', () => {
    it('sign in by address and password, in any case of the address', async () => {
      for (const email of ['ada@example.com', ' ADA@EXAMPLE.COM '])
        expect((await signIn(PASSWORD, email))?.personId).to.equal(person.personId);
    });

    it('do not sign in with another password, address, or once they are disabled', async () => {
      expect(await signIn(`${PASSWORD} `)).to.equal(undefined);
      expect(await signIn(PASSWORD, 'bob@example.com')).to.equal(undefined);
      await disablePerson(people(), person.personId);
      expect(await signIn(PASSWORD)).to.equal(undefined);
      await enablePerson(people(), person.personId);
      expect((await signIn(PASSWORD))?.personId).to.equal(person.personId);
    });

    it('are enabled once: enabling them again writes nothing', async () => {
      expect((await enablePerson(people(), person.personId)).version).to.equal(person.version);
      const { version } = await disablePerson(people(), person.personId);
      expect(await enablePerson(people(), person.personId)).to.include({ version: version + 1 });
      expect((await people().people.read(person.personId))?.version).to.equal(version + 1);
    });

    it('are refused after the same work, whatever is wrong', async () => {
      await create('without@example.com');
      const asked: unknown[] = [];
      const counted: PasswordHasher = {
        hash: (password) => harness.context.passwords.hash(password),
        matches: async (password, hash) => {
          asked.push(hash === undefined ? 'no hash' : 'a hash');
          return harness.context.passwords.matches(password, hash);
        },
      };
      const context = { ...people(), passwords: counted };
      for (const email of ['ada@example.com', 'nobody@example.com', 'without@example.com'])
        expect(await personByPassword(context, { email, password: 'wrong password' })).to.equal(undefined);
      expect(asked).to.deep.equal(['a hash', 'no hash', 'no hash']);
    });

    it('type the same text in any sequence of code points', async () => {
      await setPassword(people(), person.personId, 'Ångström-12345');
      expect((await signIn('A\u030angstro\u0308m-12345'))?.personId).to.equal(person.personId);
    });

    it('have a password of 12 to 256 characters', async () => {
      for (const password of ['', 'elevenchars', ' '.repeat(20), 'x'.repeat(257)])
        await expectCode('FIELD_INVALID', setPassword(people(), person.personId, password), password);
      await setPassword(people(), person.personId, '\u{1f3a8}'.repeat(12));
    });
  });

  describe('that an operator makes', () => {
    it('have an address of their own', async () => {
      await expectCode('CONFLICT', create('ADA@example.com'));
      for (const email of [
        '',
        'ada',
        '@example.com',
        'ada@',
        'a b@example.com',
        'a@b@c',
        `${'x'.repeat(250)}@example.com`,
        'a\u0000@b',
      ])
        await expectCode('FIELD_INVALID', create(email), email);
      expect(readEmail(' Grace.Hopper@EXAMPLE.com')).to.equal('grace.hopper@example.com');
    });

    it('belong to an account that exists', async () => {
      const accountId = '01900000-0000-7000-8000-00000000ffff';
      await expectCode('NOT_FOUND', createPerson(people(), { accountId, email: 'x@example.com' }));
    });

    it('keep no password in any record', async () => {
      expect(JSON.stringify(await people().people.read(person.personId))).to.not.include(PASSWORD);
    });
  });

  describe('with a link', () => {
    it('sign in once, of twelve attempts at once', async () => {
      const { secret } = await createSignInLink(people(), person.personId);
      const outcomes = await Promise.all(Array.from({ length: 12 }, () => personByLink(people(), secret)));
      expect(outcomes.filter((found) => found?.personId === person.personId)).to.have.lengthOf(1);
      expect(await personByLink(people(), secret)).to.equal(undefined);
    });

    it('do not use it up by looking at it', async () => {
      const { secret } = await createSignInLink(people(), person.personId);
      for (let looks = 0; looks < 3; looks += 1) expect(await isLinkUsable(people(), secret)).to.equal(true);
      expect((await personByLink(people(), secret))?.personId).to.equal(person.personId);
      expect(await isLinkUsable(people(), secret)).to.equal(false);
    });

    it('do not sign in with one from before a reset or another password', async () => {
      for (const end of [
        () => resetPerson(people(), person.personId),
        () => setPassword(people(), person.personId, 'another password 1'),
      ]) {
        const { secret: early } = await createSignInLink(people(), person.personId);
        await end();
        const { secret: late } = await createSignInLink(people(), person.personId);
        expect(await isLinkUsable(people(), early)).to.equal(false);
        expect(await personByLink(people(), early)).to.equal(undefined);
        expect((await personByLink(people(), late))?.personId).to.equal(person.personId);
      }
    });

    it('have a new one while they never signed in, which ends the earlier one', async () => {
      const invited = await create('invited@example.com');
      const { secret: early } = await createSignInLink(people(), invited.personId);
      const { secret: late, person: renewed } = await renewSignInLink(people(), invited.personId);
      expect(renewed).to.include({ personId: invited.personId, email: 'invited@example.com' });
      expect([await isLinkUsable(people(), early), await personByLink(people(), early)]).to.deep.equal([
        false,
        undefined,
      ]);
      const found = await personByLink(people(), late);
      expect(found?.personId).to.equal(invited.personId);
      if (found) await noteSignIn(people(), found);
      await expectCode('CONFLICT', renewSignInLink(people(), invited.personId));
    });

    it('have no new one if they have a passkey or an identity, are disabled, or do not exist', async () => {
      const withPasskey = await create('key@example.com');
      await changePerson(people(), withPasskey.personId, (one) => ({ ...one, passkeys: aPerson(1).passkeys }));
      const linked = await create('linked@example.com');
      await linkIdentity(people(), linked, { issuer: 'https://id.example', subject: 'linked' });
      const disabled = await create('disabled@example.com');
      await disablePerson(people(), disabled.personId);
      for (const { personId } of [withPasskey, linked, disabled]) {
        const before = await people().people.read(personId);
        await expectCode('CONFLICT', renewSignInLink(people(), personId));
        expect(await people().people.read(personId)).to.deep.equal(before);
      }
      await expectCode('NOT_FOUND', renewSignInLink(people(), '01900000-0000-7000-8000-00000000ffff'));
    });

    it('sign in for half an hour', async () => {
      const { secret, expiresAt } = await createSignInLink(people(), person.personId);
      expect(expiresAt).to.equal(harness.clock.now() + 30 * 60_000);
      harness.clock.jump(30 * 60_000);
      expect([await isLinkUsable(people(), secret), await personByLink(people(), secret)]).to.deep.equal([
        false,
        undefined,
      ]);
    });

    it('do not sign in while they are disabled, nor with the secret of a session', async () => {
      const { secret } = await beginSession(people(), person, BROWSER);
      expect(await personByLink(people(), secret)).to.equal(undefined);
      const link = await createSignInLink(people(), person.personId);
      expect(await findSession(people(), link.secret)).to.equal(undefined);
      await disablePerson(people(), person.personId);
      expect(await personByLink(people(), link.secret)).to.equal(undefined);
    });
  });

  describe('in a session', () => {
    const find = async (secret: string) => (await findSession(people(), secret))?.person.personId;

    it('are known by its secret, of which nothing is stored', async () => {
      const { secret, session } = await beginSession(people(), person, BROWSER);
      expect(secret).to.match(/^[\w-]{43}$/);
      expect(await find(secret)).to.equal(person.personId);
      const stored = await people().artefacts.listOwned('session', person.personId, 10);
      expect(JSON.stringify(stored)).to.not.include(secret);
      expect(stored.map(({ id }) => id)).to.deep.equal([session.sessionId]);
      for (const other of ['', secret.slice(1), session.sessionId]) expect(await find(other)).to.equal(undefined);
    });

    it('are signed out after the idle time, which each use postpones', async () => {
      const { secret } = await beginSession(people(), person, BROWSER);
      for (let uses = 0; uses < 5; uses += 1) {
        harness.clock.jump(11 * HOUR_MS);
        expect(await find(secret), `use ${uses}`).to.equal(person.personId);
      }
      harness.clock.jump(12 * HOUR_MS);
      expect(await find(secret)).to.equal(undefined);
    });

    it('are signed out after the idle time, however often a page that is open looks whether they are', async () => {
      const { secret } = await beginSession(people(), person, BROWSER);
      for (let hours = 0; hours < 11; hours += 1) {
        harness.clock.jump(HOUR_MS);
        expect((await lookAtSession(people(), secret))?.personId, `after ${hours} hours`).to.equal(person.personId);
      }
      harness.clock.jump(HOUR_MS);
      expect(await lookAtSession(people(), secret)).to.equal(undefined);
    });

    it('are signed out after the longest time, however often they use it', async () => {
      const { secret } = await beginSession(people(), person, BROWSER);
      for (let hours = 0; hours < 14 * 24 - 8; hours += 8) {
        expect(await find(secret), `after ${hours} hours`).to.equal(person.personId);
        harness.clock.jump(8 * HOUR_MS);
      }
      harness.clock.jump(8 * HOUR_MS);
      expect(await find(secret)).to.equal(undefined);
    });

    it('write it a few times an hour at most', async () => {
      const { secret } = await beginSession(people(), person, BROWSER);
      let puts = 0;
      const artefacts = new Proxy(people().artefacts, {
        get: (target, name) => {
          if (name === 'put') puts += 1;
          const member = Reflect.get(target, name, target) as unknown;
          return typeof member === 'function' ? member.bind(target) : member;
        },
      });
      for (let minute = 0; minute < 60; minute += 1) {
        harness.clock.jump(60_000);
        expect((await findSession({ ...people(), artefacts }, secret))?.person.personId).to.equal(person.personId);
      }
      expect(puts).to.be.within(1, 3);
    });

    for (const [name, end] of [
      ['another password', (id: string) => setPassword(people(), id, 'another password')],
      ['a reset', (id: string) => resetPerson(people(), id)],
      ['disabling', (id: string) => disablePerson(people(), id)],
    ] as const) {
      it(`are signed out everywhere by ${name}`, async () => {
        const secrets = [await beginSession(people(), person, BROWSER), await beginSession(people(), person, BROWSER)];
        await end(person.personId);
        for (const { secret } of secrets) expect(await find(secret)).to.equal(undefined);
        const now = (await people().people.read(person.personId)) as Person;
        expect(await listSessions(people(), now)).to.deep.equal([]);
      });
    }

    it('sign out of one, and not of those of others', async () => {
      const [first, second] = [
        await beginSession(people(), person, BROWSER),
        await beginSession(people(), person, BROWSER),
      ];
      const other = await create('bob@example.com', PASSWORD);
      await endSession(people(), other, first.session.sessionId);
      expect(await find(first.secret)).to.equal(person.personId);
      await endSession(people(), person, first.session.sessionId);
      expect([await find(first.secret), await find(second.secret)]).to.deep.equal([undefined, person.personId]);
      expect((await listSessions(people(), person)).map(({ sessionId }) => sessionId)).to.deep.equal([
        second.session.sessionId,
      ]);
    });

    it('stay signed out, although a use of it was under way', async () => {
      const { secret, session } = await beginSession(people(), person, BROWSER);
      harness.clock.jump(2 * HOUR_MS);
      const artefacts = new Proxy(people().artefacts, {
        get: (target, name) => {
          const member = Reflect.get(target, name, target) as unknown;
          if (typeof member !== 'function') return member;
          if (name !== 'put') return member.bind(target);
          return async (...args: unknown[]) => {
            await endSession(people(), person, session.sessionId);
            return Reflect.apply(member, target, args) as unknown;
          };
        },
      });
      expect(await findSession({ ...people(), artefacts }, secret)).to.equal(undefined);
      expect(await find(secret)).to.equal(undefined);
    });
  });

  it('have the day of their last sign-in noted, once a day', async () => {
    await noteSignIn(people(), person);
    const noted = (await people().people.read(person.personId)) as Person;
    expect(noted.lastSignInAt).to.equal(Math.floor(harness.clock.now() / 86_400_000) * 86_400_000);
    await noteSignIn(people(), noted);
    expect((await people().people.read(person.personId))?.version).to.equal(noted.version);
  });
});

// Goal: a session that has ended has no effect, not even for a request that started before: it outlives neither a
// password change nor the end of all other sessions, and leaves no other way to sign in.
// Method: the use cases on memory adapters, with the session as it was looked up before it ended.

const EMAIL = 'ada@example.com';

describe('a session that has ended', () => {
  let harness: CoreHarness;
  let person: Person;
  const people = () => harness.context;
  const begin = async () => {
    const current = (await people().people.read(person.personId)) ?? person;
    return beginSession(people(), current, { method: 'password', userAgent: '' });
  };

  beforeEach(async () => {
    harness = await CoreHarness.open();
    const { accountId } = harness.caller;
    person = await createPerson(people(), { accountId, email: EMAIL, password: PASSWORD });
  });

  it('stays the only active one when it ends the others', async () => {
    const [here, there] = [await begin(), await begin()];
    await endOtherSessions(people(), here);
    expect((await findSession(people(), here.secret))?.session.sessionId).to.equal(here.session.sessionId);
    expect(await findSession(people(), there.secret)).to.equal(undefined);
  });

  it('ends the others once only: of two that end each other at once, one stays', async () => {
    const [one, two] = [await begin(), await begin()];
    const codes = await Promise.all([codeOf(endOtherSessions(people(), one)), codeOf(endOtherSessions(people(), two))]);
    expect(codes).to.have.members(['OK', 'SESSION_REQUIRED']);
    const found = await Promise.all([one, two].map(({ secret }) => findSession(people(), secret)));
    expect(found.filter((session) => session !== undefined)).to.have.lengthOf(1);
  });

  const ends: readonly [by: string, end: (stale: Awaited<ReturnType<typeof begin>>) => Promise<unknown>][] = [
    ['another password', () => setPassword(people(), person.personId, 'another password')],
    ['the end of all others', async () => endOtherSessions(people(), await begin())],
    [
      'disabling, also once the person is enabled again',
      async () => {
        await disablePerson(people(), person.personId);
        await enablePerson(people(), person.personId);
      },
    ],
  ];
  for (const [by, end] of ends) {
    it(`by ${by} ends no others and sets no password`, async () => {
      const stale = await begin();
      await end(stale);
      const other = await begin();
      await expectCode('SESSION_REQUIRED', endOtherSessions(people(), stale));
      const change = { current: PASSWORD, next: 'the password of a thief' };
      await expectCode('SESSION_REQUIRED', changePassword(people(), stale, change));
      expect(await findSession(people(), stale.secret)).to.equal(undefined);
      expect((await findSession(people(), other.secret))?.person.personId).to.equal(person.personId);
      expect(await personByPassword(people(), { email: EMAIL, password: change.next })).to.equal(undefined);
    });
  }

  it('ends by sign-out although it has ended the others at that moment', async () => {
    const stale = await begin();
    await endSession(people(), person, stale.session.sessionId);
    await endOtherSessions(people(), stale);
    expect(await findSession(people(), stale.secret)).to.equal(undefined);
  });

  describe('links no outside identity that a reset would leave', () => {
    const identity = { issuer: 'https://identity.example', subject: 'ada' };
    const linked = () => people().people.listIdentities(person.personId);
    const reset = () => resetPerson(people(), person.personId);

    it('when it was linked before', async () => {
      await linkIdentity(people(), person, identity);
      expect(await linked()).to.have.lengthOf(1);
      await reset();
      expect(await linked()).to.deep.equal([]);
    });

    for (const [when, around] of [
      ['just before the reset', (insert: () => Promise<unknown>) => insert().then(reset)],
      ['just after the reset', (insert: () => Promise<unknown>) => reset().then(insert)],
      ['at the same time', (insert: () => Promise<unknown>) => Promise.all([insert(), reset()])],
    ] as const)
      it(`when it is linked ${when}`, async () => {
        const store = people().people;
        const insertIdentity: typeof store.insertIdentity = async (given) => {
          let inserted: Awaited<ReturnType<typeof store.insertIdentity>> = 'exists';
          await around(async () => (inserted = await store.insertIdentity(given)));
          return inserted;
        };
        const racing = { ...people(), people: withInsertion(store, insertIdentity) };
        await expectCode('SESSION_REQUIRED', linkIdentity(racing, person, identity));
        expect(await linked()).to.deep.equal([]);
      });
  });
});

function withInsertion(store: PersonStore, insertIdentity: PersonStore['insertIdentity']): PersonStore {
  return new Proxy(store, {
    get: (target, name: keyof PersonStore) =>
      name === 'insertIdentity' ? insertIdentity : (target[name] as () => unknown).bind(target),
  });
}
