import { randomBytes } from 'node:crypto';
import { v7 } from 'uuid';
import type { Ids } from '../../core/ports/ids.js';

const MAX_RANDOM_BYTES = 1024;

/** UUIDv7 ids, monotonic within the process, and the operating system's randomness. */
export class SystemIds implements Ids {
  uuid(): string {
    return v7();
  }

  random(byteCount: number): Uint8Array {
    if (!Number.isInteger(byteCount) || byteCount < 1 || byteCount > MAX_RANDOM_BYTES) {
      throw new RangeError(`Ask for 1 to ${MAX_RANDOM_BYTES} random bytes, not ${byteCount}.`);
    }
    return new Uint8Array(randomBytes(byteCount));
  }
}
