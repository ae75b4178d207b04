import type { Account, Entry } from '../../../core/credits/account.js';
import type { GenerationRecord } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';
import type { UploadRecord } from '../../../core/uploads/upload.js';

/** A stretch of time. */
export interface Span {
  readonly from: number;
  readonly until: number;
}

/** Whether any of them has a moment in common with this one. */
export function touches(spans: readonly Span[], { from, until }: Span): boolean {
  return spans.some((span) => span.from <= until && span.until >= from);
}

/** The longest stretch of one span, in milliseconds, that none of the others has a moment in. */
export function longestGapMs(spans: readonly Span[], { from, until }: Span): number {
  let longest = 0;
  let free = from;
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    longest = Math.max(longest, Math.min(span.from, until) - free);
    free = Math.max(free, span.until);
  }
  return Math.max(longest, until - free);
}

/** An event as it came to a client. Times are milliseconds of the clock of clients. */
export interface StreamedEvent {
  readonly at: number;
  readonly id: string;
  readonly type: string;
  readonly task: JsonObject;
}

/** One connection on which a client followed events, however it ended. */
export interface SeenStream {
  /** Who followed: the connections of one follower are one after another. */
  readonly follower: string;
  /** A party. */
  readonly by: string;
  readonly through: string;
  /** The one generation that is followed; all of the App when absent. */
  readonly generationId?: string;
  /** When the first bytes of the stream had come. */
  readonly openedAt: number;
  /** The id of the event that it was resumed behind. */
  readonly after?: string;
  readonly events: readonly StreamedEvent[];
}

/** Times everywhere are milliseconds since the epoch, by the clock of clients. */

/** One request to make something, as it came to a vendor. */
export interface VendorSubmission {
  /** The name of the connected provider. */
  readonly maker: string;
  readonly prompt: string;
  /** The name that the client gave the task; absent where the vendor takes none. */
  readonly token?: string;
  readonly arrivedAt: number;
  /** When it was refused for certain: with an answer that makes nothing. */
  readonly refusedAt?: number;
  readonly task?: VendorTask;
}

/** What a vendor makes of a submission. */
export interface VendorTask {
  readonly id: string;
  readonly takenAt: number;
  /** When it was no longer worked on; absent while it still is. */
  readonly endedAt?: number;
  /** When the vendor first answered somebody that it has ended. */
  readonly endToldAt?: number;
  /** The digest of each picture that it makes, as it is delivered: with the mark of a task without references, or with some. */
  readonly deliveredSha256: { readonly trained: string; readonly composite: string };
}

/** When a vendor answered that it has no task of this token. */
export interface NotFound {
  readonly maker: string;
  readonly token: string;
  readonly at: number;
}

/** Everything that vendors know. */
export interface VendorHistory {
  readonly submissions: readonly VendorSubmission[];
  readonly notFound: readonly NotFound[];
}

/** What the test knows of the models that vendors make. */
export interface VendorTerms {
  /** Models by their key. */
  readonly policies: Readonly<Record<string, 'fail' | 'resubmit'>>;
  /** Models whose provider is paid for each task, and may not be asked for another one after an unknown outcome. */
  readonly paid: readonly string[];
  /** Tasks that all workers have at a provider together, for those with a limit. */
  readonly mostConcurrent: Readonly<Record<string, number>>;
  readonly settleMs: number;
  /** By how much a link may delay a request. */
  readonly longestDelayMs: number;
}

export interface SeenVendors extends VendorHistory {
  readonly terms: VendorTerms;
  /** When processes, or the database, were in trouble: tasks may then lose the worker that counts them. */
  readonly lostWorkers: readonly Span[];
}

/**
 * What a receiver does with the messages to an endpoint while nothing goes wrong: it takes them, refuses every one, or
 * answers after some that it is gone.
 */
export type Conduct = 'takes' | 'refuses' | 'leaves';

/** A webhook as its client made it, or all addresses of single generations of an App. */
export interface KnownEndpoint {
  /** Its path at the receiver. */
  readonly name: string;
  /** As the API names it; `default` for addresses of single generations. */
  readonly webhookId: string;
  /** The party whose App it is of. */
  readonly by: string;
  readonly events: readonly string[];
  /** When the answer had come: what is created afterwards is told. */
  readonly madeAt: number;
  readonly conduct: Conduct;
}

/** A message as it came to a receiver. Times are milliseconds of the clock of clients. */
export interface Message {
  readonly endpoint: string;
  /** When all of it had come. */
  readonly at: number;
  readonly id: string;
  /** Why the public library of Standard Webhooks refuses it, by the secret that the endpoint was made with. */
  readonly signatureFault?: string;
  readonly type: string;
  readonly task: JsonObject;
  /** When the receiver answered, and with what; absent while it has not. */
  readonly answered?: { readonly at: number; readonly status: number };
}

/** A delivery as the log of its endpoint shows it in the end. */
export interface LoggedDelivery {
  readonly endpoint: string;
  readonly generationId: string;
  readonly event: string;
  readonly state: string;
}

