import type { Caller } from '../access/credential.js';
import type { Files, Machine } from '../context.js';
import { busy, ServiceError } from '../errors.js';
import { fieldInvalid } from '../fields.js';
import { isUuid } from '../ids.js';
import type { Ports } from '../ports/ports.js';
import { isUnfinished, sweepAt, type Upload, withAttention } from './upload.js';

/** `prepared`: its bytes may be sent and it may be completed. `expired`: it was not completed in time. */
export const UPLOAD_STATES = ['prepared', 'ready', 'expired'] as const;
export type UploadState = (typeof UPLOAD_STATES)[number];

export interface SeenUpload {
  readonly upload: Upload;
  readonly state: UploadState;
}

/** The App's own upload, or null: unknown, another App's, and past its retention are the same to a client. */
export async function ownUpload(
  { uploads }: Files,
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
export async function getUpload(context: Files & Machine, caller: Caller, uploadId: string): Promise<SeenUpload> {
  const upload = isUuid(uploadId) ? await ownUpload(context, caller, uploadId.toLowerCase()) : null;
  if (upload === null || upload.status === 'removing') throw noUpload();
  if (upload.status === 'ready') return { upload, state: 'ready' };
  return { upload, state: isUnfinished(upload) && context.clock.now() <= upload.expiresAt ? 'prepared' : 'expired' };
}

function noUpload(): ServiceError {
  return new ServiceError('NOT_FOUND', 'The App has no upload with this id, or it is no longer kept.');
}

/** A removal that was interrupted, or found the store unavailable, is tried again after this. */
export const REMOVE_AGAIN_MS = 300_000;

/**
 * First it is marked, which succeeds only if no generation has used it meanwhile: bytes that a generation refers to
 * must stay. Then its bytes are removed, then its record is reduced to what its key needs. While its target may still be
 * written to, the record stays as it is marked, and a later pass of recovery removes what was sent meanwhile. Recovery
 * repeats an interrupted one.
 */
export async function removeUpload(
  { uploads, objects, clock, settings }: Files & Machine,
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

const MAX_TRIES = 10;

/** The id of an upload whose bytes are gone. */
export interface DeletedUpload {
  readonly uploadId: string;
}

/**
 * Removes the caller's own upload and its bytes, unless a create has used it. If a deletion and a create run at the
 * same time, the one that writes the upload first wins, and the other is refused. May be repeated.
 *
 * Throws NOT_FOUND as `getUpload` does, and CONFLICT for one that was used.
 */
export async function deleteUpload(context: Files & Machine, caller: Caller, uploadId: string): Promise<DeletedUpload> {
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
  throw busy('The upload is being changed by too many requests; try again.');
}

/** An upload that was marked as used within this time needs no new mark, in milliseconds. */
export const USE_MARKED_FOR_MS = 3_600_000;

/**
 * Marks uploads as used before anything is held for a generation that refers to them: then nobody can delete them, and
 * retention leaves them until well after the generation has run. One used within the last hour needs no new mark, and a
 * mark that another request set at the same time is as good as ours. Refuses with FIELD_INVALID for one that was deleted
 * meanwhile. Throws `StoreUnavailable`.
 */
export async function markUsed(
  context: Files & Machine,
  uploads: readonly Upload[],
): Promise<ServiceError | undefined> {
  for (const [index, upload] of uploads.entries()) {
    const refusal = await markOne(context, upload, index);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

async function markOne(
  { uploads, clock, settings }: Files & Machine,
  seen: Upload,
  index: number,
): Promise<ServiceError | undefined> {
  const now = clock.now();
  let upload = seen;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    if (upload.lastUsedAt !== undefined && now - upload.lastUsedAt < USE_MARKED_FOR_MS) return undefined;
    const used = withAttention({ ...upload, version: upload.version + 1, lastUsedAt: now }, settings);
    if ((await uploads.replace(used, upload.version)) === 'applied') return undefined;
    const record = await uploads.read(upload.uploadId);
    if (record?.kind !== 'upload' || record.status !== 'ready')
      return fieldInvalid(
        `/reference_upload_ids/${index}`,
        'reference_upload_ids must name completed uploads of this App.',
      );
    upload = record;
  }
  return busy('An upload is being changed by too many requests; try again.');
}

const STAGING_KEY = /^staging\/([^/]+)\//;

/**
 * Whether bytes sent to this key are still needed: the upload whose target it is exists and is not completed. For
 * object stores whose signed addresses we serve ourselves; the expiry of the address is checked separately.
 */
export async function takesBytes({ uploads }: Pick<Ports, 'uploads'>, key: string): Promise<boolean> {
  const uploadId = STAGING_KEY.exec(key)?.[1] ?? '';
  const record = isUuid(uploadId) ? await uploads.read(uploadId) : null;
  return record?.kind === 'upload' && record.stagingKey === key && isUnfinished(record);
}
