import type { ProbedFile } from '../../core/ports/media-probe.js';

/** So much is read with one request to the store. */
export const BLOCK_BYTES = 1024 * 1024;

/** So much of one block stays with the next, for what lies in both. */
const KEPT_BYTES = 64;

/**
 * Reads a file forwards in blocks, and holds one. Each byte is read once at most: never more bytes than the file has, in no
 * more than one request for every `BLOCK_BYTES` of it, begun ones included.
 */
export class BlockReader {
  #block: Buffer = Buffer.alloc(0);
  #blockAt = 0;

  constructor(private readonly file: ProbedFile) {}

  /**
   * A copy of the bytes from `from` (inclusive) to `to` (exclusive), which lie within the file; fewer where the store has fewer.
   * What lies more than `KEPT_BYTES` before the `to` of an earlier call may be gone: the reader then throws.
   */
  async bytes(from: number, to: number): Promise<Buffer> {
    if (from < this.#blockAt) throw new RangeError('These bytes have been read before.');
    const parts: Buffer[] = [];
    for (let at = from; at < to;) {
      if (at >= this.#blockAt + this.#block.length) await this.#load(at);
      const part = this.#block.subarray(at - this.#blockAt, to - this.#blockAt);
      if (part.length === 0) break;
      parts.push(part);
      at += part.length;
    }
    return Buffer.concat(parts);
  }

  async #load(from: number): Promise<void> {
    const to = Math.min(from + BLOCK_BYTES, this.file.byteSize);
    const isNext = from === this.#blockAt + this.#block.length;
    const kept = this.#block.subarray(isNext ? -KEPT_BYTES : this.#block.length);
    const block = Buffer.allocUnsafeSlow(kept.length + to - from);
    let filled = kept.copy(block);
    for await (const chunk of await this.file.read({ from, to })) {
      block.set(chunk.subarray(0, block.length - filled), filled);
      filled = Math.min(block.length, filled + chunk.byteLength);
    }
    this.#block = block.subarray(0, filled);
    this.#blockAt = from - kept.length;
  }
}
