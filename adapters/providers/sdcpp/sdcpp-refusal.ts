import type { Submission, SubmitAnswer } from '../../../core/ports/provider.js';
import type { SubmissionRefusal } from '../../http/submission-outcome.js';
import type { FailureName } from '../shared/sentences.js';
import { certainRefusal } from '../shared/submission-refusal.js';
import { errorOf } from './sdcpp-job.js';

/** The server's messages for values that it cannot use, including a reference that it cannot read. */
const INVALID = 'invalid generation parameters';
const OTHER_MODEL = 'loaded model does not support img_gen';

/** A certain refusal of the server, or of what is before it, in the words that clients read. */
export function refusalOf(refused: SubmissionRefusal, submission: Submission): SubmitAnswer {
  const { status, body } = refused;
  return certainRefusal(refused, submission, nameOf(status, errorOf(body), submission.references.length > 0));
}

/**
 * Values come from the rules of the settings, so a refusal of values is about a reference, where there is one, or about
 * the settings.
 */
function nameOf(status: number | undefined, error: string | undefined, hasReferences: boolean): FailureName {
  if (status === 401 || status === 403) return 'account refused';
  if (status === 413 || error === 'invalid json') return 'input invalid';
  if (error === INVALID && hasReferences) return 'input invalid';
  if (error === OTHER_MODEL || status === 404) return 'model missing';
  return error === undefined ? 'rejected' : 'settings wrong';
}
