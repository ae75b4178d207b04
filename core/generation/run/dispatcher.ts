import type { Context } from '../../context.js';
import { wake } from '../wake.js';
import { mayBeTakenOver } from '../decide.js';
import { isTerminal, type Generation, type GenerationRecord } from '../generation.js';
import { settleGeneration } from '../settle-generation.js';
import { GenerationRun } from './generation-run.js';
import { FairSemaphore, type LaneLimits, type Place } from './fair-semaphore.js';
import type { Entry } from '../../providers/provider-gates.js';
import { takeLease, type Taken } from './take-lease.js';
import { deadlineOf, executionsOf } from './unknown-model.js';

/** The most generations that wait in one process for a free place; others stay with their wake-ups. */
const MAX_WAITING = 100_000;
/**
 * This many of them keep their wake-ups until they are leased. A wake-up beyond that is done once its generation is
 * queued, so that those of a slow model do not block the delivery of others; if the process dies, recovery finds the
 * generation.
 */
const MAX_HELD_WAKE_UPS = 500;

export class WorkerStopping extends Error {
  constructor() {
    super('This worker is stopping.');
    this.name = 'WorkerStopping';
  }
}

export class WorkerBusy extends Error {
  constructor() {
    super('This worker has reached its limit of waiting generations.');
    this.name = 'WorkerBusy';
  }
}

/** The places of a model that the catalog lacks: a generation that takes one frees it immediately. */
const ONE_AT_A_TIME: LaneLimits = { concurrency: 1, concurrencyPerAccount: 1 };

/**
 * Takes wake-ups and runs generations, with a limit per model and a limit per account within it. Generations that are
 * already running come before those that have not started. A wake-up is done once the generation is leased (its record
 * then has the end of the lease), needs nothing, or waits in a long queue.
 */
export class Dispatcher {
  private readonly lanes = new Map<string, FairSemaphore>();
  private readonly waiting = new Map<string, Promise<void>>();
  /** Of those that wait, the ones that wait for a place. */
  private readonly inLine = new Set<string>();
  private readonly runs = new Map<string, GenerationRun>();
  private readonly finished = new Set<Promise<void>>();
  private stopping = false;

  constructor(
    private readonly context: Context,
    private readonly worker: string,
  ) {}

  get counts(): { readonly running: number; readonly waiting: number } {
    return { running: this.runs.size, waiting: this.waiting.size };
  }

  /** Rejects when the wake-up should be delivered again later. */
  deliver(generationId: string): Promise<void> {
    return this.accept(generationId);
  }

  /** As for a wake-up, with a generation that was just read: it is queued, or has its place, when the call returns. */
  takeOver(generation: Generation): Promise<void> {
    return this.accept(generation.generationId, generation);
  }

  /** Gives places to those who wait, after a new catalog has made more of them. */
  admitWaiting(): void {
    for (const lane of this.lanes.values()) lane.admitWhoMay();
  }

  private accept(generationId: string, known?: Generation): Promise<void> {
    const run = this.runs.get(generationId);
    if (run) {
      run.wake();
      return Promise.resolve();
    }
    const already = this.waiting.get(generationId);
    if (already) {
      if (this.inLine.has(generationId) || this.context.providerGates.isWaiting(generationId))
        void this.advance(generationId);
      return this.waiting.size <= MAX_HELD_WAKE_UPS ? already : Promise.resolve();
    }
    if (this.stopping) return Promise.reject(new WorkerStopping());
    if (this.waiting.size >= MAX_WAITING) return Promise.reject(new WorkerBusy());
    const done = this.take(generationId, known).finally(() => this.waiting.delete(generationId));
    this.waiting.set(generationId, done);
    if (this.waiting.size <= MAX_HELD_WAKE_UPS) return done;
    done.catch((error: unknown) => this.context.log.warn('generation left the queue', { generationId, error }));
    return Promise.resolve();
  }

