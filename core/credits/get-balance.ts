import type { Caller } from '../access/credential.js';
import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';

export interface Balance {
  readonly availableCredits: number;
  readonly currency: string;
}

/** What the account can still reserve. */
export async function getBalance(context: Pick<Context, 'accounts' | 'call'>, caller: Caller): Promise<Balance> {
  const account = await context.accounts.read(caller.accountId, context.call, 'totals');
  if (!account) throw new ServiceError('DEVELOPER_TOKEN_INVALID');
  return { availableCredits: account.available, currency: account.currency };
}
