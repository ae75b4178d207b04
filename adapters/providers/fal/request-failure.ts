import type { ProviderFailure } from '../../../core/ports/provider.js';
import { policyStageIn } from '../shared/policy-codes.js';
import { failure, type FailureName } from '../shared/sentences.js';

/** A failed request, as described by its response. */
export interface FailedRequest {
  readonly status: number;
  /** The machine-readable name of the error. */
  readonly type: string;
  /** Whether the same request might succeed, where the answer says so. */
  readonly isRetryable?: boolean;
}

interface AnswerParts {
  readonly status: number;
  readonly body: unknown;
  readonly header: (name: string) => string | undefined;
}

/** Statuses about the call, and not about the request. */
const ABOUT_THE_CALL: readonly number[] = [401, 403, 408, 425, 429];
const INPUT_REFUSED = 'content_policy_violation';
const OUTPUT_REFUSED = 'output_content_policy_violation';

/** The failure of a request that was cancelled. */
export const CANCELLED = 'client_cancelled';

/**
 * The failure that the response for a result describes, or undefined if it does not concern the request: a gateway's
 * error, a rate limit, a refused key. Only named errors are trusted, because a task that has succeeded must not be
 * abandoned.
 */
export function readFailure({ status, body, header }: AnswerParts): FailedRequest | undefined {
  if (status < 400 || ABOUT_THE_CALL.includes(status)) return undefined;
  const refused = policyStageIn(body, status);
  if (refused !== undefined) return { status, type: refused === 'output' ? OUTPUT_REFUSED : INPUT_REFUSED };
  const type = typeIn(body) ?? named(header('x-fal-error-type'));
  if (type === undefined) return undefined;
  const retryable = header('x-fal-retryable') ?? header('x-fal-needs-retry');
  return { status, type, ...(retryable === undefined ? {} : { isRetryable: /^(?:true|1|yes)$/i.test(retryable) }) };
}

const BY_TYPE: Readonly<Record<string, FailureName>> = {
  [INPUT_REFUSED]: 'input refused',
  [OUTPUT_REFUSED]: 'output refused',
  no_media_generated: 'rejected',
  generation_timeout: 'timed out',
  request_timeout: 'timed out',
  startup_timeout: 'no capacity',
  runner_scheduling_failure: 'no capacity',
  runner_connection_timeout: 'no capacity',
  runner_connection_refused: 'no capacity',
  downstream_service_unavailable: 'no capacity',
  downstream_service_error: 'rejected',
  bad_request: 'rejected',
};

/** The failure of a request. Nothing of its text is passed on. */
export function requestFailure({ status, type, isRetryable }: FailedRequest): ProviderFailure {
  const known = failure(Object.hasOwn(BY_TYPE, type) ? BY_TYPE[type]! : byStatus(status));
  return isRetryable === false ? { ...known, mayRetry: false } : known;
}

function byStatus(status: number): FailureName {
  if (status === 422 || status === 413) return 'input invalid';
  if (status === 429) return 'no capacity';
  if (status === 504) return 'timed out';
  return status >= 500 ? 'broke' : 'rejected';
}

/** Of a model: `detail` is a list of errors with a `type`. The errors of the platform: `error_type`. */
export function typeIn(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { detail, error_type: type } = body as Record<string, unknown>;
  if (!Array.isArray(detail)) return named(type);
  const types = detail
    .slice(0, 100)
    .map((error: unknown) =>
      named(typeof error === 'object' && error !== null ? Reflect.get(error, 'type') : undefined),
    )
    .filter((one) => one !== undefined);
  return types[0] ?? named(type);
}

/** The names of errors about an input, of fal's models and of the library that checks their inputs. */
const INPUT_TYPES =
  /^(?:missing|enum|multiple_of|one_of|(?:greater|less)_than(?:_equal)?|feature_not_supported|face_detection_error|(?:extra|value|literal|image|video|audio|file|archive|sequence|string|int|float|bool|number|list|dict|url|model|type|unsupported|invalid)_[a-z_]+)(?:\..*)?$/;

export function isInputType(type: string): boolean {
  return INPUT_TYPES.test(type);
}

function named(type: unknown): string | undefined {
  return typeof type === 'string' && /^[A-Za-z][A-Za-z0-9_.-]{0,99}$/.test(type) ? type : undefined;
}
