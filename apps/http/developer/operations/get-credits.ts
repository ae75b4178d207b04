import { getBalance } from '../../../../core/credits/get-balance.js';
import type { ProtectedOperation } from '../operation.js';
import { BALANCE_SCHEMA, renderBalance } from '../../render/balance.js';

export const getCreditsOperation: ProtectedOperation = {
  operationId: 'getCredits',
  summary: "Get the account's credit balance",
  status: 200,
  data: BALANCE_SCHEMA,
  errors: [],
  answer: async ({ context, caller }) => ({ data: renderBalance(await getBalance(context, caller)) }),
};
