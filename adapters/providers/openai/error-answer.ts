import type { SubmissionRefusal } from '../../http/submission-outcome.js';
import { isObject, memberOf } from '../shared/json-members.js';
import { isPolicyCode, policyRefusalIn, type SentTexts } from '../shared/policy-codes.js';
import { refusedBy, statusInSuccess } from '../shared/refused-in-success.js';
import type { FailureName } from '../shared/sentences.js';

/** The understood part of an error of the server. Its message is never used. */
export interface ServerError {
  readonly code: string;
  readonly type: string;
  readonly param: string;
}

/** Reads `{ error: { code, type, param } }`, and the parts that are there of anything else. */
export function serverErrorOf(body: unknown): ServerError {
  const named = memberOf(body, 'error');
  const error = isObject(named) ? named : body;
  return {
    code: textOf(error, 'code'),
    type: textOf(error, 'type'),
    param: textOf(error, 'param'),
  };
}

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
  ...ACCOUNT,
  ...MODEL,
  ...CAPACITY,
  'invalid_request_error',
  'image_generation_user_error',
]);

/** A code that may be logged: any other text of the server could be anything, such as the key. */
export function knownCode({ code, type }: ServerError): string | undefined {
  return [code, type].find((text) => KNOWN_CODES.has(text) || isPolicyCode(text));
}

/** Whether the error concerns the operator's account, so that no later submission goes better by itself. */
export function isAccountError({ code, type }: ServerError): boolean {
  return ACCOUNT.includes(code) || ACCOUNT.includes(type);
}

/** The meaning of a certain refusal for the task. */
export function refusalName({ because, status = 0, body }: SubmissionRefusal, sent: SentTexts): FailureName {
  if (because === 'unreachable') return 'unreachable';
  const policy = policyRefusalIn(body, status, sent);
  if (policy !== undefined) return policy;
  const error = serverErrorOf(body);
  if (isAccountError(error)) return 'account refused';
  if (because === 'capacity') return 'no capacity';
  if (status >= 500) return 'broke';
  return rejectionName(status, error);
}

function rejectionName(status: number, error: ServerError): FailureName {
  if (isModelError(error) || status === 404 || status === 405) return 'model missing';
  if (status === 401 || status === 402 || status === 403) return 'account refused';
  return isInputError(error) || [413, 415, 422].includes(status) ? 'input invalid' : 'rejected';
}

function isModelError({ code, param }: ServerError): boolean {
  return MODEL.includes(code) || param === 'model';
}

function isInputError({ code, type, param }: ServerError): boolean {
  return (
    type === 'image_generation_user_error' ||
    /^(?:prompt|image|mask|input_reference)/.test(param) ||
    /^(?:invalid_|unsupported_)?image_|^string_above_max_length$/.test(code)
  );
}

/**
 * The refusal described by an error in a successful response, as if it had its own status. Undefined if there is no
 * error, or if it leaves open whether the server works on the task. With `isFinal`, any error of the server ends the
 * task.
 */
export function refusalInSuccess(
  body: unknown,
  { sent, isFinal }: { readonly sent: SentTexts; readonly isFinal: boolean },
): SubmissionRefusal | undefined {
  const status = statusInSuccess(body, 200, sent) ?? statusOfCode(serverErrorOf(body));
  if (status !== undefined) return refusedBy(status, body);
  return isFinal && hasError(body) ? refusedBy(500, body) : undefined;
}

function statusOfCode(error: ServerError): number | undefined {
  const { code, type } = error;
  if (isAccountError(error)) return 403;
  if (CAPACITY.includes(code) || CAPACITY.includes(type)) return 429;
  if (isModelError(error)) return 404;
  return isInputError(error) || type === 'invalid_request_error' ? 400 : undefined;
}

function hasError(body: unknown): boolean {
  return [memberOf(body, 'error'), memberOf(body, 'detail'), memberOf(body, 'errors')].some(Boolean);
}

/** A short word as it is; anything else is of no use here, and may hold anything. */
function textOf(value: unknown, name: string): string {
  const text = memberOf(value, name);
  if (typeof text === 'number' && Number.isSafeInteger(text)) return String(text);
  return typeof text === 'string' && /^[\w.\-[\]]{1,100}$/.test(text) ? text : '';
}
