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

/** A larger file is not written as a whole. */
const MOST_HELD = MAX_SMALL_FILE_BYTES - TRAILER_BYTES;
const NOTHING = new Uint8Array(0);

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

  /** Counts bytes that take the place of others that are given back. */
  replace(before: number, after: number): void {
    this.#byteSize += after - before;
  }
}

/** Bytes as they arrive: in memory while they are few, then in a temporary file. To be staged or discarded, once. */
export class IncomingBytes {
  readonly #hash = createHash('sha256');
  /** One piece of memory for all that is held, as each small piece of its own would take many times its length. */
  #held = NOTHING;
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
    if (this.#handle === undefined && this.#isSmall() && this.#holds(chunk)) return;
    const handle = await this.#file(this.#byteSize - chunk.byteLength);
    await onDisk(async () => writeFully(handle, chunk));
  }

  async staged(): Promise<StagedObject> {
    const { disk, path, placeFor } = this;
    if (disk.small !== undefined && this.#handle === undefined) {
      const staged = new StagedBytes(
        disk.small,
        path,
        placeFor,
        this.#held.subarray(0, this.#byteSize),
        this.#hash,
        () => {
          this.heldBytes.giveBack(staged.heldBytes);
        },
      );
      this.heldBytes.replace(this.#held.byteLength, staged.heldBytes);
      this.#held = NOTHING;
      return staged;
    }
    return new StagedFile(await this.#file(), path, disk, placeFor, this.#byteSize, this.#hash);
  }

  async discard(): Promise<void> {
    this.#letGo();
    if (this.#handle !== undefined) await discardFile(this.disk, this.path, this.#handle);
  }

  #isSmall(): boolean {
    return this.disk.small !== undefined && this.#byteSize <= MOST_HELD;
  }

  /** Copies the newest chunk, as its source may use its memory again; false where there is no room. */
  #holds(chunk: Uint8Array): boolean {
    const [before, after] = [this.#byteSize - chunk.byteLength, this.#byteSize];
    if (after > this.#held.byteLength) {
      const capacity = Math.min(MOST_HELD, Math.max(after, 2 * this.#held.byteLength));
      if (!this.heldBytes.take(capacity - this.#held.byteLength)) return false;
      const larger = new Uint8Array(capacity);
      larger.set(this.#held.subarray(0, before));
      this.#held = larger;
    }
    this.#held.set(chunk, before);
    return true;
  }

  /** The temporary file, with all that was held. */
  async #file(heldSize = this.#byteSize): Promise<FileHandle> {
    if (this.#handle !== undefined) return this.#handle;
    const handle = await onDisk(async () => this.disk.open(this.path, 'wx', 0o600));
    this.#handle = handle;
    if (heldSize > 0) await onDisk(async () => writeFully(handle, this.#held.subarray(0, heldSize)));
    this.#letGo();
    return handle;
  }

  #letGo(): void {
    this.heldBytes.giveBack(this.#held.byteLength);
    this.#held = NOTHING;
  }
}
