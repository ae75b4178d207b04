import { listGrants } from '../../../../core/people/grants.js';
import type { Cap } from '../../../../core/credits/cap.js';
import { readCapUses } from '../cap-uses.js';
import type { ConsoleOperation } from '../console-operation.js';
import { shownTime } from '../shown-time.js';

/** The programs that this person has connected, newest first. */
export const listConnections: ConsoleOperation = {
  method: 'GET',
  path: '/connections',
  async answer({ context }, { signedIn: { person } }) {
    const grants = await listGrants(context, person.personId);
    const usedOf = await readCapUses(
      context,
      person.accountId,
      grants.some(({ capCredits }) => capCredits !== undefined),
    );
    return {
      connections: grants.map((grant) => {
        const cap: Cap | undefined =
          grant.capCredits === undefined ? undefined : { credits: grant.capCredits, per: 'life' };
        return {
          id: grant.grantId,
          client_name: grant.clientName,
          client_host: hostOf(grant.clientId),
          audience: grant.audience,
          scopes: grant.scopes,
          cap: grant.capCredits ?? null,
          used: usedOf(grant.grantId, cap),
          created_at: shownTime(grant.createdAt),
          expires_at: shownTime(grant.expiresAt),
          last_used_on: shownTime(grant.lastUsedAt),
        };
      }),
    };
  },
};

/** Of a client whose id is the address of its document. The names of others are only what they say. */
function hostOf(clientId: string): string | null {
  return clientId.startsWith('https://') && URL.canParse(clientId) ? new URL(clientId).host : null;
}
