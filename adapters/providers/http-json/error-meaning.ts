import type { ProviderFailure, SubmitAnswer } from '../../../core/ports/provider.js';
import type { SubmissionRefusal } from '../../http/submission-outcome.js';
import { valuesAt } from '../shared/pointer-values.js';
import { policyRefusalIn, type SentTexts } from '../shared/policy-codes.js';
import { failure, type FailureName, refusal } from '../shared/sentences.js';
import { refusalByStatus } from '../shared/submission-refusal.js';
import type { AnswerRule, ErrorSettings, Meaning } from './http-json-settings.js';

/** The meaning of an error in an answer. It is compared, and never shown to clients. */
export interface AnswerError {
  readonly code?: string;
  readonly text?: string;
  readonly status?: number;
  /** Whether a content policy refused the input or the output, by the table of vendors' codes. */
  readonly policy?: 'input refused' | 'output refused';
}

const NAMES: Readonly<Record<string, FailureName>> = {
  'CONTENT_REJECTED_INPUT': 'input refused',
  'CONTENT_REJECTED_OUTPUT': 'output refused',
  'INPUT_INVALID': 'input invalid',
  'PROVIDER_REJECTED': 'rejected',
  'PROVIDER_REJECTED not-here': 'account refused',
  'MODEL_UNAVAILABLE': 'settings wrong',
  'MODEL_UNAVAILABLE not-here': 'model missing',
  'PROVIDER_UNAVAILABLE': 'no capacity',
  'PROVIDER_UNAVAILABLE capacity': 'no capacity',
  'PROVIDER_TIMEOUT': 'timed out',
  'INTERNAL_ERROR': 'broke',
};

const LONGEST_TEXT = 10_000;

/** The fault of a meaning, as one sentence. */
export function meaningFault(meaning: Meaning): string | undefined {
  return Object.hasOwn(NAMES, keyOf(meaning))
    ? undefined
    : `because ${meaning.because} does not go with ${meaning.code}.`;
}

/** The error in an answer, by the pointers of the settings. A code that says success is none. */
export function errorIn(
  body: unknown,
  { code, message, success_codes: success }: ErrorSettings,
  status?: number,
  sent?: SentTexts,
): AnswerError {
  const found = firstAt(body, code, (value) => !success.some((one) => String(one) === value));
  const text = firstAt(body, message);
  const policy = policyRefusalIn(body, status, sent);
  return {
    ...(found === undefined ? {} : { code: found.slice(0, 100) }),
    ...(text === undefined ? {} : { text: text.slice(0, LONGEST_TEXT) }),
    ...(status === undefined ? {} : { status }),
    ...(policy === undefined ? {} : { policy }),
  };
}

/** Whether an answer is listed. */
export function isListed(rules: readonly AnswerRule[], status: number, { code }: AnswerError): boolean {
  return rules.some((rule) => rule.status === status && (rule.code === undefined || rule.code === code));
}

const BY_POLICY: Readonly<Record<NonNullable<AnswerError['policy']>, Meaning>> = {
  'input refused': { code: 'CONTENT_REJECTED_INPUT', may_retry: false },
  'output refused': { code: 'CONTENT_REJECTED_OUTPUT', may_retry: false },
};

/**
 * The meaning that the settings give: of the code, else of the text, else of the status. A status says less than an error
 * that is known as one of a content policy.
 */
export function meaningOf({ codes, messages, statuses }: ErrorSettings, error: AnswerError): Meaning | undefined {
  const { code, text = '', status = 0, policy } = error;
  const listed = code === undefined ? undefined : listedAs(code, codes);
  if (listed !== undefined) return codes[listed];
  const lower = text.toLowerCase();
  return (
    messages.find(({ contains }) => lower.includes(contains.toLowerCase())) ??
    (policy === undefined ? statuses[String(status)] : BY_POLICY[policy])
  );
}

/** The name that the settings list a code under: its own, or else the longest beginning of it with a `*`. */
export function listedAs(code: string, codes: ErrorSettings['codes']): string | undefined {
  if (Object.hasOwn(codes, code)) return code;
  const beginnings = Object.keys(codes).filter((name) => name.endsWith('*') && code.startsWith(name.slice(0, -1)));
  return beginnings.toSorted((one, other) => other.length - one.length)[0];
}

/** Whether an error is about what a task was submitted with: submitting it again would get the same answer. */
export function isAboutTask(meaning: Meaning | undefined): boolean {
  return meaning?.code === 'INPUT_INVALID' || isAboutContent(meaning);
}

/** Whether an error is about the content of a task, and so about the task itself in whichever answer it is. */
export function isAboutContent(meaning: Meaning | undefined): boolean {
  return meaning?.code === 'CONTENT_REJECTED_INPUT' || meaning?.code === 'CONTENT_REJECTED_OUTPUT';
}

/** Whether an error is about the operator's account or key. */
export function isAboutAccount(meaning: Meaning | undefined): boolean {
  return meaning?.code === 'PROVIDER_REJECTED' && meaning.because === 'not-here';
}

/** The meaning of a certain refusal for the task. */
export function refusalOf(refused: SubmissionRefusal, errors: ErrorSettings, sent: SentTexts): SubmitAnswer {
  const { because, status = 0, retryAfterMs, body } = refused;
  if (because === 'unreachable') return refusal('unreachable');
  const meaning = meaningOf(errors, errorIn(body, errors, status, sent));
  if (meaning !== undefined) return refusal(nameOf(meaning), { retryAfterMs });
  return refusal(because === 'capacity' ? 'no capacity' : refusalByStatus(status), { retryAfterMs });
}

/** The failure of a task that was taken. One whose error is not listed is not tried again: each run may be paid for. */
export function failureOf(errors: ErrorSettings, error: AnswerError): ProviderFailure {
  const meaning = meaningOf(errors, error);
  const known = failure(meaning === undefined ? 'broke' : nameOf(meaning));
  return meaning?.may_retry === true ? known : { ...known, mayRetry: false };
}

function nameOf(meaning: Meaning): FailureName {
  return NAMES[keyOf(meaning)] ?? 'rejected';
}

function keyOf({ code, because }: Meaning): string {
  return because === undefined ? code : `${code} ${because}`;
}

function firstAt(
  body: unknown,
  pointers: readonly string[],
  counts: (value: string) => boolean = () => true,
): string | undefined {
  for (const value of pointers.flatMap((pointer) => valuesAt(body, pointer))) {
    const isScalar = (typeof value === 'string' && value !== '') || typeof value === 'number';
    if (isScalar && counts(String(value))) return String(value);
  }
  return undefined;
}
