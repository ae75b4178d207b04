import { TASK_ERRORS, type TaskErrorCode } from '../../../core/generation/generation.js';
import type { ProviderCost, ProviderFailure, RefusedBecause, SubmitAnswer } from '../../../core/ports/provider.js';

interface Failure {
  readonly code: TaskErrorCode;
  /** For the client. The sentence of the code when absent. */
  readonly message?: string;
  /** The reason of a refusal that another provider, or a later submission, may not meet. */
  readonly because?: RefusedBecause;
}

/** Why a task was refused or failed at a remote provider. Clients read these sentences, and never the provider's own. */
const FAILURES = {
  'input refused': { code: 'CONTENT_REJECTED_INPUT' },
  'output refused': { code: 'CONTENT_REJECTED_OUTPUT' },
  'input invalid': { code: 'INPUT_INVALID' },
  'rejected': { code: 'PROVIDER_REJECTED' },
  'settings wrong': { code: 'MODEL_UNAVAILABLE', message: 'The model is not set up correctly.' },
  'account refused': {
    code: 'PROVIDER_REJECTED',
    message: 'The provider does not accept tasks from this service now.',
    because: 'not-here',
  },
  'model missing': {
    code: 'MODEL_UNAVAILABLE',
    message: 'The provider does not offer this model.',
    because: 'not-here',
  },
  'no capacity': {
    code: 'PROVIDER_UNAVAILABLE',
    message: 'The provider has no capacity for the task now.',
    because: 'capacity',
  },
  'unreachable': {
    code: 'PROVIDER_UNAVAILABLE',
    message: 'The provider could not be reached.',
    because: 'capacity',
  },
  'timed out': { code: 'PROVIDER_TIMEOUT', message: 'The provider did not finish the task in its own time.' },
  'broke': { code: 'INTERNAL_ERROR', message: 'The provider had an internal error.' },
} as const satisfies Record<string, Failure>;

export type FailureName = keyof typeof FAILURES;

type Refusal = Extract<SubmitAnswer, { readonly accepted: false }>;

/** The failure of a task. `retryAfterMs` counts only where another attempt can succeed. */
export function failure(name: FailureName, retryAfterMs?: number): ProviderFailure {
  const { code, message }: Failure = FAILURES[name];
  const mayRetry = TASK_ERRORS[code].retryable;
  return {
    code,
    message: message ?? TASK_ERRORS[code].message,
    mayRetry,
    ...(mayRetry && retryAfterMs !== undefined ? { retryAfterMs } : {}),
  };
}

/** The refusal of a submission. It must be certain that the provider does not work on the task. */
export function refusal(
  name: FailureName,
  { retryAfterMs, cost }: { readonly retryAfterMs?: number | undefined; readonly cost?: ProviderCost } = {},
): Refusal {
  const { because }: Failure = FAILURES[name];
  return {
    accepted: false,
    failure: failure(name, retryAfterMs),
    ...(because === undefined ? {} : { because }),
    ...(cost === undefined ? {} : { cost }),
  };
}

/** A refusal because of a parameter; the sentence must be fit for clients. */
export function inputRefusal(message: string): Refusal {
  return { accepted: false, failure: { code: 'INPUT_INVALID', message, mayRetry: false } };
}
