import type { Context } from '../context.js';
import { recoverGenerations, type GenerationsRecovered } from './recover-generations.js';
import { recoverHolds, type HoldsRecovered } from './recover-holds.js';
import { resumeRuns, type TakeOver } from './resume-runs.js';
import { recoverDeliveries, type DeliveriesRecovered } from './recover-deliveries.js';
import { recoverUploads, type UploadsRecovered } from './recover-uploads.js';

export interface Recovered {
  readonly generations: GenerationsRecovered;
  readonly holds: HoldsRecovered;
  readonly uploads: UploadsRecovered;
  readonly deliveries: DeliveriesRecovered;
  readonly claimsRemoved: number;
  /** Sessions, sign-in links, codes and tokens past their time. */
  readonly artefactsRemoved: number;
}

/** If the clock advances further than this between two passes of one process, one pass is skipped. */
const MAX_STEP_MS = 3_600_000;

const NOTHING: Recovered = {
  generations: { woken: 0, ended: 0, settled: 0, retired: 0, failed: 0, overtaken: 0 },
  holds: { released: 0, settled: 0, failed: 0 },
  uploads: { swept: 0, removed: 0, failed: 0 },
  deliveries: { woken: 0, removed: 0, failed: 0 },
  claimsRemoved: 0,
  artefactsRemoved: 0,
};

/**
 * Whether there may be more to do: one part of the pass reached its limit. Holds that belong to open generations do not
 * count as work: if there are many thousands, successive passes check them in turn, and only a pass that found a lost
 * hold is followed immediately by another.
 */
export function mayBeMore(
  { generations: g, holds, uploads, deliveries, claimsRemoved, artefactsRemoved }: Recovered,
  batch: number,
): boolean {
  const generations = g.woken + g.ended + g.settled + g.retired + g.failed + g.overtaken;
  const moreHolds = holds.nextCursor !== undefined && holds.released + holds.settled > 0;
  return (
    generations >= batch ||
    moreHolds ||
    uploads.swept + uploads.removed >= batch ||
    deliveries.woken + deliveries.removed + deliveries.failed >= batch ||
    claimsRemoved >= batch ||
    artefactsRemoved >= batch
  );
}

/** Completes interrupted work. Runs on a schedule in every worker, and by hand; one pass per process at a time. */
export class Recovery {
  private holdsCursor: string | undefined;
  private lastPassAt: number | undefined;
  private isStopped = false;
  private hasResumed = false;

  /**
   * Without `takeOver`, as where nothing is run, what an earlier boot was running is left until its leases have lapsed.
   */
  constructor(
    private readonly context: Context,
    private readonly takeOver?: TakeOver,
  ) {}

  /**
   * Takes over, once, what an earlier boot was running, if that boot is known to have ended. Throws `StoreUnavailable`;
   * the next pass tries again.
   */
  async resume(): Promise<void> {
    if (!this.takeOver || !this.hasToResume) return;
    await resumeRuns(this.context, this.takeOver, () => !this.isStopped);
    this.hasResumed = true;
  }

  private get hasToResume(): boolean {
    return this.context.boot.isExclusive && !this.hasResumed;
  }

  /**
   * One bounded pass over everything. Throws `StoreUnavailable` when a list cannot be read, once everything else has
   * been done; the next pass starts over. After a clock jump one pass does nothing: if the clock is wrong, retention
   * would remove data for good, and if it is right, the next pass does the same work.
   */
  async pass(): Promise<Recovered> {
    const { context } = this;
    const now = context.clock.now();
    const hasLeapt = this.lastPassAt !== undefined && now - this.lastPassAt > MAX_STEP_MS;
    this.lastPassAt = now;
    if (hasLeapt) {
      context.log.warn('recovery pass skipped after a clock jump', {});
      return NOTHING;
    }
    const failures: unknown[] = [];
    const evenIfOthersFail = <T>(part: () => Promise<T>, nothing: T): Promise<T> => {
      if (this.isStopped) return Promise.resolve(nothing);
      return part().catch((error: unknown) => {
        failures.push(error);
        return nothing;
      });
    };
    const shouldContinue = () => !this.isStopped;
    if (this.hasToResume) await evenIfOthersFail(() => this.resume(), undefined);
    // Permanent removals use the time that was checked above: the clock may jump while the pass runs.
    const generations = await evenIfOthersFail(
      () => recoverGenerations(context, now, shouldContinue),
      NOTHING.generations,
    );
    const holds = await evenIfOthersFail(() => recoverHolds(context, this.holdsCursor, shouldContinue), NOTHING.holds);
    this.holdsCursor = holds.nextCursor;
    const uploads = await evenIfOthersFail(() => recoverUploads(context, now, shouldContinue), NOTHING.uploads);
    const deliveries = await evenIfOthersFail(
      () => recoverDeliveries(context, now, shouldContinue),
      NOTHING.deliveries,
    );
    const claimsRemoved = await evenIfOthersFail(
      () => context.claims.removeExpired(now, context.settings.recoveryBatch),
      0,
    );
    const artefactsRemoved = await evenIfOthersFail(
      () => context.artefacts.removeExpired(now, context.settings.recoveryBatch),
      0,
    );
    if (failures.length > 0) throw failures[0];
    return { generations, holds, uploads, deliveries, claimsRemoved, artefactsRemoved };
  }

  /** Ends a running pass after its current item, and makes later ones do nothing. */
  stop(): void {
    this.isStopped = true;
  }
}
