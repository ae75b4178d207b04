import PQueue from 'p-queue';

/**
 * Lets so many requests to one origin begin, and the others wait. A request that gives up leaves the line, and nothing
 * of it is handed to a connection. In the library's own queue it would stay, and each abandoned request would close the
 * connection that it gets in the end.
 */
export class ConnectionSlots {
  private readonly queues = new Map<string, PQueue>();

  /** `perOrigin`: the connections that one origin may have. */
  constructor(private readonly perOrigin: number) {}

  /**
   * Calls `use` when a slot is free, which is at once if one is. The slot is taken until the function that this answers
   * is called, which also ends the waiting. `use` is not called after that.
   */
  take(origin: string, use: () => void): () => void {
    const queue = this.queueOf(origin);
    const waiting = new AbortController();
    let leave = (): void => waiting.abort();
    const slot = queue.add(
      () =>
        new Promise<void>((resolve) => {
          leave = resolve;
          use();
        }),
      { signal: waiting.signal },
    );
    const forget = (): void => {
      if (queue.size === 0 && queue.pending === 0) this.queues.delete(origin);
    };
    slot.then(forget, forget);
    return () => leave();
  }

  private queueOf(origin: string): PQueue {
    const queue = this.queues.get(origin) ?? new PQueue({ concurrency: this.perOrigin });
    this.queues.set(origin, queue);
    return queue;
  }
}
