import type { Model } from '../../core/catalog/model.js';
import type { ErrorCode } from '../../core/errors.js';
import type { Beat, GenerationEvent } from '../../core/generation/events.js';
import type { JsonObject } from '../../core/json.js';
import type { WebhookMessage } from '../../core/ports/outside.js';
import type { Submission } from '../../core/ports/provider.js';
import type { ProviderLimits } from '../../core/providers/provider-use.js';
import type { Settings } from '../../core/settings.js';
import type { UsageBy } from '../../core/usage/read-usage.js';
import type { Stores } from '../fixtures/memory-stores.js';
import type { KnownCap } from '../history/ledger.js';

/**
 * A call that reached a store or the provider and did there whatever it does. Values are as the adapter took and gave
 * them.
 */
export interface Effect {
  /** True time, in milliseconds; the processes' clocks are off by their skew. */
  readonly at: number;
  /** The process that asked, and its incarnation: `worker-1.3`. A worker signs its leases with this name. */
  readonly process: string;
  /** What that process's clock says now. */
  readonly processNow: number;
  /** Port and method, as in `accounts.apply`. */
  readonly call: string;
  readonly args: readonly unknown[];
  readonly result: unknown;
}

/** Whom a request speaks for; the checker knows, the service has to find out. */
export interface Party {
  readonly accountId: string;
  readonly appId: string;
  /** Of an API key, or of the grant of a token. */
  readonly keyId: string;
  /** Credits that may be spent with it; absent for one without a cap. */
  readonly cap?: KnownCap;
}

/** What a client or an operator asks of one process. */
export type Request =
  | { readonly operation: 'create'; readonly key: string; readonly body: JsonObject }
  | { readonly operation: 'estimate'; readonly body: JsonObject }
  | { readonly operation: 'get' | 'cancel' | 'delete'; readonly generationId: string }
  | { readonly operation: 'credits' }
  | { readonly operation: 'usage'; readonly by: UsageBy }
  | { readonly operation: 'prepare'; readonly key: string; readonly body: JsonObject }
  | { readonly operation: 'delete-upload'; readonly uploadId: string }
  | { readonly operation: 'complete'; readonly key: string; readonly uploadId: string; readonly body: JsonObject }
  | {
      readonly operation: 'grant' | 'adjust';
      readonly accountId: string;
      readonly operationId: string;
      readonly credits: number;
    }
  /** `personId`: who disconnects a program, whose grant it is then. */
  | { readonly operation: 'revoke'; readonly keyId: string; readonly personId?: string }
  /** `cancels`: whether what is open is to be cancelled, too. */
  | { readonly operation: 'suspend'; readonly accountId: string; readonly cancels: boolean }
  | { readonly operation: 'resume'; readonly accountId: string }
  | { readonly operation: 'rename'; readonly accountId: string; readonly name: string };

export interface Asked {
  readonly number: number;
  readonly at: number;
  /** Absent for an operator's request. */
  readonly party?: Party;
  readonly request: Request;
}

/**
 * What came back. A success carries the public JSON, as the REST front renders it; an operator's carries nothing.
 * `lost`: the connection broke or timed out, and whoever asked does not know what became of the request.
 */
export type Answer =
  | { readonly outcome: 'success'; readonly data: JsonObject; readonly replayed: boolean }
  | { readonly outcome: 'refused'; readonly code: ErrorCode; readonly message: string }
  | { readonly outcome: 'lost' };

/** The stores themselves, beneath every fault: what is durable is here. */
export type Durable = Stores;

/** What holds from the start of a run to its end. */
export interface Premises {
  readonly durable: Durable;
  readonly models: readonly Model[];
  readonly settings: Settings;
  /** By the provider's name; one that is absent has none. */
  readonly providerLimits: Readonly<Record<string, ProviderLimits>>;
  /** How often each worker's recovery runs, in milliseconds. */
  readonly recoveryIntervalMs: number;
  /** Whether there is one process at a time, and the stores' driver says so. */
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

/** What a client got that follows the events of an App. */
export interface Heard {
  readonly at: number;
  readonly follower: string;
  readonly appId: string;
  /** Counts the follower's connections. */
  readonly stream: number;
  readonly event: GenerationEvent | Beat;
}

/** Whoever watches a run. Every method throws a `Violation` when something is not as it must be. */
export interface Observer {
  /** How often each step of a generation was seen, as `running cancel running`. */
  readonly transitions: ReadonlyMap<string, number>;
  /** Right after a call did its work, before its answer leaves. */
  effect(effect: Effect): Promise<void>;
  /** A provider is about to be called, before anything of it arrives. */
  calling(call: Pick<Effect, 'at' | 'process' | 'processNow' | 'call' | 'args'>): void;
  /** The provider has a task from now on, which may have been on its way for a while. */
  /** `isUsable`: whether a part at least of what it will deliver, if it does, can be used. */
  taken(submission: Submission, reference: string, isUsable: boolean): void;
  /** The object store lost or damaged this object by itself. */
  spoiled(objectKey: string): void;
  /** A receiver of a client has got a message, and takes it or not. */
  told(message: WebhookMessage, told: Told): void;
  /** A follower has got an event of its App. */
  heard(heard: Heard): void;
  /** A follower has left for good. */
  left(follower: string): void;
  /** Bytes were PUT by a client to the address of an upload. `status` is the store's answer. */
  sent(uploadId: string, bytes: Uint8Array, status: number): Promise<void>;
  asked(asked: Asked): void;
  /** The request reached a process, which begins to work on it now. */
  arrived(asked: Asked, at: number): void;
  /** A process has made up its mind; the answer may still be lost on its way. */
  served(asked: Asked, answer: Answer, at: number): Promise<void>;
  /** What the client came to know, and when. */
  answered(asked: Asked, answer: Answer, at: number): void;
  /** A line core logged. */
  logged(process: string, event: string, about: Readonly<Record<string, unknown>>): void;
  /** Faults have stopped: from `at` on nothing goes wrong any more. */
  quiet(at: number): void;
  /** Everything that can end has had the time to end. */
  atRest(at: number): Promise<void>;
}

/** Something that must always hold did not. `invariant` is its number in the list of `docs/correctness.md`. */
export class Violation extends Error {
  constructor(
    readonly invariant: number,
    what: string,
  ) {
    super(`Invariant ${invariant}: ${what}`);
    this.name = 'Violation';
  }
}
