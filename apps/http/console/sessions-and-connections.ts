import type { Identity, Machine, Money } from '../../../core/context.js';
import { ServiceError } from '../../../core/errors.js';
import { isUuid } from '../../../core/ids.js';
import { disconnect, listAccountGrants } from '../../../core/people/grants.js';
import { endOtherSessions, endSession, listSessions } from '../../../core/people/sessions.js';
import { documentUrl, PROGRAM_SCOPE_TEXTS } from '../pages/connected-program.js';
import { type ConsoleOperation, get, post, shownTime } from './console-operation.js';
import { readCapUses } from './keys-and-apps.js';

/** Browsers in which the person is signed in, and programs that they have connected. */
export const SESSION_OPERATIONS: readonly ConsoleOperation<Money & Identity & Machine>[] = [
  /** The programs that the people of the account have connected, newest first. */
  get('/connections', async ({ context }, { signedIn: { person } }) => {
    const grants = await listAccountGrants(context, person.accountId);
    const usedOf = await readCapUses(
      context,
      person.accountId,
      grants.some(({ grant: { capCredits } }) => capCredits !== undefined),
    );
    return {
      connections: grants.map(({ grant, person: owner }) => ({
        id: grant.grantId,
        connected_by: owner.email,
        is_own: owner.personId === person.personId,
        client_name: grant.clientName,
        // The names of clients without a document are unverified.
        client_host: documentUrl(grant.clientId)?.host ?? null,
        audience: grant.audience,
        scopes: grant.scopes,
        may: grant.scopes.map((scope) => PROGRAM_SCOPE_TEXTS[scope]),
        cap: grant.capCredits ?? null,
        used: usedOf(grant.grantId, grant.capCredits, 'life'),
        created_at: shownTime(grant.createdAt),
        expires_at: shownTime(grant.expiresAt),
        last_used_on: shownTime(grant.lastUsedAt),
      })),
    };
  }),
  post('/connections/:grant_id/disconnect', async ({ context }, { ctx, signedIn: { person } }) => {
    const grantId = ctx.params['grant_id'] ?? '';
    if (!isUuid(grantId)) throw new ServiceError('NOT_FOUND', 'There is no such connection.');
    await disconnect(context, person.personId, grantId.toLowerCase());
    return {};
  }),
  /** The sessions of this person, newest first. */
  get('/sessions', async ({ context }, { signedIn: { person, session: current } }) => {
    const sessions = await listSessions(context, person);
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
  }),
  /** Signs the person out in one browser. */
  post('/sessions/:session_id/end', async ({ context }, { ctx, signedIn: { person } }) => {
    const asked = ctx.params['session_id'] ?? '';
    const known = (await listSessions(context, person)).find(({ sessionId }) => sessionId === asked);
    if (!known) throw new ServiceError('NOT_FOUND', 'There is no such session.');
    await endSession(context, person, known.sessionId);
    return {};
  }),
  /** Signs the person out everywhere but here. */
  post('/sessions/end-others', async ({ context }, { signedIn }) => {
    await endOtherSessions(context, signedIn);
    return {};
  }),
];
