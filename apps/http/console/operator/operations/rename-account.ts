import type { JsonObject } from '../../../../../core/json.js';
import { accountJson } from '../../../../operator/records.js';
import { NAME, NAME_WORDING } from '../../name-field.js';
import type { OperatorOperation } from '../operator-operation.js';

const SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: { name: NAME },
} as const satisfies JsonObject;

export const renameAccount: OperatorOperation = {
  method: 'POST',
  path: '/accounts/:account_id/rename',
  act: 'rename an account',
  body: { schema: SCHEMA, wording: NAME_WORDING },
  async answer(_parts, { ctx, operator, body }) {
    const { name } = body as unknown as { readonly name: string };
    return { account: accountJson(await operator.renameAccount(ctx.params['account_id'] ?? '', name)) };
  },
};
