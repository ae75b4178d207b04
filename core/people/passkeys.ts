import { readName } from '../access/manage.js';
import type { Call, Identity, Machine } from '../context.js';
import { ServiceError } from '../errors.js';
import { isUuid } from '../ids.js';
import type { PasskeyAssertion, PasskeyAttestation, RelyingParty } from '../ports/machine.js';
import { startOfDay } from '../settings.js';
import { changePerson, requireEpoch } from './manage-people.js';
import { requirePasskeyOfOperator } from './operators.js';
import { type Artefact, MAX_PASSKEYS, type Passkey, type Person } from './person.js';
import { putSecret, secretKey } from './secrets.js';
import { requireRecentSignIn, type SignedIn } from './sessions.js';

const REGISTRATION = 'passkey-registration';

/** A person's request to add a passkey. */
export interface NewPasskey {
  readonly challenge: string;
  /** The name chosen by the person: 1 to 100 characters. */
  readonly name: string;
  readonly attestation: PasskeyAttestation;
}

/**
 * The challenge for a new passkey, for this session and five minutes. Throws RECENT_SIGN_IN_REQUIRED, CONFLICT for a person
 * who has as many as they may have, and PASSKEY_SIGN_IN_REQUIRED for an operator who has not signed in with one.
 */
export async function beginPasskey(ports: Identity & Machine & Call, { person, session }: SignedIn): Promise<string> {
  requirePasskeyOfOperator(person, session);
  requireRecentSignIn(ports, session);
  requireRoom(person);
  const data = { sessionId: session.sessionId };
  const owner = person.personId;
  return (await putSecret(ports, { kind: REGISTRATION, owner, data, lifeMs: PASSKEY_CHALLENGE_MS })).secret;
}

/**
 * Adds the passkey that was made. Throws FIELD_INVALID for its name, PASSKEY_REFUSED, SESSION_REQUIRED for a person who
 * was signed out meanwhile, CONFLICT for a passkey too many or one that they have, and PASSKEY_SIGN_IN_REQUIRED for one
 * who has become an operator meanwhile.
 */
export async function addPasskey(
  ports: Identity & Machine & Call,
  { person: { personId, sessionEpoch }, session }: SignedIn,
  party: RelyingParty,
  asked: NewPasskey,
): Promise<Passkey> {
  const { challenge, attestation } = asked;
  const name = readName(asked.name);
  const isTaken = await takeChallenge(
    ports,
    REGISTRATION,
    challenge,
    // A session is one person's.
    ({ data }) => data['sessionId'] === session.sessionId,
  );
  const made = isTaken ? await ports.passkeys.readMade(attestation, { challenge, party }) : undefined;
  if (!made) throw new ServiceError('PASSKEY_REFUSED', 'The passkey could not be added; try again.');
  const passkey: Passkey = { ...made, name, createdAt: ports.clock.now() };
  await changePerson(ports, personId, (person) => {
    requireEpoch(person, sessionEpoch);
    requirePasskeyOfOperator(person, session);
    requireRoom(person);
    if (person.passkeys.some(({ credentialId }) => credentialId === made.credentialId))
      throw new ServiceError('CONFLICT', 'You have this passkey already.');
    return { ...person, passkeys: [...person.passkeys, passkey] };
  });
  return passkey;
}

/** Throws FIELD_INVALID for the name, and NOT_FOUND. */
export async function renamePasskey(
  ports: Identity & Machine & Call,
  { personId }: Person,
  credentialId: string,
  name: string,
): Promise<Passkey> {
  const read = readName(name);
  const { passkeys } = await changePerson(ports, personId, (person) => ({
    ...person,
    passkeys: requireOwn(person, credentialId).map((one) =>
      one.credentialId === credentialId ? { ...one, name: read } : one,
    ),
  }));
  return passkeys.find((one) => one.credentialId === credentialId) as Passkey;
}

/**
 * Removes a passkey, which can no longer be used to sign in. Sessions started with it continue. Whoever finds a browser
 * open must not be able to lock its person out: throws RECENT_SIGN_IN_REQUIRED, and NOT_FOUND.
 */
