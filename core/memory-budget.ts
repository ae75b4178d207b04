import { CallOver, type Waits } from './cancellation.js';

interface Waiter {
  readonly byteSize: number;
  readonly admit: () => void;
}

/**
 * Memory that the jobs of a process share. A job reserves what it needs before it begins and waits until that much is
 * free, in order of arrival, so that a large job does not starve. A job larger than the budget runs alone. A job must
 * not reserve again while it holds memory: two such jobs could deadlock.
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

  /**
   * Runs the work while `byteSize` bytes are reserved for it. Throws `CallOver`, without running it, if the call ends
   * while it waits.
   */
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
      const waiter: Waiter = {
        byteSize,
        admit: () => {
          listenNoMore?.();
          resolve();
        },
      };
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
