import { assertObjectKey } from '../../core/objects/object-key.js';
import type { Clock } from '../../core/ports/clock.js';
import type { ObjectFacts, ObjectStore, SignedRequest } from '../../core/ports/object-store.js';
import { bytesOf } from './answer-body.js';
import { copyObject } from './copy-object.js';
import type { SigningCredentials } from './credentials.js';
import { installationId, keptId } from './installation-id.js';
import { checkOptions } from './minio-options.js';
import type { CheckedOptions, MinioOptions } from './minio-options.js';
import { BucketMissing } from './minio-refused.js';
import { hasBucket } from './reach-bucket.js';
import { S3Bucket } from './s3-bucket.js';
import { SignedAddresses } from './signed-addresses.js';
import { signingCredentials } from './signing-credentials.js';
import { writeObject } from './write-object.js';

/**
 * Objects in a bucket of an S3 server, MinIO or another; `setUpBucket` makes the bucket. Every wait for the server is
 * bounded by `timeoutMs`, and there are no retries: a failure is `StoreUnavailable` immediately. A write holds 5 MiB in
 * memory. The etag is the server's. Servers over a file system refuse keys that file names cannot be: segments of more
 * than 255 characters, or (versitygw) a key under another key. Signed PUTs are for keys under `staging/`: if the server
 * lets clients do more than was signed, as MinIO does, they are signed with keys that may put objects only there.
 */
export class MinioObjectStore implements ObjectStore {
  private readonly s3: S3Bucket;
  private readonly addresses: SignedAddresses;
  private chosen: Promise<SigningCredentials> | undefined;

  private constructor(
    private readonly options: CheckedOptions,
    private readonly clock: Pick<Clock, 'now'>,
  ) {
    this.s3 = new S3Bucket(options);
    this.addresses = new SignedAddresses(options, clock, () => this.credentials());
  }

  /**
   * Finds out what addresses are to be signed with, which puts objects under `staging/` and removes them. Throws
   * `MinioRefused` when the bucket cannot be used so, or no address of it would be safe, and `StoreUnavailable` when
   * the server cannot be reached.
   */
  static async open(options: MinioOptions & { readonly clock: Pick<Clock, 'now'> }): Promise<MinioObjectStore> {
    const store = await MinioObjectStore.lookAt(options);
    await store.credentials();
    return store;
  }

  /** Checks that the bucket exists, without writing. Throws as `open` does. */
  static async lookAt(options: MinioOptions & { readonly clock: Pick<Clock, 'now'> }): Promise<MinioObjectStore> {
    const store = MinioObjectStore.unasked(options);
    if (!(await hasBucket(store.s3))) throw new BucketMissing(store.s3.where);
    return store;
  }

  /**
   * Opens without calling the server before it is needed, for work that must continue while it is unavailable. Throws
   * `MinioRefused` for options that cannot work.
   */
  static unasked(options: MinioOptions & { readonly clock: Pick<Clock, 'now'> }): MinioObjectStore {
    return new MinioObjectStore(checkOptions(options), options.clock);
  }

  /** A random id that the bucket stores from the first call on. */
  async installationId(): Promise<string> {
    return installationId(this.s3);
  }

  /** The same id if the bucket has one, for callers that must not write. */
  async keptInstallationId(): Promise<string | undefined> {
    return keptId(this.s3);
  }

  async signPut(target: Parameters<ObjectStore['signPut']>[0]): Promise<SignedRequest> {
    return this.addresses.put(target);
  }

  async signGet(target: Parameters<ObjectStore['signGet']>[0]): Promise<SignedRequest> {
    return this.addresses.get(target);
  }

  async stat(key: string): Promise<ObjectFacts | null> {
    assertObjectKey(key);
    const found = await this.s3.callOr({ NotFound: null, NoSuchKey: null }, async (client) =>
      client.statObject(this.s3.name, key),
    );
    if (found !== null) return { byteSize: found.size, etag: found.etag };
    // An answer to HEAD has no body to say which of the two is missing.
    if (!(await this.s3.call(async (client) => client.bucketExists(this.s3.name))))
      throw this.s3.unavailable('NoSuchBucket');
    return null;
  }

  /** The bytes at the time of the call. Read them to their end or leave the loop. */
  async read(
    key: string,
    range?: { readonly from: number; readonly to: number },
  ): Promise<AsyncIterable<Uint8Array> | null> {
    assertObjectKey(key);
    if (range !== undefined && range.to <= range.from) return (await this.stat(key)) === null ? null : nothing();
    const part = range === undefined ? {} : { headers: { Range: `bytes=${range.from}-${range.to - 1}` }, expects: 206 };
    const answer = await this.s3.send(
      { method: 'GET', key, ...part },
      { NoSuchKey: 'missing', InvalidRange: 'past-end' },
    );
    if (answer === 'missing') return null;
    return answer === 'past-end' ? nothing() : bytesOf(this.s3, answer);
  }

  /** One request up to 5 MiB, an upload in parts above. */
  async write(
    key: string,
    bytes: AsyncIterable<Uint8Array>,
    limit: { readonly mediaType: string; readonly maxBytes: number },
  ): Promise<{ readonly byteSize: number; readonly sha256: string } | 'too-large'> {
    assertObjectKey(key);
    return writeObject(this.s3, key, bytes, limit);
  }

  async copy(from: string, to: string, ifEtag: string): Promise<'copied' | 'changed' | 'missing' | 'exists'> {
    assertObjectKey(from);
    assertObjectKey(to);
    return copyObject(this.s3, from, to, ifEtag);
  }

  async remove(key: string): Promise<void> {
    assertObjectKey(key);
    await this.s3.callOr({ NoSuchKey: undefined }, async (client) => client.removeObject(this.s3.name, key));
  }

  /** Decided once, by probing what the server allows clients; a failed probe is repeated. */
  private credentials(): Promise<SigningCredentials> {
    this.chosen ??= signingCredentials(this.s3, this.options, this.clock).catch((error: unknown) => {
      this.chosen = undefined;
      throw error;
    });
    return this.chosen;
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
