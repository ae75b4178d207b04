import { revokeAccountKey } from '../../../../core/people/account-keys.js';
import type { ConsoleOperation } from '../console-operation.js';
import { shownTime } from '../shown-time.js';

export const revokeKey: ConsoleOperation = {
  method: 'POST',
  path: '/keys/:key_id/revoke',
  async answer({ context }, { ctx, signedIn: { person } }) {
    const { revokedAt } = await revokeAccountKey(context, person.accountId, ctx.params['key_id'] ?? '');
    return { revoked_at: shownTime(revokedAt) };
  },
};
