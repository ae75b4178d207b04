import { endOtherSessions as end } from '../../../../core/people/sessions.js';
import type { ConsoleOperation } from '../console-operation.js';

/** Signs the person out everywhere but here. */
export const endOtherSessions: ConsoleOperation = {
  method: 'POST',
  path: '/sessions/end-others',
  async answer({ context }, { signedIn }) {
    await end(context, signedIn);
    return {};
  },
};
