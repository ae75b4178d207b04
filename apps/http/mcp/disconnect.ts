import type { ServerResponse } from 'node:http';
import type { Cancellation } from '../../../core/cancellation.js';

/** A request as use cases know it: over when its client has gone, or when this process is to stop. */
export class Disconnect implements Cancellation {
  readonly deadline = Infinity;

  constructor(
    private readonly res: ServerResponse,
    private readonly isStopping: () => boolean,
  ) {}

  get isOver(): boolean {
    return this.isStopping() || (this.res.destroyed && !this.res.writableFinished);
  }

  onOver(tell: () => void): () => void {
    this.res.once('close', tell);
    return () => {
      this.res.off('close', tell);
    };
  }
}
