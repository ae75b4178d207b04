import type { CallObserver, EndedCall } from './call-observer.js';

/** Counts the calls of our own services in progress, and passes them on to another observer. */
export class CallsUnderWay implements CallObserver {
  private count = 0;
  private readonly waiting = new Set<() => void>();

  constructor(private readonly next: CallObserver | undefined) {}

  begun(): void {
    this.count += 1;
    this.next?.begun();
  }

  ended(call: EndedCall): void {
    this.count -= 1;
    this.next?.ended(call);
    if (this.count > 0) return;
    for (const tell of this.waiting) tell();
    this.waiting.clear();
  }

  get isNone(): boolean {
    return this.count === 0;
  }

  /** Resolves once there is none. */
  none(): Promise<void> {
    return this.isNone
      ? Promise.resolve()
      : new Promise((resolve) => {
          this.waiting.add(resolve);
        });
  }
}
