import type { Context } from '../../../core/context.js';
import type { Account } from '../../../core/credits/account.js';
import { ServiceError } from '../../../core/errors.js';

/** The account a command line names. Throws NOT_FOUND when there is none: an empty list would not say so. */
export async function existingAccount({ accounts }: Pick<Context, 'accounts'>, accountId: string): Promise<Account> {
  const account = await accounts.read(accountId);
  if (!account) throw new ServiceError('NOT_FOUND', `There is no account ${accountId}.`);
  return account;
}
