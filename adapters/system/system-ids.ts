import { randomBytes, randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';
import type { Ids } from '../../core/ports/machine.js';

const MAX_RANDOM_BYTES = 1024;
/**
 * Randomness for this many ids is drawn in one call: the call to the operating system costs more than all the rest of
 * an id.
 */
const POOLED_IDS = 256;
const ID_BYTES = 16;
const MAX_SEQUENCE = 2 ** 32 - 1;

/** UUIDv7 ids, monotonic within the process, and the operating system's randomness. */
export class SystemIds implements Ids {
  readonly #pool = new Uint8Array(POOLED_IDS * ID_BYTES);
  #used = this.#pool.byteLength;
  #lastMs = 0;
  #sequence = 0;

  /** Within a millisecond, and while the clock is behind the last id, the sequence counts up from its start. */
  uuid(): string {
    const random = this.#draw();
    const now = Date.now();
    if (now > this.#lastMs) {
      this.#lastMs = now;
      // The topmost bit stays free for counting.
      this.#sequence = new DataView(random.buffer, random.byteOffset).getUint32(0) >>> 1;
    } else if (this.#sequence === MAX_SEQUENCE) {
      this.#lastMs += 1;
      this.#sequence = 0;
    } else {
      this.#sequence += 1;
    }
    return v7({ random, msecs: this.#lastMs, seq: this.#sequence });
  }

  random(byteCount: number): Uint8Array {
    if (!Number.isInteger(byteCount) || byteCount < 1 || byteCount > MAX_RANDOM_BYTES) {
      throw new RangeError(`Ask for 1 to ${MAX_RANDOM_BYTES} random bytes, not ${byteCount}.`);
    }
    return byteCount <= ID_BYTES ? this.#draw().slice(0, byteCount) : new Uint8Array(randomBytes(byteCount));
  }

  /** Bytes for one id, or as few as one asks for; never given twice. */
  #draw(): Uint8Array {
    if (this.#used === this.#pool.byteLength) {
      randomFillSync(this.#pool);
      this.#used = 0;
    }
    this.#used += ID_BYTES;
    return this.#pool.subarray(this.#used - ID_BYTES, this.#used);
  }
}
