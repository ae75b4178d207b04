import type { Cap } from '../../../core/credits/account.js';
import { ServiceError } from '../../../core/errors.js';
import { isUuid } from '../../../core/ids.js';
import { disconnect as endConnection, listGrants } from '../../../core/people/grants.js';
import {
  endOtherSessions as endOthers,
  endSession as end,
  listSessions as sessionsOf,
} from '../../../core/people/sessions.js';
import { type ConsoleOperation, shownTime } from './console-operation.js';
import { readCapUses } from './keys-and-apps.js';

/** The sessions of this person, newest first. */
export const listSessions: ConsoleOperation = {
  method: 'GET',
  path: '/sessions',
  async answer({ context }, { signedIn: { person, session: current } }) {
    const sessions = await sessionsOf(context, person);
    return {
      sessions: sessions.map(({ sessionId, method, userAgent, createdAt, expiresAt }) => ({
        id: sessionId,
        method,
        user_agent: userAgent,
        created_at: shownTime(createdAt),
        expires_at: shownTime(expiresAt),
        is_current: sessionId === current.sessionId,
      })),
    };
  },
};

/** Signs the person out in one browser. */
export const endSession: ConsoleOperation = {
  method: 'POST',
  path: '/sessions/:session_id/end',
  async answer({ context }, { ctx, signedIn: { person } }) {
    const asked = ctx.params['session_id'] ?? '';
    const known = (await sessionsOf(context, person)).find(({ sessionId }) => sessionId === asked);
    if (!known) throw new ServiceError('NOT_FOUND', 'There is no such session.');
    await end(context, person, known.sessionId);
    return {};
  },
};

/** Signs the person out everywhere but here. */
export const endOtherSessions: ConsoleOperation = {
  method: 'POST',
  path: '/sessions/end-others',
  async answer({ context }, { signedIn }) {
    await endOthers(context, signedIn);
    return {};
  },
};

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

/** The host of a client whose id is the URL of its document. The names of other clients are unverified. */
function hostOf(clientId: string): string | null {
  return clientId.startsWith('https://') && URL.canParse(clientId) ? new URL(clientId).host : null;
}

export const disconnect: ConsoleOperation = {
  method: 'POST',
  path: '/connections/:grant_id/disconnect',
  async answer({ context }, { ctx, signedIn: { person } }) {
    const grantId = ctx.params['grant_id'] ?? '';
    if (!isUuid(grantId)) throw new ServiceError('NOT_FOUND', 'There is no such connection.');
    await endConnection(context, person.personId, grantId.toLowerCase());
    return {};
  },
};
