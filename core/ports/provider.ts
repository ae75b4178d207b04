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

/** What a provider is asked to make. */
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
  /** The same token means the same task, if the provider can tell. */
  readonly token: string;
}

export interface ProviderFailure {
  readonly code: TaskErrorCode;
  /** One sentence fit for the client: no internals, no addresses. */
  readonly message: string;
  /** Whether another attempt can succeed. */
  readonly mayRetry: boolean;
}

export interface ProviderOutput {
  readonly kind: Modality;
  /** As the provider claims; checked by us. */
  readonly mediaType: string;
}

export type ProviderReport =
  | { readonly state: 'running'; readonly progress?: number; readonly pollAfterMs?: number }
  /** Finished, with at least what `outputs` lists; fewer than asked for is a partial delivery. */
  | { readonly state: 'succeeded'; readonly outputs: readonly ProviderOutput[] }
  | { readonly state: 'failed'; readonly failure: ProviderFailure }
  /** Stopped as we asked; what was delivered before is listed. */
  | { readonly state: 'cancelled'; readonly outputs: readonly ProviderOutput[] }
  /** The provider knows no such task. */
  | { readonly state: 'unknown' };

/**
 * What actually makes pictures. Nothing here is atomic with anything of ours: every call may be repeated, may be lost
 * and may answer late. A call that throws has an unknown outcome; an expected refusal is an answer.
 */
export interface Provider {
  /** Hands the task over. `reference` names it from then on. Throws when it is not known whether it was taken. */
  submit(submission: Submission): Promise<{ readonly accepted: true; readonly reference: string } | { readonly accepted: false; readonly failure: ProviderFailure }>;

  /** How the task stands. `settings` is the model's, as in `submit`. */
  poll(reference: string, settings: JsonObject): Promise<ProviderReport>;

  /** The bytes of output `index` of a finished task. */
  output(reference: string, index: number, settings: JsonObject): Promise<AsyncIterable<Uint8Array>>;

  /** Asks the provider to stop. Only `poll` tells whether it did; asking twice does no harm. */
  cancel(reference: string, settings: JsonObject): Promise<void>;

  /** The task that was submitted with this token, if the provider can tell; `unsupported` if it cannot. */
  recover(token: string, settings: JsonObject): Promise<{ readonly found: true; readonly reference: string } | { readonly found: false } | 'unsupported'>;
}

/** The connected providers, by the name a model's catalog entry gives. */
export interface Providers {
  find(name: string): Provider | undefined;
}
