export interface Clock {
  /** Milliseconds since the epoch, a whole number. May jump; must not be relied on to order writes. */
  now(): number;

  /** Calls back once after `delayMs`, 0 to 2^31 − 1, unless the returned function is called before. */
  after(delayMs: number, callback: () => void): () => void;
}
