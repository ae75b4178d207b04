import type { JsonObject } from '../../../../../core/json.js';
import { accountJson } from '../../../../operator/records.js';
import type { OperatorOperation } from '../operator-operation.js';

const SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['cancel_work'],
  properties: { cancel_work: { type: 'boolean' } },
} as const satisfies JsonObject;

/** With the result for its open generations, where they were to be cancelled. */
export const suspendAccount: OperatorOperation = {
  method: 'POST',
  path: '/accounts/:account_id/suspend',
  act: 'suspend an account',
  body: { schema: SCHEMA },
  async answer(_parts, { ctx, operator, body, act }) {
    const { cancel_work: cancelWork } = body as unknown as { readonly cancel_work: boolean };
    act.note({ cancelWork });
    const { account, work } = await operator.suspendAccount(ctx.params['account_id'] ?? '', { cancelWork });
    return { account: accountJson(account), ...(work === undefined ? {} : { work }) };
  },
};
