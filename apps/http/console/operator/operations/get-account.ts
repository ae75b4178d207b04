import { accountJson } from '../../../../operator/records.js';
import type { OperatorOperation } from '../operator-operation.js';

/** One account with its books. */
export const getAccount: OperatorOperation = {
  method: 'GET',
  path: '/accounts/:account_id',
  act: 'read an account',
  async answer(_parts, { ctx, operator }) {
    return { account: accountJson(await operator.getAccount(ctx.params['account_id'] ?? '')) };
  },
};
