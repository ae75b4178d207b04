import type { ServerResponse } from 'node:http';
import type { Cancellation } from '../../../core/cancellation.js';
import type { HttpShared } from '../host/server.js';

/** A request as use cases know it: over when its client has gone, or when this process is to stop. */
export class Disconnect implements Cancellation {
  readonly deadline = Infinity;

  constructor(
    private readonly res: ServerResponse,
    private readonly host: Pick<HttpShared, 'isStopping' | 'onStopping'>,
  ) {}

  get isOver(): boolean {
    return this.host.isStopping() || (this.res.destroyed && !this.res.writableFinished);
  }

  onOver(tell: () => void): () => void {
    this.res.once('close', tell);
    const forget = this.host.onStopping(tell);
    return () => {
      this.res.off('close', tell);
      forget();
    };
  }
}
