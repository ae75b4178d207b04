import type { AbortSignalLike } from '../abort-signal.js';
import type { Modality, Operation, ReferenceRole } from '../generation/generation.js';
import type { JsonObject } from '../json.js';
import type { TaskErrorCode } from '../generation/task-errors.js';

export interface ProviderReference {
  readonly role: ReferenceRole;
  readonly mediaType: string;
  readonly byteSize: number;
  /** Opens the bytes; may be called again. */
  open(): Promise<AsyncIterable<Uint8Array>>;
}

/** The request to a provider. */
export interface Submission {
  readonly generationId: string;
  /** Which attempt of the generation this is, from 1. Submitting the same attempt again does not raise it. */
  readonly attempt: number;
  readonly modelKey: string;
  readonly operation: Operation;
  readonly prompt: string;
  readonly negativePrompt?: string;
  /** With the model's defaults applied. */
  readonly parameters: JsonObject;
  readonly references: readonly ProviderReference[];
  /** The model's private `provider_settings` from the catalog. */
  readonly settings: JsonObject;
  /** Identifies the task: the same token means the same task, where the provider supports that. */
  readonly token: string;
}

/** The options of every call. */
export interface ProviderCall {
  /**
   * Aborted when the answer is no longer needed: the call has timed out, the generation's lease is lost or its deadline
   * has passed, or the process stops. The call then throws soon. A call whose signal is aborted before it begins sends
   * nothing.
   */
  readonly signal: AbortSignalLike;
}

/**
 * Why a task was refused or failed. A provider answers `CONTENT_REJECTED_INPUT` or `CONTENT_REJECTED_OUTPUT` for its
 * content policy, `INPUT_INVALID` for input it cannot use, `PROVIDER_REJECTED` for any other refusal of the task,
 * `MODEL_UNAVAILABLE` where its settings or its model are wrong, `PROVIDER_UNAVAILABLE` when it is full, limits the
 * rate or is down, `PROVIDER_TIMEOUT` when it ran out of its own time, and `INTERNAL_ERROR` when it broke. The other
 * codes are core's own.
 */
export interface ProviderFailure {
  readonly code: TaskErrorCode;
  /** One sentence for the client: no internals, no addresses. */
  readonly message: string;
  /** Whether another attempt can succeed. */
  readonly mayRetry: boolean;
  /**
   * With `mayRetry`: the next attempt begins so many milliseconds later at the earliest, up to `retryAfterCapMs` of the
   * settings. No attempt begins past the run's deadline: the generation fails at once instead.
   */
  readonly retryAfterMs?: number;
}

/** The answer to a submission. A refusal is certain: the provider has not taken the task and never will. */
export type SubmitAnswer =
  | { readonly accepted: true; readonly reference: string }
  | { readonly accepted: false; readonly failure: ProviderFailure };

/** What a provider knows of a token. */
export type RecoverAnswer =
  | { readonly found: true; readonly reference: string }
  /** Certain: it has no such task, and none can still arrive. The task may be submitted again. */
  | { readonly found: false }
  /**
   * Not known yet: a task that was just taken may not be listed, or may still be in flight. It is asked again
   * `retryAfterMs` later, until it knows or the generation's deadline has passed; the task is not submitted meanwhile.
   */
  | { readonly found: 'not-yet'; readonly retryAfterMs?: number }
  /** It cannot look up tokens at all: the model's `on_unknown_acceptance` decides. */
  | 'unsupported';

export interface ProviderOutput {
  readonly kind: Modality;
  /** As the provider declares; core checks it. */
  readonly mediaType: string;
}

export type ProviderReport =
  | { readonly state: 'running'; readonly progress?: number; readonly pollAfterMs?: number }
  /** Finished, with at least the listed outputs; fewer than requested is a partial delivery. */
  | { readonly state: 'succeeded'; readonly outputs: readonly ProviderOutput[] }
  | { readonly state: 'failed'; readonly failure: ProviderFailure }
  /** Stopped on request; the outputs made before are listed. */
  | { readonly state: 'cancelled'; readonly outputs: readonly ProviderOutput[] }
  /** The provider knows no such task. */
  | { readonly state: 'unknown' };

/**
 * What makes pictures and videos. No call is atomic with a write of the service: a call may be repeated, its answer may
 * be lost or late. A call that throws has an unknown outcome; an expected refusal is an answer. Each call takes
 * `providerCallMs` of the settings at most, and is aborted then.
 */
export interface Provider {
  /**
   * Submits the task. `reference` names it from then on. Throws when it is unknown whether it was taken, also when the
   * call was aborted in flight; with a signal that is already aborted it throws and submits nothing.
   */
  submit(submission: Submission, call: ProviderCall): Promise<SubmitAnswer>;

  /** The state of the task. `settings` is the model's, as in `submit`. */
  poll(reference: string, settings: JsonObject, call: ProviderCall): Promise<ProviderReport>;

  /** The bytes of output `index` of a finished task. The signal applies until the last byte is read. */
  output(
    reference: string,
    index: number,
    settings: JsonObject,
    call: ProviderCall,
  ): Promise<AsyncIterable<Uint8Array>>;

  /** Asks the provider to stop. Only `poll` shows whether it did. Idempotent. */
  cancel(reference: string, settings: JsonObject, call: ProviderCall): Promise<void>;

  /** The task that was submitted with this token. */
  recover(token: string, settings: JsonObject, call: ProviderCall): Promise<RecoverAnswer>;
}

/** The configured providers, by the name in a model's catalog entry. */
export interface Providers {
  find(name: string): Provider | undefined;
}
