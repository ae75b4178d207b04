import type { JsonObject } from '../../../../../core/json.js';
import { accountJson } from '../../../../operator/records.js';
import { NAME, NAME_WORDING } from '../../name-field.js';
import type { OperatorOperation } from '../operator-operation.js';

const SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: { name: NAME, currency: { type: 'string', maxLength: 100 } },
} as const satisfies JsonObject;

export const createAccount: OperatorOperation = {
  method: 'POST',
  path: '/accounts',
  act: 'create an account',
  body: { schema: SCHEMA, wording: NAME_WORDING },
  async answer(_parts, { operator, body, act }) {
    const { name, currency = '' } = body as unknown as { readonly name: string; readonly currency?: string };
    const account = await operator.createAccount({ name, ...(currency === '' ? {} : { currency }) });
    act.note({ accountId: account.accountId });
    return { account: accountJson(account) };
  },
};
