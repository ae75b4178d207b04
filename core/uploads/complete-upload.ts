import type { Caller } from '../access/credential.js';
import type { Files, Machine, Work } from '../context.js';
import { orThrow, ServiceError } from '../errors.js';
import { fieldInvalid } from '../fields.js';
import { claim, type ClaimTarget, finishClaim, isFinished, orFree, takenOver } from '../idempotency/claims.js';
import { isUuid } from '../ids.js';
import type { Json } from '../json.js';
import type { ObjectFacts, ObjectStore } from '../ports/object-store.js';
import { ownUpload } from './manage-uploads.js';
import { readCompleteRequest } from './prepare-upload.js';
import { isUnfinished, type Upload, withAttention } from './upload.js';

export interface Completed {
  readonly upload: Upload & { readonly ready: NonNullable<Upload['ready']> };
  readonly replayed: boolean;
}

const MAX_TRIES = 4;
/** Each is a completion that was interrupted during a copy, of an upload whose target lasts for minutes. */
const MAX_ABANDONED = 20;

/**
 * Copies the bytes sent to the target to a key that no client can write, checks the copy, and marks the upload ready
 * only if the copy matches what was declared. Completing a ready upload again gives the same answer. Throws, in this
 * order: FIELD_INVALID (of the body and of a malformed id), the three idempotency codes, FIELD_INVALID (no such upload
 * of this App), UPLOAD_URL_EXPIRED, FIELD_INVALID (of the bytes). A refusal frees the key, and until the target expires
 * other bytes may be sent.
 */
export async function completeUpload(
  context: Work & Files & Machine,
  caller: Caller,
  idempotencyKey: string,
  uploadId: string,
  body: Json,
): Promise<Completed> {
  const request = orThrow(readCompleteRequest(context, body));
  // An invalid id cannot be the subject of a claim either: some stores have no place for it.
  if (!isUuid(uploadId)) throw noSuchUpload();
  const id = uploadId.toLowerCase();
  const key = { accountId: caller.accountId, appId: caller.appId, operation: 'complete' as const, key: idempotencyKey };
  const digest = context.digests.ofJson({ upload_id: id, body: request.content });
  const target: ClaimTarget = {
    mint: () => id,
    // The upload may be ready under another key while this one's request is still to be refused.
    exists: (_, existing) => Promise.resolve(isFinished(existing)),
    // Completing twice has one effect, so a lapsed first try needs no undoing.
    preclude: () => Promise.resolve('precluded'),
  };
  const claimed = orThrow(await claim(context, { key, digest }, target));
  if ('replayOf' in claimed) return completed(await ownUpload(context, caller, id), true);
  const { mine } = claimed;
  const made = orThrow(await orFree(context, mine, () => makeReady(context, caller, id, request.sha256)));
  // A key that changed nothing is kept for its replays alone: an upload may be completed under any number of keys.
  const removeAt = made.isNew ? mine.removeAt : mine.createdAt + context.settings.replayWindowMs;
  if ((await finishClaim(context, mine, removeAt)) === 'taken-over') throw takenOver();
  return completed(made.upload, false);
}

async function makeReady(
  context: Files & Machine,
  caller: Caller,
  uploadId: string,
  sha256: string | undefined,
): Promise<{ readonly upload: Upload; readonly isNew: boolean } | ServiceError> {
  const { uploads, objects, ids, clock, settings } = context;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const upload = await ownUpload(context, caller, uploadId);
    if (!upload) return noSuchUpload();
    if (upload.status === 'ready')
      return sha256 === undefined || sha256 === upload.ready?.sha256 ? { upload, isNew: false } : otherDigest();
    if (!isUnfinished(upload) || clock.now() > upload.expiresAt) return new ServiceError('UPLOAD_URL_EXPIRED');

    const staged = await stagedFacts(context, upload);
    if (staged instanceof ServiceError) {
      // The bytes sent are removed once another request has completed the upload.
      if ((await ownUpload(context, caller, uploadId))?.version !== upload.version) continue;
      return staged;
    }
    // The key of the copy is recorded before the copy is made, so that a crash in between leaves no unrecorded bytes.
    const objectKey = `media/${uploadId}/${ids.uuid()}`;
    const copying: Upload = { ...withAbandoned(upload), version: upload.version + 1, objectKey };
    if ((await uploads.replace(copying, upload.version)) === 'conflict') continue;
    if (upload.objectKey !== undefined) await objects.remove(upload.objectKey);
    if ((await objects.copy(upload.stagingKey, objectKey, staged.etag)) !== 'copied') continue;

    // The copy is what is checked, because it cannot change between the check and its use.
    const inspected = await inspectCopy(context, upload, objectKey, sha256).catch((error: unknown) =>
      error instanceof ServiceError ? error : { error },
    );
    if ('error' in inspected || inspected instanceof ServiceError) {
      // The refusal or failure stands unless the upload changed meanwhile.
      if ((await dropCopy(context, copying, objectKey)) === 'conflict') continue;
      if ('error' in inspected) throw inspected.error;
      return inspected;
    }
    const now = clock.now();
    const ready = withAttention(
      {
        ...copying,
        version: copying.version + 1,
        status: 'ready',
        ready: { mediaId: ids.uuid(), ...inspected, at: now },
      },
      settings,
    );
    if ((await uploads.replace(ready, copying.version)) === 'conflict') {
      // Another request is completing it too, with its own copy.
      await objects.remove(objectKey);
      continue;
    }
    await objects
      .remove(upload.stagingKey)
      .catch((error: unknown) => context.log.warn('staged bytes not removed', { uploadId, error }));
    return { upload: ready, isNew: true };
  }
  return new ServiceError('IDEMPOTENCY_IN_PROGRESS', 'The upload is being changed by another request; try again.', {
    retryAfterMs: 1_000,
  });
}

