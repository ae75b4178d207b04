// Goal: a session that has ended does nothing any more, also for a request that had begun before: it neither outlives another
// password nor the end of all sessions but one, nor leaves another way to sign in.
// Method: the use cases on memory adapters, with the session as it was looked up before it ended.
import { expect } from 'chai';
import {
  createPerson,
  disablePerson,
  enablePerson,
  resetPerson,
  setPassword,
} from '../../../core/people/manage-people.js';
import type { Person } from '../../../core/people/person.js';
import { beginSession, endOtherSessions, endSession, findSession } from '../../../core/people/sessions.js';
import { changePassword, linkIdentity, personByPassword } from '../../../core/people/sign-in.js';
import type { PersonStore } from '../../../core/ports/stores.js';
import { codeOf } from '../../fixtures/refusals.js';
import { CoreHarness } from '../../harness/core-harness.js';

const PASSWORD = 'correct horse battery';
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

  it('stays the only one that goes on when it ends the others', async () => {
    const [here, there] = [await begin(), await begin()];
    await endOtherSessions(people(), here);
    expect((await findSession(people(), here.secret))?.session.sessionId).to.equal(here.session.sessionId);
    expect(await findSession(people(), there.secret)).to.equal(undefined);
  });

  it('ends the others once only: of two that end each other at once, one goes on', async () => {
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
      expect(await codeOf(endOtherSessions(people(), stale))).to.equal('SESSION_REQUIRED');
      const change = { current: PASSWORD, next: 'the password of a thief' };
      expect(await codeOf(changePassword(people(), stale, change))).to.equal('SESSION_REQUIRED');
      expect(await findSession(people(), stale.secret)).to.equal(undefined);
      expect((await findSession(people(), other.secret))?.person.personId).to.equal(person.personId);
      expect(await personByPassword(people(), { email: EMAIL, password: change.next })).to.equal(undefined);
    });
  }

  it('by sign-out does not go on because it has ended the others at that moment', async () => {
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
        expect(await codeOf(linkIdentity(racing, person, identity))).to.equal('SESSION_REQUIRED');
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
