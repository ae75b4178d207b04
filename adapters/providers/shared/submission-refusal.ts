import type { ProviderOpening } from '../../driver.js';
import type { SubmissionRefusal } from '../../http/submission-outcome.js';
import type { SubmitAnswer } from '../../../core/ports/provider.js';
import { policyRefusalIn, type SentTexts } from './policy-codes.js';
import { type FailureName, refusal } from './sentences.js';

/** The reason that a status stands for, at an API whose responses give no other. */
const BY_STATUS: Readonly<Record<number, FailureName>> = {
  401: 'account refused',
  402: 'account refused',
  403: 'account refused',
  404: 'model missing',
  413: 'input invalid',
  422: 'input invalid',
};

export function refusalByStatus(status = 0): FailureName {
  return BY_STATUS[status] ?? 'rejected';
}

/** The meaning of a certain refusal for the task; `name` is that of one for none of the reasons that all APIs share. */
export function certainRefusal(
  { because, status, retryAfterMs, body }: SubmissionRefusal,
  sent: SentTexts,
  name: FailureName,
): SubmitAnswer {
  if (because === 'unreachable') return refusal('unreachable');
  const policy = policyRefusalIn(body, status, sent);
  if (policy !== undefined) return refusal(policy);
  return because === 'capacity' ? refusal('no capacity', { retryAfterMs }) : refusal(name);
}

export function logRefusal(
  { log, instance }: Pick<ProviderOpening, 'log' | 'instance'>,
  { because, status }: SubmissionRefusal,
): void {
  log.warn('provider refused a task', { provider: instance, because, status });
}
