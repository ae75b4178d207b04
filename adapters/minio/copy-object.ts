import { MultipartUpload } from './multipart-upload.js';
import type { S3Bucket } from './s3-bucket.js';

/** Copies are read through signed addresses, which set the type; by any other way a browser displays nothing. */
const COPY_TYPE = 'application/octet-stream';

/**
 * Copies within the bucket. S3 servers ignore `If-None-Match` on CopyObject and honour it where an upload in parts is
 * completed: so the source becomes the only part of one, under its etag, and the completion requires that no object
 * exists at `to`. Both conditions are the server's. MinIO decides the second atomically: of many concurrent copies onto
 * one key one is `copied`. versitygw checks first and then renames: several may be `copied`, and the last one remains,
 * complete. Keys that are minted for one copy, as core's are, avoid that.
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
