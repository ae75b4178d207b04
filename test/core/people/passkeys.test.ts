// Goal: a person adds, renames and removes their own passkeys, and signs in with one of them; a challenge works once,
// for the person it was made for, for five minutes; a copied, removed or foreign passkey does not sign in.
// Method: the use cases on memory adapters with a clock that the test moves, and authenticators in software.
import { expect } from 'chai';
import { createPerson, disablePerson, resetPerson } from '../../../core/people/manage-people.js';
import {
  addPasskey,
  beginPasskey,
  beginPasskeySignIn,
  personByPasskey,
  removePasskey,
  renamePasskey,
} from '../../../core/people/passkeys.js';
import { MAX_PASSKEYS, type Passkey, type Person } from '../../../core/people/person.js';
import { beginSession, findSession, type SignedIn } from '../../../core/people/sessions.js';
import { codeOf } from '../../fixtures/memory-stores.js';
import { CoreHarness, expectCode } from '../../harness/core-harness.js';
import { type Ceremony, SoftwareAuthenticator } from '../../harness/software-authenticator.js';

const PARTY = { id: 'localhost', origin: 'http://localhost:3000' };
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

describe('passkeys', () => {
  let harness: CoreHarness;
  let ada: SignedIn;
  let bob: SignedIn;
  let authenticator: SoftwareAuthenticator;
  const ports = () => harness.context;

  const signedIn = async (email: string): Promise<SignedIn> => {
    const person = await createPerson(ports(), { accountId: harness.caller.accountId, email });
    return beginSession(ports(), person, { method: 'link', userAgent: 'a browser' });
  };
  const signedInAgain = async (): Promise<SignedIn> =>
    beginSession(ports(), await stored(), { method: 'password', userAgent: 'a browser' });
  const stored = async ({ person }: SignedIn = ada) => (await ports().people.read(person.personId)) as Person;
  const passkeysOf = async (who: SignedIn = ada) => (await stored(who)).passkeys;

  /** Answers the challenge with the authenticator, as a browser would. */
  const add = async (who: SignedIn, challenge: string, name = 'laptop', wrong: Partial<Ceremony> = {}) =>
    addPasskey(ports(), who, PARTY, {
      challenge,
      name,
      attestation: authenticator.register({ challenge, party: PARTY, ...wrong }),
    });
  const added = async (who: SignedIn = ada, from = new SoftwareAuthenticator()): Promise<Passkey> => {
    authenticator = from;
    return add(who, await beginPasskey(ports(), who));
  };
  const signIn = async (wrong: Partial<Ceremony> = {}, as = ada.person.personId, from = authenticator) => {
    const challenge = await beginPasskeySignIn(ports());
    const assertion = from.authenticate({ challenge, party: PARTY, ...wrong });
    return (await personByPasskey(ports(), PARTY, { challenge, personId: as, assertion }))?.personId;
  };

  beforeEach(async () => {
    harness = await CoreHarness.open();
    [ada, bob] = [await signedIn('ada@example.com'), await signedIn('bob@example.com')];
    authenticator = new SoftwareAuthenticator();
  });

  describe('are added', () => {
    it('with a name, and end no session', async () => {
      const { secret, ...session } = await beginSession(ports(), ada.person, { method: 'password', userAgent: '' });
      const passkey = await added(session);
      expect(passkey).to.include({ name: 'laptop', credentialId: authenticator.credentialId, counter: 1 });
      expect(await passkeysOf()).to.deep.equal([passkey]);
      expect((await findSession(ports(), secret))?.person.personId).to.equal(ada.person.personId);
    });

    it('once for a challenge', async () => {
      const challenge = await beginPasskey(ports(), ada);
      await add(ada, challenge);
      authenticator = new SoftwareAuthenticator();
      await expectCode('PASSKEY_REFUSED', add(ada, challenge));
      expect(await passkeysOf()).to.have.lengthOf(1);
    });

    it('once by twelve answers to a challenge at the same time', async () => {
      const challenge = await beginPasskey(ports(), ada);
      const codes = await Promise.all(
        Array.from({ length: 12 }, () => {
          authenticator = new SoftwareAuthenticator('EdDSA');
          return codeOf(add(ada, challenge));
        }),
      );
      expect(codes.filter((code) => code === 'PASSKEY_REFUSED')).to.have.lengthOf(11);
      expect(await passkeysOf()).to.have.lengthOf(1);
    });

    it('to nobody by the challenge of another person or session, which stays theirs', async () => {
      const challenge = await beginPasskey(ports(), ada);
      const elsewhere = await beginSession(ports(), ada.person, { method: 'password', userAgent: '' });
      for (const other of [bob, elsewhere])
        await expectCode('PASSKEY_REFUSED', add(other, challenge), other.person.email);
      await add(ada, challenge);
      expect([(await passkeysOf()).length, (await passkeysOf(bob)).length]).to.deep.equal([1, 0]);
    });

    it('not with a challenge of a sign-in, or of nobody', async () => {
      for (const challenge of [await beginPasskeySignIn(ports()), 'A'.repeat(43)])
        await expectCode('PASSKEY_REFUSED', add(ada, challenge));
    });

    it('within five minutes', async () => {
      const [early, late] = [await beginPasskey(ports(), ada), await beginPasskey(ports(), ada)];
      harness.clock.jump(5 * MINUTE_MS - 1);
      await add(ada, early);
      harness.clock.jump(1);
      authenticator = new SoftwareAuthenticator();
      await expectCode('PASSKEY_REFUSED', add(ada, late));
    });

    for (const [name, wrong] of [
      ['another origin', { party: { ...PARTY, origin: 'http://localhost:3001' } }],
      ['another relying party', { party: { ...PARTY, id: 'example.com' } }],
      ['a person who was not verified', { isVerified: false }],
    ] as const)
      it(`not for ${name}, and the challenge is over`, async () => {
        const challenge = await beginPasskey(ports(), ada);
        await expectCode('PASSKEY_REFUSED', add(ada, challenge, 'laptop', wrong));
        await expectCode('PASSKEY_REFUSED', add(ada, challenge));
        expect(await passkeysOf()).to.deep.equal([]);
      });

    it('in a session that began within the last 15 minutes, however much it is used', async () => {
      harness.clock.jump(15 * MINUTE_MS);
      await beginPasskey(ports(), ada);
      harness.clock.jump(1);
      await expectCode('RECENT_SIGN_IN_REQUIRED', beginPasskey(ports(), ada));
    });

    it('with a name that can be shown, and the same challenge again after a bad one', async () => {
      const challenge = await beginPasskey(ports(), ada);
      for (const name of ['', ' ', 'x'.repeat(101), 'a\u0000b'])
        await expectCode('FIELD_INVALID', add(ada, challenge, name), name);
      expect((await add(ada, challenge, ' key ring ')).name).to.equal('key ring');
    });

    it(`up to ${MAX_PASSKEYS}, also when the last are added at the same time`, async () => {
      for (let count = 0; count < MAX_PASSKEYS - 1; count += 1) await added(ada, new SoftwareAuthenticator('EdDSA'));
      const challenges = [await beginPasskey(ports(), await fresh()), await beginPasskey(ports(), await fresh())];
      const codes = await Promise.all(
        challenges.map((challenge) => {
          authenticator = new SoftwareAuthenticator('EdDSA');
          return codeOf(add(ada, challenge));
        }),
      );
      expect(codes).to.include('CONFLICT');
      expect(await passkeysOf()).to.have.lengthOf(MAX_PASSKEYS);
      await expectCode('CONFLICT', beginPasskey(ports(), await fresh()));
    });

    it('once for each authenticator', async () => {
      await added();
      await expectCode('CONFLICT', added(ada, authenticator));
    });

    it('to nobody who was reset or disabled while they were asked', async () => {
      for (const [who, end] of [
        [ada, resetPerson],
        [bob, disablePerson],
      ] as const) {
        const challenge = await beginPasskey(ports(), who);
        await end(ports(), who.person.personId);
        await expectCode('SESSION_REQUIRED', add(who, challenge));
        expect(await passkeysOf(who)).to.deep.equal([]);
      }
    });

    /** The signed-in person, read again as each request does. */
    async function fresh(): Promise<SignedIn> {
      return { ...ada, person: await stored() };
    }
  });

  describe('of a person', () => {
    it('are renamed and removed, by that person alone', async () => {
      const [first, second] = [await added(), await added()];
      await expectCode('NOT_FOUND', renamePasskey(ports(), bob.person, first.credentialId, 'mine'));
      await expectCode('NOT_FOUND', removePasskey(ports(), bob, first.credentialId));
      await expectCode('FIELD_INVALID', renamePasskey(ports(), ada.person, first.credentialId, ' '));
      const renamed = await renamePasskey(ports(), ada.person, first.credentialId, 'phone');
      expect(renamed).to.deep.equal({ ...first, name: 'phone' });
      expect(await passkeysOf()).to.deep.equal([renamed, second]);
      await removePasskey(ports(), ada, first.credentialId);
      await expectCode('NOT_FOUND', removePasskey(ports(), ada, first.credentialId));
      expect(await passkeysOf()).to.deep.equal([second]);
    });

    it('are removed in a session that began within the last 15 minutes, however much it is used', async () => {
      const [first, second] = [await added(), await added()];
      harness.clock.jump(15 * MINUTE_MS);
      await removePasskey(ports(), ada, first.credentialId);
      harness.clock.jump(1);
      for (const credentialId of [second.credentialId, first.credentialId])
        await expectCode('RECENT_SIGN_IN_REQUIRED', removePasskey(ports(), ada, credentialId));
      expect(await passkeysOf()).to.deep.equal([second]);
      await removePasskey(ports(), await signedInAgain(), second.credentialId);
      expect(await passkeysOf()).to.deep.equal([]);
    });

    it('leave sessions as they are when they are removed', async () => {
      const { credentialId } = await added();
      const { secret } = await beginSession(ports(), await stored(), { method: 'passkey', userAgent: '' });
      await removePasskey(ports(), ada, credentialId);
      expect((await findSession(ports(), secret))?.person.personId).to.equal(ada.person.personId);
    });
  });

  describe('sign in', () => {
    beforeEach(() => added());

    it('the person whose they are', async () => {
      expect(await signIn()).to.equal(ada.person.personId);
      expect(await signIn()).to.equal(ada.person.personId);
    });

    it('nobody else, whatever the browser says whose they are', async () => {
      for (const as of [bob.person.personId, '', 'ada@example.com', `${ada.person.personId}0`])
        expect(await signIn({}, as), as).to.equal(undefined);
    });

    it('each person with their own key where two have registered one id', async () => {
      const id = Buffer.from(authenticator.credentialId, 'base64url');
      const original = authenticator;
      await added(bob, new SoftwareAuthenticator('ES256', { id }));
      const copy = authenticator;
      const { personId } = bob.person;
      expect(await signIn({}, ada.person.personId, original)).to.equal(ada.person.personId);
      expect(await signIn({}, personId, copy)).to.equal(personId);
      expect(await signIn({}, ada.person.personId, copy)).to.equal(undefined);
      expect(await signIn({}, personId, original)).to.equal(undefined);
    });

    it('once for a challenge, of twelve answers at the same time', async () => {
      const challenge = await beginPasskeySignIn(ports());
      const { personId } = ada.person;
      const answers = Array.from({ length: 12 }, () => ({
        challenge,
        personId,
        assertion: authenticator.authenticate({ challenge, party: PARTY }),
      }));
      const people = await Promise.all(answers.map((answer) => personByPasskey(ports(), PARTY, answer)));
      expect(people.filter((person) => person?.personId === personId)).to.have.lengthOf(1);
      expect(people.filter((person) => person === undefined)).to.have.lengthOf(11);
    });

    it('not with a challenge that failed before, is for an addition, or belongs to nobody or another person', async () => {
      const { personId } = ada.person;
      const [failed, other] = [await beginPasskeySignIn(ports()), await beginPasskeySignIn(ports())];
      const answer = (challenge: string, signed = challenge, wrong: Partial<Ceremony> = {}) =>
        personByPasskey(ports(), PARTY, {
          challenge,
          personId,
          assertion: authenticator.authenticate({ challenge: signed, party: PARTY, ...wrong }),
        });
      expect(await answer(failed, failed, { isVerified: false })).to.equal(undefined);
      expect(await answer(failed)).to.equal(undefined);
      expect(await answer(other, failed)).to.equal(undefined);
      expect(await answer(await beginPasskey(ports(), ada))).to.equal(undefined);
      expect(await answer('A'.repeat(43))).to.equal(undefined);
    });

    it('within five minutes', async () => {
      const challenge = await beginPasskeySignIn(ports());
      harness.clock.jump(5 * MINUTE_MS);
      const assertion = authenticator.authenticate({ challenge, party: PARTY });
      const { personId } = ada.person;
      expect(await personByPasskey(ports(), PARTY, { challenge, personId, assertion })).to.equal(undefined);
    });

    for (const [name, wrong] of [
      ['another origin', { party: { ...PARTY, origin: 'http://localhost:3001' } }],
      ['another relying party', { party: { ...PARTY, id: 'example.com' } }],
      ['a person who was not verified', { isVerified: false }],
    ] as const)
      it(`nobody for ${name}`, async () => {
        expect(await signIn(wrong)).to.equal(undefined);
      });

    it('nobody with the key of another authenticator', async () => {
      const id = Buffer.from(authenticator.credentialId, 'base64url');
      expect(await signIn({}, ada.person.personId, new SoftwareAuthenticator('ES256', { id }))).to.equal(undefined);
    });

    it('not a person whose counter does not increase, which shows a copy', async () => {
      expect(await signIn({ counter: 10 })).to.equal(ada.person.personId);
      for (const counter of [10, 9, 0]) expect(await signIn({ counter }), `${counter}`).to.equal(undefined);
      expect(await signIn({ counter: 11 })).to.equal(ada.person.personId);
    });

    it('one of two copies that sign in at the same time', async () => {
      const people = await Promise.all([signIn({ counter: 10 }), signIn({ counter: 10 })]);
      expect(people.filter((personId) => personId === ada.person.personId)).to.have.lengthOf(1);
    });

    it('those without a counter, whose use is written once a day', async () => {
      await added(bob, new SoftwareAuthenticator('ES256', { firstCounter: 0 }));
      const { personId } = bob.person;
      expect(await signIn({}, personId)).to.equal(personId);
      const { version, passkeys } = await stored(bob);
      expect(passkeys[0]?.lastUsedAt).to.equal(Math.floor(harness.clock.now() / DAY_MS) * DAY_MS);
      expect(await signIn({}, personId)).to.equal(personId);
      expect((await stored(bob)).version).to.equal(version);
      harness.clock.jump(DAY_MS);
      expect(await signIn({}, personId)).to.equal(personId);
      expect((await stored(bob)).version).to.equal(version + 1);
      expect(await signIn({ counter: 1 }, personId)).to.equal(personId);
      expect(await signIn({ counter: 0 }, personId)).to.equal(undefined);
    });

    it('nobody who is disabled or was reset, nor with a passkey that was removed', async () => {
      const [{ credentialId }] = (await passkeysOf()) as [Passkey];
      await removePasskey(ports(), ada, credentialId);
      expect(await signIn()).to.equal(undefined);
      await added(bob);
      const { personId } = bob.person;
      await disablePerson(ports(), personId);
      expect(await signIn({}, personId)).to.equal(undefined);
      await added();
      await resetPerson(ports(), ada.person.personId);
      expect(await signIn()).to.equal(undefined);
    });

    for (const [name, end] of [
      ['who is disabled', () => disablePerson(ports(), ada.person.personId)],
      ['who is reset', () => resetPerson(ports(), ada.person.personId)],
      ['whose passkey is removed', () => removePasskey(ports(), ada, authenticator.credentialId)],
    ] as const)
      it(`nobody ${name} while it is checked`, async () => {
        const { passkeys } = ports();
        const context = {
          ...ports(),
          passkeys: {
            readMade: passkeys.readMade.bind(passkeys),
            readCounter: async (...given: Parameters<typeof passkeys.readCounter>) => {
              const counter = await passkeys.readCounter(...given);
              await end();
              return counter;
            },
          },
        };
        const challenge = await beginPasskeySignIn(context);
        const assertion = authenticator.authenticate({ challenge, party: PARTY });
        const answer = { challenge, personId: ada.person.personId, assertion };
        expect(await personByPasskey(context, PARTY, answer)).to.equal(undefined);
      });
  });

  it('keep no challenge as it is, and none for longer than it counts', async () => {
    const challenge = await beginPasskey(ports(), ada);
    const found = await ports().artefacts.listOwned('passkey-registration', ada.person.personId, 10);
    expect(found).to.have.lengthOf(1);
    expect(JSON.stringify(found)).not.to.include(challenge);
    expect(await ports().artefacts.removeExpired(harness.clock.now() + 5 * MINUTE_MS, 10)).to.equal(1);
  });
});
