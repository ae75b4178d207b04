import { viewOf } from '../container-end.js';

/** The bytes of a stream that are at hand. Neighbours that are kept come out as one piece, without a copy. */
export class ReadWindow {
  readonly #bytes: Uint8Array;
  #at = 0;
  #keptFrom = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get aheadBytes(): number {
    return this.#bytes.byteLength - this.#at;
  }

  ahead(): Buffer {
    return viewOf(this.#bytes.subarray(this.#at));
  }

  keep(byteCount: number): void {
    this.#at += byteCount;
  }

  /** To be called after `kept`. */
  skip(byteCount: number): void {
    this.#at += byteCount;
    this.#keptFrom = this.#at;
  }

  /** What was kept and not yet taken. */
  *kept(): Generator<Uint8Array> {
    if (this.#at > this.#keptFrom) yield this.#bytes.subarray(this.#keptFrom, this.#at);
    this.#keptFrom = this.#at;
  }
}
