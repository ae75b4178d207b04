import type { ProviderCost } from '../providers/provider-cost.js';
import type { DeliveredObject, Output } from './generation.js';
import type { Retention } from './retention.js';
import type { TaskError } from './task-errors.js';

/** Something a holder of the lease does; refused once another worker holds a newer fence. */
interface Fenced {
  readonly fence: number;
}

/** A change after a provider may have said what the attempt costs. */
interface Costly {
  readonly cost?: ProviderCost;
}

export type GenerationCommand =
  /** From queued: take the lease and record the first attempt in one write. */
  | {
      readonly event: 'start';
      readonly worker: string;
      readonly token: string;
      readonly provider: string;
      readonly leaseMs: number;
    }
  /** Running without a live lease: another worker continues. */
  | { readonly event: 'take-over'; readonly worker: string; readonly leaseMs: number }
  | ({ readonly event: 'renew'; readonly leaseMs: number; readonly progress?: number } & Fenced)
  /**
   * The holder takes a new fence itself, so that nothing that was sent under the old one can touch what it does next.
   */
  | ({ readonly event: 're-lease'; readonly leaseMs: number } & Fenced)
  | ({ readonly event: 'begin-attempt'; readonly token: string; readonly provider: string } & Fenced)
  /**
   * The attempt is about to be submitted once more: the time in which that may arrive begins anew. `isNotTaken`: the
   * submission before was never sent, or was certainly not taken, so it does not count.
   */
  | ({ readonly event: 'submit-again'; readonly isNotTaken: boolean } & Fenced)
  /** Our own call has ended, and nobody knows whether the attempt was accepted. */
  | ({ readonly event: 'submission-ended' } & Fenced)
  /** With a reference to poll by, or with what the provider delivered in its answer. */
  | ({ readonly event: 'accepted' } & (
      | { readonly reference: string }
      | { readonly delivered: readonly DeliveredObject[] }
    ) &
      Costly &
      Fenced)
  /**
   * This attempt is over; the next one is due at `retryAt`. Gives the lease back. `isRefused`: its last submission was
   * certainly refused, so it does not count.
   */
  | ({ readonly event: 'attempt-failed'; readonly retryAt: number; readonly isRefused: boolean } & Costly & Fenced)
  /**
   * The provider certainly has not taken the attempt, which another one may: it did not count. The next one is due at
   * `retryAt`, not at the provider `notHere`. Gives the lease back.
   */
  | ({ readonly event: 'attempt-undone'; readonly retryAt: number; readonly notHere?: string } & Costly & Fenced)
  /**
   * The worker is stopping: gives the lease back. The attempt stays, unless it was never handed over: then it did not
   * count.
   */
  | ({ readonly event: 'yield'; readonly isUnsent: boolean } & Fenced)
  | ({ readonly event: 'succeed'; readonly outputs: readonly Output[] } & Costly & Fenced)
  | ({ readonly event: 'fail'; readonly error: TaskError } & Costly & Fenced)
  /** Cancelled while running: the provider stopped, was never asked, or failed by itself, which costs nothing. */
  | ({ readonly event: 'stop'; readonly outputs: readonly Output[]; readonly hasFailed?: boolean } & Costly & Fenced)
  | { readonly event: 'cancel' }
  | { readonly event: 'give-up'; readonly error: TaskError }
  /** The deadline has passed, and the provider may have the result: a worker may poll and download for `periodMs` more. */
  | ({ readonly event: 'allow-last-poll'; readonly periodMs: number } & Fenced)
  | { readonly event: 'allow-last-poll'; readonly periodMs: number }
  /** The deadline, and the period for a last poll, have passed and no worker holds a live lease. */
  | { readonly event: 'expire'; readonly error: TaskError }
  | { readonly event: 'postpone'; readonly until: number }
  | ({ readonly event: 'settle' } & Retention)
  /** Nothing was charged, and what was asked for is kept no longer. */
  | ({ readonly event: 'content-removed' } & Retention)
  | ({ readonly event: 'outputs-removed' } & Retention)
  | { readonly event: 'late-report'; readonly state: string }
  /** Its client wants it gone. */
  | { readonly event: 'delete' };
