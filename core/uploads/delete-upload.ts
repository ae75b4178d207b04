import type { Caller } from '../access/credential.js';
import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import { isUuid } from '../uuid.js';
import { noUpload, ownUpload } from './get-upload.js';
import { removeUpload } from './remove-upload.js';

const MAX_TRIES = 10;

/** The id of an upload whose bytes are gone. */
export interface DeletedUpload {
  readonly uploadId: string;
}

/**
 * Removes the caller's own upload and its bytes, unless a create has used it. Of a deletion and a create at the same
 * time, the one that writes the upload first wins, and the other is refused. May be repeated.
 *
 * Throws NOT_FOUND as `getUpload` does, and CONFLICT for one that was used.
 */
export async function deleteUpload(context: Context, caller: Caller, uploadId: string): Promise<DeletedUpload> {
  const id = isUuid(uploadId) ? uploadId.toLowerCase() : undefined;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const upload = id === undefined ? null : await ownUpload(context, caller, id);
    if (upload === null) throw noUpload();
    if (upload.lastUsedAt !== undefined)
      throw new ServiceError(
        'CONFLICT',
        'A generation was created with this upload; it is removed after its retention.',
      );
    if ((await removeUpload(context, upload)) === 'conflict') continue;
    context.log.info('upload deleted', {
      uploadId: upload.uploadId,
      accountId: upload.accountId,
      credentialId: caller.credentialId,
    });
    return { uploadId: upload.uploadId };
  }
  throw new ServiceError('SERVICE_UNAVAILABLE', 'The upload is being changed by too many requests; try again.', {
    retryAfterMs: 1_000,
  });
}
