import type { Submission } from '../../../core/ports/provider.js';
import type { Settings } from '../../../core/settings.js';
import { type Effect, violation } from '../observed.js';
import type { GenerationListener, Step } from './generations.js';
import { MAX_SKEW_MS, type ProcessClocks } from './process-clocks.js';

const BY_HOLDER = new Set([
  'renew',
  'begin-attempt',
  'submit-again',
  'submission-ended',
  'accepted',
  'attempt-failed',
  'yield',
  'succeed',
  'fail',
  'stop',
]);
const GIVES_LEASE = new Set(['start', 'take-over', 're-lease']);

/**
 * Invariant 14: who may write what. The store accepts a write only onto the version it was decided on, so the previous
 * version is what its writer saw; but the clock advanced, and may have jumped, between the decision and the write. If
 * the record contains the time of the decision, that time is used; elsewhere the clock at the write, if it is steady.
 */
export class Leases implements GenerationListener {
  /** The boot with which each process signs its leases, and the reverse. */
  private readonly boots = new Map<string, string>();
  /**
   * The time until which each process may consider its lease of a generation held, in true time. A process whose clock
   * is ahead may take the lease over before.
   */
  private readonly heldUntil = new Map<string, number>();

  /** With one process at a time, the holder of an earlier lease is gone. */
  constructor(
    private readonly settings: Settings,
    private readonly clocks: ProcessClocks,
    private readonly isExclusive: boolean,
  ) {}

  stepped(step: Step): void {
    const { before, next, event } = step;
    if (GIVES_LEASE.has(event)) this.given(step);
    else if (next.fence !== before.fence)
      throw violation`14: generation ${next.generationId}: ${event} moved the fence from ${before.fence} to ${next.fence}`;
    if (BY_HOLDER.has(event)) this.byHolder(step);
    if (event === 'fail') this.requireLastPoll(step);
    if (GIVES_LEASE.has(event) || event === 'renew') this.noteHeld(step);
    if (event === 'expire' || event === 'give-up') this.tooLate(step);
  }

  /** A task is submitted only under a valid lease, whatever the clocks of its process were set to. */
  calling({ at, call, args, process }: Pick<Effect, 'at' | 'call' | 'args' | 'process'>): void {
    if (call !== 'provider.submit') return;
    const { generationId } = args[0] as Submission;
    const until = this.heldUntil.get(`${generationId} ${process}`);
    if (until === undefined || at > until)
      throw violation`14: ${process} submits generation ${generationId} at ${at}, and its lease ended at ${until ?? 'no time'}`;
  }

  private noteHeld({ next, by }: Step): void {
    this.heldUntil.set(`${next.generationId} ${by.process}`, by.at + this.settings.leaseMs);
  }

  private given({ before, next, event, by }: Step): void {
    const { generationId, lease } = next;
    if (next.fence !== before.fence + 1)
      throw violation`14: generation ${generationId}: ${event} moved the fence from ${before.fence} to ${next.fence}`;
    if (lease?.worker !== by.process || lease.fence !== next.fence)
      throw violation`14: generation ${generationId}: ${by.process} gave the lease to ${lease?.worker} with fence ${lease?.fence}`;
    if (lease.expiresAt !== lease.renewedAt + this.settings.leaseMs)
      throw violation`14: generation ${generationId}: the lease of ${lease.renewedAt} ends at ${lease.expiresAt}`;
    this.requireNotAhead(by, lease.renewedAt, () => `generation ${generationId}: ${event}`);
    this.requireOwnBoot(by, lease.bootId);
    const old = before.lease;
    const hasLapsed =
      old === undefined || old.expiresAt <= lease.renewedAt || old.renewedAt > lease.renewedAt + MAX_SKEW_MS;
    // A submission that a dead process had started may still arrive; everything else it held has no owner.
    const isNobodys = this.isOfTheDead(old, by) && before.attempt?.phase !== 'submitting';
    if (!hasLapsed && !isNobodys && event !== 're-lease')
      throw violation`14: generation ${generationId}: ${by.process} took over at ${lease.renewedAt} by its clock, and ${old?.worker} had the lease until ${old?.expiresAt}`;
    if (event === 'start' && lease.renewedAt > before.terms.queueDeadlineAt)
      throw violation`7: generation ${generationId} was started at ${lease.renewedAt}, after its queue deadline ${before.terms.queueDeadlineAt}`;
  }

