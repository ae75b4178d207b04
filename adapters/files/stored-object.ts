import type { FileHandle } from 'node:fs/promises';
import { StoreUnavailable } from '../../core/errors.js';
import type { ObjectFacts } from '../../core/ports/object-store.js';
import { onDisk } from './disk.js';

/** Every file ends with the SHA-256 of the bytes before it. */
export const TRAILER_BYTES = 32;
const PIECE_BYTES = 64 * 1024;
/** A file up to this size is read and written as a whole. */
export const MAX_SMALL_FILE_BYTES = PIECE_BYTES + TRAILER_BYTES;
const TOO_SHORT = 'A stored object is shorter than it should be.';

async function readExactly(handle: FileHandle, position: number, byteCount: number): Promise<Uint8Array> {
  const piece = new Uint8Array(byteCount);
  for (let at = 0; at < byteCount;) {
    const { bytesRead } = await handle.read(piece, at, byteCount - at, position + at);
    if (bytesRead === 0) throw new StoreUnavailable(TOO_SHORT);
    at += bytesRead;
  }
  return piece;
}

/**
 * One object, held open: its bytes stay the same, even if the key is replaced or removed meanwhile. It must be closed,
 * by `close` or by reading `bytes` to its end or leaving it.
 */
export class StoredObject implements ObjectFacts {
  private constructor(
    /** Where the bytes are read from; or all of them, of a small one. */
    private readonly source: FileHandle | Uint8Array,
    readonly byteSize: number,
    readonly etag: string,
  ) {}

  /** Of the whole file, trailer included. */
  static ofBytes(file: Uint8Array): StoredObject {
    const byteSize = file.byteLength - TRAILER_BYTES;
    if (byteSize < 0) throw new StoreUnavailable(TOO_SHORT);
    const etag = Buffer.from(file.subarray(byteSize)).toString('hex');
    return new StoredObject(file, byteSize, etag);
  }

  /** Takes the handle over. */
  static async of(handle: FileHandle): Promise<StoredObject> {
    try {
      return await onDisk(async () => {
        const byteSize = (await handle.stat()).size - TRAILER_BYTES;
        if (byteSize < 0) throw new StoreUnavailable(TOO_SHORT);
        const trailer = await readExactly(handle, byteSize, TRAILER_BYTES);
        return new StoredObject(handle, byteSize, Buffer.from(trailer).toString('hex'));
      });
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    if (!(this.source instanceof Uint8Array)) await this.source.close();
  }

  /**
   * The bytes from `from` (inclusive) to `to` (exclusive), once. Written as an iterator, not a generator: leaving a
   * generator before its first step would not run its `finally`, and the file would stay open.
   */
  bytes(from = 0, to = this.byteSize): AsyncIterableIterator<Uint8Array> {
    const end = Math.min(to, this.byteSize);
    let position = from;
    const finish = async (): Promise<IteratorResult<Uint8Array>> => {
      await this.close();
      return { done: true, value: undefined };
    };
    return {
      next: async () => {
        if (position >= end) return finish();
        try {
          const value = await this.piece(position, end);
          position += value.byteLength;
          return { done: false, value };
        } catch (error) {
          await this.close();
          throw error;
        }
      },
      return: async () => {
        position = end;
        return finish();
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  private async piece(position: number, end: number): Promise<Uint8Array> {
    const { source } = this;
    if (source instanceof Uint8Array) return source.subarray(position, end);
    return onDisk(async () => readExactly(source, position, Math.min(PIECE_BYTES, end - position)));
  }
}
