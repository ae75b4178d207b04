// Goal: an operator is who was made one, and has signed in with a passkey that was theirs before or was added by an
// operator's own passkey; neither a password, a link nor a reset lets anybody else in.
// Method: the use cases on memory adapters with a clock that the test moves, and authenticators in software.
import { expect } from 'chai';
import {
  createPerson,
  disablePerson,
  enablePerson,
  resetPerson,
  setPassword,
} from '../../../core/people/manage-people.js';
import { demotePerson, promotePerson, requireOperator } from '../../../core/people/operators.js';
import { addPasskey, beginPasskey, removePasskey } from '../../../core/people/passkeys.js';
import type { Person } from '../../../core/people/person.js';
import { beginSession, type SignedIn, type SignInMethod } from '../../../core/people/sessions.js';
import { codeOf } from '../../fixtures/memory-stores.js';
import { CoreHarness, expectCode } from '../../harness/core-harness.js';
import { SoftwareAuthenticator } from '../../harness/software-authenticator.js';

const PARTY = { id: 'localhost', origin: 'http://localhost:3000' };
const UNKNOWN = '00000000-0000-7000-8000-000000000000';
const RECENT_MS = 15 * 60_000;
const OTHER_METHODS: readonly SignInMethod[] = ['password', 'link', 'provider'];

describe('operators', () => {
  let harness: CoreHarness;
  let ada: Person;
  const ports = () => harness.context;

  const signIn = (method: SignInMethod): Promise<SignedIn> => stored().then((person) => session(person, method));
  const session = (person: Person, method: SignInMethod) =>
    beginSession(ports(), person, { method, userAgent: 'a browser' });
  const stored = async () => (await ports().people.read(ada.personId)) as Person;
  const finish = (who: SignedIn, challenge: string) =>
    addPasskey(ports(), who, PARTY, {
      challenge,
      name: 'laptop',
      attestation: new SoftwareAuthenticator('EdDSA').register({ challenge, party: PARTY }),
    });
  const add = async (method: SignInMethod) => {
    const who = await signIn(method);
    return finish(who, await beginPasskey(ports(), who));
  };
  const mayAct = async (method: SignInMethod, act: 'read' | 'change' = 'change') =>
    codeOf((async () => requireOperator(ports(), await signIn(method), act))());

  beforeEach(async () => {
    harness = await CoreHarness.open();
    ada = await createPerson(ports(), { accountId: harness.caller.accountId, email: 'ada@example.com' });
  });

  it('have a passkey when they are made one, and are one until they are demoted', async () => {
    await expectCode('CONFLICT', promotePerson(ports(), ada.personId));
    expect((await stored()).operatorSince).to.equal(undefined);
    await add('link');
    const { operatorSince, version } = await promotePerson(ports(), ada.personId);
    expect(operatorSince).to.equal(harness.clock.now());
    harness.clock.jump(1);
    expect(await promotePerson(ports(), ada.personId)).to.include({ operatorSince, version });
    const demoted = await demotePerson(ports(), ada.personId);
    expect(demoted).not.to.have.property('operatorSince');
    expect((await demotePerson(ports(), ada.personId)).version).to.equal(demoted.version);
    for (const change of [promotePerson, demotePerson]) await expectCode('NOT_FOUND', change(ports(), UNKNOWN));
  });

  it('act after a sign-in with a passkey alone, and change things for 15 minutes after it', async () => {
    await add('link');
    expect(await mayAct('passkey', 'read')).to.equal('OPERATOR_REQUIRED');
    await promotePerson(ports(), ada.personId);
    for (const method of OTHER_METHODS)
      for (const act of ['read', 'change'] as const)
        expect(await mayAct(method, act), `${act} by ${method}`).to.equal('PASSKEY_SIGN_IN_REQUIRED');
    const here = await signIn('passkey');
    harness.clock.jump(RECENT_MS);
    requireOperator(ports(), here, 'change');
    harness.clock.jump(1);
    requireOperator(ports(), here, 'read');
    expect(() => requireOperator(ports(), here, 'change'))
      .to.throw()
      .with.property('code', 'RECENT_SIGN_IN_REQUIRED');
  });

  it('add a passkey where they have signed in with one, and by no other sign-in', async () => {
    await add('link');
    await promotePerson(ports(), ada.personId);
    for (const method of OTHER_METHODS) await expectCode('PASSKEY_SIGN_IN_REQUIRED', add(method), method);
    await add('passkey');
    expect((await stored()).passkeys).to.have.lengthOf(2);
  });

  it('get no passkey from a ceremony that a password started before they were promoted', async () => {
    await add('link');
    const who = await signIn('password');
    const challenge = await beginPasskey(ports(), who);
    await promotePerson(ports(), ada.personId);
    await expectCode('PASSKEY_SIGN_IN_REQUIRED', finish(who, challenge));
    expect((await stored()).passkeys).to.have.lengthOf(1);
  });

  it('who have removed their passkeys get another one by no password', async () => {
    const { credentialId } = await add('link');
    await promotePerson(ports(), ada.personId);
    await removePasskey(ports(), await signIn('passkey'), credentialId);
    await expectCode('PASSKEY_SIGN_IN_REQUIRED', add('password'));
  });

  it('are none after a reset: the link, and a passkey that it adds, let nobody in', async () => {
    await add('link');
    await promotePerson(ports(), ada.personId);
    expect(await resetPerson(ports(), ada.personId)).not.to.have.property('operatorSince');
    await add('link');
    expect(await mayAct('passkey', 'read')).to.equal('OPERATOR_REQUIRED');
  });

  it('stay one through another password, and through disabling and enabling', async () => {
    await add('link');
    const { operatorSince } = await promotePerson(ports(), ada.personId);
    await setPassword(ports(), ada.personId, 'correct horse battery');
    await disablePerson(ports(), ada.personId);
    expect((await enablePerson(ports(), ada.personId)).operatorSince).to.equal(operatorSince);
    expect(await mayAct('passkey')).to.equal('OK');
  });
});
