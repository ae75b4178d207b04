import type { Context } from '../context.js';
import { StoreUnavailable } from '../errors.js';
import { REMOVE_AGAIN_MS, removeUpload } from '../uploads/remove-upload.js';
import type { Upload, UploadRecord } from '../uploads/upload.js';
import { removalAt, sweepAt, withAttention } from '../uploads/upload-times.js';

export interface UploadsRecovered {
  /** Bytes at targets that have expired. */
  swept: number;
  removed: number;
  failed: number;
}

/**
 * Removes the bytes sent to targets that have expired, and uploads past retention with their bytes. One pass takes at
 * most `recoveryBatch`. It ends at the first upload that an outage prevents from being removed, as the others would
 * wait for the store too, or once `shouldContinue` returns false. A failed removal is postponed: bytes that cannot be
 * removed must not block all others in every pass.
 */
export async function recoverUploads(
  context: Context,
  now: number,
  shouldContinue: () => boolean,
): Promise<UploadsRecovered> {
  const done: UploadsRecovered = { swept: 0, removed: 0, failed: 0 };
  for (const record of await context.uploads.due(now, context.settings.recoveryBatch)) {
    if (!shouldContinue()) break;
    try {
      const outcome = await recoverUpload(context, record, now);
      if (outcome) done[outcome] += 1;
    } catch (error) {
      done.failed += 1;
      context.log.warn('upload not removed', { uploadId: record.uploadId, error });
      await postpone(context, record).catch(() => undefined);
      if (error instanceof StoreUnavailable) break;
    }
  }
  return done;
}

/** Does nothing where the step that failed had put it off before it began. */
async function postpone({ uploads, clock }: Context, record: UploadRecord): Promise<void> {
  await uploads.replace(
    { ...record, version: record.version + 1, dueAt: clock.now() + REMOVE_AGAIN_MS },
    record.version,
  );
}

async function recoverUpload(context: Context, record: UploadRecord, now: number): Promise<'swept' | 'removed' | null> {
  const { settings } = context;
  if (record.kind !== 'upload') {
    await context.uploads.remove(record.uploadId, record.version);
    return 'removed';
  }
  if (record.status === 'removing' || now >= removalAt(record, settings)) {
    await removeUpload(context, record);
    return 'removed';
  }
  if (record.stagingRemovedAt === undefined && now >= sweepAt(record, settings)) {
    await sweepStaging(context, record);
    return 'swept';
  }
  // Written under other settings: by those of today it is kept for longer.
  await context.uploads.replace(withAttention({ ...record, version: record.version + 1 }, settings), record.version);
  return null;
}

/**
 * Removes the bytes sent to the target, and every copy of them that did not become the upload. A completion so slow
 * that it is still running must not succeed without its bytes: the version is raised first, so its last write fails.
 */
async function sweepStaging(context: Context, record: Upload): Promise<void> {
  const { uploads, objects, clock, settings } = context;
  let swept = record;
  const copies = [...(record.abandonedKeys ?? [])];
  if (record.status === 'prepared' && record.objectKey !== undefined) {
    copies.push(record.objectKey);
    swept = { ...record, version: record.version + 1, dueAt: clock.now() + REMOVE_AGAIN_MS };
    if ((await uploads.replace(swept, record.version)) === 'conflict') return;
  }
  for (const key of [record.stagingKey, ...copies]) await objects.remove(key);
  await uploads.replace(
    withAttention({ ...swept, version: swept.version + 1, stagingRemovedAt: clock.now() }, settings),
    swept.version,
  );
}
