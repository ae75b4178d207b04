import { listSessions as sessionsOf } from '../../../../core/people/sessions.js';
import type { ConsoleOperation } from '../console-operation.js';
import { shownTime } from '../shown-time.js';

/** Where this person is signed in, newest first. */
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
