import { ServiceError } from '../../../../core/errors.js';
import type { SignedIn } from '../../../../core/people/sessions.js';

/** The id of a person: nobody locks themselves out by a click in the wrong row. Throws CONFLICT. */
export function requireOther(personId = '', { person }: SignedIn): string {
  if (personId.toLowerCase() === person.personId)
    throw new ServiceError('CONFLICT', 'This is you; another operator, or the command line, can do it.');
  return personId;
}
