import type { Call, Identity, Machine } from '../context.js';
import { ServiceError } from '../errors.js';
import { fieldInvalid } from '../fields.js';
import type { OutsideProvider, ProvenIdentity, ProviderChecks } from '../ports/outside.js';
import type { IdentityKey } from '../ports/stores.js';
import { startOfDay } from '../settings.js';
import { changePerson, readSignInEmail, setPassword } from './manage-people.js';
import { MAX_IDENTITIES, type OutsideIdentity, type Person } from './person.js';
import { findOwned, putSecret, secretKey } from './secrets.js';
import { requireRecentSignIn, type SignedIn } from './sessions.js';

const LINK = 'sign-in-link';
const KEPT_MS = 86_400_000;

/**
 * Finds the person with this address and password. Undefined for an unknown address, a wrong password, and a person who
 * is disabled or has no password. All of these take the same work, so that they cannot be distinguished.
 */
export async function personByPassword(
  { people, passwords }: Identity,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<Person | undefined> {
  const person = await people.findByEmail(readSignInEmail(email));
  const isRight = await passwords.matches(password, person?.password);
  return isRight && person?.disabledAt === undefined ? (person ?? undefined) : undefined;
}

/**
 * The secret of a link that signs a person in once, for half an hour by default, and no longer than their sessions last: a
 * reset, another password and disabling end it. Throws NOT_FOUND.
 */
export async function createSignInLink(
  ports: Identity & Machine & Call,
  personId: string,
): Promise<{ readonly secret: string; readonly expiresAt: number }> {
  const person = await ports.people.read(personId, ports.call);
  if (!person) throw new ServiceError('NOT_FOUND', `There is no person ${personId}.`);
  const { secret, artefact } = await putSecret(ports, {
    kind: LINK,
    owner: personId,
    data: { epoch: person.sessionEpoch },
    lifeMs: ports.settings.signInLinkMs,
    keptMs: KEPT_MS,
  });
  return { secret, expiresAt: artefact.expiresAt };
}

/**
 * A new link for a person who never signed in, in place of an earlier one, which ends. Throws NOT_FOUND, and CONFLICT for
 * a person who has signed in, or who is disabled.
 */
export async function renewSignInLink(
  ports: Identity & Machine & Call,
  personId: string,
): Promise<{ readonly person: Person; readonly secret: string; readonly expiresAt: number }> {
  const hasIdentity = (await ports.people.listIdentities(personId)).length > 0;
  const person = await changePerson(ports, personId, (current) => {
    const { email, disabledAt, lastSignInAt, passkeys } = current;
    if (disabledAt !== undefined) throw new ServiceError('CONFLICT', `${email} is disabled; enable the person first.`);
    if (lastSignInAt !== undefined || passkeys.length > 0 || hasIdentity)
      throw new ServiceError(
        'CONFLICT',
        `${email} has signed in before; a reset makes a new link, and removes how they signed in.`,
      );
    return { ...current, sessionEpoch: ports.ids.uuid() };
  });
  return { person, ...(await createSignInLink(ports, personId)) };
}

/** Whether a link could still be used: mail programs and browsers open links before people do, so looking uses nothing. */
export async function isLinkUsable(ports: Identity & Machine & Call, secret: string): Promise<boolean> {
  return (await findOwned(ports, secretKey(ports, LINK, secret))) !== undefined;
}

/**
 * Consumes a link. Only one of several attempts returns the person; undefined for the others, and for a link that has
 * ended.
 */
export async function personByLink(ports: Identity & Machine & Call, secret: string): Promise<Person | undefined> {
  const { artefacts, clock } = ports;
  const key = secretKey(ports, LINK, secret);
  const open = await findOwned(ports, key);
  if (open === undefined) return undefined;
  return (await artefacts.consume(key, clock.now())) === 'consumed' ? open.person : undefined;
}

/** Writes the UTC day of the last sign-in on the person, at most once per day. A lost write does no harm. */
export async function noteSignIn(
  ports: Identity & Machine & Call,
  { personId, lastSignInAt = -Infinity }: Person,
): Promise<void> {
  const today = startOfDay(ports.clock.now());
  if (lastSignInAt < today) await changePerson(ports, personId, (person) => ({ ...person, lastSignInAt: today }));
}

/**
 * Sets the password of a person, which ends every session of theirs and disconnects every program. It takes the current password, or a recent
 * sign-in of a person who has none. Throws FIELD_INVALID, RECENT_SIGN_IN_REQUIRED, and
 * SESSION_REQUIRED for a session that has ended meanwhile.
 */
export async function changePassword(
  ports: Identity & Machine & Call,
  signedIn: SignedIn,
  { current, next }: { readonly current: string | undefined; readonly next: string },
): Promise<Person> {
  const { personId, password, sessionEpoch } = signedIn.person;
  if (password === undefined) requireRecentSignIn(ports, signedIn.session);
  else if (!(await ports.passwords.matches(current ?? '', password)))
    throw fieldInvalid('/current_password', 'The current password is wrong.');
  return setPassword(ports, personId, next, sessionEpoch);
}

const KIND = 'outside-sign-in';
const LIFE_MS = 600_000;

/** Why somebody is sent to the provider. */
export interface OutsidePurpose {
  /** The page to which they return afterwards. */
  readonly returnTo: string;
  /** The session of the person to whom the identity is to be linked; absent for a sign-in. */
  readonly sessionId?: string;
}

/**
 * Returns the browser's destination, and the secret that only this browser keeps. With `isAgain` the provider is asked
 * to have the person authenticate now, whatever session it has.
 */
export async function beginOutsideSignIn(
  ports: Identity & Machine,
  provider: OutsideProvider,
  { returnTo, sessionId, isAgain = false }: OutsidePurpose & { readonly isAgain?: boolean },
): Promise<{ readonly location: string; readonly secret: string }> {
  const { location, checks } = await provider.begin({ isAgain });
  const data = { ...checks, returnTo, ...(sessionId === undefined ? {} : { sessionId }) };
  await putSecret(ports, { kind: KIND, data, lifeMs: LIFE_MS, secret: checks.state });
  return { location, secret: checks.state };
}

/**
 * Returns the person who came back, and the purpose for which they were sent. Undefined for a browser that was not
 * sent, was sent more than ten minutes ago or has come back already, and for a person who cancelled.
 */
export async function finishOutsideSignIn(
  ports: Identity & Machine,
  provider: OutsideProvider,
  { currentUrl, secret }: { readonly currentUrl: string; readonly secret: string },
): Promise<(OutsidePurpose & { readonly identity: ProvenIdentity }) | undefined> {
  const key = secretKey(ports, KIND, secret);
  const found = await ports.artefacts.find(key);
  if (!found || found.expiresAt <= ports.clock.now()) return undefined;
  if ((await ports.artefacts.consume(key, ports.clock.now())) === 'refused') return undefined;
  // The store keeps what `beginOutsideSignIn` gave it.
  const { returnTo, sessionId, ...checks } = found.data as unknown as OutsidePurpose & ProviderChecks;
  const identity = await provider.finish(currentUrl, checks);
  if (identity === null) return undefined;
  return { identity, returnTo, ...(sessionId === undefined ? {} : { sessionId }) };
}

/** The person to whom an identity is linked, if they may sign in. */
export async function personByIdentity({ people }: Identity & Machine, key: IdentityKey): Promise<Person | undefined> {
  const identity = await people.findIdentity(key);
  const person = identity && (await people.read(identity.personId));
  return person && person.disabledAt === undefined ? person : undefined;
}

/**
 * Links an identity to a person; again, it changes nothing. Throws CONFLICT if it is another person's, and
 * SESSION_REQUIRED, with nothing linked, for a person who was signed out everywhere meanwhile.
 */
export async function linkIdentity(
  { people, clock }: Identity & Machine,
  { personId, sessionEpoch }: Person,
  { issuer, subject }: IdentityKey,
): Promise<void> {
  const key = { issuer, subject };
  if ((await people.listIdentities(personId)).length >= MAX_IDENTITIES)
    throw new ServiceError('CONFLICT', `A person can connect ${MAX_IDENTITIES} identities.`);
  const identity: OutsideIdentity = { ...key, personId, linkedAt: clock.now() };
  if ((await people.insertIdentity(identity)) === 'created') {
    const current = await people.read(personId);
    if (current?.sessionEpoch === sessionEpoch && current.disabledAt === undefined) return;
    await people.removeIdentity(key, personId);
    throw new ServiceError('SESSION_REQUIRED');
  }
  const known = await people.findIdentity(key);
  if (known?.personId !== personId)
    throw new ServiceError('CONFLICT', 'Somebody else signs in with this identity already.');
}
