import type { SubmitAnswer } from '../../../core/ports/provider.js';
import type { SubmissionContract, SubmissionRefusal } from '../../http/submission-outcome.js';
import { isObject } from '../shared/json-members.js';
import type { SentTexts } from '../shared/policy-codes.js';
import { refusedBy, statusInSuccess } from '../shared/refused-in-success.js';
import type { FailureName } from '../shared/sentences.js';
import { certainRefusal } from '../shared/submission-refusal.js';

/** Error details with status 500 about a reference that the server cannot read. */
const UNREADABLE: readonly unknown[] = ['Invalid encoded image'];
/** And about a format of pictures that they cannot write. */
const UNWRITABLE: readonly unknown[] = ['Invalid image format'];

/**
 * A 500 in the server's own form is the end of the task: what worked on it has broken off. Any other 500 may come from
 * a proxy, behind which the task continues.
 */
export const A1111_CONTRACT: SubmissionContract = {
  refuses: (status, body) => (status === 500 && (isReport(body) || isKnown(detailOf(body))) ? 'rejected' : undefined),
};

/** A certain refusal of the server, or of what is before it, in the words that clients read. */
export function refusalOf(refused: SubmissionRefusal, submission: SentTexts): SubmitAnswer {
  return certainRefusal(refused, submission, nameOf(refused));
}

/** The refusal that the error in an answer of success is, as if it had its own status; undefined where it is not certain. */
export function refusalInSuccess(body: unknown, submission: SentTexts): SubmitAnswer | undefined {
  const isOwn = isReport(body) || isKnown(detailOf(body));
  const status = statusInSuccess(body, 200, submission) ?? (isOwn ? 500 : undefined);
  return status === undefined ? undefined : refusalOf(refusedBy(status, body), submission);
}

function nameOf({ status, body }: SubmissionRefusal): FailureName {
  const detail = detailOf(body);
  if (UNREADABLE.includes(detail)) return 'input invalid';
  if (UNWRITABLE.includes(detail)) return 'settings wrong';
  if (status === 500) return 'broke';
  if (status === 401 || status === 403) return 'account refused';
  if (status === 413) return 'input invalid';
  // Values come from the rules of the settings.
  if (status === 422 || detail === 'Sampler not found') return 'settings wrong';
  return status === 404 || status === 405 ? 'model missing' : 'rejected';
}

/** How the servers report an exception: by its class and its text, which Forge calls otherwise. */
function isReport(body: unknown): boolean {
  return (
    isObject(body) &&
    ['detail', 'body'].every((name) => name in body) &&
    typeof body['error'] === 'string' &&
    (typeof body['errors'] === 'string' || typeof body['message'] === 'string')
  );
}

function isKnown(detail: unknown): boolean {
  return UNREADABLE.includes(detail) || UNWRITABLE.includes(detail);
}

function detailOf(body: unknown): unknown {
  return isObject(body) ? body['detail'] : undefined;
}
