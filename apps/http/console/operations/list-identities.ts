import type { ConsoleOperation } from '../console-operation.js';
import { shownTime } from '../shown-time.js';

/** The identities at outside providers that sign this person in, oldest first. */
export const listIdentities: ConsoleOperation = {
  method: 'GET',
  path: '/identities',
  async answer({ context }, { signedIn: { person } }) {
    const identities = await context.people.listIdentities(person.personId);
    return {
      identities: identities.map(({ issuer, subject, linkedAt }) => ({
        issuer,
        subject,
        linked_at: shownTime(linkedAt),
      })),
    };
  },
};
