import { keyJson, moreJson } from '../../../../operator/records.js';
import type { OperatorOperation } from '../operator-operation.js';

export const listAccountKeys: OperatorOperation = {
  method: 'GET',
  path: '/accounts/:account_id/keys',
  act: 'list the keys of an account',
  async answer(_parts, { ctx, operator, page }) {
    const keys = await operator.listKeys(ctx.params['account_id'] ?? '', page);
    return { keys: keys.items.map(keyJson), ...moreJson(keys) };
  },
};
