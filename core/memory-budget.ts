import { CallOver, type Cancellation } from './cancellation.js';

/** Who waits: no more than the part of a call that says whether it is over. */
export type Waits = Pick<Cancellation, 'isOver' | 'onOver'>;

interface Waiter { readonly byteSize: number; readonly admit: () => void }

/**
 * Memory that the jobs of a process share. Each says what it needs before it begins, and waits until so much is free: first
 * come, first served, so that a large job is not overtaken for ever. One larger than the budget runs when nothing else does.
 * A job must not ask again while it holds some: two that did could wait for each other.
 */
export class MemoryBudget {
  private held = 0;
  private readonly waiters = new Set<Waiter>();

  /** `limitBytes` is above 0. */
  constructor(readonly limitBytes: number) {}

  get heldBytes(): number {
    return this.held;
  }

  get waiting(): number {
    return this.waiters.size;
  }

  /** Does the work while `byteSize` bytes are held for it. Throws `CallOver`, with nothing done, when nobody waits any more. */
  async during<T>(byteSize: number, work: () => Promise<T>, waits?: Waits): Promise<T> {
    const counted = Math.min(byteSize, this.limitBytes);
    await this.take(counted, waits);
    try {
      return await work();
    } finally {
      this.held -= counted;
      this.admitNext();
    }
  }

  private take(byteSize: number, waits: Waits | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (waits?.isOver === true) return reject(new CallOver());
      let listenNoMore: (() => void) | undefined;
      const waiter: Waiter = { byteSize, admit: () => { listenNoMore?.(); resolve(); } };
      this.waiters.add(waiter);
      listenNoMore = waits?.onOver(() => {
        if (!this.waiters.delete(waiter)) return;
        listenNoMore?.();
        reject(new CallOver());
        this.admitNext();
      });
      this.admitNext();
    });
  }

  private admitNext(): void {
    for (const waiter of this.waiters) {
      if (this.held + waiter.byteSize > this.limitBytes) return;
      this.waiters.delete(waiter);
      this.held += waiter.byteSize;
      waiter.admit();
    }
  }
}
