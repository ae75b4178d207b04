import type { Caller } from '../access/credential.js';
import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import { isUuid } from '../uuid.js';
import { isUnfinished, type Upload } from './upload.js';

/** `prepared`: its bytes may be sent and it may be completed. `expired`: it was not completed in time. */
export type UploadState = 'prepared' | 'ready' | 'expired';

export interface SeenUpload {
  readonly upload: Upload;
  readonly state: UploadState;
}

/** The App's own upload, or null: unknown, another App's, and past its retention are the same to a client. */
export async function ownUpload(
  { uploads }: Pick<Context, 'uploads'>,
  { accountId, appId }: Caller,
  uploadId: string,
): Promise<Upload | null> {
  const record = await uploads.read(uploadId);
  const isOwn = record?.accountId === accountId && record.appId === appId;
  return isOwn && record.kind === 'upload' ? record : null;
}

/**
 * The caller's own upload and what can be done with it now. Throws NOT_FOUND alike for an unknown id, a malformed one,
 * another App's upload and one past its retention.
 */
export async function getUpload(
  context: Pick<Context, 'uploads' | 'clock'>,
  caller: Caller,
  uploadId: string,
): Promise<SeenUpload> {
  const upload = isUuid(uploadId) ? await ownUpload(context, caller, uploadId.toLowerCase()) : null;
  if (upload === null || upload.status === 'removing') throw noUpload();
  if (upload.status === 'ready') return { upload, state: 'ready' };
  return { upload, state: isUnfinished(upload) && context.clock.now() <= upload.expiresAt ? 'prepared' : 'expired' };
}

export function noUpload(): ServiceError {
  return new ServiceError('NOT_FOUND', 'The App has no upload with this id, or it is no longer kept.');
}
