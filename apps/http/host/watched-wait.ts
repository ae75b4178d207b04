import type { Cancellation } from '../../../core/cancellation.js';

/** A wait that is over, too, when its credential is no longer valid; that is looked at while somebody listens for it. */
export class WatchedWait implements Cancellation {
  readonly deadline = Infinity;
  private readonly told = new Set<() => void>();
  private followNoMore: (() => void) | undefined;
  private isRefused = false;

  constructor(
    private readonly outer: Cancellation,
    /** Tells, until the returned function is called, when who waits would be refused now. */
    private readonly follow: (tell: () => void) => () => void,
  ) {}

  get isOver(): boolean {
    return this.isRefused || this.outer.isOver;
  }

  onOver(tell: () => void): () => void {
    this.told.add(tell);
    this.followNoMore ??= this.follow(() => this.refuse());
    const listenNoMore = this.outer.onOver(tell);
    return () => {
      this.told.delete(tell);
      listenNoMore();
      if (this.told.size > 0) return;
      this.followNoMore?.();
      this.followNoMore = undefined;
    };
  }

  private refuse(): void {
    this.isRefused = true;
    for (const tell of this.told) tell();
  }
}
