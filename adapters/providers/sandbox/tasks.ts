import type { Clock } from '../../../core/ports/machine.js';
import type { ProviderFailure, ProviderReport } from '../../../core/ports/provider.js';

export interface Rendered {
  readonly kind: 'image' | 'video';
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

type Result = { readonly outputs: readonly Rendered[] } | { readonly failure: ProviderFailure };
type Place = 'open' | 'unread' | 'read';
/** The parts of a plan that last after the rendering. */
type Terms = { readonly behaviour: string; readonly delayMs: number };

/** One task of the sandbox. */
export class SandboxTask {
  /** The place of the task in the cache, the time since when, and the bytes that the cache counts for it. */
  kept = { place: 'open' as Place, since: 0, bytes: 0 };
  /** From 0 to 1, of the rendering. */
  progress = 0;
  /** Undefined again once the task is stopped. */
  result: Result | undefined;
  /** The indexes of outputs. */
  readonly unread = new Set<number>();
  private readonly abort = new AbortController();
  private readonly startedAt: number;

  constructor(
    readonly reference: string,
    readonly terms: Terms,
    private readonly clock: Clock,
  ) {
    this.startedAt = clock.now();
  }

  get signal(): AbortSignal {
    return this.abort.signal;
  }

  get outputs(): readonly Rendered[] {
    return this.result !== undefined && 'outputs' in this.result ? this.result.outputs : [];
  }

  /** Whether the task has ended. A result counts once the requested delay has passed. */
  get isOver(): boolean {
    return (
      this.signal.aborted || (this.result !== undefined && this.clock.now() >= this.startedAt + this.terms.delayMs)
    );
  }

  /** Whether there is a result to keep, though it may not be due yet, and whether all of it was read. */
  get place(): Place {
    if (this.signal.aborted || (this.outputs.length > 0 && this.unread.size === 0)) return 'read';
    return this.result === undefined ? 'open' : 'unread';
  }

  stop(): void {
    this.result = undefined;
    this.abort.abort();
  }

  report(): ProviderReport {
    if (this.signal.aborted) return { state: 'cancelled', outputs: [] };
    if (this.result === undefined || !this.isOver) {
      // The progress of the slower of the two: the painting and the requested delay.
      const { delayMs } = this.terms;
      const elapsed = delayMs === 0 ? 1 : Math.max(0, this.clock.now() - this.startedAt) / delayMs;
      return { state: 'running', progress: Math.min(this.progress, elapsed) };
    }
    if ('failure' in this.result) return { state: 'failed', failure: this.result.failure };
    return { state: 'succeeded', outputs: this.outputs.map(({ kind, mediaType }) => ({ kind, mediaType })) };
  }
}

export const TASK_CACHE_LIMITS = {
  /** The most bytes of finished outputs; the oldest are dropped first. */
  maxBytes: 256 * 2 ** 20,
  /** The most finished tasks. */
  maxFinished: 10_000,
  /** The most tasks that have not finished. */
  maxOpen: 1000,
  /**
   * How long a task is kept in its place: unfinished, waiting to be read, and after the last output was read, so that a lost
   * response can be requested again.
   */
  keepMs: { open: 60 * 60_000, unread: 15 * 60_000, read: 60_000 },
};

/** The tasks of the sandbox, in bounded memory. Each map is in order of time, so that the next to expire is in front. */
export class TaskCache {
  heldBytes = 0;
  private readonly tasks: Readonly<Record<Place, Map<string, SandboxTask>>> = {
    open: new Map(),
    unread: new Map(),
    read: new Map(),
  };

  constructor(
    private readonly clock: Clock,
    private readonly limits: typeof TASK_CACHE_LIMITS,
  ) {}

  get isFull(): boolean {
    return this.tasks.open.size >= this.limits.maxOpen;
  }

  find(reference: string): SandboxTask | undefined {
    this.sweep();
    const { open, unread, read } = this.tasks;
    return open.get(reference) ?? unread.get(reference) ?? read.get(reference);
  }

  add(reference: string, terms: Terms): SandboxTask {
    const task = new SandboxTask(reference, terms, this.clock);
    this.keep(task);
    return task;
  }

  /** The first result counts. */
  finish(task: SandboxTask, result: Result): void {
    if (task.signal.aborted || task.result !== undefined) return;
    task.result = result;
    task.progress = 1;
    task.outputs.forEach((_, index) => task.unread.add(index));
    this.keep(task);
  }

  /** A task that has ended stays as it is. */
  cancel(task: SandboxTask): void {
    if (task.isOver) return;
    task.stop();
    this.keep(task);
  }

  /** Throws for an output that the task does not have, or not yet. */
  read(task: SandboxTask, index: number): Uint8Array {
    const output = task.isOver ? task.outputs[index] : undefined;
    if (output === undefined) throw new Error(`The sandbox task has no output ${index}.`);
    task.unread.delete(index);
    this.keep(task);
    return output.bytes;
  }

  /** Stops every task and forgets all of them. */
  clear(): void {
    for (const task of this.tasks.open.values()) task.stop();
    for (const tasks of Object.values(this.tasks)) for (const task of tasks.values()) this.drop(task);
  }

  /** Puts a task where it belongs now, and makes room. */
  private keep(task: SandboxTask): void {
    const { place, outputs } = task;
    if (this.tasks[place].has(task.reference)) return;
    this.drop(task);
    task.kept = {
      place,
      since: this.clock.now(),
      bytes: outputs.reduce((sum, { bytes }) => sum + bytes.byteLength, 0),
    };
    this.heldBytes += task.kept.bytes;
    this.tasks[place].set(task.reference, task);
    this.sweep();
  }

  /** Drops the tasks that have expired or exceed the limits. */
  private sweep(): void {
    const { maxBytes, maxFinished, keepMs } = this.limits;
    const { unread, read } = this.tasks;
    for (const place of ['open', 'unread', 'read'] as const)
      for (const task of this.tasks[place].values()) {
        if (task.kept.since > this.clock.now() - keepMs[place]) break;
        this.drop(task);
        task.stop();
      }
    while (this.heldBytes > maxBytes || read.size + unread.size > maxFinished)
      this.drop((read.size > 0 ? read : unread).values().next().value!);
  }

  private drop(task: SandboxTask): void {
    this.heldBytes -= task.kept.bytes;
    this.tasks[task.kept.place].delete(task.reference);
  }
}
