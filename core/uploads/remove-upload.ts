import type { Context } from '../context.js';
import type { Upload } from './upload.js';
import { sweepAt } from './upload-times.js';

/** A removal that was interrupted, or found the store unavailable, is tried again after this. */
export const REMOVE_AGAIN_MS = 300_000;

/**
 * First it is marked, which succeeds only if no generation has used it meanwhile: bytes that a generation refers to
 * must stay. Then its bytes are removed, then its record is reduced to what its key needs. While its target may still be
 * written to, the record stays as it is marked, and a later pass of recovery removes what was sent meanwhile. Recovery
 * repeats an interrupted one.
 */
export async function removeUpload(
  { uploads, objects, clock, settings }: Pick<Context, 'uploads' | 'objects' | 'clock' | 'settings'>,
  upload: Upload,
): Promise<'removed' | 'conflict'> {
  const marked: Upload = {
    ...upload,
    version: upload.version + 1,
    status: 'removing',
    dueAt: clock.now() + REMOVE_AGAIN_MS,
  };
  if ((await uploads.replace(marked, upload.version)) === 'conflict') return 'conflict';
  await objects.remove(marked.stagingKey);
  for (const key of [...(marked.abandonedKeys ?? []), marked.objectKey])
    if (key !== undefined) await objects.remove(key);
  const { uploadId, accountId, appId, createdAt } = marked;
  const version = marked.version + 1;
  const now = clock.now();
  const again = sweepAt(marked, settings);
  if (now < again) {
    await uploads.replace({ ...marked, version, dueAt: again }, marked.version);
    return 'removed';
  }
  const dueAt = Math.max(now, createdAt + settings.claimRetentionMs) + REMOVE_AGAIN_MS;
  await uploads.replace({ kind: 'expired', uploadId, accountId, appId, version, createdAt, dueAt }, marked.version);
  return 'removed';
}
