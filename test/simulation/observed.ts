import type { Model } from '../../core/catalog/model.js';
import type { ErrorCode } from '../../core/errors.js';
import type { Beat, GenerationEvent } from '../../core/generation/events.js';
import type { JsonObject } from '../../core/json.js';
import type { ProviderLimits } from '../../core/providers/provider-use.js';
import type { Settings } from '../../core/settings.js';
import type { UsageBy } from '../../core/usage/read-usage.js';
import type { Stores } from '../fixtures/memory-stores.js';
import { finding } from '../history/finding.js';
import type { KnownCap } from '../history/ledger.js';

/**
 * A call that reached a store or the provider and took effect there. Values are as the adapter received and returned
 * them.
 */
export interface Effect {
  /** True time, in milliseconds; the processes' clocks are off by their skew. */
  readonly at: number;
  /** The calling process, and its incarnation: `worker-1.3`. A worker signs its leases with this name. */
  readonly process: string;
  /** The time by that process's clock. */
  readonly processNow: number;
  /** Port and method, for example `accounts.apply`. */
  readonly call: string;
  readonly args: readonly unknown[];
  readonly result: unknown;
}

/** The party that a request represents; the checker knows it, the service has to find out. */
export interface Party {
  readonly accountId: string;
  readonly appId: string;
  /** The id of an API key, or of the grant of a token. */
  readonly keyId: string;
  /** Credits that may be spent with it; absent for one without a cap. */
  readonly cap?: KnownCap;
}

/** How usage is read: by modality are the same rows as by model. */
export type ReadUsageBy = Exclude<UsageBy, 'modality' | 'day_modality'>;

/** The request of a client or an operator to one process. */
export type Request =
  | { readonly operation: 'create'; readonly key: string; readonly body: JsonObject }
  | CompatibleCreate
  | { readonly operation: 'estimate'; readonly body: JsonObject }
  | { readonly operation: 'get' | 'cancel' | 'delete'; readonly generationId: string }
  | { readonly operation: 'credits' }
  | { readonly operation: 'usage'; readonly by: ReadUsageBy }
  | { readonly operation: 'prepare'; readonly key: string; readonly body: JsonObject }
  | { readonly operation: 'delete-upload'; readonly uploadId: string }
  | { readonly operation: 'complete'; readonly key: string; readonly uploadId: string; readonly body: JsonObject }
  | {
      readonly operation: 'grant' | 'adjust';
      readonly accountId: string;
      readonly operationId: string;
      readonly credits: number;
    }
  /** `personId`: the person who disconnects a program and owns the grant. */
  | { readonly operation: 'revoke'; readonly keyId: string; readonly personId?: string }
  /** `cancels`: whether open generations are cancelled, too. */
  | { readonly operation: 'suspend'; readonly accountId: string; readonly cancels: boolean }
  | { readonly operation: 'resume'; readonly accountId: string }
  | { readonly operation: 'rename'; readonly accountId: string; readonly name: string };

/** A create over `/v1`. `isRetry`: whether the client says that it repeats a request. `isVideo`: answered before its end. */
export interface CompatibleCreate {
  readonly operation: 'create-compatible';
  /** The Idempotency-Key, where the client sends one. */
  readonly key?: string;
  readonly isRetry: boolean;
  readonly isVideo: boolean;
  readonly body: JsonObject;
}

export interface Asked {
  readonly number: number;
  readonly at: number;
  /** Absent for an operator's request. */
  readonly party?: Party;
  readonly request: Request;
}

/**
 * The answer to a request. A success carries the public JSON, as the REST front renders it; an operator's carries
 * nothing. `lost`: the connection broke or timed out, and the sender does not know the outcome of the request.
 */
export type Answer =
  | { readonly outcome: 'success'; readonly data: JsonObject; readonly replayed: boolean }
  | { readonly outcome: 'refused'; readonly code: ErrorCode; readonly message: string }
  | { readonly outcome: 'lost' };

/** The stores themselves, below every fault: all durable data is here. */
export type Durable = Stores;

/** Facts that hold from the start of a run to its end. */
export interface Premises {
  readonly durable: Durable;
  readonly models: readonly Model[];
  readonly settings: Settings;
  /** Limits by provider name; an absent provider has none. */
  readonly providerLimits: Readonly<Record<string, ProviderLimits>>;
  /** How often each worker's recovery runs, in milliseconds. */
  readonly recoveryIntervalMs: number;
  /** Whether there is one process at a time, and the stores' driver reports that. */
  readonly isExclusive: boolean;
  /** The secrets of API keys made so far. */
  secrets(): readonly string[];
}

/** The arrival of a message at a receiver. */
export interface Told {
  readonly at: number;
  readonly process: string;
  /** Whether it is answered with a success; the answer may still be lost. */
  readonly isTaken: boolean;
}

/** An event as received by a client that follows an App. */
export interface Heard {
  readonly at: number;
  readonly follower: string;
  readonly appId: string;
  /** The number of the follower's connection. */
  readonly stream: number;
  readonly event: GenerationEvent | Beat;
}

/** A violated invariant. `invariant` is its number in the list of `docs/correctness.md`. */
export class Violation extends Error {
  constructor(
    readonly invariant: number,
    what: string,
  ) {
    super(`Invariant ${invariant}: ${what}`);
    this.name = 'Violation';
  }
}

/** A violation from a text that begins with the number of its invariant, as in `7: generation 1 skipped a version`. */
export function violation(...text: Parameters<typeof finding>): Violation {
  const { invariant, sentence } = finding(...text);
  return new Violation(invariant, sentence);
}
