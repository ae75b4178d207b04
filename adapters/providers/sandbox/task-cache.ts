import type { SandboxTask } from './sandbox-task.js';

export interface TaskCacheLimits {
  /** Bytes of finished outputs kept at most; the oldest go first. */
  readonly maxBytes: number;
  /** Tasks kept at most once they have finished. */
  readonly maxFinished: number;
  /** Tasks that have not finished. */
  readonly maxOpen: number;
  /** How long a finished task waits to be read, in milliseconds. */
  readonly keepUnreadMs: number;
  /** How long it stays once all of it has been read, so that a lost answer can be asked for again. */
  readonly keepReadMs: number;
  /** An unfinished task that is no longer polled is dropped after this, in milliseconds. */
  readonly keepOpenMs: number;
}

export const TASK_CACHE_LIMITS: TaskCacheLimits = {
  maxBytes: 256 * 2 ** 20,
  maxFinished: 10_000,
  maxOpen: 1000,
  keepUnreadMs: 15 * 60_000,
  keepReadMs: 60_000,
  keepOpenMs: 60 * 60_000,
};

interface Kept {
  readonly task: SandboxTask;
  readonly since: number;
  readonly byteSize: number;
}

/**
 * The tasks the sandbox remembers, in bounded memory. Each map is in order of `since`, so that what is due is in front.
 */
export class TaskCache {
  readonly #open = new Map<string, Kept>();
  readonly #unread = new Map<string, Kept>();
  readonly #read = new Map<string, Kept>();
  #byteSize = 0;

  constructor(readonly limits: TaskCacheLimits) {}

  /** Bytes of all finished outputs it holds. */
  get byteSize(): number {
    return this.#byteSize;
  }

  get isFull(): boolean {
    return this.#open.size >= this.limits.maxOpen;
  }

  add(task: SandboxTask, now: number): void {
    this.#open.set(task.reference, { task, since: now, byteSize: 0 });
  }

  find(reference: string): SandboxTask | undefined {
    return (this.#open.get(reference) ?? this.#unread.get(reference) ?? this.#read.get(reference))?.task;
  }

  open(): SandboxTask[] {
    return [...this.#open.values()].map((kept) => kept.task);
  }

  /** To be told when a task may have finished or been read: moves it to where it belongs and makes room. */
  settle(task: SandboxTask, now: number): void {
    const { reference } = task;
    const isDone = task.signal.aborted || (task.isOver(now) && task.isRead && task.byteSize > 0);
    for (const from of [this.#open, this.#unread]) {
      if (from.get(reference)?.task !== task) continue;
      if (isDone) this.#move(from, this.#read, task, now);
      else if (from === this.#open && task.hasResult) this.#move(from, this.#unread, task, now);
    }
    this.sweep(now);
  }

  /** Forgets what is past its time or beyond the limits. */
  sweep(now: number): void {
    this.#expire(this.#read, now - this.limits.keepReadMs);
    this.#expire(this.#unread, now - this.limits.keepUnreadMs);
    for (const task of this.#expire(this.#open, now - this.limits.keepOpenMs)) task.stop();
    while (this.#byteSize > this.limits.maxBytes || this.#read.size + this.#unread.size > this.limits.maxFinished) {
      const oldest = this.#read.size > 0 ? this.#read : this.#unread;
      this.#drop(oldest, oldest.keys().next().value!);
    }
  }

  clear(): void {
    for (const kept of [this.#open, this.#unread, this.#read]) kept.clear();
    this.#byteSize = 0;
  }

  #expire(kept: Map<string, Kept>, before: number): SandboxTask[] {
    const dropped: SandboxTask[] = [];
    for (const [reference, { task, since }] of kept) {
      if (since > before) break;
      dropped.push(task);
      this.#drop(kept, reference);
    }
    return dropped;
  }

  #move(from: Map<string, Kept>, to: Map<string, Kept>, task: SandboxTask, now: number): void {
    this.#drop(from, task.reference);
    const { byteSize } = task;
    to.set(task.reference, { task, since: now, byteSize });
    this.#byteSize += byteSize;
  }

  #drop(kept: Map<string, Kept>, reference: string): void {
    this.#byteSize -= kept.get(reference)?.byteSize ?? 0;
    kept.delete(reference);
  }
}
