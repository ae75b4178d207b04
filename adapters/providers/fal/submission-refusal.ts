import type { Submission } from '../../../core/ports/provider.js';
import { statusInSuccess } from '../shared/refused-in-success.js';
import { isInputType, typeIn } from './request-failure.js';

/** The status of the error in an answer of success that names no request; undefined where it is not a certain refusal. */
export function statedRefusal(body: unknown, status: number, submission: Submission): number | undefined {
  const type = typeIn(body);
  return statusInSuccess(body, status, submission) ?? (type !== undefined && isInputType(type) ? 422 : undefined);
}
