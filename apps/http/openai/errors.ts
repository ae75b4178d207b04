import { ServiceError, type ErrorCode } from '../../../core/errors.js';
import type { Generation, TaskErrorCode } from '../../../core/generation/generation.js';
import { type FrontMessages, messageOf } from '../../service-errors.js';
import { HTTP_MESSAGES } from '../host/errors.js';
import type { ErrorRenderer } from '../host/http-context.js';
import { JSON_TYPE } from '../host/send.js';

/** An error as clients of this API receive it. */
export interface ApiError {
  readonly message: string;
  readonly type: string;
  /** The field at fault as the client named it; null where none is. */
  readonly param: string | null;
  readonly code: string;
}

interface Kind {
  readonly status: number;
  readonly type: string;
  readonly code: string;
}

const invalid = (status: number, code: string): Kind => ({ status, type: 'invalid_request_error', code });
const server = (status: number, code: string): Kind => ({ status, type: 'server_error', code });
const RATE: Kind = { status: 429, type: 'requests', code: 'rate_limit_exceeded' };
const NO_CREDITS: Kind = { status: 402, type: 'insufficient_quota', code: 'insufficient_quota' };

/** How each error of the service is reported. A code that is missing here does not compile. */
const KINDS: Readonly<Record<ErrorCode, Kind>> = {
  ROUTE_NOT_FOUND: invalid(404, 'not_found'),
  METHOD_NOT_ALLOWED: invalid(405, 'method_not_allowed'),
  DEVELOPER_TOKEN_REQUIRED: invalid(401, 'invalid_api_key'),
  DEVELOPER_TOKEN_INVALID: invalid(401, 'invalid_api_key'),
  DEVELOPER_TOKEN_EXPIRED: invalid(401, 'invalid_api_key'),
  DEVELOPER_TOKEN_REVOKED: invalid(401, 'invalid_api_key'),
  RATE_LIMITED: RATE,
  DEVELOPER_SCOPE_INSUFFICIENT: invalid(403, 'missing_scope'),
  ORIGIN_REFUSED: invalid(403, 'forbidden'),
  SESSION_REQUIRED: invalid(401, 'invalid_api_key'),
  OPERATOR_REQUIRED: invalid(403, 'forbidden'),
  PASSKEY_SIGN_IN_REQUIRED: invalid(403, 'forbidden'),
  RECENT_SIGN_IN_REQUIRED: invalid(403, 'forbidden'),
  IDEMPOTENCY_KEY_REQUIRED: invalid(400, 'invalid_idempotency_key'),
  IDEMPOTENCY_KEY_INVALID: invalid(400, 'invalid_idempotency_key'),
  MEDIA_TYPE_UNSUPPORTED: invalid(400, 'invalid_body'),
  BODY_TOO_LARGE: invalid(413, 'file_too_large'),
  BODY_INVALID: invalid(400, 'invalid_body'),
  REQUEST_TIMEOUT: invalid(408, 'request_timeout'),
  FIELD_REQUIRED: invalid(400, 'missing_required_parameter'),
  FIELD_INVALID: invalid(400, 'invalid_value'),
  PASSKEY_REFUSED: invalid(400, 'invalid_value'),
  UPLOAD_FILE_TOO_LARGE: invalid(413, 'file_too_large'),
  UPLOAD_TYPE_NOT_ALLOWED: invalid(400, 'invalid_image_format'),
  IDEMPOTENCY_PAYLOAD_MISMATCH: invalid(422, 'idempotency_key_reused'),
  // The request has waited for as long as any request does.
  IDEMPOTENCY_IN_PROGRESS: server(504, 'generation_timeout'),
  IDEMPOTENCY_REPLAY_EXPIRED: invalid(422, 'idempotency_key_expired'),
  UPLOAD_URL_EXPIRED: server(503, 'service_unavailable'),
  TASK_NOT_FOUND: invalid(404, 'not_found'),
  GENERATION_JOB_NOT_FOUND: invalid(404, 'not_found'),
  QUEUE_FULL: RATE,
  CREDITS_INSUFFICIENT: NO_CREDITS,
  SPENDING_NOT_CONFIRMED: NO_CREDITS,
  NOT_FOUND: invalid(404, 'not_found'),
  CONFLICT: invalid(409, 'conflict'),
  SERVICE_UNAVAILABLE: server(503, 'service_unavailable'),
  INTERNAL_ERROR: server(500, 'server_error'),
};

