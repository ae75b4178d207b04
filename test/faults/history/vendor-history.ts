import type { Span } from './spans.js';

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
