import { getBalance } from '../../../../core/credits/get-balance.js';
import { BALANCE_SCHEMA, renderBalance } from '../../render/balance.js';
import { inputOf, readArguments } from '../arguments.js';
import type { Tool } from '../tool.js';
import { dataResult } from '../tool-results.js';

const INPUT = inputOf({});

export const getCredits: Tool = {
  name: 'get_credits',
  title: 'Get the credit balance',
  description: 'Tells how many credits the account can still spend.',
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  input: INPUT,
  output: BALANCE_SCHEMA,
  scopes: () => ['credits:read'],
  rate: 'reads',
  async answer(call) {
    readArguments(call, INPUT);
    return dataResult(renderBalance(await getBalance(call.context, call.caller)));
  },
};
