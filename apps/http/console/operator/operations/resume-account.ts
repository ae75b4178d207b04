import { accountJson } from '../../../../operator/records.js';
import type { OperatorOperation } from '../operator-operation.js';

export const resumeAccount: OperatorOperation = {
  method: 'POST',
  path: '/accounts/:account_id/resume',
  act: 'resume an account',
  async answer(_parts, { ctx, operator }) {
    return { account: accountJson(await operator.resumeAccount(ctx.params['account_id'] ?? '')) };
  },
};
