export interface Clock {
  /** Milliseconds since the epoch, an integer. May jump; do not rely on it to order writes. */
  now(): number;

  /**
   * Milliseconds since an arbitrary point of this process's life. Never goes back, whatever the wall clock is set to: only
   * differences between two readings of one process mean something. May stand still while the machine is suspended.
   */
  monotonic(): number;

  /**
   * Calls back once after `delayMs`, 0 to 2^31 − 1, by the monotonic clock, unless the returned function is called before.
   */
  after(delayMs: number, callback: () => void): () => void;
}
