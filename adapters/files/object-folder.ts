import { createHash, randomUUID } from 'node:crypto';
import * as fs from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StoreUnavailable } from '../../core/errors.js';
import { assertObjectKey } from '../../core/object-keys.js';
import type { ObjectFacts } from '../../core/ports/object-store.js';
import { HeldBytes, HeldPiece } from '../held-bytes.js';
import { type SmallFiles, SmallFilesThreads } from './small-files.js';

/**
 * Objects as files: `objects/<shard>/<digest of the key>`. The path is made of a digest, so that no key can lead out of
 * the folder or be longer than a file name may be. A file is never changed once it has its name; a new object replaces
 * it by rename. Several processes of one machine may share a folder; the file system must have hard links.
 */
export class ObjectFolder {
  /** Shards that this process knows to exist durably: at most 256. */
  private readonly shards = new Set<string>();
  private readonly heldBytes = new HeldBytes(MAX_HELD_BYTES);
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
      await syncPath(disk, folder);
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
        await syncPath(this.disk, dirname(target));
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
      await syncPath(this.disk, dirname(path));
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
      await syncPath(this.disk, dirname(shard));
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

/** A temporary file that has not been written for this long belongs to a dead write. */
const ABANDONED_AFTER_MS = 15 * 60 * 1000;

/**
 * One object, held open: its bytes stay the same, even if the key is replaced or removed in the meantime. It must be
 * closed, by `close` or by reading `bytes` to its end or leaving it.
 */
export class StoredObject implements ObjectFacts {
  private constructor(
    /** The file to read from, or all bytes of a small object. */
    private readonly source: FileHandle | Uint8Array,
    readonly byteSize: number,
    readonly etag: string,
  ) {}

  /** Reads an object from the bytes of the whole file, trailer included. */
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

/** Bytes as they arrive: in memory while they are few, then in a temporary file. To be staged or discarded, once. */
export class IncomingBytes implements StagedObject {
  byteSize = 0;
  readonly #hash = createHash('sha256');
  #digest: Uint8Array = NOTHING;
  readonly #held: HeldPiece;
  #handle: FileHandle | undefined;

  constructor(
    private readonly disk: Disk,
    private readonly path: string,
    private readonly placeFor: (key: string) => Promise<string>,
    heldBytes: HeldBytes,
  ) {
    this.#held = new HeldPiece(heldBytes, MOST_HELD);
  }

