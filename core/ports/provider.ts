import type { AbortSignalLike } from '../cancellation.js';
import type { Operation, ProviderCost, ReferenceRole } from '../generation/generation.js';
import type { JsonObject } from '../json.js';
import type {
  ProviderFailure,
  ProviderOutput,
  ProviderReport,
  RecoverAnswer,
  RefusedBecause,
} from '../providers/provider-report.js';
import type { ProviderLimits } from '../providers/provider-use.js';

export type { ProviderCost } from '../generation/generation.js';
export type * from '../providers/provider-report.js';

export interface ProviderReference {
  readonly role: ReferenceRole;
  readonly mediaType: string;
  readonly byteSize: number;
  /**
   * Whether the picture has transparent areas: they are to be generated anew, and the opaque ones kept. No submission has more
   * such references than `maxMaskedReferences` of the provider's capabilities, and only of the role `reference_image`.
   */
  readonly isMasked?: boolean;
  /** Opens the bytes; may be called again, also once the task was taken. Throws once its submission has failed. */
  open(): Promise<AsyncIterable<Uint8Array>>;
}

/** The request to a provider. */
export interface Submission {
  readonly generationId: string;
  /** The number of this attempt of the generation, from 1. Submitting the same attempt again does not raise it. */
  readonly attempt: number;
  readonly modelKey: string;
  readonly operation: Operation;
  /** Empty where the task has none. */
  readonly prompt: string;
  readonly negativePrompt?: string;
  /** With the model's defaults applied. */
  readonly parameters: JsonObject;
  /** The model's `input_schema`: what a provider fills in by itself, such as a seed, must fit it too. */
  readonly inputSchema?: JsonObject;
  readonly references: readonly ProviderReference[];
  /** The model's private `provider_settings` from the catalog. */
  readonly settings: JsonObject;
  /** Identifies the task, a UUID in lower case: the same token means the same task, where the provider supports that. */
  readonly token: string;
  /** How many outputs were paid for; further ones are not delivered. */
  readonly outputCount: number;
  /** How long the generation may still run, in milliseconds: a task that takes longer is of no use. */
  readonly timeLeftMs: number;
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

/** One output in the answer to a submission. */
export interface SubmittedOutput extends ProviderOutput {
  /**
   * Read in the order of the outputs, and from the beginning again, any number of times, where our own store has failed: an
   * output that cannot be read again is lost, and may be paid for twice. The call's signal applies until the last byte.
   */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/**
 * The answer to a submission. A provider whose `capabilities` say so answers with the outputs of the finished task instead of
 * a reference. A refusal is certain: the provider does not work on the task and never will.
 */
export type SubmitAnswer =
  | { readonly accepted: true; readonly reference: string }
  | {
      readonly accepted: true;
      readonly outputs: readonly SubmittedOutput[];
      readonly cost?: ProviderCost;
      /**
       * Frees the source of the outputs. Called once they are stored, or when they are no longer read. Never throws.
       */
      readonly close?: () => void;
    }
  | {
      readonly accepted: false;
      readonly failure: ProviderFailure;
      readonly because?: RefusedBecause;
      readonly cost?: ProviderCost;
    };

/**
 * Optional details in the error of a failed call, besides its message. Core reads these members from any `Error` that a
 * call throws, whatever its class.
 */
export interface FailedCallHints {
  /** The wait that the provider requests before the next call, in milliseconds. */
  readonly retryAfterMs?: number;
  /** Whether the provider refused the operator's credential for this call, so that an operator has to act. */
  readonly isAccessRefused?: boolean;
}

export function hintsOf(error: unknown): FailedCallHints {
  if (!(error instanceof Error)) return {};
  const { retryAfterMs, isAccessRefused } = error as FailedCallHints;
  return {
    ...(typeof retryAfterMs === 'number' && retryAfterMs >= 0 ? { retryAfterMs } : {}),
    ...(isAccessRefused === true ? { isAccessRefused } : {}),
  };
}

/** The tasks that a cancel stops at the provider: none, those that wait, or running ones as well. */
export const CANCELS = ['nothing', 'queued', 'running'] as const;
export type Cancels = (typeof CANCELS)[number];

/** The capabilities of a provider for the tasks of one model. They depend on the settings alone. */
export interface ProviderCapabilities {
  /**
   * `submit` works until the task has ended and answers with its outputs. It may then take as long as the run may; any
   * other call takes `providerCallMs` of the settings at most.
   */
  readonly answersWithOutputs: boolean;
  /** Whether `recover` can look up a task by its token, or not at all. */
  readonly isAskedBy: 'token' | 'nothing';
  /** Whether submitting a token again returns the existing task instead of creating another one. */
  readonly takesTokenOnce: boolean;
  /**
   * How long after the end of our call its request may still reach the provider and be taken, in milliseconds. 0 for
   * one in this process.
   */
  readonly settleMs: number;
  readonly cancels: Cancels;
  /** How long it keeps results, in milliseconds; absent if it is not specified. */
  readonly keepsResultsMs?: number;
  /** How many references with transparent areas one task may have, each of which is a mask; none when absent. */
  readonly maxMaskedReferences?: number;
  /** Whether a task must have such a reference: then core takes no request without one. */
  readonly needsMask?: boolean;
  /** Whether somebody else charges the operator for each task. */
  readonly isPaid: boolean;
}

/** The result of a connection check. */
export interface ProviderCheck {
  /** The server that responded, such as a name and a version; absent if it is not specified. */
  readonly about?: string;
  /** The faults, each as one sentence for the operator; empty when all is right. */
  readonly faults: readonly string[];
}

/**
 * Generates images and videos. No call is atomic with a write of the service: a call may be repeated, and its answer
 * may be lost or late. A call that throws has an unknown outcome; an expected refusal is an answer. Each call has a
 * time limit, and is aborted when it is over.
 */
export interface Provider {
  /** The capabilities for tasks of a model with these settings. Never throws, and makes no requests. */
  capabilities(settings: JsonObject): ProviderCapabilities;

