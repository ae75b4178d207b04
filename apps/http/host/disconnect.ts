import type { ServerResponse } from 'node:http';
import type { Cancellation } from '../../../core/cancellation.js';
import type { HttpShared } from './server.js';

/** A request as use cases know it: over when its client has gone, or has all of its answer. */
export class Disconnect implements Cancellation {
  readonly deadline = Infinity;
  private readonly told = new Set<() => void>();

  constructor(private readonly res: ServerResponse) {}

  get isOver(): boolean {
    // The library ends the answer to a client that has gone, so that it may also be called finished.
    return this.res.closed;
  }

  onOver(tell: () => void): () => void {
    // One listener for all: a response that many wait for would be reported as one that leaks them.
    if (this.told.size === 0) this.res.once('close', this.tellAll);
    const one = (): void => tell();
    this.told.add(one);
    return () => {
      this.told.delete(one);
      if (this.told.size === 0) this.res.off('close', this.tellAll);
    };
  }

  private readonly tellAll = (): void => {
    for (const tell of Array.from(this.told)) tell();
  };
}

/** What a request may wait for: until its client has gone, or this process is to stop. */
export class WaitEnd implements Cancellation {
  readonly deadline = Infinity;

  constructor(
    private readonly call: Cancellation,
    private readonly host: Pick<HttpShared, 'isStopping' | 'onStopping'>,
  ) {}

  get isOver(): boolean {
    return this.host.isStopping() || this.call.isOver;
  }

  onOver(tell: () => void): () => void {
    const forget = [this.call.onOver(tell), this.host.onStopping(tell)];
    return () => {
      for (const one of forget) one();
    };
  }
}
