import type { Caller } from '../access/credential.js';
import { accountSuspended } from '../access/suspended.js';
import type { Context } from '../context.js';
import { periodOf, usedIn } from '../credits/cap.js';
import { ServiceError } from '../errors.js';
import type { Json } from '../json.js';
import { capReached, insufficientCredits } from './create-generation.js';
import type { Operation } from './generation.js';
import { quoteGeneration } from './quote.js';
import { readGenerationRequest } from './request.js';

export interface Estimate {
  readonly modelKey: string;
  readonly operation: Operation;
  readonly estimatedCredits: number;
  readonly currency: string;
}

/**
 * What `createGeneration` would reserve for this request. Throws what it would throw, except the idempotency codes and
 * QUEUE_FULL; stores nothing.
 */
export async function estimateGeneration(context: Context, caller: Caller, body: Json): Promise<Estimate> {
  const request = readGenerationRequest(context, body);
  const quote = await quoteGeneration(context, caller, request);
  const account = await context.accounts.read(caller.accountId, context.call, 'totals');
  if (!account) throw new ServiceError('DEVELOPER_TOKEN_INVALID');
  if (account.suspendedAt !== undefined) throw accountSuspended();
  if (account.available < quote.credits) throw insufficientCredits(caller, quote.credits, account.available);
  if (!(await isWithinCap(context, caller, quote.credits))) throw capReached(caller, quote.credits, account.available);
  return {
    modelKey: quote.model.modelKey,
    operation: request.operation,
    estimatedCredits: quote.credits,
    currency: account.currency,
  };
}

async function isWithinCap(
  context: Context,
  { accountId, credentialId, cap }: Caller,
  credits: number,
): Promise<boolean> {
  if (cap === undefined) return true;
  const stored = (await context.accounts.read(accountId, context.call))?.capUses?.get(credentialId);
  return usedIn(periodOf(cap, stored, context.clock.now()), stored) + credits <= cap.credits;
}
