import type { Erasing, Files, Identity, Machine, Models, Money, Webhooks, Work } from '../../core/context.js';
import { Dispatcher } from '../../core/generation/run/dispatcher.js';
import { GENERATION } from '../../core/generation/wake.js';
import type { WakeUpSubject } from '../../core/ports/wake-ups.js';
import { EarlierTasks } from '../../core/recovery/earlier-tasks.js';
import { mayBeMore, type Recovered, Recovery } from '../../core/recovery/recover.js';
import { SearchIndexer } from '../../core/search/index-generations.js';
import { type CatchUpBounds, UsageCatchUp } from '../../core/usage/project-usage.js';
import { Repetition } from '../../core/waiting.js';
import { DELIVERY } from '../../core/webhooks/deliveries.js';
import { DeliveryQueue } from '../../core/webhooks/send-delivery.js';

export interface WorkerOptions {
  /** Identifies this process in leases; different from every other process that ever ran. */
  readonly workerId: string;
  readonly recoveryIntervalMs: number;
  /** How long a stop waits for runs to hand their leases back. */
  readonly stopGraceMs: number;
  /** Limits on catching up with usage in the background. */
  readonly usage?: CatchUpBounds;
  /** Called with every recovery, for maintenance of the stores that can wait. Throws `StoreUnavailable`. */
  readonly tidy?: () => Promise<void>;
  /** Called after every completed recovery pass; `isFull` if there may be more to do. Must not throw. */
  readonly onPassed?: (recovered: Recovered, pass: { readonly durationMs: number; readonly isFull: boolean }) => void;
}

/** The maximum number of wake-ups this process holds at a time: those that run, and those that wait for a slot. */
const MAX_WAKE_UPS = 10_000;
/** The maximum number of consecutive recovery passes if each one finds as much as it may take. */
const MAX_PASSES = 20;

/** One process's share of the work: runs generations that it is woken for, and recovers unfinished work of others. */
export class Worker {
  private readonly dispatcher: Dispatcher;
  private readonly deliveries: DeliveryQueue;
  private readonly recovery: Recovery;
  private readonly earlierTasks: EarlierTasks;
  private readonly usage: UsageCatchUp;
  private readonly indexer: SearchIndexer;
  private recovering: Promise<void> | undefined;
  private catchingUp: Promise<void> | undefined;
  private repetition: Repetition | undefined;
  /** Takes no more of what this process accepts. */
  private leave: () => void = () => undefined;
  private isStopping = false;

  constructor(
    private readonly context: Money & Work & Files & Identity & Models & Webhooks & Erasing & Machine,
    private readonly options: WorkerOptions,
  ) {
    this.dispatcher = new Dispatcher(context, options.workerId);
    this.deliveries = new DeliveryQueue(context);
    this.usage = new UsageCatchUp(context, options.usage);
    this.indexer = new SearchIndexer(context);
    this.recovery = new Recovery(context, (generation) => this.dispatcher.takeOver(generation));
    this.earlierTasks = new EarlierTasks(context, (generation, provider) =>
      this.dispatcher.countOrphaned(generation, provider),
    );
  }

  get counts(): Dispatcher['counts'] {
    return this.dispatcher.counts;
  }

  /**
   * Takes wake-ups once it has resolved. Before that, interrupted runs of an earlier boot get their places, so that new
   * ones cannot take them. The first recovery pass starts immediately, as it is what continues everything after a
   * crash; the start does not wait for it, so that a process with much to recover can be asked to stop.
   */
  async start(): Promise<void> {
    const { clock, wakeUps, log } = this.context;
    this.earlierTasks.start();
    await this.recovery.resume().catch((error: unknown) => log.warn('interrupted runs not resumed', { error }));
    if (this.isStopping) return;
    this.leave = this.context.localRuns.serve((generation) => this.dispatcher.takeAccepted(generation));
    await wakeUps.start((subject) => this.deliver(subject), MAX_WAKE_UPS);
    void this.recover();
    if (!this.isStopping)
      this.repetition = new Repetition(clock, this.options.recoveryIntervalMs, () => this.recover());
  }

  /** Rejects a kind that this release does not know: another process may know it, and later releases will. */
  private async deliver({ kind, id }: WakeUpSubject): Promise<void> {
    if (kind === DELIVERY) return this.deliveries.deliver(id);
    if (kind !== GENERATION) throw new Error(`This release does not know wake-ups of the kind ${kind}.`);
    await this.dispatcher.deliver(id);
  }

  /**
   * Releases every lease, or leaves it to expire after the grace period; returns whether all runs have ended, because
   * the others are interrupted and recovered later.
   */
  async stop(): Promise<boolean> {
    const { stopGraceMs } = this.options;
    this.isStopping = true;
    this.leave();
    this.recovery.stop();
    this.earlierTasks.stop();
    this.usage.stop();
    this.indexer.stop();
    const ended = this.within(
      stopGraceMs,
      Promise.all([this.context.wakeUps.stop(), this.repetition?.stop(), this.recovering, this.catchingUp]),
    );
    const [runsEnded, sendingEnded] = await Promise.all([
      this.dispatcher.stop(stopGraceMs),
      this.deliveries.stop(stopGraceMs),
    ]);
    return (await ended) && runsEnded && sendingEnded;
  }

  private within(graceMs: number, work: Promise<unknown>): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const cancel = this.context.clock.after(graceMs, () => resolve(false));
      work.finally(cancel).then(() => resolve(true), reject);
    });
  }

  /** Never two at a time: the first one may take longer than the interval. */
  private recover(): Promise<void> {
    this.dispatcher.admitWaiting();
    this.catchUp();
    this.recovering ??= this.recoverInPasses()
      .then(() => this.tidy())
      .then(() => this.context.providerGates.report())
      .finally(() => {
        this.recovering = undefined;
      });
    return this.recovering;
  }

  private async tidy(): Promise<void> {
    await this.options.tidy?.().catch((error: unknown) => this.context.log.warn('stores not tidied', { error }));
  }

  /** Runs beside the recovery, which must not wait for it; never twice at the same time. */
  private catchUp(): void {
    if (this.isStopping) return;
    const warn = (event: string) => (error: unknown) => this.context.log.warn(event, { error });
    this.catchingUp ??= Promise.all([
      this.usage.pass().catch(warn('usage not brought up to date')),
      this.indexer.pass().catch(warn('generations not indexed')),
    ])
      .then(() => undefined)
      .finally(() => {
        this.catchingUp = undefined;
      });
  }

  private async recoverInPasses(): Promise<void> {
    try {
      for (let passes = 0; passes < MAX_PASSES; passes += 1) {
        const beganAt = performance.now();
        const recovered = await this.recovery.pass();
        const isFull = mayBeMore(recovered, this.context.settings.recoveryBatch);
        this.options.onPassed?.(recovered, { durationMs: performance.now() - beganAt, isFull });
        if (!isFull) return;
      }
    } catch (error) {
      this.context.log.warn('recovery pass not finished', { error });
    }
  }
}
