import type { Context } from '../context.js';
import { fieldInvalid } from '../fields.js';
import { setPassword } from './manage-people.js';
import type { Person } from './person.js';
import { requireRecentSignIn, type SignedIn } from './sessions.js';

type Ports = Pick<Context, 'people' | 'accounts' | 'ids' | 'clock' | 'passwords' | 'call'>;

/**
 * Sets the password of a person, which ends every session of theirs. It takes the current password, or a recent
 * sign-in of a person who has none. Throws FIELD_INVALID, RECENT_SIGN_IN_REQUIRED, and
 * SESSION_REQUIRED for a session that has ended meanwhile.
 */
export async function changePassword(
  ports: Ports,
  signedIn: SignedIn,
  { current, next }: { readonly current: string | undefined; readonly next: string },
): Promise<Person> {
  const { personId, password, sessionEpoch } = signedIn.person;
  if (password === undefined) requireRecentSignIn(ports, signedIn.session);
  else if (!(await ports.passwords.matches(current ?? '', password)))
    throw fieldInvalid('/current_password', 'The current password is wrong.');
  return setPassword(ports, personId, next, sessionEpoch);
}
