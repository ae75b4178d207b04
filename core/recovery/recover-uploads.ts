import type { Context } from '../context.js';
import type { UploadRecord } from '../uploads/upload.js';

export interface UploadsRecovered {
  removed: number;
  failed: number;
}

/** Removes uploads past retention, with their bytes. One pass takes at most `recoveryBatch`. */
export async function recoverUploads(context: Context): Promise<UploadsRecovered> {
  const done: UploadsRecovered = { removed: 0, failed: 0 };
  for (const record of await context.uploads.due(context.clock.now(), context.settings.recoveryBatch)) {
    try {
      await removeUpload(context, record);
      done.removed += 1;
    } catch (error) {
      done.failed += 1;
      context.log.warn('upload not removed', { uploadId: record.uploadId, error });
    }
  }
  return done;
}

/**
 * The record goes first, and only if nobody used the upload meanwhile: bytes that a generation refers to must stay. What a
 * crash leaves in between is bytes without a record, which nobody can reach.
 */
async function removeUpload(context: Context, record: UploadRecord): Promise<void> {
  if ((await context.uploads.remove(record.uploadId, record.version)) === 'conflict' || record.kind === 'void') return;
  await context.objects.remove(record.stagingKey);
  if (record.objectKey !== undefined) await context.objects.remove(record.objectKey);
}
