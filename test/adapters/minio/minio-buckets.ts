import { MinioObjectStore } from '../../../adapters/minio/minio-object-store.js';
import type { MinioOptions } from '../../../adapters/minio/minio-options.js';
import { setUpBucket } from '../../../adapters/minio/set-up-bucket.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { s3Client } from '../../servers/readiness.js';

/** A store in its bucket, which is made when it is not there. */
export async function openIn(options: MinioOptions): Promise<MinioObjectStore> {
  await setUpBucket(options);
  return openStore(options);
}

export async function openStore(options: MinioOptions): Promise<MinioObjectStore> {
  return MinioObjectStore.open({ ...options, clock: { now: () => Date.now() } });
}

/** The number of multipart uploads under this key that were started and neither completed nor aborted. */
export async function incompleteUploads(options: MinioOptions, key: string): Promise<number> {
  return (await s3Client(options).listIncompleteUploadsQuery(options.bucket, key, '', '', '')).uploads.length;
}

/**
 * Returns the result of the first attempt that has enough time. An attempt that ends as an outage is repeated with twice
 * the time, because a busy machine may need it. The suite's own timeout ends an outage that never stops.
 */
export async function withEnoughTime<T>(firstMs: number, attempt: (timeoutMs: number) => Promise<T>): Promise<T> {
  for (let timeoutMs = firstMs; ; timeoutMs *= 2) {
    try {
      return await attempt(timeoutMs);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
    }
  }
}

/** The error that a promise rejects with, or the value it resolves with. */
export async function outcomeOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.catch((error: unknown) => error);
}
