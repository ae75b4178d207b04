import type { InputRequiredResult } from '@modelcontextprotocol/server';
import { ServiceError } from '../../../core/errors.js';
import { createGeneration, type Created } from '../../../core/generation/create-generation.js';
import { estimateGeneration } from '../../../core/generation/estimate-generation.js';
import type { JsonObject } from '../../../core/json.js';
import type { ToolCall } from './tool.js';

/** A price that changes after every answer is not asked about for ever. */
const MAX_QUESTIONS = 3;

export interface ConfirmedCreate {
  readonly idempotencyKey: string;
  /** The body of REST. */
  readonly body: JsonObject;
}

/**
 * Creates a generation that costs more than the operator's threshold only if a person said yes to its price. Where the
 * client can ask nobody, the credential's cap stands in for the person, and without a cap the create is refused. Nothing
 * is reserved while somebody is asked, and the key is free. A replay reserves nothing and asks nothing.
 */
export async function createConfirmed(
  call: ToolCall,
  { idempotencyKey, body }: ConfirmedCreate,
): Promise<Created | { readonly ask: InputRequiredResult }> {
  const { context, caller, confirmAboveCredits } = call;
  let approvedCredits = confirmAboveCredits;
  for (let asked = 0; ; asked += 1) {
    try {
      return await createGeneration(context, caller, idempotencyKey, body, { approvedCredits });
    } catch (error) {
      const credits = creditsToConfirm(error);
      if (credits === undefined || asked === MAX_QUESTIONS) throw error;
      // Nobody is asked about what would be refused anyhow.
      await estimateGeneration(context, caller, body);
      const answer = await call.asking.confirm({
        message: `Spend up to ${credits} credits for "${body['model_key'] as string}"? They are reserved now; what is not used is given back.`,
        credits,
        subject: { idempotencyKey, body },
      });
      if (typeof answer === 'object') return { ask: answer };
      if (answer === 'unable' && caller.cap === undefined) throw unconfirmable(credits, confirmAboveCredits);
      if (answer === 'no' || answer === 'unanswered') throw notConfirmed(credits, answer);
      if (answer === 'yes') await call.requireAllowed();
      approvedCredits = answer === 'yes' ? credits : Infinity;
    }
  }
}

function creditsToConfirm(error: unknown): number | undefined {
  return error instanceof ServiceError && error.code === 'SPENDING_NOT_CONFIRMED' ? error.details.credits : undefined;
}

function unconfirmable(credits: number, threshold: number): ServiceError {
  return new ServiceError(
    'SPENDING_NOT_CONFIRMED',
    `This would reserve ${credits} credits, and more than ${threshold} need a person's yes, for which this client cannot ask; ask for less, or connect with a credential that has a spending cap.`,
    { credits },
  );
}

function notConfirmed(credits: number, answer: 'no' | 'unanswered'): ServiceError {
  const why = answer === 'no' ? 'the person who was asked said no' : 'nobody answered the question in time';
  return new ServiceError(
    'SPENDING_NOT_CONFIRMED',
    `This would reserve ${credits} credits, and ${why}; nothing was reserved.`,
    { credits },
  );
}
