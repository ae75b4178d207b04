import { isObjectKey } from '../../core/objects/object-key.js';
import { abortUpload } from './multipart-upload.js';
import type { S3Bucket } from './s3-bucket.js';

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
  // The client takes a key of digits for a number; none of ours is one.
  const abandoned = (page?.uploads ?? []).filter(
    (upload) => Number.isNaN(Number(upload.key)) && isObjectKey(upload.key) && isAbandoned(upload),
  );
  for (const { key, uploadId } of abandoned) await abortUpload(s3, key, uploadId);
  return abandoned.length === 0 ? [] : [`Incomplete uploads removed from the ${s3.where}: ${abandoned.length}.`];
}
