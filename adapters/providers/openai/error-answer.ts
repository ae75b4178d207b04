import type { SubmissionRefusal } from '../../http/submission-outcome.js';
import type { FailureName } from '../shared/sentences.js';
import { memberOf } from '../shared/json-members.js';

/** What an error of the server says, as far as it is understood. Its message is never used. */
export interface ServerError {
  readonly code: string;
  readonly type: string;
  readonly param: string;
  /** Of a refusal by the content policy: whether it concerns what was sent or what was made. */
  readonly stage: string;
}

/** Reads `{ error: { code, type, param } }`, and the parts that are there of anything else. */
export function serverErrorOf(body: unknown): ServerError {
  const error = memberOf(body, 'error') ?? body;
  return {
    code: textOf(error, 'code'),
    type: textOf(error, 'type'),
    param: textOf(error, 'param'),
    stage: textOf(memberOf(error, 'moderation_details'), 'moderation_stage'),
  };
}

const POLICY: readonly string[] = [
  'moderation_blocked',
  'content_policy_violation',
  'content_safety_violation',
  'content_filter',
  'sentinel_block',
];
/** The account of the operator at the server: its balance, its limits, its rights. */
const ACCOUNT: readonly string[] = [
  'insufficient_quota',
  'credit_balance_exhausted',
  'organization_spend_limit_exceeded',
  'project_spend_limit_exceeded',
  'organization_usage_limit_exceeded',
  'billing_hard_limit_reached',
  'billing_not_active',
  'account_deactivated',
  'invalid_api_key',
];
const MODEL: readonly string[] = ['model_not_found', 'model_not_available', 'unsupported_model'];

const CAPACITY: readonly string[] = ['rate_limit_exceeded', 'slow_down', 'server_is_overloaded'];
const KNOWN_CODES = new Set([
  ...POLICY,
  ...ACCOUNT,
  ...MODEL,
  ...CAPACITY,
  'invalid_request_error',
  'image_generation_user_error',
]);

/** A code that may be logged: any other text of the server could be anything, such as the key. */
export function knownCode({ code, type }: ServerError): string | undefined {
  return [code, type].find((text) => KNOWN_CODES.has(text));
}

/** What the content policy refused, or undefined where the error is another one. */
export function policyRefusal({ code, type, stage }: ServerError): FailureName | undefined {
  if (!POLICY.includes(code) && !POLICY.includes(type)) return undefined;
  return stage === 'output' ? 'output refused' : 'input refused';
}

/** Whether the error concerns the operator's account, so that no later submission goes better by itself. */
export function isAccountError({ code, type }: ServerError): boolean {
  return ACCOUNT.includes(code) || ACCOUNT.includes(type);
}

/** What a certain refusal means for the task. */
export function refusalName({ because, status = 0, body }: SubmissionRefusal): FailureName {
  if (because === 'unreachable') return 'unreachable';
  const error = serverErrorOf(body);
  if (isAccountError(error)) return 'account refused';
  if (because === 'capacity') return 'no capacity';
  if (status >= 500) return 'broke';
  return policyRefusal(error) ?? rejectionName(status, error);
}

function rejectionName(status: number, { code, type, param }: ServerError): FailureName {
  if (MODEL.includes(code) || param === 'model' || status === 404 || status === 405) return 'model missing';
  if (status === 401 || status === 402 || status === 403) return 'account refused';
  const isInput =
    type === 'image_generation_user_error' ||
    /^(?:prompt|image|input_reference)/.test(param) ||
    /^(?:invalid_|unsupported_)?image_|^string_above_max_length$/.test(code);
  return isInput || [413, 415, 422].includes(status) ? 'input invalid' : 'rejected';
}

/** A short word as it is; anything else is of no use here, and may hold anything. */
function textOf(value: unknown, name: string): string {
  const text = memberOf(value, name);
  if (typeof text === 'number' && Number.isSafeInteger(text)) return String(text);
  return typeof text === 'string' && /^[\w.\-[\]]{1,100}$/.test(text) ? text : '';
}
