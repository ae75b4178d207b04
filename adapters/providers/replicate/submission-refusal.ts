import type { SubmitAnswer } from '../../../core/ports/provider.js';
import type { SubmissionRefusal } from '../../http/submission-outcome.js';
import { memberOf } from '../shared/json-members.js';
import type { SentTexts } from '../shared/policy-codes.js';
import type { FailureName } from '../shared/sentences.js';
import { certainRefusal, refusalByStatus } from '../shared/submission-refusal.js';

/** The meaning of a certain refusal of the API for the task. */
export function refusalOf(refused: SubmissionRefusal, sent: SentTexts = {}): SubmitAnswer {
  const waitMs = waitInText(refused.body);
  const hinted = waitMs === undefined ? refused : { retryAfterMs: waitMs, ...refused };
  return certainRefusal(hinted, sent, nameOf(refused));
}

function nameOf({ status, body }: SubmissionRefusal): FailureName {
  if (status === 422 && /^Invalid version/i.test(member(body, 'title'))) return 'model missing';
  return refusalByStatus(status);
}

/** "Your rate limit resets in ~30s." and "Expected available in 1 second.", as milliseconds. */
export function waitInText(body: unknown): number | undefined {
  const [, seconds] = /\bin ~?(\d{1,5}) ?s(?:econds?)?\b/.exec(member(body, 'detail')) ?? [];
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}

function member(body: unknown, name: string): string {
  const value = memberOf(body, name);
  return typeof value === 'string' ? value.slice(0, 1_000) : '';
}
