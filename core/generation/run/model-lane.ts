interface Waiter {
  readonly accountId: string;
  readonly admit: (place: { readonly release: () => void }) => void;
  readonly refuse: (reason: Error) => void;
}

/**
 * The places one model has in this process. Accounts that wait take turns, so that one with a thousand generations
 * queued does not keep another one's first waiting behind them.
 */
export class ModelLane {
  private running = 0;
  private readonly runningByAccount = new Map<string, number>();
  /** In order of whose turn is next. */
  private readonly queues = new Map<string, Waiter[]>();

  constructor(private readonly limit: number, private readonly limitPerAccount: number) {}

  /** A place, once there is one. Give it back exactly once; giving it back again does nothing. */
  enter(accountId: string): Promise<{ readonly release: () => void }> {
    return new Promise((admit, refuse) => {
      const queue = this.queues.get(accountId) ?? [];
      queue.push({ accountId, admit, refuse });
      this.queues.set(accountId, queue);
      this.admitWhoMay();
    });
  }

  refuseAll(reason: Error): void {
    const waiters = [...this.queues.values()].flat();
    this.queues.clear();
    for (const waiter of waiters) waiter.refuse(reason);
  }

  private admitWhoMay(): void {
    while (this.running < this.limit) {
      const waiter = this.nextInTurn();
      if (!waiter) return;
      this.running += 1;
      this.count(waiter.accountId, 1);
      waiter.admit({ release: this.releaseOnce(waiter.accountId) });
    }
  }

  /** The first account in turn with a place to spare; it goes to the back of the line. */
  private nextInTurn(): Waiter | undefined {
    for (const [accountId, queue] of this.queues) {
      if ((this.runningByAccount.get(accountId) ?? 0) >= this.limitPerAccount) continue;
      const waiter = queue.shift();
      this.queues.delete(accountId);
      if (queue.length > 0) this.queues.set(accountId, queue);
      return waiter;
    }
    return undefined;
  }

  private releaseOnce(accountId: string): () => void {
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.running -= 1;
      this.count(accountId, -1);
      this.admitWhoMay();
    };
  }

  private count(accountId: string, by: 1 | -1): void {
    const next = (this.runningByAccount.get(accountId) ?? 0) + by;
    if (next === 0) this.runningByAccount.delete(accountId);
    else this.runningByAccount.set(accountId, next);
  }
}
