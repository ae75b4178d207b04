import { requireWanted } from '../cancellation.js';
import type { Context } from '../context.js';
import type { Account } from '../credits/account.js';
import type { AccountCommand } from '../credits/decide.js';
import { ServiceError } from '../errors.js';
import { readName } from './manage.js';

/**
 * The operators' actions on an account other than on its credits; each throws NOT_FOUND, and `CallOver` before it
 * writes for a call that is over.
 *
 * Suspends until the account is resumed: once this has returned no generation is accepted, and every process refuses
 * the account's keys within 5 seconds. Generations accepted before continue and are charged. Suspending again changes
 * nothing.
 */
export function suspendAccount(context: Context, accountId: string): Promise<Account> {
  return change(context, accountId, { kind: 'suspend' });
}

/**
 * Ends a suspension: keys that are not revoked or expired open the account again within 5 seconds. Again, it changes
 * nothing.
 */
export function resumeAccount(context: Context, accountId: string): Promise<Account> {
  return change(context, accountId, { kind: 'resume' });
}

/** Renames an account. Throws FIELD_INVALID for an invalid name. */
export async function renameAccount(context: Context, accountId: string, name: string): Promise<Account> {
  return change(context, accountId, { kind: 'rename', name: readName(name) });
}

async function change(
  context: Context,
  accountId: string,
  command: Extract<AccountCommand, { kind: 'suspend' | 'resume' | 'rename' }>,
): Promise<Account> {
  requireWanted(context.call);
  await context.accountWriter.execute(accountId, command);
  const account = await context.accounts.read(accountId);
  if (!account) throw new ServiceError('NOT_FOUND', `There is no account ${accountId}.`);
  return account;
}
