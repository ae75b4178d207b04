import type { ErrorCode, GenerationTask } from './generated/api.js';

/** The service's response to a refused request. */
export interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
  readonly request_id: string;
}

/** Every error that this library itself throws; an abort throws the reason of its signal. */
export class DarkroomError extends Error {
  override name = 'DarkroomError';
}

/** The service refused a request. `code` is stable, `message` is for people. */
export class ApiError extends DarkroomError {
  override name = 'ApiError';
  readonly code: ErrorCode;
  /** The service's id of the request, for questions to its operator. */
  readonly requestId: string;

  constructor(
    /** The HTTP status. */
    readonly status: number,
    /** The refusal as the service sent it. */
    readonly refusal: Refusal,
    /** The Idempotency-Key of the request: if it is sent again with this key, it has no second effect. */
    readonly idempotencyKey?: string,
    /** The delay before the request may be sent again, in seconds, if the service specified it. */
    readonly retryAfter?: number,
    /** The account's available credits, for `CREDITS_INSUFFICIENT` and if the key may read the balance. */
    readonly creditsAvailable?: number,
  ) {
    super(`${refusal.message} (${refusal.code}, request ${refusal.request_id})`);
    this.code = refusal.code;
    this.requestId = refusal.request_id;
  }
}

/** There was no response from a Darkroom service: the connection failed, or something else responded. */
export class ConnectionError extends DarkroomError {
  override name = 'ConnectionError';

  constructor(
    message: string,
    /** The Idempotency-Key of the request, which may have been taken: sent again with it, it has no second effect. */
    readonly idempotencyKey?: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The service, or a proxy before it, does not stream events. */
export class EventsUnsupported extends DarkroomError {
  override name = 'EventsUnsupported';
}

/** The generation ended, and not with a success. */
export class GenerationFailed extends DarkroomError {
  override name = 'GenerationFailed';

  constructor(readonly task: GenerationTask) {
    super(
      task.error === undefined
        ? `Generation ${task.generation_id} was ${task.status}.`
        : `Generation ${task.generation_id} ${task.status}: ${task.error.message} (${task.error.code})`,
    );
  }
}

/** The estimate is above `maxCredits`; nothing was created. */
export class TooExpensive extends DarkroomError {
  override name = 'TooExpensive';

  constructor(
    readonly estimatedCredits: number,
    readonly maxCredits: number,
  ) {
    super(
      `The estimate is ${estimatedCredits} ${estimatedCredits === 1 ? 'credit' : 'credits'}, which is more than ${maxCredits}.`,
    );
  }
}

/** The waiting time is over; the generation continues. */
export class WaitTimeout extends DarkroomError {
  override name = 'WaitTimeout';

  constructor(readonly task: GenerationTask) {
    super(`Generation ${task.generation_id} was still ${task.status} when the waiting time was over.`);
  }
}

/** The bytes of an upload or an output did not arrive, or are not the expected ones. */
export class TransferError extends DarkroomError {
  override name = 'TransferError';

  constructor(
    what: string,
    /** The cause, as a clause. */
    readonly reason: string,
  ) {
    super(`${what}: ${reason}.`);
  }
}

/** A webhook is not signed with the secret, or was signed at another time. */
export class WebhookVerificationError extends DarkroomError {
  override name = 'WebhookVerificationError';
}
