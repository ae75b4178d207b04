import type { Modality, Operation, ReferenceRole } from '../generation/generation.js';
import type { JsonObject } from '../json.js';
import type { ModelMark } from '../media/ai-mark.js';
import type { PriceTerms } from './price.js';

/** What happens to an attempt that cannot be completed: it is submitted again, or the generation fails. */
export const FAULT_POLICIES = ['resubmit', 'fail'] as const;
export type FaultPolicy = (typeof FAULT_POLICIES)[number];

/** What happens to a usable output of another size or duration than was requested. */
export const OTHER_SIZE_POLICIES = ['deliver', 'refuse'] as const;
export type OtherSizePolicy = (typeof OTHER_SIZE_POLICIES)[number];

/** One provider of a model's route. */
export interface RouteEntry {
  /** Name of the connected provider. */
  readonly provider: string;
  /** What the provider needs to know of this model. */
  readonly settings: JsonObject;
  /**
   * The share of generations that begin here, relative to the others' weights; an integer of at least 0. One with 0 takes
   * only what the others do not.
   */
  readonly weight: number;
}

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
  readonly price: PriceTerms;

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
   * What to do with an attempt of unknown acceptance where the provider cannot tell us about it: submit it again, or fail.
   * Where it can, `resubmit` believes the first answer that it has no such task; `fail` waits for it to be certain.
   */
  readonly onUnknownAcceptance: FaultPolicy;
  /**
   * What to do when a provider delivered complete files that are all unusable: make it again, or fail. Absent: fail where
   * the provider is paid for each task, else make it again.
   */
  readonly onInvalidOutput?: FaultPolicy;
  /** What to do with a usable output of another size or duration than was asked for. */
  readonly onOtherSize: OtherSizePolicy;
  /** The mark of its outputs; without a name, and with the source type by the references, when absent. */
  readonly mark?: ModelMark;
  /** How often to ask the provider, when it does not say, in milliseconds. */
  readonly pollIntervalMs: number;
}

/**
 * All places but a quarter of them, and at least one less than all: where nothing else is said, no account can take the
 * last one.
 */
export function defaultConcurrencyPerAccount(concurrency: number): number {
  return Math.max(1, concurrency - Math.max(1, Math.floor(concurrency / 4)));
}
