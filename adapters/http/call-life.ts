import type { AbortSignalLike } from '../../core/abort-signal.js';

export type Over = 'aborted' | 'closed' | 'total';

/**
 * The time from a call to the last byte of its answer, over all redirects. It ends early when its signal is aborted or
 * the client is closed.
 */
export class CallLife {
  private listener: ((over: Over) => void) | undefined;
  private readonly abort = () => this.cut('aborted');
  private readonly timer: NodeJS.Timeout;
  private hasEnded = false;
  private over: Over | undefined;

  constructor(
    private readonly signal: AbortSignalLike,
    private readonly others: Set<CallLife>,
    totalTimeoutMs: number,
  ) {
    this.timer = setTimeout(() => this.cut('total'), totalTimeoutMs);
    signal.addEventListener('abort', this.abort, { once: true });
    others.add(this);
  }

  /**
   * Called once, when the call is aborted, or immediately if it already was; each exchange of the call replaces the
   * previous one.
   */
  onCut(listener: (over: Over) => void): void {
    this.listener = listener;
    if (this.over !== undefined) listener(this.over);
  }

  cut(over: Over): void {
    if (this.hasEnded) return;
    this.over = over;
    this.end();
    this.listener?.(over);
  }

  end(): void {
    this.hasEnded = true;
    clearTimeout(this.timer);
    this.signal.removeEventListener('abort', this.abort);
    this.others.delete(this);
  }
}