  /**
   * Takes no more, asks every run to hand its lease back, and waits for them, `graceMs` at most; answers whether all
   * have ended. Provider calls that are still in progress then are aborted.
   */
  stop(graceMs: number): Promise<boolean> {
    this.stopping = true;
    for (const lane of this.lanes.values()) lane.refuseAll(new WorkerStopping());
    this.context.providerGates.excuseAll();
    for (const run of this.runs.values()) run.stop();
    return new Promise((resolve) => {
      const cancel = this.context.clock.after(graceMs, () => {
        for (const run of this.runs.values()) run.abandon();
        resolve(false);
      });
      void Promise.allSettled([...this.finished, ...this.waiting.values()])
        .then(() => this.context.providerGates.leave())
        .then(() => {
          cancel();
          resolve(true);
        });
    });
  }

  private async take(generationId: string, known?: Generation): Promise<void> {
    const record: GenerationRecord | null = known ?? (await this.context.generations.read(generationId));
    if (record?.kind !== 'generation') return;
    if (isTerminal(record.status)) {
      await settleGeneration(this.context, record);
      return;
    }
    if (!mayBeTakenOver(record, this.context.clock.now(), this.context.boot)) {
      wake(this.context, generationId, (record.lease?.expiresAt ?? 0) + 1);
      return;
    }
    const { accountId, runDeadlineAt } = record;
    this.inLine.add(generationId);
    const place = await this.lane(record.modelKey)
      .enter({ generationId, accountId, runDeadlineAt })
      .finally(() => this.inLine.delete(generationId));
    try {
      await this.start(record, place);
    } catch (error) {
      place.release();
      throw error;
    }
  }

  /** Another process may have started a waiting one meanwhile, and died: then it is a take-over. */
  private async advance(generationId: string): Promise<void> {
    try {
      const record = await this.context.generations.read(generationId);
      if (record?.kind !== 'generation') return;
      if (isTerminal(record.status) || record.cancelRequestedAt !== undefined)
        this.context.providerGates.excuse(generationId);
      if (record.runDeadlineAt === undefined) return;
      this.lane(record.modelKey).advance(generationId, record.accountId, record.runDeadlineAt);
    } catch (error) {
      this.context.log.warn('generation keeps its turn', { generationId, error });
    }
  }

  private async start(known: Generation, place: Place): Promise<void> {
    const { generationId } = known;
    const entered = await this.enterProvider(known);
    try {
      if (this.stopping) throw new WorkerStopping();
      const taken = await takeLease(this.context, this.worker, generationId, entered?.provider);
      if (!taken) {
        entered?.release();
        return place.release();
      }
      this.run(
        new GenerationRun(this.context, taken.generation, { ...taken, entry: this.entryFor(taken, entered) }),
        place,
      );
    } catch (error) {
      entered?.release();
      throw error;
    }
  }

  private run(run: GenerationRun, place: Place): void {
    const { generationId } = run;
    this.runs.set(generationId, run);
    if (this.stopping) run.stop();
    const finished = run.drive().finally(() => {
      this.runs.delete(generationId);
      this.finished.delete(finished);
      place.release();
    });
    this.finished.add(finished);
  }

  /** Waits for a provider that has room, unless the task is at one already or none is needed any more. */
  private async enterProvider(g: Generation): Promise<Entry | undefined> {
    if (g.attempt !== undefined || g.cancelRequestedAt !== undefined) return undefined;
    const providers = executionsOf(this.context, g).map(({ providerName }) => providerName);
    if (providers.length === 0) return undefined;
    return this.context.providerGates.enter({ generationId: g.generationId, providers, until: deadlineOf(g) });
  }

  private entryFor({ providerName }: Taken, entered: Entry | undefined): Entry {
    if (entered?.provider === providerName) return entered;
    entered?.release();
    return this.context.providerGates.adopt(providerName);
  }

  private lane(modelKey: string): FairSemaphore {
    let lane = this.lanes.get(modelKey);
    if (!lane) {
      lane = new FairSemaphore(() => this.context.catalog.find(modelKey) ?? ONE_AT_A_TIME);
      this.lanes.set(modelKey, lane);
    }
    return lane;
  }
}
