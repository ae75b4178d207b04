import type { Files, Machine, Models, Money, Webhooks, Work } from '../../context.js';
import type { Entry } from '../../providers/provider-gates.js';
import { MAX_WAIT_MS } from '../../waiting.js';
import { announceState } from '../../webhooks/deliveries.js';
import { mayBeTakenOver, takeOverAt } from '../decide.js';
import { type Generation, type GenerationRecord, isTerminal } from '../generation.js';
import { settleGeneration, settleNowOrSoon } from '../settle-generation.js';
import { wake } from '../wake.js';
import { GenerationRun } from './generation-run.js';
import { takeLease, type Taken } from './lease.js';
import { ModelSlots, type Slot } from './model-slots.js';

/** How often a task is looked up, at least, in milliseconds: leases may be much longer. */
const MAX_LOOK_MS = 30_000;

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

class WorkerBusy extends Error {
  constructor() {
    super('This worker has reached its limit of waiting generations.');
    this.name = 'WorkerBusy';
  }
}

/**
 * Takes wake-ups and runs generations, with a limit per model and a limit per account within it. Generations that are
 * already running come before those that have not started. A wake-up is done once the generation is leased (its record
 * then has the end of the lease), needs nothing, or waits in a long queue.
 */
export class Dispatcher {
  private readonly slots: ModelSlots;
  private readonly orphaned: OrphanedTasks;
  private readonly waiting = new Map<string, Promise<void>>();
  private readonly runs = new Map<string, GenerationRun>();
  private readonly finished = new Set<Promise<void>>();
  /** Timers of generations that this process left until a later attempt. */
  private readonly rewakes = new Map<string, () => void>();
  private stopping = false;

  constructor(
    private readonly context: Money & Work & Files & Models & Webhooks & Machine,
    private readonly worker: string,
  ) {
    this.slots = new ModelSlots(context);
    this.orphaned = new OrphanedTasks(context);
  }

  get counts(): { readonly running: number; readonly waiting: number } {
    return { running: this.runs.size, waiting: this.waiting.size };
  }

  /** Rejects when the wake-up should be delivered again later. */
  deliver(generationId: string): Promise<void> {
    return this.accept(generationId);
  }

  /**
   * Same as for a wake-up, with a generation that was just read: it is queued, or has its place, when the call returns.
   */
  takeOver(generation: Generation): Promise<void> {
    return this.accept(generation.generationId, generation);
  }

  /**
   * Takes a generation that was just accepted in this process, unless other workers could start it sooner. Rejects as
   * for a wake-up.
   */
  takeAccepted(generation: Generation): Promise<void> | undefined {
    if (this.stopping || this.waiting.size >= MAX_WAITING) return undefined;
    const { isExclusive } = this.context.boot;
    if (!isExclusive && !this.slots.hasSlotFor(generation)) return undefined;
    const { generationId, createdAt } = generation;
    const done = this.accept(generationId, generation);
    // It waits for room at a provider. If this process dies meanwhile, another one starts it by this wake-up.
    if (!isExclusive && this.slots.isWaiting(generationId)) wake(this.context, generationId, createdAt);
    return done;
  }

  /** Counts the task that an earlier process of these stores has left at a provider, until its run has it or it is over. */
  countOrphaned(generation: Generation, provider: string): void {
    if (!this.runs.has(generation.generationId))
      this.orphaned.keep(generation, this.context.providerGates.adopt(provider));
  }

  /** Gives places to those who wait, after a new catalog has made more of them. */
  admitWaiting(): void {
    this.slots.admitByCatalog();
  }

