import { createHash } from 'node:crypto';
import { constants, copyFile, link, mkdir, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { assertObjectKey } from '../../core/object-keys.js';
import type { Clock } from '../../core/ports/machine.js';
import type { ObjectFacts, ObjectStore, SignedRequest } from '../../core/ports/object-store.js';
import type { ObjectCount } from '../driver-backup.js';
import { type Disk, hasCode, ObjectFolder, REAL_DISK, StoredObject, syncPath, writeFully } from './object-folder.js';
import { DIGEST_HEADER, SignedObjects, type TakesBytes } from './signed-objects.js';
import { UrlSigner } from './url-signer.js';

export interface FileObjectStoreOptions {
  /** The folder of the files; created if it does not exist. */
  readonly folder: string;
  /** The URL at which clients reach `signedObjects`: signed addresses are `<publicBaseUrl()>/objects/<key>?…`. */
  readonly publicBaseUrl: () => string;
  /** At least 32 bytes, the same in every process that shares the folder. */
  readonly secret: Uint8Array;
  readonly clock: Pick<Clock, 'now'>;
  /** Asked before a signed PUT is stored; every one is when absent. */
  readonly takesBytes?: TakesBytes;
  readonly disk?: Disk;
}

/**
 * Objects in a folder of this machine. The etag is the SHA-256 of the bytes, kept at the end of the object's own file:
 * it changes with the bytes and with nothing else, where inode numbers and times can come back within one tick of the
 * file system's clock.
 */
export class FileObjectStore implements ObjectStore {
  private constructor(
    private readonly folder: ObjectFolder,
    private readonly signer: UrlSigner,
    /** Serves the signed addresses. */
    readonly signedObjects: SignedObjects,
  ) {}

  /** Makes the folder and removes what dead writes left behind. Throws `StoreUnavailable` when it cannot be used. */
  static async open(options: FileObjectStoreOptions): Promise<FileObjectStore> {
    const { clock, takesBytes = () => Promise.resolve(true) } = options;
    const signer = new UrlSigner(options);
    const folder = await ObjectFolder.open(options.folder, options.disk);
    return new FileObjectStore(folder, signer, new SignedObjects({ folder, signer, clock, takesBytes }));
  }

  /**
   * The length is signed, but not among the headers: HTTP clients set Content-Length themselves and many forbid setting
   * it.
   */
  async signPut(target: Parameters<ObjectStore['signPut']>[0]): Promise<SignedRequest> {
    const { mediaType, byteSize, sha256 } = target;
    if (!Number.isSafeInteger(byteSize) || byteSize < 0)
      throw new RangeError('A byte size is a whole number, not below zero.');
    const digest = sha256 === undefined ? {} : { [DIGEST_HEADER]: sha256 };
    return {
      url: this.signer.sign({ method: 'PUT', ...target }),
      method: 'PUT',
      headers: { 'Content-Type': mediaType, ...digest },
    };
  }

  async signGet(target: Parameters<ObjectStore['signGet']>[0]): Promise<SignedRequest> {
    return { url: this.signer.sign({ method: 'GET', ...target }), method: 'GET', headers: {} };
  }

  async stat(key: string): Promise<ObjectFacts | null> {
    const object = await this.folder.open(key);
    if (object === null) return null;
    await object.close();
    return { byteSize: object.byteSize, etag: object.etag };
  }

  /** The current bytes, even if they are replaced in the meantime. Read them to their end or leave the loop. */
  async read(
    key: string,
    range?: { readonly from: number; readonly to: number },
  ): Promise<AsyncIterable<Uint8Array> | null> {
    const object = await this.folder.open(key);
    return object === null ? null : object.bytes(range?.from, range?.to);
  }

  /** The media type is not kept: `signGet` says it. */
  async write(
    key: string,
    bytes: AsyncIterable<Uint8Array>,
    limit: { readonly mediaType: string; readonly maxBytes: number },
  ): Promise<{ readonly byteSize: number; readonly sha256: string } | 'too-large'> {
    assertObjectKey(key);
    const staged = await this.folder.stage(bytes, limit.maxBytes);
    if (staged === 'too-large') return staged;
    await staged.commit(key);
    return { byteSize: staged.byteSize, sha256: staged.sha256 };
  }

  async copy(from: string, to: string, ifEtag: string): Promise<'copied' | 'changed' | 'missing' | 'exists'> {
    return this.folder.copy(from, to, ifEtag);
  }

  async remove(key: string): Promise<void> {
    await this.folder.remove(key);
  }
}

/** Error codes of file systems without hard links: bytes are copied there. */
const NO_LINKS = ['EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];

/**
 * Links every object of a folder in use into another one, unless it is there already. Files never change once they have
 * their name, so a hard link is as good as a copy, and takes no space; on another file system they are copied. Objects
 * removed meanwhile are left out. A repeat adds new ones.
 */
export async function linkObjects(folder: string, target: string): Promise<void> {
  for await (const { shard, name } of objectsIn(folder)) {
    const to = join(target, 'objects', shard);
    await mkdir(to, { recursive: true, mode: 0o700 });
    await linkOrCopy(join(folder, 'objects', shard, name), join(to, name));
  }
  await syncFolders(target);
}

export async function countObjects(folder: string): Promise<ObjectCount> {
  let [files, bytes] = [0, 0];
  for await (const { shard, name } of objectsIn(folder)) {
    files += 1;
    bytes += (await stat(join(folder, 'objects', shard, name))).size;
  }
  return { files, bytes };
}

/**
 * Copies every object into a new folder, and compares each with its own digest. Returns the path of the first that is
 * damaged.
 */
export async function copyObjects(folder: string, target: string): Promise<{ readonly damaged?: string }> {
  for await (const { shard, name } of objectsIn(folder)) {
    const from = join(folder, 'objects', shard, name);
    await mkdir(join(target, 'objects', shard), { recursive: true, mode: 0o700 });
    if (!(await copyWhole(from, join(target, 'objects', shard, name)))) return { damaged: from };
  }
  await mkdir(join(target, 'objects'), { recursive: true, mode: 0o700 });
  await mkdir(join(target, 'incoming'), { recursive: true, mode: 0o700 });
  await syncFolders(target);
  return {};
}

async function* objectsIn(folder: string): AsyncGenerator<{ readonly shard: string; readonly name: string }> {
  const root = join(folder, 'objects');
  for (const shard of await namesIn(root)) {
    for (const name of await namesIn(join(root, shard))) yield { shard, name };
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  });
}

async function linkOrCopy(from: string, to: string): Promise<void> {
  const known = (error: unknown) => {
    if (!hasCode(error, 'EEXIST') && !hasCode(error, 'ENOENT')) throw error;
  };
  try {
    await link(from, to);
  } catch (error) {
    if (!NO_LINKS.some((code) => hasCode(error, code))) return known(error);
    await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE).then(
      () => syncPath(REAL_DISK, to),
      known,
    );
  }
}

async function copyWhole(from: string, to: string): Promise<boolean> {
  const object = await StoredObject.of(await open(from, 'r')).catch(() => undefined);
  if (object === undefined) return false;
  const handle = await open(to, 'wx', 0o600);
  try {
    const hash = createHash('sha256');
    for await (const chunk of object.bytes()) {
      hash.update(chunk);
      await writeFully(handle, chunk);
    }
    await writeFully(handle, Buffer.from(object.etag, 'hex'));
    await handle.sync();
    return hash.digest('hex') === object.etag;
  } finally {
    await handle.close();
  }
}

async function syncFolders(target: string): Promise<void> {
  const root = join(target, 'objects');
  for (const shard of await namesIn(root)) await syncPath(REAL_DISK, join(root, shard));
  for (const folder of [root, target])
    await syncPath(REAL_DISK, folder).catch((error: unknown) => {
      if (!hasCode(error, 'ENOENT')) throw error;
    });
}
