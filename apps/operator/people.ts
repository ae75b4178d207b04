import type { Context } from '../../core/context.js';
import type { Person } from '../../core/people/person.js';
import { createSignInLink } from '../../core/people/sign-in.js';
import type { ShownPerson, WithSignInLink } from './operator.js';

export function shownPerson({ password, passkeys, ...person }: Person): ShownPerson {
  const { personId, accountId, email, createdAt, disabledAt, lastSignInAt, operatorSince } = person;
  return {
    personId,
    accountId,
    email,
    createdAt,
    ...(disabledAt === undefined ? {} : { disabledAt }),
    ...(lastSignInAt === undefined ? {} : { lastSignInAt }),
    ...(operatorSince === undefined ? {} : { operatorSince }),
    hasPassword: password !== undefined,
    passkeyCount: passkeys.length,
  };
}

/** Where the front for sign-in takes the secret of a link. */
export function signInPath(secret: string): string {
  return `/sign-in/link/${secret}`;
}

/** A person with a link, if they have no password and may sign in. */
export async function withSignInLink(context: Context, person: Person): Promise<WithSignInLink> {
  if (person.password !== undefined || person.disabledAt !== undefined) return { person: shownPerson(person) };
  const { secret, expiresAt } = await createSignInLink(context, person.personId);
  return { person: shownPerson(person), link: { path: signInPath(secret), expiresAt } };
}
