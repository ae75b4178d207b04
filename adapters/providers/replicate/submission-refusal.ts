import type { SubmitAnswer } from '../../../core/ports/provider.js';
import type { SubmissionRefusal } from '../../http/submission-outcome.js';
import { memberOf } from '../shared/json-members.js';
import { policyRefusalIn, type SentTexts } from '../shared/policy-codes.js';
import { type FailureName, refusal } from '../shared/sentences.js';

const BY_STATUS: Readonly<Record<number, FailureName>> = {
  401: 'account refused',
  402: 'account refused',
  403: 'account refused',
  404: 'model missing',
  413: 'input invalid',
  422: 'input invalid',
};

/** The meaning of a certain refusal of the API for the task. */
export function refusalOf(refused: SubmissionRefusal, sent: SentTexts = {}): SubmitAnswer {
  if (refused.because === 'unreachable') return refusal('unreachable');
  const policy = policyRefusalIn(refused.body, refused.status, sent);
  if (policy !== undefined) return refusal(policy);
  if (refused.because === 'capacity')
    return refusal('no capacity', { retryAfterMs: refused.retryAfterMs ?? waitInText(refused.body) });
  return refusal(nameOf(refused));
}

function nameOf({ status = 0, body }: SubmissionRefusal): FailureName {
  if (status === 422 && /^Invalid version/i.test(member(body, 'title'))) return 'model missing';
  return BY_STATUS[status] ?? 'rejected';
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