  private byHolder({ before, next, event, by }: Step): void {
    const { generationId } = next;
    if (before.lease === undefined)
      throw violation`14: generation ${generationId}: ${by.process} wrote ${event}, and nobody had the lease`;
    const { worker, fence } = before.lease;
    if (worker !== by.process || fence !== before.fence)
      throw violation`14: generation ${generationId}: ${by.process} wrote ${event}, and ${worker} had the lease with fence ${fence} of ${before.fence}`;
    if (next.lease) {
      if (next.lease.worker !== worker || next.lease.fence !== fence)
        throw violation`14: generation ${generationId}: ${event} gave the lease of ${worker} to ${next.lease.worker}`;
      this.requireNotAhead(by, next.lease.renewedAt, () => `generation ${generationId}: ${event}`);
    }
    if (event === 'begin-attempt') {
      const isNext = next.attempt?.number === next.attemptsMade && next.attemptsMade === before.attemptsMade + 1;
      if (!isNext)
        throw violation`7: generation ${generationId} made attempt ${next.attempt?.number} after ${before.attemptsMade}`;
      if (before.cancelRequestedAt !== undefined)
        throw violation`10: generation ${generationId} began attempt ${next.attempt?.number} after a cancel`;
    }
  }

  /** A generation fails by timeout only after its provider was polled once more for a result. */
  private requireLastPoll({ before, next }: Pick<Step, 'before' | 'next'>): void {
    const isLate = next.error?.code === 'TASK_TIMEOUT' || next.error?.code === 'OUTPUT_STORE_FAILED';
    const mayHaveResult = before.attempt?.reference !== undefined || before.attempt?.delivered !== undefined;
    if (isLate && mayHaveResult && before.lastPollBy === undefined)
      throw violation`20: generation ${next.generationId} timed out, and nobody looked once more whether its provider has the result`;
  }

  /**
   * Ended from outside: its time must be over, and no worker may be running it. `completedAt` is when that was decided,
   * unless a clock further ahead had written the generation. Failures for other reasons than time are checked
   * elsewhere.
   */
  private tooLate({ before, next, event, by }: Step): void {
    if (next.error?.code !== 'TASK_TIMEOUT' || !this.clocks.isSteady(by.process, by.at)) return;
    const { generationId, completedAt = 0 } = next;
    if (event === 'expire') this.requireLastPoll({ before, next });
    const deadlineAt =
      event === 'give-up' ? before.terms.queueDeadlineAt : (before.lastPollBy ?? before.runDeadlineAt ?? Infinity);
    if (completedAt <= deadlineAt)
      throw violation`7: generation ${generationId}: ${event} at ${completedAt}, and its deadline is ${deadlineAt}`;
    const { lease } = before;
    const isLive =
      lease !== undefined &&
      !this.isOfTheDead(lease, by) &&
      lease.expiresAt > Math.max(completedAt, by.processNow) &&
      lease.renewedAt <= by.processNow + MAX_SKEW_MS;
    if (isLive)
      throw violation`14: generation ${generationId}: ${by.process} wrote ${event} at ${completedAt}, and ${lease?.worker} had the lease until ${lease?.expiresAt}`;
  }

  private isOfTheDead(lease: { readonly worker: string } | undefined, by: Step['by']): boolean {
    return this.isExclusive && lease !== undefined && lease.worker !== by.process;
  }

  private requireOwnBoot({ process }: Step['by'], bootId: string | undefined): void {
    if (bootId === undefined) throw violation`14: ${process} took a lease that does not say of which boot it is`;
    for (const [one, other] of [
      [process, bootId],
      [bootId, process],
    ] as const) {
      if ((this.boots.get(one) ?? other) !== other)
        throw violation`14: ${process} took a lease of boot ${bootId}, and ${one} goes with ${this.boots.get(one)}`;
      this.boots.set(one, other);
    }
  }

  private requireNotAhead({ process, at, processNow }: Step['by'], time: number, what: () => string): void {
    if (time > processNow && this.clocks.isSteady(process, at))
      throw violation`14: ${what()} by ${process} carries ${time}, and its clock says ${processNow}`;
  }
}
