import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { onDisk, writeFully } from './disk.js';
import type { Disk } from './disk.js';
import { discardFile, StagedBytes, StagedFile, type StagedObject } from './staged-object.js';
import { MAX_SMALL_FILE_BYTES, TRAILER_BYTES } from './stored-object.js';

/**
 * How much memory the bytes may take that arrive at the same time. What is more goes into files: many slow senders must not take
 * memory each.
 */
const MAX_HELD_BYTES = 16 * 1024 * 1024;

/** Counts what all that arrives in a folder holds in memory. */
export class HeldBytes {
  #byteSize = 0;

  take(byteSize: number): boolean {
    if (this.#byteSize + byteSize > MAX_HELD_BYTES) return false;
    this.#byteSize += byteSize;
    return true;
  }

  giveBack(byteSize: number): void {
    this.#byteSize -= byteSize;
  }
}

/** Bytes as they arrive: in memory while they are few, then in a temporary file. To be staged or discarded, once. */
export class IncomingBytes {
  readonly #hash = createHash('sha256');
  readonly #held: Uint8Array[] = [];
  #heldBytes = 0;
  #handle: FileHandle | undefined;
  #byteSize = 0;

  constructor(
    private readonly disk: Disk,
    private readonly path: string,
    private readonly placeFor: (key: string) => Promise<string>,
    private readonly heldBytes: HeldBytes,
  ) {}

  get byteSize(): number {
    return this.#byteSize;
  }

  async add(chunk: Uint8Array): Promise<void> {
    this.#byteSize += chunk.byteLength;
    this.#hash.update(chunk);
    if (this.#handle === undefined && this.#isSmall() && this.heldBytes.take(chunk.byteLength)) {
      // Its source may use the memory of the chunk again.
      this.#held.push(chunk.slice());
      this.#heldBytes += chunk.byteLength;
      return;
    }
    const handle = await this.#file();
    await onDisk(async () => writeFully(handle, chunk));
  }

  async staged(): Promise<StagedObject> {
    const { disk, path, placeFor } = this;
    if (disk.small !== undefined && this.#handle === undefined)
      return new StagedBytes(disk.small, path, placeFor, this.#held, this.#byteSize, this.#hash, () => this.#letGo());
    return new StagedFile(await this.#file(), path, disk, placeFor, this.#byteSize, this.#hash);
  }

  async discard(): Promise<void> {
    this.#letGo();
    if (this.#handle !== undefined) await discardFile(this.disk, this.path, this.#handle);
  }

  #isSmall(): boolean {
    return this.disk.small !== undefined && this.#byteSize + TRAILER_BYTES <= MAX_SMALL_FILE_BYTES;
  }

  /** The temporary file, with all that was held. */
  async #file(): Promise<FileHandle> {
    if (this.#handle !== undefined) return this.#handle;
    const handle = await onDisk(async () => this.disk.open(this.path, 'wx', 0o600));
    this.#handle = handle;
    for (const chunk of this.#held.splice(0)) await onDisk(async () => writeFully(handle, chunk));
    this.#letGo();
    return handle;
  }

  #letGo(): void {
    this.heldBytes.giveBack(this.#heldBytes);
    this.#heldBytes = 0;
  }
}
