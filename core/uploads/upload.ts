import { ServiceError } from '../errors.js';
import type { ReferenceRole } from '../generation/generation.js';
import type { Settings } from '../settings.js';

/** A reference file on its way in. */
export interface Upload {
  readonly kind: 'upload';
  readonly uploadId: string;
  readonly accountId: string;
  readonly appId: string;
  readonly version: number;
  /** `removing`: its retention is over, and its bytes are about to be removed; for clients it no longer exists. */
  readonly status: 'prepared' | 'ready' | 'removing';
  readonly filename: string;
  readonly mediaType: string;
  readonly byteSize: number;
  /** Lower-case hex, when the client declared it. */
  readonly declaredSha256?: string;
  readonly role: ReferenceRole;
  /** The object key that the signed PUT writes. Clients can write here until the target expires. */
  readonly stagingKey: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** The key to which checked bytes are being copied, or were. Only we can write to it. */
  readonly objectKey?: string;
  /** The keys of copies whose outcome is unknown: they may have been written later, and are removed with the upload. */
  readonly abandonedKeys?: readonly string[];
  /** Present once ready. */
  readonly ready?: {
    readonly mediaId: string;
    readonly sha256: string;
    readonly widthPx: number;
    readonly heightPx: number;
    /** The length of the picture, if other bytes follow it in the file. */
    readonly contentBytes?: number;
    /** Present where the picture has transparent areas. */
    readonly isMasked?: true;
    readonly at: number;
  };
  readonly lastUsedAt?: number;
  /**
   * When the bytes at the target were finally removed, after it had expired; since then the upload cannot be completed.
   */
  readonly stagingRemovedAt?: number;
  /** When recovery should remove its bytes at the target, or all of it. */
  readonly dueAt: number;
}

/**
 * The record at an upload's id if there is no upload. `void`: none can ever be created there, because a retry took the
 * id first. `expired`: an upload existed and its retention is over; the record prevents its idempotency key from
 * creating another.
 */
export interface UploadTombstone {
  readonly kind: 'void' | 'expired';
  readonly uploadId: string;
  readonly accountId: string;
  readonly appId: string;
  readonly version: number;
  readonly createdAt: number;
  readonly dueAt: number;
}

export type UploadRecord = Upload | UploadTombstone;

/** Whether it may still be completed according to its record; the expiry of its target is checked separately. */
export function isUnfinished({ status, stagingRemovedAt }: Upload): boolean {
  return status === 'prepared' && stagingRemovedAt === undefined;
}

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

/** The storage used by an App's uploads. */
export interface UploadUsage {
  readonly uploads: number;
  /** Uploads that may still be completed, or whose bytes have not been removed since their target expired. */
  readonly unfinished: number;
  /** Declared bytes of the unfinished uploads, and stored bytes of the others. */
  readonly bytes: number;
}

/** The usage that one record adds; null for the tombstone of an upload. */
export function usageOf(record: UploadRecord): { readonly unfinished: 0 | 1; readonly bytes: number } | null {
  if (record.kind !== 'upload') return null;
  const hasBytes = record.status !== 'prepared' || isUnfinished(record);
  return { unfinished: isUnfinished(record) ? 1 : 0, bytes: hasBytes ? record.byteSize : 0 };
}

/** The Retry-After for a client at a bound, in milliseconds: something may be removed every minute. */
const ROOM_RETRY_MS = 60_000;

/** QUEUE_FULL when an App that stores this much may not prepare an upload of `byteSize` more. */
export function roomRefusal(usage: UploadUsage, byteSize: number, settings: Settings): ServiceError | undefined {
  const { maxUnfinishedUploadsPerApp, maxStoredUploadsPerApp, maxStoredUploadBytesPerApp } = settings;
  if (usage.unfinished >= maxUnfinishedUploadsPerApp) {
    return full(
      'unfinished_uploads',
      `The App has ${usage.unfinished} unfinished uploads, and may have ${maxUnfinishedUploadsPerApp}; complete some, or wait until their targets have expired.`,
    );
  }
  if (usage.uploads >= maxStoredUploadsPerApp) {
    return full(
      'stored_uploads',
      `The App has ${usage.uploads} uploads, and may have ${maxStoredUploadsPerApp}; wait until the retention of some is over.`,
    );
  }
  if (usage.bytes + byteSize > maxStoredUploadBytesPerApp) {
    return full(
      'stored_upload_bytes',
      `The App's uploads have ${usage.bytes} bytes, and may have ${maxStoredUploadBytesPerApp}; wait until the retention of some is over.`,
    );
  }
  return undefined;
}

function full(bound: 'unfinished_uploads' | 'stored_uploads' | 'stored_upload_bytes', message: string): ServiceError {
  return new ServiceError('QUEUE_FULL', message, { retryAfterMs: ROOM_RETRY_MS, bound });
}
