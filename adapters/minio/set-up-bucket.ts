import type { LifecycleConfig } from 'minio';
import { setTimeout as sleep } from 'node:timers/promises';
import { StoreUnavailable } from '../../core/errors.js';
import { isObjectKey } from '../../core/object-keys.js';
import { abortUpload } from './minio-object-store.js';
import { checkOptions, type MinioOptions } from './minio-options.js';
import { hasBucket, installationId, refused } from './reach-bucket.js';
import { S3Bucket } from './s3-bucket.js';

const NOT_QUITE_MADE_MS = 500;

/**
 * Creates what `MinioObjectStore` needs: the bucket, its rules, its installation id; and removes the remains of dead
 * writes. Safe to repeat and to run in many processes concurrently; changes nothing that an operator set. Returns a
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

/**
 * Sets the bucket's rules where there are none. An operator's rules are left unchanged: S3 replaces all rules together,
 * and a merge could lose some.
 */
async function setLifecycle(s3: S3Bucket): Promise<readonly string[]> {
  const none = { ...UNTAKEN, NoSuchLifecycleConfiguration: null } as const;
  const found = await s3.callOr(none, async (client) => client.getBucketLifecycle(s3.name));
  if (found === 'untaken') return [untaken(s3)];
  if (found !== null)
    return isOurs(found)
      ? []
      : [`Left the rules of the ${s3.where} unchanged: add one that removes incomplete uploads after a day.`];
  if ((await set(s3, [ABANDONED, STAGED])) !== 'untaken')
    return [`Set rules on the ${s3.where}: incomplete uploads expire after a day, staged files after eight.`];
  if ((await set(s3, [STAGED])) !== 'untaken')
    return [
      `Set a rule on the ${s3.where}: staged files expire after eight days. It supports none for incomplete uploads.`,
    ];
  return [untaken(s3)];
}

const ABANDONED = {
  ID: 'darkroom-incomplete-uploads',
  Status: 'Enabled',
  Filter: { Prefix: '' },
  AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 },
} as const;

/**
 * A target is valid for at most seven days, and its bytes are of no use after that: a day later they can be removed.
 * Recovery removes them much earlier; this rule is for bytes that no record names any more, as after a restored backup.
 */
const STAGED = {
  ID: 'darkroom-staged-files',
  Status: 'Enabled',
  Filter: { Prefix: 'staging/' },
  Expiration: { Days: 8 },
} as const;

/** Servers without rules say the first two; an access key need not have the right to set them. */
const UNTAKEN = { NotImplemented: 'untaken', MethodNotAllowed: 'untaken', AccessDenied: 'untaken' } as const;
const REFUSED = { ...UNTAKEN, InvalidArgument: 'untaken', MalformedXML: 'untaken' } as const;

async function set(s3: S3Bucket, rules: readonly LifecycleConfig['Rule'][number][]): Promise<'set' | 'untaken'> {
  return s3.callOr(REFUSED, async (client) => {
    await client.setBucketLifecycle(s3.name, { Rule: [...rules] });
    return 'set' as const;
  });
}

function isOurs(found: LifecycleConfig): boolean {
  // A single rule is returned directly, not in an array.
  return [found.Rule].flat().some(({ ID }) => ID === ABANDONED.ID || ID === STAGED.ID);
}

function untaken(s3: S3Bucket): string {
  return `The ${s3.where} supports no such rules: run this command regularly; each run removes incomplete uploads.`;
}

/** No write takes so long: an upload in parts that began before belongs to a process that died. */
const ABANDONED_AFTER_MS = 24 * 60 * 60 * 1000;

/**
 * Removes the parts of abandoned uploads, for servers without a rule that does. Handles the first page that the server
 * lists, usually 1,000: the next run finds the rest. `now` is the machine's time, which must be near the server's for
 * signatures to be accepted at all.
 */
export async function removeAbandoned(s3: S3Bucket, now: number): Promise<readonly string[]> {
  const page = await s3.callOr({ NotImplemented: null, MethodNotAllowed: null, AccessDenied: null }, async (client) =>
    client.listIncompleteUploadsQuery(s3.name, '', '', '', ''),
  );
  const isAbandoned = ({ initiated }: { readonly initiated: Date }) => now - initiated.getTime() >= ABANDONED_AFTER_MS;
  // The client takes a key of digits for a number; our keys are not numbers.
  const abandoned = (page?.uploads ?? []).filter(
    (upload) => Number.isNaN(Number(upload.key)) && isObjectKey(upload.key) && isAbandoned(upload),
  );
  for (const { key, uploadId } of abandoned) await abortUpload(s3, key, uploadId);
  return abandoned.length === 0 ? [] : [`Incomplete uploads removed from the ${s3.where}: ${abandoned.length}.`];
}