  /**
   * Submits the task. `reference` names it from then on. Throws when it is unknown whether it was taken, also when the
   * call was aborted in flight; with a signal that is already aborted it throws and submits nothing.
   */
  submit(submission: Submission, call: ProviderCall): Promise<SubmitAnswer>;

  /**
   * The state of the task. `settings` is the model's, as in `submit`. Throws for a response without a statement about
   * the task, such as a rate limit, a gateway error, a refused credential, or an HTML page: core polls again until the
   * run's deadline. The error may have `FailedCallHints`.
   */
  poll(reference: string, settings: JsonObject, call: ProviderCall): Promise<ProviderReport>;

  /**
   * The bytes of output `index` of a finished task. The signal applies until the last byte is read. Throws when the bytes
   * cannot be fetched now: core fetches them again until the run's deadline. The error may have `FailedCallHints`.
   */
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

  /**
   * Tests the connection, and whether the models of these settings are available, without generating anything. Never
   * throws for faults on the other side. Absent if there is nothing to test.
   */
  check?(settings: readonly JsonObject[], call: ProviderCall): Promise<ProviderCheck>;

  /**
   * How long a create waits, in milliseconds, 0 to 10,000, once it has claimed its idempotency key and before it reserves
   * credits: repetitions get IDEMPOTENCY_IN_PROGRESS in the meantime. Its caller is authenticated again afterwards. For a
   * provider that tests clients; absent for all others. `parameters` fit the model's schema. Never throws, and makes no
   * requests.
   */
  acceptanceDelayMs?(settings: JsonObject, parameters: JsonObject): number;
}

/** The configured providers, by the name in a model's catalog entry. */
export interface Providers {
  find(name: string): Provider | undefined;
  /** The kind of one that is connected, such as `comfyui`. */
  kind(name: string): string | undefined;
  /** The limits that the operator has set for one. */
  limits(name: string): ProviderLimits;
  names(): readonly string[];
}
