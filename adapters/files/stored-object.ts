import type { FileHandle } from 'node:fs/promises';
import { StoreUnavailable } from '../../core/errors.js';
import type { ObjectFacts } from '../../core/ports/object-store.js';
import { onDisk } from './disk.js';

/** Every file ends with the SHA-256 of the bytes before it. */
export const TRAILER_BYTES = 32;
const PIECE_BYTES = 64 * 1024;

async function readExactly(handle: FileHandle, position: number, byteCount: number): Promise<Uint8Array> {
  const piece = new Uint8Array(byteCount);
  for (let at = 0; at < byteCount;) {
    const { bytesRead } = await handle.read(piece, at, byteCount - at, position + at);
    if (bytesRead === 0) throw new StoreUnavailable('A stored object is shorter than it should be.');
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
    private readonly handle: FileHandle,
    readonly byteSize: number,
    readonly etag: string,
    /** All bytes of a small one, which were read with its trailer. */
    private readonly read: Uint8Array | undefined,
  ) {}

  static async of(handle: FileHandle): Promise<StoredObject> {
    try {
      return await onDisk(async () => {
        const byteSize = (await handle.stat()).size - TRAILER_BYTES;
        if (byteSize < 0) throw new StoreUnavailable('A stored object is shorter than it should be.');
        const from = byteSize <= PIECE_BYTES ? 0 : byteSize;
        const end = await readExactly(handle, from, byteSize + TRAILER_BYTES - from);
        const etag = Buffer.from(end.subarray(byteSize - from)).toString('hex');
        return new StoredObject(handle, byteSize, etag, from === 0 ? end.subarray(0, byteSize) : undefined);
      });
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.handle.close();
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
          const value = this.read?.subarray(position, end) ?? (await this.piece(position, end));
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

  private piece(position: number, end: number): Promise<Uint8Array> {
    return onDisk(async () => readExactly(this.handle, position, Math.min(PIECE_BYTES, end - position)));
  }
}