  get sha256(): string {
    return Buffer.from(this.#digest).toString('hex');
  }

  async add(chunk: Uint8Array): Promise<void> {
    this.byteSize += chunk.byteLength;
    this.#hash.update(chunk);
    if (this.#handle === undefined && this.disk.small !== undefined && this.#held.add(chunk)) return;
    const handle = await this.#file();
    await onDisk(async () => writeFully(handle, chunk));
  }

  /** No more bytes come. Few of them are held in one piece with their digest, as the file that they become with their key. */
  async staged(): Promise<StagedObject> {
    this.#digest = this.#hash.digest();
    if (this.disk.small === undefined || this.#handle !== undefined) await this.#file();
    else {
      const file = new Uint8Array(this.byteSize + TRAILER_BYTES);
      file.set(this.#held.bytes);
      file.set(this.#digest, this.byteSize);
      this.#held.replaceWith(file);
    }
    return this;
  }

  async commit(key: string): Promise<void> {
    const { disk, path } = this;
    try {
      const target = await this.placeFor(key);
      await onDisk(async () => {
        if (this.#handle === undefined) return disk.small?.write(path, target, this.#held.bytes);
        await writeFully(this.#handle, this.#digest);
        await this.#handle.sync();
        await this.#handle.close();
        await disk.rename(path, target);
        await syncPath(disk, dirname(target));
      });
      this.#held.release();
    } catch (error) {
      await this.discard();
      throw error;
    }
  }

  async discard(): Promise<void> {
    this.#held.release();
    if (this.#handle === undefined) return;
    await this.#handle.close().catch(() => undefined);
    await this.disk.unlink(this.path).catch(() => undefined);
  }

  /** The temporary file, with all that was held. */
  async #file(): Promise<FileHandle> {
    if (this.#handle !== undefined) return this.#handle;
    const handle = await onDisk(async () => this.disk.open(this.path, 'wx', 0o600));
    this.#handle = handle;
    await onDisk(async () => writeFully(handle, this.#held.bytes));
    this.#held.release();
    return handle;
  }
}

/**
 * The few calls on the file system that the store makes, and the time it stamps on files; another set can stand in for
 * a failing disk. Without `small` all files are read and written through handles.
 */
export type Disk = FileCalls & { now(): number; readonly small?: SmallFiles | undefined };

type FileCalls = Pick<
  typeof fs,
  'open' | 'rename' | 'link' | 'unlink' | 'mkdir' | 'readdir' | 'stat' | 'access' | 'chmod'
>;

/** Its threads belong to the process, as those of Node do. */
export const REAL_DISK: Disk = { ...fs, now: () => Date.now(), small: new SmallFilesThreads() };

const PRIVATE_FOLDER = 0o700;
/** The permission bits of the group and of others. */
const OTHERS_RIGHTS = 0o077;

/** Whether the file system answered with this code. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

/** Does something on the disk; a full, broken or missing one becomes `StoreUnavailable`. */
async function onDisk<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new StoreUnavailable(`The object folder cannot be used right now (${code}).`, error);
  }
}

/** The same, with `missing` for a file that does not exist. */
async function onDiskOr<T, M>(missing: M, act: () => Promise<T>): Promise<T | M> {
  return onDisk(async () => {
    try {
      return await act();
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return missing;
      throw error;
    }
  });
}

/** Refuses a folder that this user may not use, and says so; one that does not exist yet passes. */
export async function checkRights(disk: Disk, folder: string): Promise<void> {
  for (const [mode, verb] of [
    [fs.constants.R_OK | fs.constants.X_OK, 'read'],
    [fs.constants.W_OK, 'written'],
  ] as const) {
    await disk.access(folder, mode).catch((error: unknown) => {
      const code = ['EACCES', 'EPERM', 'EROFS'].find((known) => hasCode(error, known));
      if (code !== undefined) throw new StoreUnavailable(`${folder} cannot be ${verb} by this user (${code}).`, error);
    });
  }
}

/**
 * Creates a folder that only this user may use, whatever the umask; an existing one that is open to others is closed to
 * them, if it belongs to this user.
 */
async function makePrivateFolder(disk: Disk, path: string): Promise<void> {
  await disk.mkdir(path, { recursive: true, mode: PRIVATE_FOLDER });
  if (((await disk.stat(path)).mode & OTHERS_RIGHTS) === 0) return;
  await disk.chmod(path, PRIVATE_FOLDER).catch((error: unknown) => {
    // A volume may belong to another user, who gives this user's group access; its owner then decides who may read it.
    if (!hasCode(error, 'EPERM')) throw error;
  });
}

/** Writes the whole chunk: one call may write only a part of it. */
export async function writeFully(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.byteLength;) {
    const { bytesWritten } = await handle.write(chunk, at, chunk.byteLength - at);
    if (bytesWritten === 0) throw new StoreUnavailable('The object folder has no space left.');
    at += bytesWritten;
  }
}

/** Makes what a path has durable: the names in a directory, or the bytes of a file. */
export async function syncPath(disk: Disk, path: string): Promise<void> {
  const handle = await disk.open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

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
 * The memory limit for bytes that arrive concurrently. Bytes beyond it go to files, so that many slow senders do not
 * each take up memory.
 */
const MAX_HELD_BYTES = 16 * 1024 * 1024;

/** A larger file is not written in one piece. */
const MOST_HELD = MAX_SMALL_FILE_BYTES - TRAILER_BYTES;
const NOTHING = new Uint8Array(0);
