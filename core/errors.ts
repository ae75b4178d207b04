/**
 * Every error that the service answers. Within a group, codes are in order of precedence. `retry`: whether the same
 * request can succeed later. Statuses belong to the fronts, not to this table.
 */
export const ERRORS = {
  ROUTE_NOT_FOUND: { retry: false, message: 'No such route.' },
  METHOD_NOT_ALLOWED: { retry: false, message: 'This route does not take that method.' },

  DEVELOPER_TOKEN_REQUIRED: { retry: false, message: 'A credential is required.' },
  DEVELOPER_TOKEN_INVALID: { retry: false, message: 'The credential is not valid.' },
  DEVELOPER_TOKEN_EXPIRED: { retry: false, message: 'The credential has expired.' },
  DEVELOPER_TOKEN_REVOKED: { retry: false, message: 'The credential has been revoked.' },
  RATE_LIMITED: { retry: true, message: 'Too many requests with this credential.' },
  DEVELOPER_SCOPE_INSUFFICIENT: { retry: false, message: 'The credential does not carry the scope this needs.' },
  ORIGIN_REFUSED: { retry: false, message: 'A page of another address sent this request.' },
  SESSION_REQUIRED: { retry: false, message: 'Nobody is signed in, or the session has ended.' },
  OPERATOR_REQUIRED: { retry: false, message: 'This is for operators of the service only.' },
  PASSKEY_SIGN_IN_REQUIRED: { retry: false, message: 'This needs a sign-in with a passkey; sign in again with one.' },
  RECENT_SIGN_IN_REQUIRED: { retry: false, message: 'This needs a sign-in of the last 15 minutes; sign in again.' },

  IDEMPOTENCY_KEY_REQUIRED: { retry: false, message: 'An idempotency key is required.' },
  IDEMPOTENCY_KEY_INVALID: { retry: false, message: 'An idempotency key must be 1 to 255 visible ASCII characters.' },

  MEDIA_TYPE_UNSUPPORTED: { retry: false, message: 'The request body has a media type that is not taken.' },
  BODY_TOO_LARGE: { retry: false, message: 'The request body is too large.' },
  BODY_INVALID: { retry: false, message: 'The request body is not valid JSON.' },
  REQUEST_TIMEOUT: { retry: true, message: 'The request did not arrive in time.' },
  FIELD_REQUIRED: { retry: false, message: 'A required field is missing.' },
  FIELD_INVALID: { retry: false, message: 'A field is not valid.' },
  PASSKEY_REFUSED: { retry: false, message: 'The passkey was not accepted; try again, or sign in another way.' },
  UPLOAD_FILE_TOO_LARGE: { retry: false, message: 'The file is larger than uploads may be.' },
  UPLOAD_TYPE_NOT_ALLOWED: { retry: false, message: 'Files of this type cannot be uploaded.' },

  IDEMPOTENCY_PAYLOAD_MISMATCH: {
    retry: false,
    message: 'This idempotency key was first used with a different request.',
  },
  IDEMPOTENCY_IN_PROGRESS: {
    retry: true,
    message: 'The first request with this idempotency key is still being handled.',
  },
  IDEMPOTENCY_REPLAY_EXPIRED: {
    retry: false,
    message: 'The answer to this idempotency key is no longer kept; a new intent needs a new key.',
  },

  UPLOAD_URL_EXPIRED: { retry: false, message: 'The upload target has expired; prepare the upload again.' },
  TASK_NOT_FOUND: { retry: false, message: 'There is no such generation.' },
  GENERATION_JOB_NOT_FOUND: { retry: false, message: 'This generation is no longer kept.' },

  QUEUE_FULL: { retry: true, message: 'The account has as many open generations as it may have.' },
  CREDITS_INSUFFICIENT: { retry: false, message: 'The account does not have enough credits.' },
  SPENDING_NOT_CONFIRMED: { retry: false, message: 'Nobody has confirmed that this many credits may be spent.' },

  NOT_FOUND: { retry: false, message: 'There is no such thing.' },
  CONFLICT: { retry: false, message: 'That already exists, or was changed meanwhile.' },

  SERVICE_UNAVAILABLE: { retry: true, message: 'The service cannot answer right now.' },
  INTERNAL_ERROR: { retry: true, message: 'Something went wrong on our side.' },
} as const satisfies Record<string, { retry: boolean; message: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** Limits that apply to each account or App. */
export type Bound =
  | 'open_generations'
  | 'uncharged_content_bytes'
  | 'unfinished_uploads'
  | 'stored_uploads'
  | 'stored_upload_bytes';

export interface ErrorDetails {
  /** JSON Pointer of the field at fault, where there is one. */
  readonly pointer?: string;
  /**
   * The same field as a path: `parameters.size`, `reference_upload_ids[3]`. Given where the pointer is ambiguous: a
   * member named `0` and the first item of a list look the same.
   */
  readonly field?: string;
  /** How long to wait before trying again, in milliseconds. */
  readonly retryAfterMs?: number;
  /** For DEVELOPER_SCOPE_INSUFFICIENT: the scope that the credential lacks. */
  readonly scope?: string;
  /** For QUEUE_FULL: the limit that is reached. */
  readonly bound?: Bound;
  /** For CREDITS_INSUFFICIENT, if the caller may read the balance: the account's available credits. */
  readonly availableCredits?: number;
  /** For SPENDING_NOT_CONFIRMED: the credits that the request would reserve. */
  readonly credits?: number;
}

/** The only error that use cases throw for an expected refusal. Any other becomes INTERNAL_ERROR. */
export class ServiceError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string = ERRORS[code].message,
    readonly details: ErrorDetails = {},
  ) {
    super(message);
    this.name = 'ServiceError';
  }
}

/** A temporary refusal because of concurrent work. `message` says what is busy and asks the caller to try again. */
export function busy(message: string): ServiceError {
  return new ServiceError('SERVICE_UNAVAILABLE', message, { retryAfterMs: 1_000 });
}

/** Returns the result of a step of a use case, or throws its refusal. Below the use cases a refusal is a value. */
export function orThrow<T>(outcome: T | ServiceError): T {
  if (outcome instanceof ServiceError) throw outcome;
  return outcome;
}

/**
 * Thrown by an adapter when its store or server does not answer, or not in time. The outcome of a write that throws it
 * is unknown: it may have happened.
 */
export class StoreUnavailable extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'StoreUnavailable';
  }
}
