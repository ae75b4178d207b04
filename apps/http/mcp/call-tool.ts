import type { Logger } from 'pino';
import { CallOver } from '../../../core/cancellation.js';
import { ServiceError } from '../../../core/errors.js';
import { loggedIds } from '../../logging/logged-fields.js';
import { messageOf } from '../../requests/message-of.js';
import { notedRefusal } from '../host/noted-refusal.js';
import type { Asking } from './asking.js';
import type { Exchange } from './exchange.js';
import { objectOf } from './message.js';
import type { Progress } from './progress.js';
import type { Tool, ToolAnswer } from './tool.js';
import { refusalResult } from './tool-results.js';
import type { Json } from '../../../core/json.js';

export interface CallingParts {
  readonly exchange: Exchange;
  readonly logger: Logger;
  readonly asking: Asking;
  readonly progress: Progress;
  readonly takesTasks: boolean;
  readonly confirmAboveCredits: number;
}

/**
 * Calls a tool. What it refuses is its result, with the code and the sentence of REST.
 */
export async function callTool(tool: Tool, args: Json | undefined, parts: CallingParts): Promise<ToolAnswer> {
  const { exchange, logger, ...rest } = parts;
  const { context, waits, caller, requireAllowed, state } = exchange;
  const given = objectOf(args);
  state.tool = tool.name;
  state.ids = loggedIds({ generationId: given['generation_id'], uploadId: given['upload_id'] });
  try {
    return await tool.answer({
      ...rest,
      context,
      waits,
      caller,
      requireAllowed,
      args: given,
      created: (generationId) => {
        state.hasCreated = true;
        state.ids = loggedIds({ generationId });
      },
    });
  } catch (error) {
    // Nobody is left to read the answer.
    if (error instanceof CallOver) return refusalResult(new ServiceError('SERVICE_UNAVAILABLE'));
    const refusal = notedRefusal(error, state, logger);
    return refusalResult(new ServiceError(refusal.code, messageOf(refusal, MESSAGES), refusal.details));
  }
}

/** Sentences that name what is a tool's own. */
const MESSAGES = {
  IDEMPOTENCY_KEY_REQUIRED: 'Send an idempotency_key.',
  IDEMPOTENCY_KEY_INVALID: 'idempotency_key must be 1 to 255 visible ASCII characters.',
  IDEMPOTENCY_PAYLOAD_MISMATCH: 'This idempotency_key was first used with different arguments.',
  IDEMPOTENCY_IN_PROGRESS: 'The first call with this idempotency_key is still being handled.',
  IDEMPOTENCY_REPLAY_EXPIRED: 'The answer to this idempotency_key is no longer kept; a new intent needs a new key.',
} as const;
