// Goal: every person store keeps people whole, finds them by id and address, guards them by version, and lets no two
// people have one e-mail address or one outside identity.
// Method: failure cases one by one, concurrent writers, and lists read in pages of every size.
import { expect } from 'chai';
import fc from 'fast-check';
import type { Person } from '../../core/people/person.js';
import type { PersonStore } from '../../core/ports/stores.js';
import { aPerson, uuidAt } from '../fixtures/stored-records.js';
import { endedCalls } from './ended-calls.js';
import { contract, type ContractSubject } from './subject.js';
import { allPages } from './versioned-records.js';
import { forAll } from '../harness/for-all.js';

const identity = (subject: string, n = 1, issuer = 'https://id.example') => ({
  issuer,
  subject,
  personId: uuidAt(n),
  linkedAt: 5 + n,
});

export function personStoreContract(subject: ContractSubject<PersonStore>): void {
  contract('PersonStore contract', subject, (store) => {
    describe('people', () => people(store));
    describe('replaced people', () => replaced(store));
    describe('outside identities', () => identities(store));
    describe('reads for a call', () =>
      endedCalls(async () => {
        await store().insert(aPerson(1));
        return {
          read: (call) => store().read(uuidAt(1), call),
          list: (call) => store().list(uuidAt(1), { limit: 5 }, call),
        };
      }));
  });
}

function people(store: () => PersonStore): void {
  it('are removed from the version that was read, and leave their address to another', async () => {
    await store().insert(aPerson(1));
    await store().insert(aPerson(2));
    const { version, email } = aPerson(1);
    expect(await store().remove(uuidAt(1), version + 1)).to.equal('conflict');
    expect(await store().remove(uuidAt(3), version)).to.equal('conflict');
    expect(await store().remove(uuidAt(1), version)).to.equal('applied');
    expect([await store().read(uuidAt(1)), await store().findByEmail(email)]).to.deep.equal([null, null]);
    expect((await store().list(aPerson(1).accountId, { limit: 5 })).items).to.deep.equal([aPerson(2)]);
    expect(await store().insert({ ...aPerson(3), email })).to.equal('created');
    expect((await store().findByEmail(email))?.personId).to.equal(uuidAt(3));
  });

  it('are found by id and address, every field of them', async () => {
    const {
      disabledAt: _disabled,
      password: _password,
      lastSignInAt: _last,
      operatorSince: _since,
      ...bare
    } = aPerson(2);
    for (const person of [aPerson(1), { ...bare, passkeys: [] }]) {
      expect(await store().insert(person)).to.equal('created');
      expect(await store().read(person.personId)).to.deep.equal(person);
      expect(await store().findByEmail(person.email)).to.deep.equal(person);
    }
  });

  it('are not found by anything else', async () => {
    await store().insert(aPerson(1));
    for (const id of [uuidAt(2), '', 'x', uuidAt(1).replaceAll('-', '')]) expect(await store().read(id)).to.equal(null);
    for (const email of ['', 'x', aPerson(1).email.toUpperCase()])
      expect(await store().findByEmail(email)).to.equal(null);
  });

  it('have an id and an address that no other person has', async () => {
    await store().insert(aPerson(1));
    expect(await store().insert(aPerson(1, { email: 'other@example.com' }))).to.equal('exists');
    expect(await store().insert(aPerson(2, { email: aPerson(1).email }))).to.equal('exists');
    expect(await store().read(uuidAt(2))).to.equal(null);
    expect(await store().read(uuidAt(1))).to.deep.equal(aPerson(1));
  });

  it('let one of 32 concurrent inserts of one address win', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 32 }, (_, n) => store().insert(aPerson(n + 1, { email: 'one@example.com' }))),
    );
    expect(outcomes.filter((outcome) => outcome === 'created')).to.have.length(1);
  });

  it('are listed by account in order of id, complete, in pages of any size', async () => {
    const inserted = [5, 3, 9, 1, 7].map((n) => aPerson(n));
    for (const person of [...inserted, aPerson(4, { accountId: uuidAt(100) })]) await store().insert(person);
    const expected = inserted.toSorted((a, b) => (a.personId < b.personId ? -1 : 1));
    await forAll(12, [fc.integer({ min: 1, max: 6 })], async (limit) => {
      expect(await allPages((page) => store().list(uuidAt(1), page), limit)).to.deep.equal(expected);
    });
    expect(await store().list(uuidAt(101), { limit: 5 })).to.deep.equal({ items: [] });
  });
}

