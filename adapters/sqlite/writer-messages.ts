import type { Failure } from './batch.js';
import type { Unit, WriteResult } from './writes.js';

/** What the writer thread is started with. */
export interface WriterSettings {
  readonly path: string;
  readonly maxPages: number | undefined;
}

/** Units to write, in order; or the wish to end. */
export type ToWriter = readonly Unit[] | 'close';

/**
 * The thread is ready; or the outcome of a batch, which is every unit of one or more messages in order; or it is
 * closed.
 */
export type FromWriter =
  | { readonly kind: 'ready' }
  | { readonly kind: 'written'; readonly messages: number; readonly results: readonly (WriteResult | Failure)[] }
  | { readonly kind: 'unwritten'; readonly messages: number; readonly units: number; readonly failure: Failure }
  | { readonly kind: 'closed' };
