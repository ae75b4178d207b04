import { createHash, randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { assertObjectKey } from '../../core/objects/object-key.js';
import { checkRights, hasCode, makePrivateFolder, onDisk, onDiskOr, REAL_DISK, syncDirectory } from './disk.js';
import type { Disk } from './disk.js';
import { HeldBytes, IncomingBytes } from './incoming-bytes.js';
import type { StagedObject } from './staged-object.js';
import { MAX_SMALL_FILE_BYTES, StoredObject } from './stored-object.js';

/** A temporary file that has not been written for this long belongs to a dead write. */
const ABANDONED_AFTER_MS = 15 * 60 * 1000;

/**
 * Objects as files: `objects/<shard>/<digest of the key>`. The path is made of a digest, so that no key can lead out of
 * the folder or be longer than a file name may be. A file is never changed once it has its name; a new object replaces
 * it by rename. Several processes of one machine may share a folder; the file system must have hard links.
 */
export class ObjectFolder {
  /** Shards that this process knows to exist durably: at most 256. */
  private readonly shards = new Set<string>();
  private readonly heldBytes = new HeldBytes();
  private sweptAt = 0;

  private constructor(
    private readonly folder: string,
    private readonly disk: Disk,
  ) {}

  /** Makes the folders and removes what dead writes left behind. */
  static async open(folder: string, disk: Disk = REAL_DISK): Promise<ObjectFolder> {
    const opened = new ObjectFolder(folder, disk);
    const parts = [join(folder, 'incoming'), join(folder, 'objects')];
    for (const path of [folder, ...parts]) await checkRights(disk, path);
    await onDisk(async () => {
      for (const path of [folder, ...parts]) await makePrivateFolder(disk, path);
      await syncDirectory(disk, folder);
      await opened.removeAbandoned();
    });
    opened.sweptAt = disk.now();
    return opened;
  }

  /** Takes bytes in under a temporary name, at most `maxBytes` of them. A failure of their source is passed on. */
  async stage(bytes: AsyncIterable<Uint8Array>, maxBytes: number): Promise<StagedObject | 'too-large'> {
    await this.sweepNowAndThen();
    const incoming = new IncomingBytes(
      this.disk,
      this.temporaryPath(),
      async (key) => this.placeFor(key),
      this.heldBytes,
    );
    try {
      for await (const chunk of bytes) {
        if (incoming.byteSize + chunk.byteLength > maxBytes) {
          await incoming.discard();
          return 'too-large';
        }
        await incoming.add(chunk);
      }
    } catch (error) {
      await incoming.discard();
      throw error;
    }
    return incoming.staged();
  }

  /** The object under this key, held open, or null. */
  async open(key: string): Promise<StoredObject | null> {
    const path = this.pathOf(key);
    const { small } = this.disk;
    const bytes = small === undefined ? 'larger' : await onDisk(async () => small.read(path, MAX_SMALL_FILE_BYTES));
    if (bytes === 'missing') return null;
    if (bytes !== 'larger') return StoredObject.ofBytes(bytes);
    const handle = await onDiskOr(null, async () => this.disk.open(path, 'r'));
    return handle === null ? null : StoredObject.of(handle);
  }

  /**
   * Gives `from`'s file the name of `to` as well. A temporary name first pins the file, so that what was compared with
   * `ifEtag` is what gets the name, even when `from` is replaced meanwhile. Link never replaces a name that is taken.
   */
  async copy(from: string, to: string, ifEtag: string): Promise<'copied' | 'changed' | 'missing' | 'exists'> {
    const [source, target, pinned] = [this.pathOf(from), await this.placeFor(to), this.temporaryPath()];
    const found = await onDiskOr('missing', async () => this.disk.link(source, pinned));
    if (found === 'missing') return 'missing';
    try {
      const object = await StoredObject.of(await onDisk(async () => this.disk.open(pinned, 'r')));
      await object.close();
      if (object.etag !== ifEtag) return 'changed';
      return await onDisk(async () => {
        const taken = await this.disk.link(pinned, target).then(
          () => false,
          (error: unknown) => {
            if (hasCode(error, 'EEXIST')) return true;
            throw error;
          },
        );
        // Another write may have created the name a moment ago: a caller that gets `exists` may rely on its durability
        // too.
        await syncDirectory(this.disk, dirname(target));
        return taken ? 'exists' : 'copied';
      });
    } finally {
      await this.disk.unlink(pinned).catch(() => undefined);
    }
  }

  async remove(key: string): Promise<void> {
    const path = this.pathOf(key);
    const { small } = this.disk;
    if (small !== undefined) return onDisk(async () => small.remove(path));
    await onDiskOr(undefined, async () => {
      await this.disk.unlink(path);
      await syncDirectory(this.disk, dirname(path));
    });
  }

  private pathOf(key: string): string {
    assertObjectKey(key);
    const digest = createHash('sha256').update(key).digest('hex');
    return join(this.folder, 'objects', digest.slice(0, 2), digest.slice(2));
  }

  /** The path for a new object under this key, its shard made when it is the first there. */
  private async placeFor(key: string): Promise<string> {
    const path = this.pathOf(key);
    const shard = dirname(path);
    if (this.shards.has(shard)) return path;
    await onDisk(async () => {
      await makePrivateFolder(this.disk, shard);
      await syncDirectory(this.disk, dirname(shard));
    });
    this.shards.add(shard);
    return path;
  }

  private temporaryPath(): string {
    return join(this.folder, 'incoming', randomUUID());
  }

  /** A write now and then checks for leftovers: of a discard that failed, or of another process that died. */
  private async sweepNowAndThen(): Promise<void> {
    const now = this.disk.now();
    if (now - this.sweptAt < ABANDONED_AFTER_MS) return;
    this.sweptAt = now;
    // A failed removal is tried again later; it must not block writes.
    await this.removeAbandoned().catch(() => undefined);
  }

  /** All that can be removed; throws the first error of what cannot. */
  private async removeAbandoned(): Promise<void> {
    const errors: unknown[] = [];
    for (const name of await this.disk.readdir(join(this.folder, 'incoming'))) {
      const path = join(this.folder, 'incoming', name);
      // A file's age is measured by the machine's clock, whatever clock the rest of the service uses. Its last change
      // counts, and a new link is one.
      await onDiskOr(undefined, async () => {
        if (this.disk.now() - (await this.disk.stat(path)).ctimeMs >= ABANDONED_AFTER_MS) await this.disk.unlink(path);
      }).catch((error: unknown) => errors.push(error));
    }
    if (errors.length > 0) throw errors[0];
  }
}
