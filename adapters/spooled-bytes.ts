import { tmpdir } from 'node:os';
import { HeldBytes, HeldPiece } from './held-bytes.js';
import { UnnamedFile } from './unnamed-file.js';

/** The most that one document holds in memory: most pictures of a million pixels. */
export const MAX_HELD_BYTES = 1024 * 1024;
/** The same for all documents of the process together. */
export const MAX_HELD_BY_ALL = 16 * 1024 * 1024;
const READ_BYTES = 64 * 1024;

const heldByAll = new HeldBytes(MAX_HELD_BY_ALL);

/** Bytes that wait to be read, several times if need be: in memory while they are few, then in an unnamed file. */
export class SpooledBytes {
  readonly #held: HeldPiece;
  #file: UnnamedFile | undefined;
  #byteSize = 0;
  #isClosed = false;

  /**
   * `folder`: where the file is made, the system's own for temporary files if absent. `room`: what all documents hold, those
   * of the process by default.
   */
  constructor(
    private readonly folder?: string,
    room = heldByAll,
  ) {
    this.#held = new HeldPiece(room, MAX_HELD_BYTES);
  }

  get byteSize(): number {
    return this.#byteSize;
  }

  /** Adds at the end. The calls must not overlap. Throws errors of the disk. */
  async append(piece: Uint8Array): Promise<void> {
    this.#byteSize += piece.byteLength;
    if (this.#file === undefined && this.#held.add(piece)) return;
    if (this.#file === undefined) {
      this.#file = await UnnamedFile.open(this.folder ?? tmpdir());
      await this.#file.append(this.#held.bytes);
      this.#held.release();
    }
    await this.#file.append(piece);
  }

  async *read(from: number, byteSize: number): AsyncGenerator<Uint8Array> {
    if (this.#file !== undefined) return yield* this.#file.read(from, byteSize);
    const to = from + byteSize;
    for (let at = from; at < to; at += READ_BYTES) {
      if (this.#isClosed) throw new Error('The bytes are no longer kept.');
      yield this.#held.bytes.slice(at, Math.min(to, at + READ_BYTES));
    }
  }

  /** Frees the memory and the disk. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#held.release();
    await this.#file?.close();
  }
}
