import type { ProviderFailure, ProviderReport } from '../../../core/ports/provider.js';

export interface Rendered {
  readonly kind: 'image' | 'video';
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

type Result = { readonly outputs: readonly Rendered[] } | { readonly failure: ProviderFailure };

/** One task of the sandbox. Times come from the caller's clock, in milliseconds. */
export class SandboxTask {
  /** The place of the task in the cache, the time since when, and the bytes that the cache counts for it. */
  kept = { place: 'open' as 'open' | 'unread' | 'read', since: 0, bytes: 0 };
  private readonly abort = new AbortController();
  private readonly unread = new Set<number>();
  private result: Result | undefined;
  private progress = 0;

  constructor(
    readonly reference: string,
    private readonly startedAt: number,
    private readonly terms: {
      /** The task does not finish before this time; `Infinity` where it never finishes by itself. */
      readonly readyAt: number;
      readonly ignoresCancel: boolean;
    },
  ) {}

  get signal(): AbortSignal {
    return this.abort.signal;
  }

  advance(progress: number): void {
    this.progress = Math.max(this.progress, Math.min(1, progress));
  }

  /** The first result counts. */
  finish(result: Result): void {
    if (this.signal.aborted || this.result !== undefined) return;
    this.result = result;
    this.progress = 1;
    if ('outputs' in result) result.outputs.forEach((_, index) => this.unread.add(index));
  }

  /** A task that has ended stays as it is. */
  cancel(now: number): void {
    if (!this.terms.ignoresCancel && !this.isOver(now)) this.stop();
  }

  stop(): void {
    this.result = undefined;
    this.abort.abort();
  }

  report(now: number): ProviderReport {
    if (this.signal.aborted) return { state: 'cancelled', outputs: [] };
    if (this.result === undefined || !this.isOver(now)) {
      // The progress of the slower of the two: the painting and the requested delay.
      const delayMs = this.terms.readyAt - this.startedAt;
      const elapsed = delayMs <= 0 ? 1 : Math.min(1, Math.max(0, now - this.startedAt) / delayMs);
      return { state: 'running', progress: Math.min(this.progress, elapsed) };
    }
    if ('failure' in this.result) return { state: 'failed', failure: this.result.failure };
    return { state: 'succeeded', outputs: this.result.outputs.map(({ kind, mediaType }) => ({ kind, mediaType })) };
  }

  read(index: number, now: number): Uint8Array {
    const output = this.isOver(now) ? this.outputs[index] : undefined;
    if (output === undefined) throw new Error(`The sandbox task has no output ${index}.`);
    this.unread.delete(index);
    return output.bytes;
  }

  get outputs(): readonly Rendered[] {
    return this.result !== undefined && 'outputs' in this.result ? this.result.outputs : [];
  }

  /** Whether there is a result to keep, though it may not be due yet, and whether all of it was read. */
  get place(): SandboxTask['kept']['place'] {
    if (this.signal.aborted || (this.outputs.length > 0 && this.unread.size === 0)) return 'read';
    return this.result === undefined ? 'open' : 'unread';
  }

  private isOver(now: number): boolean {
    return this.signal.aborted || (this.result !== undefined && now >= this.terms.readyAt);
  }
}

export const TASK_CACHE_LIMITS = {
  /** The most bytes of finished outputs; the oldest are dropped first. */
  maxBytes: 256 * 2 ** 20,
  /** The most finished tasks. */
  maxFinished: 10_000,
  /** The most tasks that have not finished. */
  maxOpen: 1000,
  /** How long a finished task waits to be read, in milliseconds. */
  keepUnreadMs: 15 * 60_000,
  /** How long it is kept after the last output was read, so that a lost response can be requested again. */
  keepReadMs: 60_000,
  /** An unfinished task is dropped after this time, in milliseconds. */
  keepOpenMs: 60 * 60_000,
};

/** The tasks of the sandbox, in bounded memory. Each map is in order of time, so that the next to expire is in front. */
export class TaskCache {
  heldBytes = 0;
  private readonly tasks = {
    open: new Map<string, SandboxTask>(),
    unread: new Map<string, SandboxTask>(),
    read: new Map<string, SandboxTask>(),
  };

  constructor(private readonly limits: typeof TASK_CACHE_LIMITS) {}

  get isFull(): boolean {
    return this.tasks.open.size >= this.limits.maxOpen;
  }

  find(reference: string): SandboxTask | undefined {
    const { open, unread, read } = this.tasks;
    return open.get(reference) ?? unread.get(reference) ?? read.get(reference);
  }

  add(task: SandboxTask, now: number): void {
    task.kept = { place: 'open', since: now, bytes: 0 };
    this.tasks.open.set(task.reference, task);
  }

  /** To be called when a task may have finished or been read: moves it and makes room. */
  settle(task: SandboxTask, now: number): void {
    const { place } = task;
    if (this.find(task.reference) === task && place !== task.kept.place) {
      this.drop(task);
      task.kept = { place, since: now, bytes: task.outputs.reduce((sum, { bytes }) => sum + bytes.byteLength, 0) };
      this.heldBytes += task.kept.bytes;
      this.tasks[place].set(task.reference, task);
    }
    this.sweep(now);
  }

  /** Drops the tasks that have expired or exceed the limits. */
  sweep(now: number): void {
    const { maxBytes, maxFinished, keepReadMs, keepUnreadMs, keepOpenMs } = this.limits;
    const { open, unread, read } = this.tasks;
    this.expire(read, now - keepReadMs);
    this.expire(unread, now - keepUnreadMs);
    this.expire(open, now - keepOpenMs);
    while (this.heldBytes > maxBytes || read.size + unread.size > maxFinished)
      this.drop((read.size > 0 ? read : unread).values().next().value!);
  }

  /** Stops every task and forgets all of them. */
  clear(): void {
    for (const task of this.tasks.open.values()) task.stop();
    for (const tasks of Object.values(this.tasks)) for (const task of tasks.values()) this.drop(task);
  }

  private expire(tasks: ReadonlyMap<string, SandboxTask>, before: number): void {
    for (const task of tasks.values()) {
      if (task.kept.since > before) break;
      this.drop(task);
      task.stop();
    }
  }

  private drop(task: SandboxTask): void {
    this.heldBytes -= task.kept.bytes;
    this.tasks[task.kept.place].delete(task.reference);
  }
}
