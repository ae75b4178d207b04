import { ServiceError } from '../../../../core/errors.js';
import { endSession as end, listSessions } from '../../../../core/people/sessions.js';
import type { ConsoleOperation } from '../console-operation.js';

/** Signs the person out in one browser. */
export const endSession: ConsoleOperation = {
  method: 'POST',
  path: '/sessions/:session_id/end',
  async answer({ context }, { ctx, signedIn: { person } }) {
    const asked = ctx.params['session_id'] ?? '';
    const known = (await listSessions(context, person)).find(({ sessionId }) => sessionId === asked);
    if (!known) throw new ServiceError('NOT_FOUND', 'There is no such session.');
    await end(context, person, known.sessionId);
    return {};
  },
};
