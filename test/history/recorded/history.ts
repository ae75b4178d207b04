import type { Account, Entry } from '../../../core/credits/account.js';
import type { GenerationRecord } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';
import type { UploadRecord } from '../../../core/uploads/upload.js';

/** A stretch of time. */
export interface Span {
  readonly from: number;
  readonly until: number;
}

/** Whether any of them overlaps this span. */
export function touches(spans: readonly Span[], { from, until }: Span): boolean {
  return spans.some((span) => span.from <= until && span.until >= from);
}

/** The longest part of a span, in milliseconds, that none of the others overlaps. */
export function longestGapMs(spans: readonly Span[], { from, until }: Span): number {
  let longest = 0;
  let free = from;
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    longest = Math.max(longest, Math.min(span.from, until) - free);
    free = Math.max(free, span.until);
  }
  return Math.max(longest, until - free);
}

/** An event as a client received it. Times are in milliseconds by the clients' clock. */
export interface StreamedEvent {
  readonly at: number;
  readonly id: string;
  readonly type: string;
  readonly task: JsonObject;
}

/** One connection on which a client followed events, however it ended. */
export interface SeenStream {
  /** Name of the follower: the connections of one follower are sequential. */
  readonly follower: string;
  /** A party. */
  readonly by: string;
  readonly through: string;
  /** The generation that is followed; when absent, the whole App. */
  readonly generationId?: string;
  /** When the first bytes of the stream arrived. */
  readonly openedAt: number;
  /** The id of the event after which it was resumed. */
  readonly after?: string;
  readonly events: readonly StreamedEvent[];
}

/** Times everywhere are milliseconds since the epoch, by the clients' clock. */

/** One request to create a task, as a vendor received it. */
export interface VendorSubmission {
  /** The name of the connected provider. */
  readonly maker: string;
  readonly prompt: string;
  /** The name that the client gave the task; absent where the vendor accepts none. */
  readonly token?: string;
  readonly arrivedAt: number;
  /** When it was definitely refused: with an answer that creates nothing. */
  readonly refusedAt?: number;
  readonly task?: VendorTask;
}

/** A task that a vendor created from a submission. */
export interface VendorTask {
  readonly id: string;
  readonly takenAt: number;
  /** When work on it ended; absent while it continues. */
  readonly endedAt?: number;
  /** When the vendor first reported to a caller that it has ended. */
  readonly endToldAt?: number;
  /**
   * The digest of each picture that it makes, as delivered: with the mark of a task without references, or with some.
   */
  readonly deliveredSha256: { readonly trained: string; readonly composite: string };
}

/** When a vendor answered that it has no task with this token. */
export interface NotFound {
  readonly maker: string;
  readonly token: string;
  readonly at: number;
}

/** Everything that vendors recorded. */
export interface VendorHistory {
  readonly submissions: readonly VendorSubmission[];
  readonly notFound: readonly NotFound[];
}

/** Facts that the test knows about vendor models. */
export interface VendorTerms {
  /** Resubmission policies by model key. */
  readonly policies: Readonly<Record<string, 'fail' | 'resubmit'>>;
  /** Models whose provider is paid for each task, and must not get another one after an unknown outcome. */
  readonly paid: readonly string[];
  /** The limit on tasks of all workers at a provider together, for providers with a limit. */
  readonly mostConcurrent: Readonly<Record<string, number>>;
  readonly settleMs: number;
  /** The longest delay that a link may add to a request. */
  readonly longestDelayMs: number;
}

export interface SeenVendors extends VendorHistory {
  readonly terms: VendorTerms;
  /** Periods in which processes, or the database, were in trouble: tasks may then lose the worker that counts them. */
  readonly lostWorkers: readonly Span[];
}

/**
 * How a receiver treats messages to an endpoint while nothing fails: it accepts them, refuses all, or answers after a
 * few that it is gone.
 */
export type Conduct = 'takes' | 'refuses' | 'leaves';

/** A webhook as its client created it, or all per-generation addresses of an App. */
export interface KnownEndpoint {
  /** Its path at the receiver. */
  readonly name: string;
  /** Its id in the API; `default` for per-generation addresses. */
  readonly webhookId: string;
  /** The party that owns the App. */
  readonly by: string;
  readonly events: readonly string[];
  /** When the answer arrived: generations created later are announced to the endpoint. */
  readonly madeAt: number;
  readonly conduct: Conduct;
}

/** A message as a receiver got it. Times are in milliseconds by the clients' clock. */
export interface Message {
  readonly endpoint: string;
  /** When the whole message had arrived. */
  readonly at: number;
  readonly id: string;
  /** Why the public Standard Webhooks library rejects it, with the secret that the endpoint was created with. */
  readonly signatureFault?: string;
  readonly type: string;
  readonly task: JsonObject;
  /** When the receiver answered, and the status; absent while it has not answered. */
  readonly answered?: { readonly at: number; readonly status: number };
}

/** A delivery as the endpoint's log shows it at the end. */
export interface LoggedDelivery {
  readonly endpoint: string;
  readonly generationId: string;
  readonly event: string;
  readonly state: string;
}

