import type { Clock } from '../../../core/ports/machine.js';

/** How often a client hears that a call goes on, in milliseconds: many give up on calls that are silent. */
const EVERY_MS = 5_000;

type Send = (progress: { readonly progress: number; readonly message: string }) => Promise<void>;

/** Tells the client of a call that it goes on, if the client asked to be told. */
export class Progress {
  private steps = 0;
  private toldAt = -Infinity;
  private told = '';

  constructor(
    private readonly clock: Pick<Clock, 'now' | 'after'>,
    private readonly send: Send | undefined,
  ) {}

  /** Tells of something new at once, and of the same again now and then. */
  report(message: string): void {
    const now = this.clock.now();
    if (this.send === undefined || (message === this.told && now - this.toldAt < EVERY_MS)) return;
    this.steps += 1;
    this.told = message;
    this.toldAt = now;
    // A client that is gone hears nothing.
    this.send({ progress: this.steps, message }).catch(() => undefined);
  }

  /** Reports the same for as long as the work takes. */
  async during<T>(message: string, work: Promise<T>): Promise<T> {
    let cancelTimer: () => void = () => undefined;
    const repeat = (): void => {
      this.report(message);
      cancelTimer = this.clock.after(EVERY_MS, repeat);
    };
    repeat();
    return work.finally(() => cancelTimer());
  }
}
