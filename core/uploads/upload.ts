import type { ReferenceRole } from '../generation/generation.js';

/** A reference file on its way in. */
export interface Upload {
  readonly kind: 'upload';
  readonly uploadId: string;
  readonly accountId: string;
  readonly appId: string;
  readonly version: number;
  /** `removing`: its retention is over, and its bytes are about to go; to clients it is not there any more. */
  readonly status: 'prepared' | 'ready' | 'removing';
  readonly filename: string;
  readonly mediaType: string;
  readonly byteSize: number;
  /** Lower-case hex, when the client declared it. */
  readonly declaredSha256?: string;
  readonly role: ReferenceRole;
  /** Where the signed PUT lands. Clients can write here until the target expires. */
  readonly stagingKey: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** Where checked bytes are being copied, or were. Nobody but us can write here. */
  readonly objectKey?: string;
  /** Where a copy was begun that nobody saw the end of: it may have come about later, and goes with the upload. */
  readonly abandonedKeys?: readonly string[];
  /** Present once ready. */
  readonly ready?: {
    readonly mediaId: string;
    readonly sha256: string;
    readonly widthPx: number;
    readonly heightPx: number;
    readonly at: number;
  };
  readonly lastUsedAt?: number;
  /** When the bytes at the target were removed for good, after it had expired; nothing can be completed since. */
  readonly stagingRemovedAt?: number;
  /** When recovery should remove its bytes at the target, or all of it. */
  readonly dueAt: number;
}

/**
 * What stands at an upload's id when no upload does. `void`: it can never come to be, because a retry took the id
 * first. `expired`: there was one and its retention is over; it keeps the key it was prepared under from making
 * another.
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

/** Whether it may still be completed, as far as its record says; the expiry of its target is looked at besides. */
export function isUnfinished({ status, stagingRemovedAt }: Upload): boolean {
  return status === 'prepared' && stagingRemovedAt === undefined;
}
