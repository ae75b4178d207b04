import type { LifecycleConfig } from 'minio';
import type { S3Bucket } from './s3-bucket.js';

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

/**
 * Sets the bucket's rules where there are none. An operator's rules are left unchanged: S3 replaces all rules together,
 * and a merge could lose some.
 */
export async function setLifecycle(s3: S3Bucket): Promise<readonly string[]> {
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