/**
 * A recorded copy that is being replaced was interrupted, or belongs to another request that is about to lose: either
 * may still be written.
 */
function withAbandoned(upload: Upload): Upload {
  if (upload.objectKey === undefined) return upload;
  return { ...upload, abandonedKeys: [...(upload.abandonedKeys ?? []), upload.objectKey].slice(-MAX_ABANDONED) };
}

/** Removes the bytes and the record of a copy that is not used. */
async function dropCopy(
  { uploads, objects }: Files,
  copying: Upload,
  objectKey: string,
): Promise<'applied' | 'conflict'> {
  await objects.remove(objectKey);
  const { objectKey: _dropped, ...rest } = copying;
  return uploads.replace({ ...rest, version: copying.version + 1 }, copying.version);
}

function completed(upload: Upload | null, replayed: boolean): Completed {
  if (upload?.status !== 'ready' || !upload.ready) throw new ServiceError('IDEMPOTENCY_REPLAY_EXPIRED');
  return { upload: { ...upload, ready: upload.ready }, replayed };
}

function noSuchUpload(): ServiceError {
  return fieldInvalid('/upload_id', 'upload_id must be the id of a prepared upload of this App.');
}

/**
 * The object at the upload target now; FIELD_INVALID if there is none, or if its size differs from the declared one.
 */
async function stagedFacts({ objects }: Files, upload: Upload): Promise<ObjectFacts | ServiceError> {
  const facts = await objects.stat(upload.stagingKey);
  if (!facts) return badBytes('No bytes have been sent to the upload target yet.');
  return facts.byteSize === upload.byteSize ? facts : otherLength(upload, facts.byteSize);
}

type ReadRange = Parameters<ObjectStore['read']>[1];

type Inspected = Omit<NonNullable<Upload['ready']>, 'mediaId' | 'at'>;

/**
 * Looks at a copy of what was sent, which must not be able to change any more. Refuses with FIELD_INVALID when it is not
 * exactly what was declared: length, SHA-256 (at prepare and at completion), type by magic bytes, a header that decodes
 * within limits, the memory that decoding the rest would take among them.
 */
async function inspectCopy(
  context: Files & Machine,
  upload: Upload,
  objectKey: string,
  sha256: string | undefined,
): Promise<Inspected | ServiceError> {
  const { digests, mediaProbe, settings } = context;
  const digest = await digests.ofBytes(await open(context, objectKey));
  if (digest.byteSize !== upload.byteSize) return otherLength(upload, digest.byteSize);
  for (const declared of [upload.declaredSha256, sha256]) {
    if (declared !== undefined && declared !== digest.sha256) return otherDigest();
  }
  const file = {
    byteSize: upload.byteSize,
    read: async (range?: ReadRange) => open(context, objectKey, range),
  };
  const media = await mediaProbe.probe(file, {
    maxPixels: settings.maxUploadPixels,
    maxDecodeBytes: settings.maxUploadDecodeBytes,
    decode: 'header',
    findsTransparency: true,
    kind: 'image',
  });
  if ('invalid' in media) return badBytes(media.invalid);
  if (media.mediaType !== upload.mediaType)
    return badBytes(`The file must be ${upload.mediaType}, as was declared; it is ${media.mediaType}.`);
  const { widthPx, heightPx, contentBytes } = media;
  return {
    sha256: digest.sha256,
    widthPx,
    heightPx,
    ...(contentBytes < upload.byteSize ? { contentBytes } : {}),
    ...(media.kind === 'image' && media.isTransparent === true ? { isMasked: true } : {}),
  };
}

function otherDigest(): ServiceError {
  return fieldInvalid('/sha256', 'sha256 must be the SHA-256 of the bytes that were uploaded.');
}

function otherLength(upload: Upload, byteSize: number): ServiceError {
  return badBytes(`The file must have the ${upload.byteSize} bytes that were declared; it has ${byteSize}.`);
}

/** Throws the refusal, through the reader of the bytes. */
async function open({ objects }: Files, key: string, range?: ReadRange): Promise<AsyncIterable<Uint8Array>> {
  const bytes = await objects.read(key, range);
  if (!bytes) throw badBytes('Another request is completing this upload; complete it again.');
  return bytes;
}

function badBytes(message: string): ServiceError {
  return fieldInvalid('/upload_id', message);
}
