import type { Submission, SubmitAnswer } from '../../../core/ports/provider.js';
import type { SubmissionRefusal } from '../../http/submission-outcome.js';
import { policyRefusalIn } from '../shared/policy-codes.js';
import { statusInSuccess } from '../shared/refused-in-success.js';
import { type FailureName, refusal } from '../shared/sentences.js';
import { isInputType, typeIn } from './request-failure.js';

const BY_STATUS: Readonly<Record<number, FailureName>> = {
  401: 'account refused',
  402: 'account refused',
  403: 'account refused',
  404: 'model missing',
  413: 'input invalid',
  422: 'input invalid',
};

/** The meaning of a certain refusal of the queue for the task. */
export function refusalOf(
  { because, status = 0, retryAfterMs, body }: SubmissionRefusal,
  submission: Submission,
): SubmitAnswer {
  if (because === 'unreachable') return refusal('unreachable');
  const policy = policyRefusalIn(body, status, submission);
  if (policy !== undefined) return refusal(policy);
  if (because === 'capacity') return refusal('no capacity', { retryAfterMs });
  return refusal(BY_STATUS[status] ?? 'rejected');
}

/** The status of the error in an answer of success that names no request; undefined where it is not a certain refusal. */
export function statedRefusal(body: unknown, status: number, submission: Submission): number | undefined {
  const type = typeIn(body);
  return statusInSuccess(body, status, submission) ?? (type !== undefined && isInputType(type) ? 422 : undefined);
}
