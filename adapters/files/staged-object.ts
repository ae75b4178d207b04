import type { Hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { onDisk, syncDirectory, writeFully } from './disk.js';
import type { Disk } from './disk.js';
import type { SmallFiles } from './small-files.js';
import { TRAILER_BYTES } from './stored-object.js';

/** Bytes that have arrived but have no key yet: to be committed or discarded, once. */
export interface StagedObject {
  readonly byteSize: number;
  /** Lower-case hex. */
  readonly sha256: string;
  /** Puts the bytes under `key`, replacing an existing object; durable on return. A failure leaves nothing behind. */
  commit(key: string): Promise<void>;
  /** Removes the bytes. A later sweep of the folder removes what cannot be removed now. */
  discard(): Promise<void>;
}

/** Few bytes, which are held in memory and become a file with their key. It copies what it is given. */
export class StagedBytes implements StagedObject {
  readonly sha256: string;
  readonly byteSize: number;
  readonly #bytes: Uint8Array<ArrayBuffer>;

  constructor(
    private readonly small: SmallFiles,
    private readonly path: string,
    private readonly placeFor: (key: string) => Promise<string>,
    bytes: Uint8Array,
    hash: Hash,
    /** Called when the bytes are held no more. */
    private readonly letGo: () => void,
  ) {
    const digest = hash.digest();
    this.sha256 = digest.toString('hex');
    this.byteSize = bytes.byteLength;
    this.#bytes = new Uint8Array(bytes.byteLength + digest.byteLength);
    this.#bytes.set(bytes);
    this.#bytes.set(digest, bytes.byteLength);
  }

  get heldBytes(): number {
    return this.byteSize + TRAILER_BYTES;
  }

  async commit(key: string): Promise<void> {
    try {
      const target = await this.placeFor(key);
      await onDisk(async () => this.small.write(this.path, target, this.#bytes));
    } finally {
      this.letGo();
    }
  }

  async discard(): Promise<void> {
    this.letGo();
  }
}

/** Bytes in a temporary file. */
export class StagedFile implements StagedObject {
  readonly sha256: string;
  readonly #digest: Uint8Array;

  constructor(
    private readonly handle: FileHandle,
    private readonly path: string,
    private readonly disk: Disk,
    private readonly placeFor: (key: string) => Promise<string>,
    readonly byteSize: number,
    hash: Hash,
  ) {
    this.#digest = hash.digest();
    this.sha256 = Buffer.from(this.#digest).toString('hex');
  }

  async commit(key: string): Promise<void> {
    try {
      const target = await this.placeFor(key);
      await onDisk(async () => {
        await writeFully(this.handle, this.#digest);
        await this.handle.sync();
        await this.handle.close();
        await this.disk.rename(this.path, target);
        await syncDirectory(this.disk, dirname(target));
      });
    } catch (error) {
      await this.discard();
      throw error;
    }
  }

  async discard(): Promise<void> {
    await discardFile(this.disk, this.path, this.handle);
  }
}

/** Removes a temporary file. A later sweep removes what cannot be removed now. */
export async function discardFile(disk: Disk, path: string, handle: FileHandle): Promise<void> {
  await handle.close().catch(() => undefined);
  await disk.unlink(path).catch(() => undefined);
}
