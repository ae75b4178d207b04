import type { Account, Entry } from '../../../core/credits/account.js';
import type { GenerationRecord } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';
import type { UploadRecord } from '../../../core/uploads/upload.js';
import type { Span } from './spans.js';
import type { SeenStream } from './stream-history.js';
import type { SeenVendors } from './vendor-history.js';
import type { SeenWebhooks } from './webhook-history.js';

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
