import { assertObjectKey } from '../../core/objects/object-key.js';
import type { Clock } from '../../core/ports/clock.js';
import type { ObjectFacts, ObjectStore, SignedRequest } from '../../core/ports/object-store.js';
import type { Disk } from './disk.js';
import { ObjectFolder } from './object-folder.js';
import { SignedObjects } from './signed-objects.js';
import { DIGEST_HEADER, type TakesBytes } from './signed-put.js';
import { UrlSigner } from './url-signer.js';

export interface FileObjectStoreOptions {
  /** The folder of the files; created if it does not exist. */
  readonly folder: string;
  /** Where clients reach `signedObjects`: signed addresses are `<publicBaseUrl()>/objects/<key>?…`. */
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
    const signer = new UrlSigner(options);
    const folder = await ObjectFolder.open(options.folder, options.disk);
    return new FileObjectStore(
      folder,
      signer,
      new SignedObjects({
        folder,
        signer,
        clock: options.clock,
        takesBytes: options.takesBytes ?? (() => Promise.resolve(true)),
      }),
    );
  }

  /**
   * The length is signed, but not among the headers: HTTP clients set Content-Length themselves and many forbid setting
   * it.
   */
  async signPut(target: Parameters<ObjectStore['signPut']>[0]): Promise<SignedRequest> {
    const { key, mediaType, byteSize, sha256, expiresAt } = target;
    if (!Number.isSafeInteger(byteSize) || byteSize < 0)
      throw new RangeError('A byte size is a whole number, not below zero.');
    const digest = sha256 === undefined ? {} : { sha256 };
    const url = this.signer.sign({ method: 'PUT', key, mediaType, byteSize, expiresAt, ...digest });
    return {
      url,
      method: 'PUT',
      headers: { 'Content-Type': mediaType, ...(sha256 === undefined ? {} : { [DIGEST_HEADER]: sha256 }) },
    };
  }

  async signGet(target: Parameters<ObjectStore['signGet']>[0]): Promise<SignedRequest> {
    const { key, mediaType, filename, expiresAt } = target;
    return {
      url: this.signer.sign({ method: 'GET', key, mediaType, filename, expiresAt }),
      method: 'GET',
      headers: {},
    };
  }

  async stat(key: string): Promise<ObjectFacts | null> {
    const object = await this.folder.open(key);
    if (object === null) return null;
    await object.close();
    return { byteSize: object.byteSize, etag: object.etag };
  }

  /** The current bytes, even if they are replaced meanwhile. Read them to their end or leave the loop. */
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
