import { accountErased } from '../access/credential.js';
import { throwIfAborted } from '../cancellation.js';
import type { Call, Identity, Machine, Money } from '../context.js';
import { ServiceError } from '../errors.js';
import { fieldInvalid } from '../fields.js';
import type { PasswordHash, Person } from './person.js';

const MAX_TRIES = 5;
/** RFC 5321 allows no longer path. */
const MAX_EMAIL = 254;
const MIN_PASSWORD = 12;
const MAX_PASSWORD = 256;

export interface NewPerson {
  readonly accountId: string;
  readonly email: string;
  readonly password?: string;
}

/**
 * The operators' actions on people. Every function throws FIELD_INVALID, NOT_FOUND or CONFLICT with one sentence, and
 * `CallOver` before it writes for a call that is over.
 */
export async function createPerson(
  ports: Money & Identity & Machine & Call,
  { accountId, email, password }: NewPerson,
): Promise<Person> {
  const account = await ports.accounts.read(accountId, ports.call, 'totals');
  if (!account) throw new ServiceError('NOT_FOUND', `There is no account ${accountId}.`);
  if (account.erasedAt !== undefined) throw accountErased(accountId);
  const person: Person = {
    personId: ports.ids.uuid(),
    accountId,
    version: 1,
    email: readEmail(email),
    createdAt: ports.clock.now(),
    ...(password === undefined ? {} : { password: await hashed(ports, password) }),
    passkeys: [],
    sessionEpoch: ports.ids.uuid(),
  };
  throwIfAborted(ports.call);
  if ((await ports.people.insert(person)) === 'exists')
    throw new ServiceError('CONFLICT', `There is a person with the address ${person.email} already.`);
  return person;
}

/** They may not sign in any more, and every session of theirs ends. Again, it changes nothing. */
export function disablePerson(ports: Identity & Machine & Call, personId: string): Promise<Person> {
  return changePerson(ports, personId, (person) =>
    person.disabledAt === undefined
      ? { ...person, disabledAt: ports.clock.now(), sessionEpoch: ports.ids.uuid() }
      : person,
  );
}

/** They may sign in again, as they could before. Again, it changes nothing. */
export function enablePerson(ports: Identity & Machine & Call, personId: string): Promise<Person> {
  return changePerson(ports, personId, (person) => {
    const { disabledAt, ...enabled } = person;
    return disabledAt === undefined ? person : enabled;
  });
}

/**
 * Removes password, passkeys and outside identities, ends every session and disconnects every program, for a person who
 * has lost them: whoever used what was lost may have connected one. An operator loses that role: the link must not let
 * in whoever has got hold of it.
 */
export async function resetPerson(ports: Identity & Machine & Call, personId: string): Promise<Person> {
  const reset = await changePerson(ports, personId, ({ password: _password, operatorSince: _since, ...person }) => ({
    ...person,
    passkeys: [],
    sessionEpoch: ports.ids.uuid(),
    grantEpoch: ports.ids.uuid(),
  }));
  // Afterwards: an identity that a session of before links meanwhile is taken away here, or by the one that links it.
  for (const identity of await ports.people.listIdentities(personId))
    await ports.people.removeIdentity(identity, personId);
  return reset;
}

/**
 * Every session of theirs ends, also the one in which the password was changed, and every program that they have
 * connected is disconnected. With the epoch of that session, throws
 * SESSION_REQUIRED if it has ended meanwhile.
 */
export async function setPassword(
  ports: Identity & Machine & Call,
  personId: string,
  password: string,
  sessionEpoch?: string,
): Promise<Person> {
  const hash = await hashed(ports, password);
  return changePerson(ports, personId, (person) => {
    if (sessionEpoch !== undefined) requireEpoch(person, sessionEpoch);
    return { ...person, password: hash, sessionEpoch: ports.ids.uuid(), grantEpoch: ports.ids.uuid() };
  });
}

/** For what a person does in a session: throws SESSION_REQUIRED if theirs have ended since it was looked up. */
export function requireEpoch(person: Person, sessionEpoch: string): void {
  if (person.sessionEpoch !== sessionEpoch || person.disabledAt !== undefined)
    throw new ServiceError('SESSION_REQUIRED');
}

/** Throws NOT_FOUND, and CONFLICT for a person whom others change all the time. */
export async function changePerson(
  { people, call }: Identity & Call,
  personId: string,
  edit: (person: Person) => Person,
): Promise<Person> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const person = await people.read(personId, call);
    if (!person) throw new ServiceError('NOT_FOUND', `There is no person ${personId}.`);
    const edited = edit(person);
    if (edited === person) return person;
    const next = { ...edited, version: person.version + 1 };
    throwIfAborted(call);
    if ((await people.replace(next, person.version)) === 'applied') return next;
  }
  throw new ServiceError('CONFLICT');
}

/** An address as it is compared, whether anybody can have it or not. */
export function readSignInEmail(email: string): string {
  return email.trim().normalize('NFC').toLowerCase();
}

/** An address as it is stored. Throws FIELD_INVALID. */
export function readEmail(email: string): string {
  const address = readSignInEmail(email);
  if (address.length > MAX_EMAIL || !/^[^\s@\p{Cc}\p{Surrogate}]+@[^\s@\p{Cc}\p{Surrogate}]+$/u.test(address))
    throw fieldInvalid('/email', `An e-mail address must have one @ and at most ${MAX_EMAIL} characters.`);
  return address;
}

async function hashed({ passwords, clock }: Identity & Machine, password: string): Promise<PasswordHash> {
  const length = [...password].length;
  if (length < MIN_PASSWORD || length > MAX_PASSWORD || password.trim() === '')
    throw fieldInvalid('/password', `A password must have ${MIN_PASSWORD} to ${MAX_PASSWORD} characters.`);
  return { ...(await passwords.hash(password)), setAt: clock.now() };
}
