import type { Context } from '../context.js';
import { StoreUnavailable } from '../errors.js';
import type { Upload, UploadRecord } from '../uploads/upload.js';

/** A removal that was cut, or found the store away, is tried again after this. */
const REMOVE_AGAIN_MS = 300_000;

export interface UploadsRecovered {
  removed: number;
  failed: number;
}

/**
 * Removes uploads past retention, with their bytes. One pass takes at most `recoveryBatch`, and ends at the first one that
 * an outage keeps, as the others would wait for it too, or once `goesOn` says no.
 */
export async function recoverUploads(context: Context, now: number, goesOn: () => boolean): Promise<UploadsRecovered> {
  const done: UploadsRecovered = { removed: 0, failed: 0 };
  for (const record of await context.uploads.due(now, context.settings.recoveryBatch)) {
    if (!goesOn()) break;
    try {
      await removeUpload(context, record);
      done.removed += 1;
    } catch (error) {
      done.failed += 1;
      context.log.warn('upload not removed', { uploadId: record.uploadId, error });
      if (error instanceof StoreUnavailable) break;
    }
  }
  return done;
}

/**
 * First it is marked, which succeeds only if nobody used it meanwhile: bytes that a generation refers to must stay. Then its
 * bytes go, then its record shrinks to what its key needs; a pass that is cut is done again by a later one.
 */
async function removeUpload(context: Context, record: UploadRecord): Promise<void> {
  const { uploads, objects, clock, settings } = context;
  if (record.kind !== 'upload') {
    await uploads.remove(record.uploadId, record.version);
    return;
  }
  const removing: Upload = { ...record, version: record.version + 1, status: 'removing', attentionAt: clock.now() + REMOVE_AGAIN_MS };
  if ((await uploads.replace(removing, record.version)) === 'conflict') return;
  await objects.remove(removing.stagingKey);
  for (const key of [...(removing.abandonedKeys ?? []), removing.objectKey]) if (key !== undefined) await objects.remove(key);
  const { uploadId, accountId, appId, createdAt, version } = removing;
  const attentionAt = Math.max(clock.now(), createdAt + settings.claimRetentionMs) + REMOVE_AGAIN_MS;
  await uploads.replace({ kind: 'expired', uploadId, accountId, appId, version: version + 1, createdAt, attentionAt }, version);
}
