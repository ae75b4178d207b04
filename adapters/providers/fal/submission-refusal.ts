import type { SubmitAnswer } from '../../../core/ports/provider.js';
import type { SubmissionRefusal } from '../../http/submission-outcome.js';
import { refusal, type FailureName } from '../shared/sentences.js';

const BY_STATUS: Readonly<Record<number, FailureName>> = {
  401: 'account refused',
  402: 'account refused',
  403: 'account refused',
  404: 'model missing',
  413: 'input invalid',
  422: 'input invalid',
};

/** What a certain refusal of the queue means for the task. */
export function refusalOf({ because, status = 0, retryAfterMs }: SubmissionRefusal): SubmitAnswer {
  switch (because) {
    case 'unreachable':
      return refusal('unreachable');
    case 'capacity':
      return refusal('no capacity', { retryAfterMs });
    case 'rejected':
      return refusal(BY_STATUS[status] ?? 'rejected');
  }
}
