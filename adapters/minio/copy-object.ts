import { MultipartUpload } from './multipart-upload.js';
import type { S3Bucket } from './s3-bucket.js';

/**
 * Copies are read through signed addresses, which say the type; whoever finds another way in gets nothing a browser
 * shows.
 */
const COPY_TYPE = 'application/octet-stream';

/**
 * Copies within the bucket. S3 servers ignore `If-None-Match` on CopyObject and honour it where an upload in parts is
 * completed: so the source becomes the only part of one, under its etag, and the completion asks that nothing stand at
 * `to`. Both conditions are the server's. MinIO decides the second atomically: of many concurrent copies onto one key
 * one is `copied`. versitygw looks first and then renames: several may be, and the last one stands, whole. Keys that
 * are minted for one copy, as core's are, never meet that.
 */
export async function copyObject(
  s3: S3Bucket,
  from: string,
  to: string,
  ifEtag: string,
): Promise<'copied' | 'changed' | 'missing' | 'exists'> {
  const upload = await MultipartUpload.begin(s3, to, COPY_TYPE);
  let outcome: 'completed' | 'changed' | 'missing' | 'exists' | undefined;
  try {
    const added = await upload.addCopy(from, ifEtag);
    outcome = added === 'added' ? await upload.complete({ onlyIfNew: true }) : added;
  } finally {
    if (outcome !== 'completed') await upload.abandon();
  }
  return outcome === 'completed' ? 'copied' : outcome;
}