function replaced(store: () => PersonStore): void {
  it('are not made by a replacement', async () => {
    expect(await store().replace(aPerson(1, { version: 1 }), 0)).to.equal('conflict');
    expect(await store().read(uuidAt(1))).to.equal(null);
  });

  it('are replaced from the version that was read, and no other', async () => {
    await store().insert(aPerson(1, { version: 3 }));
    for (const version of [2, 4])
      expect(await store().replace(aPerson(1, { version: 5 }), version)).to.equal('conflict');
    expect(await store().read(uuidAt(1))).to.deep.equal(aPerson(1, { version: 3 }));
  });

  it('are an operator from one replacement to another', async () => {
    const { operatorSince, ...bare } = aPerson(1);
    await store().insert(bare);
    for (const next of [
      { ...bare, operatorSince, version: 1 },
      { ...bare, version: 2 },
    ]) {
      expect(await store().replace(next as Person, next.version - 1)).to.equal('applied');
      expect(await store().read(uuidAt(1))).to.deep.equal(next);
    }
  });

  it('keep their account and their address', async () => {
    await store().insert(aPerson(1));
    const next = aPerson(1, { version: 1, email: 'new@example.com', accountId: uuidAt(9), sessionEpoch: 'next' });
    expect(await store().replace(next, 0)).to.equal('applied');
    expect(await store().findByEmail('new@example.com')).to.equal(null);
    expect(await store().findByEmail(aPerson(1).email)).to.deep.equal(aPerson(1, { version: 1, sessionEpoch: 'next' }));
    expect((await store().list(uuidAt(9), { limit: 5 })).items).to.deep.equal([]);
  });

  it('let one of 32 concurrent replacements of one version win', async () => {
    await store().insert(aPerson(1, { version: 0 }));
    const outcomes = await Promise.all(
      Array.from({ length: 32 }, (_, n) => store().replace(aPerson(1, { version: 1, sessionEpoch: `${n}` }), 0)),
    );
    expect(outcomes.filter((outcome) => outcome === 'applied')).to.have.length(1);
    expect((await store().read(uuidAt(1)))?.sessionEpoch).to.equal(`${outcomes.indexOf('applied')}`);
  });
}

function identities(store: () => PersonStore): void {
  it('are found by issuer and subject, both exactly', async () => {
    for (const own of [identity('größe "1"'), identity('a', 2), identity('a', 3, 'https://other.example')]) {
      expect(await store().insertIdentity(own)).to.equal('created');
      expect(await store().findIdentity(own)).to.deep.equal(own);
    }
    for (const key of [identity('A'), identity(''), identity('a', 1, 'https://id.example/')])
      expect(await store().findIdentity(key)).to.equal(null);
  });

  it('belong to the first of any number of people', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 16 }, (_, n) => store().insertIdentity(identity('a', n + 1))),
    );
    expect(outcomes.filter((outcome) => outcome === 'created')).to.have.length(1);
    const winner = uuidAt(outcomes.indexOf('created') + 1);
    expect((await store().findIdentity(identity('a')))?.personId).to.equal(winner);
  });

  it('are listed by person, oldest first', async () => {
    const own = [identity('a'), { ...identity('b'), linkedAt: 2 }, identity('c', 2)];
    for (const one of own) await store().insertIdentity(one);
    expect(await store().listIdentities(uuidAt(1))).to.deep.equal([own[1], own[0]]);
    for (const id of [uuidAt(3), 'x']) expect(await store().listIdentities(id)).to.deep.equal([]);
  });

  it('are unlinked from their own person only, and can be linked again', async () => {
    await store().insertIdentity(identity('a'));
    await store().removeIdentity(identity('a'), uuidAt(2));
    expect(await store().findIdentity(identity('a'))).to.deep.equal(identity('a'));
    await store().removeIdentity(identity('a'), uuidAt(1));
    expect(await store().findIdentity(identity('a'))).to.equal(null);
    expect(await store().insertIdentity(identity('a', 2))).to.equal('created');
  });
}
