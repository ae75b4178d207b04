/** The least that S3 takes as a part that is not the last. */
export const PART_BYTES = 5 * 1024 * 1024;
const FIRST_BYTES = 64 * 1024;

/**
 * Gathers bytes up to one part. It grows by doubling, so that a small object takes little memory, and is used again for
 * the next part.
 */
export class PartBuffer {
  private memory = Buffer.allocUnsafe(FIRST_BYTES);
  private used = 0;

  /** Takes what fits and answers the rest. */
  take(chunk: Uint8Array): Uint8Array {
    const taken = Math.min(chunk.byteLength, PART_BYTES - this.used);
    this.growTo(this.used + taken);
    this.memory.set(chunk.subarray(0, taken), this.used);
    this.used += taken;
    return chunk.subarray(taken);
  }

  /** What was taken since the last `clear`; valid until the next `take`. */
  bytes(): Buffer {
    return this.memory.subarray(0, this.used);
  }

  clear(): void {
    this.used = 0;
  }

  private growTo(byteCount: number): void {
    if (byteCount <= this.memory.byteLength) return;
    const grown = Buffer.allocUnsafe(Math.min(PART_BYTES, Math.max(byteCount, 2 * this.memory.byteLength)));
    this.memory.copy(grown, 0, 0, this.used);
    this.memory = grown;
  }
}
