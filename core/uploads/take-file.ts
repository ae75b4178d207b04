import type { Caller } from '../access/credential.js';
import { assert } from '../assert.js';
import type { Files, Machine, Models, Work } from '../context.js';
import { ServiceError } from '../errors.js';
import type { ReferenceRole } from '../generation/generation.js';
import { completeUpload } from './complete-upload.js';
import { deleteUpload } from './manage-uploads.js';
import { prepareUpload } from './prepare-upload.js';

/** A file that came with the request that uses it. */
export interface SentFile {
  readonly filename: string;
  /** As its first bytes say. */
  readonly mediaType: string;
  readonly byteSize: number;
  /** In lower-case hex. */
  readonly sha256: string;
  /** Reads the bytes from their beginning; may be called again. */
  readonly bytes: () => AsyncIterable<Uint8Array>;
}

/**
 * Makes an upload of a file that is already here, with the checks and the retention of any other. Returns its id. Throws
 * FIELD_INVALID, UPLOAD_FILE_TOO_LARGE, UPLOAD_TYPE_NOT_ALLOWED and QUEUE_FULL as preparing and completing an upload do. A
 * refused file is removed.
 */
export async function takeFile(
  context: Work & Files & Models & Machine,
  caller: Caller,
  { filename, mediaType, byteSize, sha256, bytes }: SentFile,
  role: ReferenceRole,
): Promise<string> {
  // Internal keys contain a space, which no client's key can.
  const newKey = (): string => `taken ${context.ids.uuid()}`;
  const body = { filename, media_type: mediaType, byte_size: byteSize, sha256, role };
  const { upload } = await prepareUpload(context, caller, newKey(), body);
  const { uploadId } = upload;
  const remove = () => deleteUpload(context, caller, uploadId).catch(() => undefined);
  try {
    const written = await context.objects.write(upload.stagingKey, bytes(), { mediaType, maxBytes: byteSize });
    assert(written !== 'too-large', 'a file is as long as it was before');
  } catch (error) {
    // It would count as unfinished until its target expires, and nobody else can finish it.
    await remove();
    throw error;
  }
  try {
    await completeUpload(context, caller, newKey(), uploadId, {});
  } catch (error) {
    // Nobody can send other bytes to it. Retention removes what this does not.
    if (error instanceof ServiceError) await remove();
    throw error;
  }
  return uploadId;
}
