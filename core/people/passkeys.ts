import { readName } from '../access/manage.js';
import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import type { PasskeyAttestation, RelyingParty } from '../ports/passkey-verifier.js';
import { changePerson, requireEpoch } from './manage-people.js';
import { createChallenge, takeChallenge } from './passkey-challenge.js';
import { requirePasskeyOfOperator } from './operators.js';
import { MAX_PASSKEYS, type Passkey, type Person } from './person.js';
import { requireRecentSignIn, type SignedIn } from './sessions.js';

type Ports = Pick<Context, 'people' | 'artefacts' | 'digests' | 'ids' | 'clock' | 'passkeys' | 'call'>;

const KIND = 'passkey-registration';

/** What a person sends to add a passkey. */
export interface NewPasskey {
  readonly challenge: string;
  /** What they call it: 1 to 100 characters. */
  readonly name: string;
  readonly attestation: PasskeyAttestation;
}

/**
 * The challenge for a new passkey, for this session and five minutes. Throws RECENT_SIGN_IN_REQUIRED, CONFLICT for a person
 * who has as many as they may have, and PASSKEY_SIGN_IN_REQUIRED for an operator who has not signed in with one.
 */
export async function beginPasskey(ports: Ports, { person, session }: SignedIn): Promise<string> {
  requirePasskeyOfOperator(person, session);
  requireRecentSignIn(ports, session);
  requireRoom(person);
  return createChallenge(ports, KIND, { owner: person.personId, data: { sessionId: session.sessionId } });
}

/**
 * Adds the passkey that was made. Throws FIELD_INVALID for its name, PASSKEY_REFUSED, SESSION_REQUIRED for a person who
 * was signed out meanwhile, CONFLICT for a passkey too many or one that they have, and PASSKEY_SIGN_IN_REQUIRED for one
 * who has become an operator meanwhile.
 */
export async function addPasskey(
  ports: Ports,
  { person: { personId, sessionEpoch }, session }: SignedIn,
  party: RelyingParty,
  asked: NewPasskey,
): Promise<Passkey> {
  const { challenge, attestation } = asked;
  const name = readName(asked.name);
  const isTaken = await takeChallenge(
    ports,
    KIND,
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
  ports: Pick<Ports, 'people' | 'call'>,
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

/** It signs nobody in any more; sessions that began with it go on. Throws NOT_FOUND. */
export async function removePasskey(
  ports: Pick<Ports, 'people' | 'call'>,
  { personId }: Person,
  credentialId: string,
): Promise<void> {
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
