import { type SubmissionRefusal, UNKNOWN_4XX } from '../../http/submission-outcome.js';
import { memberOf } from './json-members.js';
import { policyRefusalIn, type SentTexts } from './policy-codes.js';

/**
 * The status that an error in an answer of success would have had, where it is a certain refusal: one of the content policy,
 * or one that names its own status of 4xx. Gateways that have to answer early send 200 for everything. Undefined for any
 * other error: whether the task was taken is then not known.
 */
export function statusInSuccess(body: unknown, status: number, sent: SentTexts): number | undefined {
  if (policyRefusalIn(body, status, sent) !== undefined) return 400;
  const error = memberOf(body, 'error');
  for (const place of [error, body])
    for (const name of ['status', 'status_code', 'statusCode', 'http_code', 'http_status', 'code']) {
      const named = Number(memberOf(place, name));
      if (Number.isInteger(named) && named >= 400 && named < 500 && !UNKNOWN_4XX.includes(named)) return named;
    }
  return undefined;
}

/** The refusal that an answer with this status would have been. */
export function refusedBy(status: number, body: unknown): SubmissionRefusal {
  return { outcome: 'refused', because: status === 429 ? 'capacity' : 'rejected', status, body };
}
