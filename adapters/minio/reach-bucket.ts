import { StoreUnavailable } from '../../core/errors.js';
import { INSTALLATION_KEY } from './installation-id.js';
import { MinioRefused } from './minio-refused.js';
import type { S3Bucket } from './s3-bucket.js';
import { refusalCode } from './s3-bucket.js';

/** What an operator does about a code. */
const WAYS_OUT: Readonly<Record<string, string>> = {
  InvalidAccessKeyId: 'the store does not know the access key',
  XAdminUserNotFound: 'the store does not know the access key',
  SignatureDoesNotMatch: 'the secret key does not belong to the access key',
  AccessDenied: 'the access key must be allowed to read, write, remove and list',
  RequestTimeTooSkewed: 'the clocks of the two machines are too far apart',
  AuthorizationHeaderMalformed: 'the region is wrong',
};

/**
 * Checks that the bucket exists. Throws `MinioRefused` and `StoreUnavailable`. Reads an object, because an answer to
 * HEAD has no body with the reason.
 */
export async function hasBucket(s3: S3Bucket): Promise<boolean> {
  try {
    const answer = await s3.send({ method: 'GET', key: INSTALLATION_KEY }, { NoSuchKey: true, NoSuchBucket: false });
    if (typeof answer === 'boolean') return answer;
    answer.destroy();
    return true;
  } catch (error) {
    throw refused(s3, error);
  }
}

/** `MinioRefused` for what waiting does not mend, with the way out; everything else as it is. */
export function refused(s3: S3Bucket, error: unknown): unknown {
  const code = error instanceof StoreUnavailable ? refusalCode(error.cause) : undefined;
  if (code === undefined) return error;
  const wayOut = WAYS_OUT[code];
  return new MinioRefused(
    `The object store refuses ${s3.where} (${code})${wayOut === undefined ? '' : `: ${wayOut}`}.`,
    error,
  );
}
