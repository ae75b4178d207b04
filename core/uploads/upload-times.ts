import type { Settings } from '../settings.js';
import type { Upload } from './upload.js';

type TimedUpload = Omit<Upload, 'dueAt'>;
type UploadSettings = Pick<Settings, 'uploadRetentionMs' | 'claimLeaseMs' | 'recoveryGraceMs'>;

/**
 * When the bytes at an upload's target are removed, completed or not: its target has expired by then, and no completion
 * that began before can still be under way.
 */
export function sweepAt({ expiresAt }: TimedUpload, settings: UploadSettings): number {
  return expiresAt + settings.claimLeaseMs + settings.recoveryGraceMs;
}

/** When the upload's retention is over. */
export function removalAt(
  { ready, lastUsedAt, createdAt }: TimedUpload,
  { uploadRetentionMs }: UploadSettings,
): number {
  if (!ready) return createdAt + uploadRetentionMs;
  return Math.max(ready.at + uploadRetentionMs, lastUsedAt === undefined ? 0 : lastUsedAt + 2 * uploadRetentionMs);
}

/** The upload, with the time at which recovery is to do something about it. */
export function withAttention(upload: TimedUpload, settings: UploadSettings): Upload {
  const removal = removalAt(upload, settings);
  return {
    ...upload,
    dueAt: upload.stagingRemovedAt === undefined ? Math.min(sweepAt(upload, settings), removal) : removal,
  };
}
