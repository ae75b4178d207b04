import type { Caller } from '../../../core/access/credential.js';
import type { Context } from '../../../core/context.js';
import { ERRORS, ServiceError, StoreUnavailable } from '../../../core/errors.js';
import { createGeneration } from '../../../core/generation/create-generation.js';
import { cancelGeneration } from '../../../core/generation/end-generation.js';
import type { Generation } from '../../../core/generation/generation.js';
import type { Request } from './cases.js';

/** A client's answer. `broken` is one that no client should ever get: an unexpected error was thrown. */
export type Answer =
  | { readonly outcome: 'accepted' | 'cancelled'; readonly generation: Generation; readonly replayed: boolean }
  | { readonly outcome: 'refused'; readonly code: string; readonly mayRetry: boolean }
  | { readonly outcome: 'broken'; readonly message: string };

/** Handles a request as a front does. `generationId` is the subject of a cancel. */
export async function serve(
  context: Context,
  caller: Caller,
  request: Request,
  generationId: string | undefined,
): Promise<Answer> {
  try {
    if (request.operation === 'create')
      return { outcome: 'accepted', ...(await createGeneration(context, caller, request.key, request.body)) };
    return {
      outcome: 'cancelled',
      generation: await cancelGeneration(context, caller, generationId ?? ''),
      replayed: false,
    };
  } catch (error) {
    if (error instanceof ServiceError)
      return { outcome: 'refused', code: error.code, mayRetry: ERRORS[error.code].retry };
    if (error instanceof StoreUnavailable) return { outcome: 'refused', code: 'UNAVAILABLE', mayRetry: true };
    return { outcome: 'broken', message: String(error) };
  }
}