export interface SeenWebhooks {
  readonly endpoints: readonly KnownEndpoint[];
  /** In the order in which they came. */
  readonly messages: readonly Message[];
  readonly deliveries: readonly LoggedDelivery[];
  /** Of each endpoint in the end: why it is disabled, undefined for one that is not. */
  readonly disabledBecause: Readonly<Record<string, string | undefined>>;
  /** How often somebody went where a receiver had pointed. */
  readonly followedRedirects: number;
}

/**
 * Who sends a request: one credential of one App. Times everywhere are milliseconds of one clock that never goes back.
 */
export interface Party {
  readonly name: string;
  readonly keyId: string;
  /** Credits that the key may spend in each month; absent for one without a cap. */
  readonly monthlyCap?: number;
  readonly accountId: string;
  readonly appId: string;
}

/** What a client asks. `put` and `fetch` go to signed addresses, without a credential. */
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
  /** The envelope's, where there is one. */
  readonly code?: string;
  readonly message?: string;
  readonly data?: JsonObject;
  /** Of a fetch: what came, looked at by the client itself. */
  readonly bytes?: Fetched;
}

export interface Fetched {
  readonly contentType: string;
  readonly byteSize: number;
  readonly sha256: string;
  /** As their first bytes say; sides of pictures only. */
  readonly kind: 'image' | 'video' | 'unknown';
  readonly widthPx?: number;
  readonly heightPx?: number;
}

/**
 * One request as its client saw it. Without an answer it may have happened, may yet happen, or may never have arrived.
 */
export interface Exchange {
  /** The name of a party. */
  readonly by: string;
  /** The process or store that was asked. */
  readonly through: string;
  readonly sentAt: number;
  readonly request: Request;
  readonly answered?: { readonly at: number; readonly answer: Answer };
}

/**
 * K creates of the same cost, each with a key of its own, at once, by a party whose account has nothing else to pay.
 */
export interface Burst {
  readonly by: string;
  readonly keys: readonly string[];
  readonly cost: number;
  readonly balance: number;
  /** Nothing went wrong meanwhile, and no generation ended: then as many are accepted as can be paid, and no fewer. */
  readonly isExact: boolean;
}

/** What the test itself did or knows. */
export interface Facts {
  readonly parties: readonly Party[];
  /** What the operator granted, by account. */
  readonly granted: Readonly<Record<string, number>>;
  /** The models as the public catalog shows them. */
  readonly models: readonly JsonObject[];
  readonly bursts: readonly Burst[];
  readonly revocations: readonly { readonly by: string; readonly askedAt: number; readonly doneAt: number }[];
  /** What must be written nowhere. */
  readonly secrets: readonly { readonly name: string; readonly text: string }[];
  /** When the last fault was healed and no client sent anything new any more. */
  readonly quietAt: number;
  /**
   * When a process was last told by a store that it cannot be had, a client had a slow answer, or a process hardly ran: a machine
   * too busy to answer in time is a fault too.
   */
  readonly troubledUntil: number;
  /**
   * When faults were under way or had just been healed, when a store could not be had, and when answers were slow or processes
   * hardly ran: what ran then may have come to nothing.
   */
  readonly troubles: readonly Span[];
  /**
   * Calm in one piece in which whatever waits is found and begun: a lost wake-up, even, for which recovery looks last.
   */
  readonly enoughCalmMs: number;
  /** How long after it was decided an entry of the ledger may be written, while there is no trouble. */
  readonly writingMs: number;
  /**
   * How late after its deadline, or after all trouble, something may end: leases, a pass of recovery, a busy machine.
   */
  readonly slackMs: number;
  /** Whether processes of the release before took part: they keep no attribution of ledger entries. */
  readonly hasOlderProcesses: boolean;
}

/** Everything as the operator finds it once all is at rest. */
export interface AtRest {
  readonly accounts: readonly (Account & { readonly entries: readonly Entry[] })[];
  readonly generations: readonly GenerationRecord[];
  /**
   * What is on record of every upload that some client knows, and what stands in the store where its bytes should be.
   */
  readonly uploads: readonly {
    readonly record: UploadRecord;
    readonly stored?: { readonly byteSize: number; readonly sha256: string };
  }[];
  readonly objects: readonly { readonly key: string; readonly byteSize: number }[];
  /** What the program's own `verify` found. */
  readonly verifyFindings: readonly string[];
  /** Logs of processes and dumps of stores, by where they were. */
  readonly texts: readonly { readonly where: string; readonly text: string }[];
}

export interface History {
  readonly facts: Facts;
  readonly exchanges: readonly Exchange[];
  readonly atRest: AtRest;
  /** Absent where there are no vendors. */
  readonly vendors?: SeenVendors;
  /** Absent where nobody is told of anything. */
  readonly webhooks?: SeenWebhooks;
  readonly streams?: readonly SeenStream[];
}
