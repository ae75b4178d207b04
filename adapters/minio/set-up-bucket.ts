import { setTimeout as sleep } from 'node:timers/promises';
import { StoreUnavailable } from '../../core/errors.js';
import { setLifecycle } from './bucket-lifecycle.js';
import { installationId } from './installation-id.js';
import { checkOptions } from './minio-options.js';
import type { MinioOptions } from './minio-options.js';
import { hasBucket, refused } from './reach-bucket.js';
import { removeAbandoned } from './remove-abandoned.js';
import { S3Bucket } from './s3-bucket.js';

const NOT_QUITE_MADE_MS = 500;

/**
 * Creates what `MinioObjectStore` needs: the bucket, its rules, its installation id; and removes the remains of dead
 * writes. Safe to repeat and to run in many processes concurrently; changes nothing that an operator set. Answers a
 * line for each thing it did. Throws `MinioRefused` and `StoreUnavailable`.
 */
export async function setUpBucket(options: MinioOptions): Promise<readonly string[]> {
  const s3 = new S3Bucket(checkOptions(options));
  try {
    const lines = [...(await makeBucket(s3)), ...(await setLifecycle(s3)), ...(await removeAbandoned(s3, Date.now()))];
    await installationId(s3);
    return lines;
  } catch (error) {
    throw refused(s3, error);
  }
}

async function makeBucket(s3: S3Bucket): Promise<readonly string[]> {
  if (await hasBucket(s3)) return [];
  const there = { BucketAlreadyOwnedByYou: 'there', OperationAborted: 'there' } as const;
  const made = await s3
    .callOr(there, async (client) => client.makeBucket(s3.name, s3.region))
    .catch((error: unknown) => thereAfterAll(s3, error));
  return made === 'there' ? [] : [`Made the ${s3.where}.`];
}

/**
 * When several processes create a bucket concurrently, versitygw answers some with 500, as the first has not completed
 * it yet.
 */
async function thereAfterAll(s3: S3Bucket, error: unknown): Promise<'there'> {
  if (!(error instanceof StoreUnavailable)) throw error;
  await sleep(NOT_QUITE_MADE_MS);
  if (await hasBucket(s3)) return 'there';
  throw error;
}
