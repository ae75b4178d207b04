import { requireWanted } from '../cancellation.js';
import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import { fieldInvalid, isText } from '../fields.js';
import type { Account } from './account.js';
import type { AccountCommand } from './decide.js';

/** Both stand in the ledger for ever, and in the account's own record first, which a store may bound. */
const MAX_OPERATION_ID = 255;
const MAX_REASON = 1_000;

export interface CreditOperation {
  readonly accountId: string;
  /** Idempotency id of the operation, 1 to 255 characters: a repeated operation has no effect. */
  readonly operationId: string;
  /** Whole credits; positive for a grant, either way but not 0 for an adjustment. */
  readonly credits: number;
  /** At most 1,000 characters; may be empty for a grant. */
  readonly reason: string;
}

/**
 * Grants credits to an account. Throws FIELD_INVALID, NOT_FOUND, and CONFLICT for an operation id used for something
 * else; `CallOver`, without any effect, if the call is over before the write.
 */
export function grantCredits(context: Context, operation: CreditOperation): Promise<Account> {
  return operate(context, { kind: 'grant', ...operation });
}

/** Corrects what was issued, with a reason. Throws as `grantCredits` does, and CREDITS_INSUFFICIENT below zero. */
export async function adjustCredits(context: Context, operation: CreditOperation): Promise<Account> {
  if (operation.reason.trim() === '') throw fieldInvalid('/reason', 'An adjustment needs a reason.');
  return operate(context, { kind: 'adjust', ...operation });
}

async function operate(
  context: Context,
  operation: CreditOperation & Extract<AccountCommand, { kind: 'grant' | 'adjust' }>,
): Promise<Account> {
  const { accountId, kind, operationId, credits, reason } = operation;
  checkTexts(operation);
  requireWanted(context.call);
  const { refused } = await context.accountWriter.execute(accountId, { kind, operationId, credits, reason });
  if (refused === 'CREDITS_INSUFFICIENT')
    throw new ServiceError('CREDITS_INSUFFICIENT', 'The adjustment would take the balance below zero.');
  if (refused === 'OPERATION_DIFFERS')
    throw new ServiceError('CONFLICT', `The operation id ${operationId} was used before, for another amount or kind.`);
  if (refused)
    throw fieldInvalid(
      '/credits',
      `A ${kind} must be a whole number of credits${kind === 'grant' ? ' above 0' : ', not 0'}, and keep all totals within 2^53 - 1.`,
    );
  const account = await context.accounts.read(accountId);
  if (!account) throw new ServiceError('NOT_FOUND', `There is no account ${accountId}.`);
  return account;
}

function checkTexts({ operationId, reason }: CreditOperation): void {
  const isId = operationId !== '' && operationId.length <= MAX_OPERATION_ID && isText(operationId);
  if (!isId)
    throw fieldInvalid(
      '/operation_id',
      `An operation id must have 1 to ${MAX_OPERATION_ID} characters, none of them NUL or half a character.`,
    );
  if (reason.length > MAX_REASON || !isText(reason))
    throw fieldInvalid('/reason', 'A reason must have at most 1,000 characters, none of them NUL or half a character.');
}