export interface SeenWebhooks {
  readonly endpoints: readonly KnownEndpoint[];
  /** In order of arrival. */
  readonly messages: readonly Message[];
  readonly deliveries: readonly LoggedDelivery[];
  /** For each endpoint at the end, why it is disabled; undefined for one that is not. */
  readonly disabledBecause: Readonly<Record<string, string | undefined>>;
  /** How often a sender followed a redirect of a receiver. */
  readonly followedRedirects: number;
}

/** The sender of a request: one credential of one App. Times everywhere are in milliseconds of one monotonic clock. */
export interface Party {
  readonly name: string;
  readonly keyId: string;
  /** Credits that the key may spend each month; absent for a key without a cap. */
  readonly monthlyCap?: number;
  readonly accountId: string;
  readonly appId: string;
}

/** A client's request. `put` and `fetch` go to signed addresses, without a credential. */
export type Request =
  | { readonly operation: 'create'; readonly key: string; readonly body: JsonObject }
  | { readonly operation: 'get'; readonly generationId: string }
  | { readonly operation: 'cancel'; readonly generationId: string }
  | { readonly operation: 'credits' }
  | { readonly operation: 'prepare'; readonly key: string; readonly body: JsonObject }
  | { readonly operation: 'put'; readonly uploadId: string; readonly sha256: string; readonly byteSize: number }
  | { readonly operation: 'complete'; readonly key: string; readonly uploadId: string; readonly body: JsonObject }
  | { readonly operation: 'fetch'; readonly generationId: string; readonly mediaId: string };

export interface Answer {
  readonly status: number;
  /** The error envelope's code, where there is one. */
  readonly code?: string;
  readonly message?: string;
  readonly data?: JsonObject;
  /** For a fetch: the file that arrived, inspected by the client itself. */
  readonly bytes?: Fetched;
}

export interface Fetched {
  readonly contentType: string;
  readonly byteSize: number;
  readonly sha256: string;
  /** Detected from the first bytes; width and height are for pictures only. */
  readonly kind: 'image' | 'video' | 'unknown';
  readonly widthPx?: number;
  readonly heightPx?: number;
}

/**
 * One request as its client saw it. Without an answer it may have taken effect, may still take effect, or may never
 * have arrived.
 */
export interface Exchange {
  /** The name of a party. */
  readonly by: string;
  /** The process or store that received the request. */
  readonly through: string;
  readonly sentAt: number;
  readonly request: Request;
  readonly answered?: { readonly at: number; readonly answer: Answer };
}

/** K concurrent creates of the same cost, each with its own key, by a party whose account pays for nothing else. */
export interface Burst {
  readonly by: string;
  readonly keys: readonly string[];
  readonly cost: number;
  readonly balance: number;
  /** Nothing failed meanwhile, and no generation ended: then exactly as many are accepted as the balance pays for. */
  readonly isExact: boolean;
}

/** Actions and knowledge of the test itself. */
export interface Facts {
  readonly parties: readonly Party[];
  /** Credits that the operator granted, by account. */
  readonly granted: Readonly<Record<string, number>>;
  /** The models as the public catalog shows them. */
  readonly models: readonly JsonObject[];
  readonly bursts: readonly Burst[];
  readonly revocations: readonly { readonly by: string; readonly askedAt: number; readonly doneAt: number }[];
  /** Secrets that must not be written anywhere. */
  readonly secrets: readonly { readonly name: string; readonly text: string }[];
  /** When the last fault was healed and clients stopped sending new requests. */
  readonly quietAt: number;
  /**
   * When a process last got an error that a store is unavailable, a client had a slow answer, or a process hardly ran:
   * a machine too busy to answer in time is a fault too.
   */
  readonly troubledUntil: number;
  /**
   * Periods in which faults were active or had just been healed, stores were unavailable, answers were slow, or
   * processes hardly ran: work of those periods may have been lost.
   */
  readonly troubles: readonly Span[];
  /**
   * An uninterrupted period without trouble in which all waiting work is found and started, even after a lost wake-up,
   * which recovery looks for last.
   */
  readonly enoughCalmMs: number;
  /** How long after its decision an entry of the ledger may be written, while there is no trouble. */
  readonly writingMs: number;
  /** How late something may end after its deadline, or after all trouble: leases, a recovery pass, a busy machine. */
  readonly slackMs: number;
  /** Whether processes of the previous release took part: they do not store the attribution of ledger entries. */
  readonly hasOlderProcesses: boolean;
}

/** Everything as the operator finds it once all is at rest. */
export interface AtRest {
  readonly accounts: readonly (Account & { readonly entries: readonly Entry[] })[];
  readonly generations: readonly GenerationRecord[];
  /** The record of every upload that some client knows, and the object found where its bytes should be. */
  readonly uploads: readonly {
    readonly record: UploadRecord;
    readonly stored?: { readonly byteSize: number; readonly sha256: string };
  }[];
  readonly objects: readonly { readonly key: string; readonly byteSize: number }[];
  /** The findings of the program's own `verify`. */
  readonly verifyFindings: readonly string[];
  /** Logs of processes and dumps of stores, by their location. */
  readonly texts: readonly { readonly where: string; readonly text: string }[];
}

export interface History {
  readonly facts: Facts;
  readonly exchanges: readonly Exchange[];
  readonly atRest: AtRest;
  /** Absent when there are no vendors. */
  readonly vendors?: SeenVendors;
  /** Absent when nobody receives notifications. */
  readonly webhooks?: SeenWebhooks;
  readonly streams?: readonly SeenStream[];
}