/** How the reason of a failed generation is reported. */
const FAILURES: Readonly<Record<TaskErrorCode, Kind>> = {
  CONTENT_REJECTED_INPUT: invalid(400, 'content_policy_violation'),
  CONTENT_REJECTED_OUTPUT: invalid(400, 'content_policy_violation'),
  INPUT_INVALID: invalid(400, 'invalid_value'),
  PROVIDER_REJECTED: invalid(400, 'provider_rejected'),
  MODEL_UNAVAILABLE: server(503, 'model_unavailable'),
  PROVIDER_UNAVAILABLE: server(503, 'provider_unavailable'),
  PROVIDER_TIMEOUT: server(504, 'generation_timeout'),
  TASK_TIMEOUT: server(504, 'generation_timeout'),
  OUTPUT_INVALID: server(500, 'server_error'),
  OUTPUT_STORE_FAILED: server(500, 'server_error'),
  INTERNAL_ERROR: server(500, 'server_error'),
};

/** Codes that no code of the service is reported as. */
const OWN_KINDS = {
  model_not_found: invalid(404, 'model_not_found'),
  unknown_parameter: invalid(400, 'unknown_parameter'),
  video_not_ready: invalid(400, 'video_not_ready'),
  range_not_satisfiable: invalid(416, 'range_not_satisfiable'),
  generation_cancelled: invalid(400, 'generation_cancelled'),
} satisfies Readonly<Record<string, Kind>>;

/** The code of a wait that has lasted too long: the same as of a generation that has. */
type OwnCode = keyof typeof OWN_KINDS | 'generation_timeout';

/** Every status and code that an error of this API can have, for its documents. */
export const API_ERRORS: readonly Kind[] = [
  ...new Map(
    [KINDS, FAILURES, OWN_KINDS]
      .flatMap((table) => Object.values(table))
      .map((kind) => [`${kind.status} ${kind.code}`, kind]),
  ).values(),
];

/** LiteLLM recognizes a refusal for content by these words alone. */
const SAFETY_PREFIX = 'The request was rejected as a result of the safety system: ';

/** A refusal that this API reports with another code, or with the name of a field. */
export class ApiRefusal extends ServiceError {
  /** `apiCode` undefined: that of the service's code. */
  constructor(
    code: ErrorCode,
    message: string,
    readonly param: string | null,
    readonly apiCode?: OwnCode,
  ) {
    super(code, message);
  }
}

/** Writes refusals as OpenAI does. The code is the reason phrase too, since some clients show nothing else. */
export const renderApiError: ErrorRenderer = ({ refusal }) => {
  const error = apiErrorOf(refusal);
  return {
    status: KINDS[refusal.code].status,
    reason: error.code,
    mediaType: JSON_TYPE,
    text: errorText(error),
    isChallenged: true,
  };
};

export const AGAIN = 'send the same request again, and it waits for the same generation.';

/** Their readers know a library of OpenAI and its settings, and not the words of the first interface. */
const MESSAGES: FrontMessages = {
  ...HTTP_MESSAGES,
  DEVELOPER_TOKEN_INVALID: 'The API key is not valid: use a key of this service, svc_live_…, or an access token.',
  ROUTE_NOT_FOUND:
    'There is no such path: this API has /v1/images/generations, /v1/images/edits, /v1/videos and /v1/models.',
  TASK_NOT_FOUND: 'There is no such video.',
  IDEMPOTENCY_IN_PROGRESS: `The create of the generation has not ended yet; ${AGAIN}`,
};

/** A refusal of the service as clients of this API receive it. */
export function apiErrorOf(refusal: ServiceError): ApiError {
  const { type, code } = KINDS[refusal.code];
  const { param = paramOf(refusal), apiCode = code } = refusal instanceof ApiRefusal ? refusal : {};
  return { message: messageOf(refusal, MESSAGES), type, param, code: apiCode };
}

export function errorText(error: ApiError): string {
  return JSON.stringify({ error: { message: error.message, type: error.type, param: error.param, code: error.code } });
}

/** The error of a generation that failed or was cancelled, with the status of a response that has it. */
export function failureOf({ error }: Generation): { readonly status: number; readonly error: ApiError } {
  if (error === undefined) {
    const { status, type, code } = OWN_KINDS.generation_cancelled;
    return { status, error: { message: 'The generation was cancelled.', type, param: null, code } };
  }
  const { status, type, code } = FAILURES[error.code];
  const message = code === 'content_policy_violation' ? SAFETY_PREFIX + error.message : error.message;
  return { status, error: { message, type, param: null, code } };
}

/** Where the fields of a create are in the requests of this API. */
const FIELDS: Readonly<Record<string, string>> = {
  model_key: 'model',
  operation: 'model',
  client_trace_id: 'user',
};

/** The field that a refusal of the service is about, by the name that it has in this API. */
function paramOf({ details: { pointer } }: ServiceError): string | null {
  const [, first, second] = pointer?.split('/') ?? [];
  if (first === undefined || first === '') return null;
  if (first === 'parameters') return second ?? null;
  return FIELDS[first] ?? first;
}
