import type { Generation, Output } from './generation.js';

export interface OutputView {
  readonly output: Output;
  /** Signed on each read; valid for the operator's `outputUrlMs`. */
  readonly url: string;
  /** The name that the file is served under. */
  readonly filename: string;
}

/** A generation as a front shows it: with an address for each output. */
export interface GenerationView {
  readonly generation: Generation;
  readonly outputs: readonly OutputView[];
  /** Present exactly while it has not ended, in milliseconds. */
  readonly pollAfterMs?: number;
}