export async function removePasskey(
  ports: Identity & Machine & Call,
  { person: { personId }, session }: SignedIn,
  credentialId: string,
): Promise<void> {
  requireRecentSignIn(ports, session);
  await changePerson(ports, personId, (person) => ({
    ...person,
    passkeys: requireOwn(person, credentialId).filter((one) => one.credentialId !== credentialId),
  }));
}

function requireRoom({ passkeys }: Person): void {
  if (passkeys.length >= MAX_PASSKEYS)
    throw new ServiceError('CONFLICT', `You can have ${MAX_PASSKEYS} passkeys; remove one first.`);
}

function requireOwn({ passkeys }: Person, credentialId: string): readonly Passkey[] {
  if (passkeys.some((one) => one.credentialId === credentialId)) return passkeys;
  throw new ServiceError('NOT_FOUND', 'You have no such passkey.');
}

const SIGN_IN = 'passkey-sign-in';

/** The browser's response to the challenge. */
export interface PasskeyAnswer {
  readonly challenge: string;
  /** The passkey's owner, as passed to the authenticator at registration. */
  readonly personId: string;
  readonly assertion: PasskeyAssertion;
}

/** Creates the challenge of a sign-in, valid for five minutes. It must stay with the browser that requested it. */
export async function beginPasskeySignIn(ports: Identity & Machine & Call): Promise<string> {
  return (await putSecret(ports, { kind: SIGN_IN, lifeMs: PASSKEY_CHALLENGE_MS })).secret;
}

/**
 * The person who has signed in with a passkey of theirs. Undefined for a challenge that is used, unknown or too old, a
 * passkey that is not the person's, whatever it has not signed as it should, a counter that has not grown, and a person
 * who is disabled.
 */
export async function personByPasskey(
  ports: Identity & Machine & Call,
  party: RelyingParty,
  { challenge, personId, assertion }: PasskeyAnswer,
): Promise<Person | undefined> {
  if (!(await takeChallenge(ports, SIGN_IN, challenge))) return undefined;
  // A passkey is looked for at the person whom it names: that another one has registered its id is of no effect.
  const person = isUuid(personId) ? await ports.people.read(personId) : null;
  const passkey = person?.passkeys.find(({ credentialId }) => credentialId === assertion.credentialId);
  if (!passkey) return undefined;
  const counter = await ports.passkeys.readCounter(assertion, { challenge, party }, passkey.publicKey);
  return counter === undefined ? undefined : noteUse(ports, personId, { ...passkey, counter });
}

/** Keeps the counter and the UTC day of the use. Undefined if the passkey may not be used, as it is stored by now. */
async function noteUse(ports: Identity & Machine & Call, personId: string, used: Passkey): Promise<Person | undefined> {
  const lastUsedAt = startOfDay(ports.clock.now());
  let isRefused = false;
  const person = await changePerson(ports, personId, (current) => {
    const known = current.passkeys.find(({ credentialId }) => credentialId === used.credentialId);
    isRefused =
      known?.publicKey !== used.publicKey || current.disabledAt !== undefined || !hasGrown(known.counter, used.counter);
    if (isRefused || (known?.counter === used.counter && known.lastUsedAt === lastUsedAt)) return current;
    const passkeys = current.passkeys.map((one) =>
      one.credentialId === used.credentialId ? { ...one, counter: used.counter, lastUsedAt } : one,
    );
    return { ...current, passkeys };
  });
  return isRefused ? undefined : person;
}

/** A counter that does not increase indicates a copied authenticator. Authenticators without a counter report 0. */
function hasGrown(before: number, now: number): boolean {
  return now > before || (now === 0 && before === 0);
}

/** How long a person has for what their browser shows them, in milliseconds. */
export const PASSKEY_CHALLENGE_MS = 300_000;

/**
 * Consumes a challenge, whatever the result. Only one of several attempts returns true. Returns false for the others,
 * for a challenge that was never made or is too old, and for another person's challenge, which is kept.
 */
async function takeChallenge(
  ports: Identity & Machine,
  kind: string,
  challenge: string,
  isOwn: (artefact: Artefact) => boolean = () => true,
): Promise<boolean> {
  const key = secretKey(ports, kind, challenge);
  const now = ports.clock.now();
  const found = await ports.artefacts.find(key);
  if (!found || found.expiresAt <= now || !isOwn(found)) return false;
  return (await ports.artefacts.consume(key, now)) === 'consumed';
}
