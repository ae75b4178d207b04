import { ServiceError } from '../errors.js';
import type { Settings } from '../settings.js';
import { isUnfinished, type UploadRecord } from './upload.js';

/** What an App's uploads take. */
export interface UploadUsage {
  readonly uploads: number;
  /** Those that may still be completed, or whose bytes have not been removed since their target expired. */
  readonly unfinished: number;
  /** Of the unfinished ones as many as they declared, of the others as many as are stored. */
  readonly bytes: number;
}

/** What one record adds to it; null for the tombstone of an upload. */
export function usageOf(record: UploadRecord): { readonly unfinished: 0 | 1; readonly bytes: number } | null {
  if (record.kind !== 'upload') return null;
  const hasBytes = record.status !== 'prepared' || isUnfinished(record);
  return { unfinished: isUnfinished(record) ? 1 : 0, bytes: hasBytes ? record.byteSize : 0 };
}

/** The Retry-After for a client at a bound, in milliseconds: something may be removed every minute. */
export const ROOM_RETRY_MS = 60_000;

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
