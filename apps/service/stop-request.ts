export type StopSignal = 'SIGINT' | 'SIGTERM';

/** The source of a process's signals: the process itself, or a substitute. */
export interface Signals {
  on(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
  off(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
}

/**
 * How far apart the signals of one request to stop may come, in milliseconds: a terminal sends Ctrl-C, and a supervisor
 * SIGTERM, to the whole process group, and npm, which is in it, forwards the signal to us.
 */
const SAME_REQUEST_MS = 500;

/**
 * Tells signals of one request to stop from those of the next. Any two requests count, whichever signals they are:
 * Ctrl-C and then a supervisor's SIGTERM are two as well.
 */
export class StopRequest {
  /** When the request came that the next signal of the same kind may belong to. */
  private readonly cameAt = new Map<StopSignal, number>();
  private isAsked = false;

  /** `now` in milliseconds, of a clock that only goes forward. */
  constructor(private readonly now: () => number) {}

  /** Whether a signal is the first request, one more after it, or belongs to one that was counted. */
  take(signal: StopSignal): 'first' | 'second' | 'same' {
    const now = this.now();
    const cameAt = this.cameAt.get(signal);
    // Measured from the first signal of a request: else repeats that come quickly would never count.
    if (cameAt !== undefined && now - cameAt <= SAME_REQUEST_MS) return 'same';
    this.cameAt.set(signal, now);
    if (this.isAsked) return 'second';
    this.isAsked = true;
    return 'first';
  }
}
