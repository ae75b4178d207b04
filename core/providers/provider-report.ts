import type { Modality, ProviderCost, TaskErrorCode } from '../generation/generation.js';

/**
 * Why a task was refused or failed. A provider returns `CONTENT_REJECTED_INPUT` or `CONTENT_REJECTED_OUTPUT` for its
 * content policy, `INPUT_INVALID` for input it cannot use, `PROVIDER_REJECTED` for any other refusal of the task,
 * `MODEL_UNAVAILABLE` if its settings or its model are wrong, `PROVIDER_UNAVAILABLE` if it is full, limits the rate or
 * is down, `PROVIDER_TIMEOUT` if it exceeded its own time limit, and `INTERNAL_ERROR` if it broke. The other codes are
 * core's own.
 */
export interface ProviderFailure {
  readonly code: TaskErrorCode;
  /** One sentence for the client: no internals, no addresses. */
  readonly message: string;
  /** Whether another attempt can succeed. */
  readonly mayRetry: boolean;
  /**
   * With `mayRetry`: the least delay before the next attempt, in milliseconds, up to `retryAfterCapMs` of the settings.
   * No attempt starts past the run's deadline: the generation fails at once instead.
   */
  readonly retryAfterMs?: number;
}

/**
 * Why a provider refused a task that another one might take. `capacity`: it is full, limits the rate, is down or cannot
 * be reached. The task is submitted later, or to the model's next provider, with another token, and no attempt is used
 * up. `not-here`: it lacks the model, or the operator's account there cannot be used. The model's next provider gets the
 * task; the generation fails where there is none.
 */
export type RefusedBecause = 'capacity' | 'not-here';

/** A provider's answer about a token. */
export type RecoverAnswer =
  | { readonly found: true; readonly reference: string }
  /**
   * It has no such task now. One that is still in transit may arrive until `settleMs` after our call has ended, so core
   * trusts this only when it is repeated after that time; at once if the model's policy is to resubmit.
   */
  | { readonly found: false }
  /**
   * Not known yet: a task that was just taken may not be listed, or may still be in flight. The provider is polled
   * again `retryAfterMs` later, until it knows or the generation's deadline has passed; the task is not submitted in
   * the meantime.
   */
  | { readonly found: 'not-yet'; readonly retryAfterMs?: number }
  /** It cannot look up tokens at all: the model's `on_unknown_acceptance` decides. */
  | 'unsupported';

export interface ProviderOutput {
  readonly kind: Modality;
  /** The media type declared by the provider; core checks it. */
  readonly mediaType: string;
}

export type ProviderReport =
  | {
      readonly state: 'running';
      readonly progress?: number;
      readonly pollAfterMs?: number;
      /** A status word of the provider's response that the adapter does not know. The task counts as running. */
      readonly unknownStatus?: string;
    }
  /** Finished, with at least the listed outputs; fewer than requested is a partial delivery. */
  | { readonly state: 'succeeded'; readonly outputs: readonly ProviderOutput[]; readonly cost?: ProviderCost }
  | { readonly state: 'failed'; readonly failure: ProviderFailure; readonly cost?: ProviderCost }
  /** Stopped on request; the outputs made before are listed. */
  | { readonly state: 'cancelled'; readonly outputs: readonly ProviderOutput[]; readonly cost?: ProviderCost }
  /** The provider states that it has no such task. Core believes it once it is stated again, `settleMs` later. */
  | { readonly state: 'unknown' };
