import { keyJson } from '../../../../operator/records.js';
import type { OperatorOperation } from '../operator-operation.js';

export const revokeAnyKey: OperatorOperation = {
  method: 'POST',
  path: '/keys/:key_id/revoke',
  act: 'revoke a key',
  async answer(_parts, { ctx, operator, act }) {
    const key = await operator.revokeKey(ctx.params['key_id'] ?? '');
    act.note({ accountId: key.accountId });
    return { key: keyJson(key) };
  },
};
