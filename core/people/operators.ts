import type { Call, Identity, Machine } from '../context.js';
import { ServiceError } from '../errors.js';
import { changePerson } from './manage-people.js';
import type { Person } from './person.js';
import { requireRecentSignIn, type Session, type SignedIn } from './sessions.js';

/** Whether the person is an operator. Operators sign in with a passkey only. */
export function isOperator({ operatorSince }: Pick<Person, 'operatorSince'>): boolean {
  return operatorSince !== undefined;
}

/**
 * Makes a person an operator; repeating it changes nothing. The person must already have a passkey, and can from then
 * on add others only when signed in with one. Throws NOT_FOUND, CONFLICT, and `CallOver` before it writes.
 */
export function promotePerson(ports: Identity & Machine & Call, personId: string): Promise<Person> {
  return changePerson(ports, personId, (person) => {
    if (isOperator(person)) return person;
    if (person.passkeys.length === 0)
      throw new ServiceError(
        'CONFLICT',
        `${person.email} has no passkey; they must add one on their account page before they can be an operator.`,
      );
    return { ...person, operatorSince: ports.clock.now() };
  });
}

/**
 * Revokes operator access in every process at once; repeating it changes nothing. Throws the same as `promotePerson`.
 */
export function demotePerson(ports: Identity & Machine & Call, personId: string): Promise<Person> {
  return changePerson(ports, personId, (person) => {
    const { operatorSince, ...others } = person;
    return operatorSince === undefined ? person : others;
  });
}

/**
 * For what an operator does in a browser. Throws OPERATOR_REQUIRED, PASSKEY_SIGN_IN_REQUIRED for an operator who has
 * signed in another way, and RECENT_SIGN_IN_REQUIRED for a change by one who did so more than 15 minutes ago.
 */
export function requireOperator(
  ports: Identity & Machine & Call,
  { person, session }: SignedIn,
  act: 'read' | 'change',
): void {
  if (!isOperator(person)) throw new ServiceError('OPERATOR_REQUIRED');
  if (session.method !== 'passkey') throw new ServiceError('PASSKEY_SIGN_IN_REQUIRED');
  if (act === 'change') requireRecentSignIn(ports, session);
}

/**
 * Checked before a passkey of an operator is added: whoever has their password, or a link, must not get one that lets
 * them in. Throws PASSKEY_SIGN_IN_REQUIRED.
 */
export function requirePasskeyOfOperator(person: Person, { method }: Pick<Session, 'method'>): void {
  if (isOperator(person) && method !== 'passkey')
    throw new ServiceError(
      'PASSKEY_SIGN_IN_REQUIRED',
      'An operator adds a passkey only after signing in with one; sign in again with a passkey.',
    );
}
