import type { Hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { onDisk, syncDirectory, writeFully } from './disk.js';
import type { Disk } from './disk.js';

/** Bytes that have arrived but have no key yet: to be committed or discarded, once. */
export class StagedObject {
  /** Lower-case hex. */
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

  /** Puts the bytes under `key`, replacing an existing object; durable on return. A failure leaves nothing behind. */
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

  /** Removes the bytes. A later sweep of the folder removes what cannot be removed now. */
  async discard(): Promise<void> {
    await this.handle.close().catch(() => undefined);
    await this.disk.unlink(this.path).catch(() => undefined);
  }
}
