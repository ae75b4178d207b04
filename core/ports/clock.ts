export interface Clock {
  /** Milliseconds since the epoch, an integer. May jump; do not rely on it to order writes. */
  now(): number;

  /** Calls back once after `delayMs`, 0 to 2^31 − 1, unless the returned function is called before. */
  after(delayMs: number, callback: () => void): () => void;
}