  private accept(generationId: string, known?: Generation): Promise<void> {
    const run = this.runs.get(generationId);
    if (run) {
      run.wake();
      return Promise.resolve();
    }
    const already = this.waiting.get(generationId);
    if (already) {
      if (this.slots.isWaiting(generationId)) void this.updateWaiting(generationId);
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
   * Stops accepting generations, asks every run to hand its lease back, and waits for them for at most `graceMs`.
   * Returns whether all have ended. Provider calls that are still in progress then are aborted.
   */
  stop(graceMs: number): Promise<boolean> {
    this.stopping = true;
    for (const cancel of this.rewakes.values()) cancel();
    this.slots.refuseAll(new WorkerStopping());
    this.orphaned.stop();
    for (const run of this.runs.values()) run.stop();
    return new Promise((resolve) => {
      const cancel = this.context.clock.after(graceMs, () => {
        for (const run of this.runs.values()) run.abandon();
        resolve(false);
      });
      void this.ended()
        .then(() => this.context.providerGates.leave())
        .then(() => {
          cancel();
          resolve(true);
        });
    });
  }

  /** Resolves once no generation runs or waits. One whose lease is being written may start to run in the meantime. */
  private async ended(): Promise<void> {
    while (this.finished.size > 0 || this.waiting.size > 0)
      await Promise.allSettled([...this.finished, ...this.waiting.values()]);
  }

  private async take(generationId: string, known?: Generation): Promise<void> {
    const { clock, boot, generations } = this.context;
    let record: GenerationRecord | null | undefined = known ?? (await generations.read(generationId));
    while (record?.kind === 'generation') {
      if (isTerminal(record.status)) {
        await settleGeneration(this.context, record);
        return;
      }
      if (!mayBeTakenOver(record, clock.now(), boot)) return wake(this.context, generationId, takeOverAt(record) + 1);
      const slot = await this.slots.enter(record);
      try {
        record = await this.start(generationId, slot);
      } catch (error) {
        giveUp(slot);
        throw error;
      }
    }
  }

  /** Returns the newest version of a generation that has to wait once more, because it changed while it waited. */
  private async start(generationId: string, slot: Slot): Promise<Generation | undefined> {
    if (this.stopping) throw new WorkerStopping();
    const taken = await takeLease(this.context, this.worker, generationId, slot.entry?.provider);
    if (taken === null || 'needsRoom' in taken) {
      giveUp(slot);
      return taken?.needsRoom;
    }
    const entry = this.entryFor(taken, slot);
    this.announce(taken.generation);
    this.run(new GenerationRun(this.context, taken.generation, { ...taken, entry }), { slot, entry });
    return undefined;
  }

  /** Not awaited: whoever takes the generation next announces it again, and its end replaces this event. */
  private announce(generation: Generation): void {
    announceState(this.context, generation).catch((error: unknown) =>
      this.context.log.warn('start not announced', { generationId: generation.generationId, error }),
    );
  }

  private run(run: GenerationRun, { slot, entry }: { readonly slot: Slot; readonly entry: Entry }): void {
    const { generationId } = run;
    this.runs.set(generationId, run);
    if (this.stopping) run.stop();
    const finished = run.drive().then(async (end) => {
      this.runs.delete(generationId);
      if (end === 'abandoned') this.orphaned.keep(run.lastKnown, entry);
      else entry.release();
      slot.release();
      if (run.leftUntil !== undefined) this.wakeByTimer(generationId, run.leftUntil);
      // Other generations do not wait for this settlement.
      await run.settling;
      this.finished.delete(finished);
    });
    this.finished.add(finished);
  }

  /**
   * Stored wake-ups follow the wall clock. If it was set back in the meantime, the timer still starts the next attempt
   * after the intended wait.
   */
  private wakeByTimer(generationId: string, at: number): void {
    const { clock } = this.context;
    this.rewakes.get(generationId)?.();
    if (this.stopping || this.rewakes.size >= MAX_WAITING) return;
    const delayMs = Math.min(Math.max(0, at - clock.now()), MAX_WAIT_MS);
    const cancel = clock.after(delayMs, () => {
      this.rewakes.delete(generationId);
      if (clock.now() < at) wake(this.context, generationId, clock.now());
    });
    this.rewakes.set(generationId, cancel);
  }

  /**
   * Reads a waiting generation again: another process may have started it and died, or it may have been cancelled. Its
   * credits then do not wait for its turn.
   */
  private async updateWaiting(generationId: string): Promise<void> {
    try {
      const record = await this.context.generations.read(generationId);
      if (record?.kind !== 'generation') return;
      this.slots.update(record);
      if (isTerminal(record.status)) await settleNowOrSoon(this.context, record);
    } catch (error) {
      this.context.log.warn('generation keeps its turn', { generationId, error });
    }
  }

  /** Room at the provider; that of a task that is there already was counted when it was submitted. */
  private entryFor({ generation, providerName }: Taken, { entry }: Slot): Entry {
    const left = this.orphaned.take(generation);
    if (left?.provider === providerName) {
      entry?.release();
      return left;
    }
    left?.release();
    if (entry?.provider === providerName) return entry;
    entry?.release();
    return this.context.providerGates.adopt(providerName);
  }
}

function giveUp(slot: Slot): void {
  slot.entry?.release();
  slot.release();
}

interface OrphanedTask {
  readonly token: string;
  readonly entry: Entry;
  cancelTimer: () => void;
}

/**
 * Tasks that continue at their providers without a run in this process: the store was unavailable, another worker took
 * over, or an earlier process of exclusive stores left them. Each keeps its slot at the provider until its attempt is
 * over, which is looked up once per lease, or every 30 seconds.
 */
class OrphanedTasks {
  private readonly tasks = new Map<string, OrphanedTask>();
  private hasStopped = false;

  constructor(private readonly context: Work & Machine) {}

  keep(g: Generation, entry: Entry): void {
    const { generationId, attempt } = g;
    if (attempt === undefined || isTerminal(g.status)) return entry.release();
    // It stays counted in the share that this process leaves behind.
    if (this.hasStopped) return;
    this.give(generationId);
    this.tasks.set(generationId, { token: attempt.token, entry, cancelTimer: this.lookLater(generationId) });
  }

  /** The room that the generation's task has already. */
  take(g: Generation): Entry | undefined {
    const task = this.tasks.get(g.generationId);
    if (task === undefined) return undefined;
    if (!goesOn(task, g)) {
      this.give(g.generationId);
      return undefined;
    }
    task.cancelTimer();
    this.tasks.delete(g.generationId);
    return task.entry;
  }

  /** Stops looking up tasks. The remaining ones stay counted until this process has gone. */
  stop(): void {
    this.hasStopped = true;
    for (const { cancelTimer } of this.tasks.values()) cancelTimer();
  }

  private lookLater(generationId: string): () => void {
    const { clock, settings } = this.context;
    return clock.after(Math.min(settings.leaseMs, MAX_LOOK_MS), () => void this.look(generationId));
  }

  private async look(generationId: string): Promise<void> {
    const task = this.tasks.get(generationId);
    if (task === undefined) return;
    try {
      const record = await this.context.generations.read(generationId);
      if (this.tasks.get(generationId) === task && !goesOn(task, record)) return this.give(generationId);
    } catch (error) {
      this.context.log.warn('room at a provider not given back', { generationId, error });
    }
    if (!this.hasStopped && this.tasks.get(generationId) === task) task.cancelTimer = this.lookLater(generationId);
  }

  private give(generationId: string): void {
    const task = this.tasks.get(generationId);
    this.tasks.delete(generationId);
    task?.cancelTimer();
    task?.entry.release();
  }
}

function goesOn({ token }: OrphanedTask, record: GenerationRecord | null): boolean {
  return record?.kind === 'generation' && !isTerminal(record.status) && record.attempt?.token === token;
}
