import { MinioObjectStore } from '../../../adapters/minio/minio-object-store.js';
import type { MinioOptions } from '../../../adapters/minio/minio-options.js';
import { setUpBucket } from '../../../adapters/minio/set-up-bucket.js';
import { s3Client } from '../../servers/readiness.js';

/** A store in its bucket, which is made when it is not there. */
export async function openIn(options: MinioOptions): Promise<MinioObjectStore> {
  await setUpBucket(options);
  return openStore(options);
}

export async function openStore(options: MinioOptions): Promise<MinioObjectStore> {
  return MinioObjectStore.open({ ...options, clock: { now: () => Date.now() } });
}

/** How many uploads in parts were begun under this key and not ended. */
export async function incompleteUploads(options: MinioOptions, key: string): Promise<number> {
  return (await s3Client(options).listIncompleteUploadsQuery(options.bucket, key, '', '', '')).uploads.length;
}

/** What a promise fails with, or what it ends with. */
export async function outcomeOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.catch((error: unknown) => error);
}
