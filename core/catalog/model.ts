import type { Modality, Operation, ReferenceRole } from '../generation/generation.js';
import type { JsonObject } from '../json.js';
import type { ModelMark } from '../media/ai-mark.js';
import type { PriceTerms } from './price.js';

/** How to handle an attempt that cannot be completed: resubmit it, or fail the generation. */
export const FAULT_POLICIES = ['resubmit', 'fail'] as const;
export type FaultPolicy = (typeof FAULT_POLICIES)[number];

/** How to handle a usable output whose size or duration differs from the request. */
export const OTHER_SIZE_POLICIES = ['deliver', 'refuse'] as const;
export type OtherSizePolicy = (typeof OTHER_SIZE_POLICIES)[number];

/** Whether a request needs a prompt. With `none` a prompt is accepted, and not sent to the provider. */
export const PROMPT_RULES = ['required', 'optional', 'none'] as const;
export type PromptRule = (typeof PROMPT_RULES)[number];

/** One provider of a model's route. */
export interface RouteEntry {
  /** Name of the connected provider. */
  readonly provider: string;
  /** The provider's settings for this model. */
  readonly settings: JsonObject;
  /**
   * The share of generations that begin here, relative to the others' weights; an integer of at least 0. One with 0 takes
   * only what the others do not.
   */
  readonly weight: number;
}

/** A request that is known to give a good result, for people who try the model. */
export interface ModelExample {
  readonly title?: string;
  /** Absent for a model that does without a prompt. */
  readonly prompt?: string;
  /** Parameters by the input schema, without defaults. */
  readonly parameters?: JsonObject;
}

/** The most examples of one model. */
export const MAX_EXAMPLES = 10;

export interface ModelLimits {
  readonly maxReferenceUploads: number;
  readonly referenceRoles: readonly ReferenceRole[];
  readonly uploadMediaTypes: readonly string[];
  readonly maxUploadBytes: number;
  readonly maxOutputs: number;
  readonly negativePrompt: boolean;
}

/** One model: what the public catalog shows, and what only we know. */
export interface Model {
  readonly modelKey: string;
  readonly displayName: string;
  readonly modality: Modality;
  readonly operations: readonly Operation[];
  readonly description?: string;
  /** JSON Schema 2020-12, `additionalProperties: false` at every level. */
  readonly inputSchema: JsonObject;
  readonly limits: ModelLimits;
  readonly promptRule: PromptRule;
  /** Bounds the prompt and the negative prompt, in code points. */
  readonly maxPromptCharacters: number;
  /** A role for each file that a request needs at least, a frame at most once; each is in `limits.referenceRoles`. */
  readonly requiredRoles: readonly ReferenceRole[];
  readonly price: PriceTerms;
  /** Absent if there are none. */
  readonly examples?: readonly ModelExample[];
  /** Present for a model that is for trying the service, and not for making anything. */
  readonly isTest?: true;

  /** The providers that can make it, in the order in which they are tried; at least one, none of them twice. */
  readonly route: readonly RouteEntry[];
  readonly queueTimeoutMs: number;
  readonly runTimeoutMs: number;
  readonly maxAttempts: number;
  /** Generations of this model that one worker process runs at once. */
  readonly concurrency: number;
  /** The same, for one account. */
  readonly concurrencyPerAccount: number;
  readonly cancelFloorCredits: number;
  /**
   * How to handle an attempt if it is unknown whether the provider accepted it, and the provider cannot look it up:
   * resubmit it, or fail. If the provider can, `resubmit` trusts its first report that it has no such task, while
   * `fail` waits until that is certain.
   */
  readonly onUnknownAcceptance: FaultPolicy;
  /**
   * How to handle complete files from a provider that are all unusable: make them again, or fail. If absent: fail where
   * the provider is paid for each task, otherwise make them again.
   */
  readonly onInvalidOutput?: FaultPolicy;
  /** How to handle a usable output whose size or duration differs from the request. */
  readonly onOtherSize: OtherSizePolicy;
  /** The mark of its outputs. If absent, the mark has no name, and its source type depends on the references. */
  readonly mark?: ModelMark;
  /** How often to poll the provider if it does not specify an interval, in milliseconds. */
  readonly pollIntervalMs: number;
}

/**
 * All slots but a quarter of them, and at least one less than all: unless configured otherwise, no account can take the
 * last one.
 */
export function defaultConcurrencyPerAccount(concurrency: number): number {
  return Math.max(1, concurrency - Math.max(1, Math.floor(concurrency / 4)));
}
