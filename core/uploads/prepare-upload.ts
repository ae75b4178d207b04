import type { Caller } from '../access/credential.js';
import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import { begun } from '../begun.js';
import type { Claim } from '../idempotency/claim.js';
import { claim, freeClaim, takenOver, type ClaimTarget } from '../idempotency/claims.js';
import type { Json } from '../json.js';
import type { SignedRequest } from '../ports/object-store.js';
import { readPrepareRequest, type PrepareRequest } from './request.js';
import type { Upload, UploadRecord } from './upload.js';
import { withAttention } from './upload-times.js';
import { requireUsable } from './usable.js';
import { requireRoom, type UploadUsage } from './usage.js';

export interface Prepared {
  readonly upload: Upload;
  readonly target: SignedRequest;
  readonly replayed: boolean;
}

/**
 * Prepares one upload and signs its target. A replay answers with the same upload and a target that expires at the same
 * time, whatever the catalog says then; once the target has expired there is no answer to replay. Throws, in this
 * order: FIELD_REQUIRED, FIELD_INVALID, UPLOAD_FILE_TOO_LARGE, UPLOAD_TYPE_NOT_ALLOWED (of the body and the
 * installation's limits), the three idempotency codes, for what no model takes FIELD_INVALID, UPLOAD_TYPE_NOT_ALLOWED
 * and UPLOAD_FILE_TOO_LARGE, and QUEUE_FULL for what the App has no room for. A refusal frees the key.
 */
export async function prepareUpload(
  context: Context,
  caller: Caller,
  idempotencyKey: string,
  body: Json,
): Promise<Prepared> {
  const request = readPrepareRequest(context, context.settings, body);
  const digest = context.digests.ofJson(request.content);
  const key = { accountId: caller.accountId, appId: caller.appId, operation: 'prepare' as const, key: idempotencyKey };

  const usage = begun(context.uploads.usage(caller.accountId, caller.appId));
  const claimed = await claim(context, context.settings, { key, digest }, uploadTarget(context, caller));
  if ('replayOf' in claimed) {
    const record = await context.uploads.read(claimed.replayOf);
    if (record?.kind !== 'upload' || record.status === 'removing' || context.clock.now() >= record.expiresAt)
      throw new ServiceError('IDEMPOTENCY_REPLAY_EXPIRED');
    return { upload: record, target: await signTarget(context, record), replayed: true };
  }
  await requireUsableOrFree(context, claimed.mine, request, usage);
  const upload = newUpload(context, caller, claimed.mine.subjectId, request);
  const outcome = await context.uploads.insert(upload);
  if (!outcome.inserted) throw takenOver();
  return { upload, target: await signTarget(context, upload), replayed: false };
}

/**
 * We may refuse only if the key was still ours. The usage was read before the claim: of many concurrent prepares, none
 * counts the others.
 */
async function requireUsableOrFree(
  context: Context,
  mine: Claim,
  request: PrepareRequest,
  usage: Promise<UploadUsage>,
): Promise<void> {
  try {
    requireUsable(context.catalog.models(), request);
    requireRoom(await usage, request.byteSize, context.settings);
  } catch (error) {
    if ((await freeClaim(context, mine)) === 'taken-over') throw takenOver();
    throw error;
  }
}

function uploadTarget(context: Context, caller: Caller): ClaimTarget {
  const isTaken = (record: UploadRecord | null) => record !== null && record.kind !== 'void';
  return {
    mint: () => context.ids.uuid(),
    exists: async (id) => isTaken(await context.uploads.read(id)),
    preclude: async (uploadId) => {
      const now = context.clock.now();
      const { accountId, appId } = caller;
      const dueAt = now + context.settings.claimRetentionMs;
      const outcome = await context.uploads.insert({
        kind: 'void',
        uploadId,
        accountId,
        appId,
        version: 1,
        createdAt: now,
        dueAt,
      });
      return !outcome.inserted && isTaken(outcome.existing) ? 'exists' : 'precluded';
    },
  };
}

function newUpload(context: Context, caller: Caller, uploadId: string, request: PrepareRequest): Upload {
  const now = context.clock.now();
  return withAttention(
    {
      kind: 'upload',
      uploadId,
      accountId: caller.accountId,
      appId: caller.appId,
      version: 1,
      status: 'prepared',
      filename: request.filename,
      mediaType: request.mediaType,
      byteSize: request.byteSize,
      ...(request.sha256 === undefined ? {} : { declaredSha256: request.sha256 }),
      role: request.role,
      stagingKey: `staging/${uploadId}/${context.ids.uuid()}`,
      createdAt: now,
      expiresAt: now + context.settings.uploadTargetMs,
    },
    context.settings,
  );
}

function signTarget(context: Context, upload: Upload): Promise<SignedRequest> {
  return context.objects.signPut({
    key: upload.stagingKey,
    mediaType: upload.mediaType,
    byteSize: upload.byteSize,
    ...(upload.declaredSha256 === undefined ? {} : { sha256: upload.declaredSha256 }),
    expiresAt: upload.expiresAt,
  });
}
