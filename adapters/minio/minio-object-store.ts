import { createHash } from 'node:crypto';
import { assertObjectKey } from '../../core/object-keys.js';
import type { Clock } from '../../core/ports/machine.js';
import type { ObjectFacts, ObjectStore, SignedRequest } from '../../core/ports/object-store.js';
import {
  BucketMissing,
  type CheckedOptions,
  checkOptions,
  type MinioOptions,
  type SigningCredentials,
} from './minio-options.js';
import { hasBucket, installationId, keptId } from './reach-bucket.js';
import { bytesOf, S3Bucket, textOf } from './s3-bucket.js';
import { SignedAddresses } from './signed-addresses.js';
import { signingCredentials } from './signing-credentials.js';

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

  /**
   * Stores a stream of unknown length: in one request up to 5 MiB, in parts of 5 MiB above, one after the other. Holds
   * one part in memory. Sends no request before a part is full, and no object appears before the stream has ended.
   */
  async write(
    key: string,
    bytes: AsyncIterable<Uint8Array>,
    { mediaType, maxBytes }: { readonly mediaType: string; readonly maxBytes: number },
  ): Promise<{ readonly byteSize: number; readonly sha256: string } | 'too-large'> {
    assertObjectKey(key);
    const hash = createHash('sha256');
    const part = new PartBuffer();
    let byteSize = 0;
    let upload: MultipartUpload | undefined;
    try {
      for await (const chunk of bytes) {
        byteSize += chunk.byteLength;
        // This closes the source, which may be a download, before the upload is aborted.
        if (byteSize > maxBytes) break;
        hash.update(chunk);
        for (let rest = part.take(chunk); rest.byteLength > 0; rest = part.take(rest)) {
          upload ??= await MultipartUpload.begin(this.s3, key, mediaType);
          await upload.add(part.bytes());
          part.clear();
        }
      }
      if (byteSize > maxBytes) {
        await upload?.abandon();
        return 'too-large';
      }
      if (upload === undefined) {
        const headers = { 'Content-Type': mediaType };
        await textOf(this.s3, await this.s3.send({ method: 'PUT', key, headers, body: part.bytes() }, {}));
      } else {
        await upload.add(part.bytes());
        await upload.complete({ onlyIfNew: false });
      }
    } catch (error) {
      await upload?.abandon();
      throw error;
    }
    return { byteSize, sha256: hash.digest('hex') };
  }

  /**
   * Copies within the bucket. S3 servers ignore `If-None-Match` on CopyObject and honour it where an upload in parts is
   * completed: so the source becomes the only part of one, under its etag, and the completion requires that no object
   * exists at `to`. Both conditions are the server's. MinIO decides the second atomically: of many concurrent copies onto
   * one key one is `copied`. versitygw checks first and then renames: several may be `copied`, and the last one remains,
   * complete. Keys that are minted for one copy, as core's are, avoid that.
   */
  async copy(from: string, to: string, ifEtag: string): Promise<'copied' | 'changed' | 'missing' | 'exists'> {
    assertObjectKey(from);
    assertObjectKey(to);
    const upload = await MultipartUpload.begin(this.s3, to, COPY_TYPE);
    let outcome: 'completed' | 'changed' | 'missing' | 'exists' | undefined;
    try {
      const added = await upload.addCopy(from, ifEtag);
      outcome = added === 'added' ? await upload.complete({ onlyIfNew: true }) : added;
    } finally {
      if (outcome !== 'completed') await upload.abandon();
    }
    return outcome === 'completed' ? 'copied' : outcome;
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

/** The least that S3 takes as a part that is not the last. */
const PART_BYTES = 5 * 1024 * 1024;
const FIRST_BYTES = 64 * 1024;

/**
 * Gathers bytes up to one part. It grows by doubling, so that a small object takes little memory, and is used again for
 * the next part.
 */
class PartBuffer {
  private memory = Buffer.allocUnsafe(FIRST_BYTES);
  private used = 0;

  /** Takes what fits and returns the rest. */
  take(chunk: Uint8Array): Uint8Array {
    const taken = Math.min(chunk.byteLength, PART_BYTES - this.used);
    this.growTo(this.used + taken);
    this.memory.set(chunk.subarray(0, taken), this.used);
    this.used += taken;
    return chunk.subarray(taken);
  }

  /** The bytes taken since the last `clear`; valid until the next `take`. */
  bytes(): Buffer {
    return this.memory.subarray(0, this.used);
  }

  clear(): void {
    this.used = 0;
  }

  private growTo(byteCount: number): void {
    if (byteCount <= this.memory.byteLength) return;
    const grown = Buffer.allocUnsafe(Math.min(PART_BYTES, Math.max(byteCount, 2 * this.memory.byteLength)));
    this.memory.copy(grown, 0, 0, this.used);
    this.memory = grown;
  }
}

/** Copies are read through signed addresses, which set the type; by any other way a browser displays nothing. */
const COPY_TYPE = 'application/octet-stream';

/** An object being written. It appears complete when it is completed, or never. */
class MultipartUpload {
  private readonly etags: string[] = [];

  private constructor(
    private readonly s3: S3Bucket,
    private readonly key: string,
    private readonly uploadId: string,
  ) {}

  static async begin(s3: S3Bucket, key: string, mediaType: string): Promise<MultipartUpload> {
    const uploadId = await s3.call(async (client) =>
      client.initiateNewMultipartUpload(s3.name, key, { 'Content-Type': mediaType }),
    );
    return new MultipartUpload(s3, key, uploadId);
  }

  /** The next part. All but the last have at least 5 MiB, as S3 requires. */
  async add(part: Buffer): Promise<void> {
    const answer = await this.s3.send({ method: 'PUT', key: this.key, query: this.nextPart(), body: part }, {});
    await textOf(this.s3, answer);
    this.etags.push(answer.headers.etag ?? '');
  }

  /** The whole of another object, if it still has this etag, as the next part. The bytes do not pass through us. */
  async addCopy(from: string, ifEtag: string): Promise<'added' | 'missing' | 'changed'> {
    const headers = { 'x-amz-copy-source': `/${this.s3.name}/${from}`, 'x-amz-copy-source-if-match': `"${ifEtag}"` };
    const answer = await this.s3.send(
      { method: 'PUT', key: this.key, query: this.nextPart(), headers },
      { NoSuchKey: 'missing', PreconditionFailed: 'changed' },
    );
    if (typeof answer === 'string') return answer;
    const text = await textOf(this.s3, answer);
    const etag = /<ETag>(?:"|&#34;|&quot;)?([^<"&]+)/.exec(text)?.[1];
    if (etag === undefined) throw this.s3.unavailable(codeIn(text));
    this.etags.push(`"${etag}"`);
    return 'added';
  }

  /** Completes the parts into an object. `exists`: there is already an object at the key, and `onlyIfNew` was set. */
  async complete({ onlyIfNew }: { readonly onlyIfNew: boolean }): Promise<'completed' | 'exists'> {
    const parts = this.etags.map((etag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${etag}</ETag></Part>`);
    const answer = await this.s3.send(
      {
        method: 'POST',
        key: this.key,
        query: queryOf(this.uploadId),
        headers: onlyIfNew ? { 'If-None-Match': '*' } : {},
        body: `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join('')}</CompleteMultipartUpload>`,
      },
      { PreconditionFailed: 'exists' },
    );
    if (typeof answer === 'string') return answer;
    // A server may begin its answer with 200 before it knows how the completion ends.
    const text = await textOf(this.s3, answer);
    if (!text.includes('CompleteMultipartUploadResult')) throw this.s3.unavailable(codeIn(text));
    return 'completed';
  }

  /**
   * Aborts the upload. Never throws: parts that remain because the server is unavailable are removed when the bucket is
   * set up again, or by its rules.
   */
  async abandon(): Promise<void> {
    await abortUpload(this.s3, this.key, this.uploadId).catch(() => undefined);
  }

  private nextPart(): string {
    return `partNumber=${this.etags.length + 1}&${queryOf(this.uploadId)}`;
  }
}

/** Removes the parts of an upload; no error when it has ended. */
export async function abortUpload(s3: S3Bucket, key: string, uploadId: string): Promise<void> {
  const answer = await s3.send(
    { method: 'DELETE', key, query: queryOf(uploadId), expects: 204 },
    { NoSuchUpload: undefined },
  );
  if (answer !== undefined) await textOf(s3, answer);
}

function queryOf(uploadId: string): string {
  return `uploadId=${encodeURIComponent(uploadId)}`;
}

/** The code of an error that was sent with a success status. */
function codeIn(text: string): string {
  return /<Code>(\w+)</.exec(text)?.[1] ?? 'unknown';
}
