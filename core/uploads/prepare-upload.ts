import type { Caller } from '../access/credential.js';
import type { Model } from '../catalog/model.js';
import type { Files, Machine, Models, Work } from '../context.js';
import { orThrow, ServiceError } from '../errors.js';
import { checkBody, fieldInvalid } from '../fields.js';
import { REFERENCE_ROLES, type ReferenceRole } from '../generation/generation.js';
import { claim, type ClaimTarget, orFree, takenOver } from '../idempotency/claims.js';
import type { Json, JsonObject } from '../json.js';
import { IMAGE_TYPES } from '../media/media-types.js';
import type { SignedRequest } from '../ports/object-store.js';
import { roomRefusal, type Upload, type UploadRecord, withAttention } from './upload.js';

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
  context: Work & Files & Models & Machine,
  caller: Caller,
  idempotencyKey: string,
  body: Json,
): Promise<Prepared> {
  const request = orThrow(readPrepareRequest(context, body));
  const digest = context.digests.ofJson(request.content);
  const key = { accountId: caller.accountId, appId: caller.appId, operation: 'prepare' as const, key: idempotencyKey };

  // Read before the claim: of many concurrent prepares, none counts the others.
  const usage = context.uploads.usage(caller.accountId, caller.appId);
  usage.catch(() => undefined);
  const claimed = orThrow(await claim(context, { key, digest }, uploadTarget(context, caller)));
  if ('replayOf' in claimed) {
    const record = await context.uploads.read(claimed.replayOf);
    if (record?.kind !== 'upload' || record.status === 'removing' || context.clock.now() >= record.expiresAt)
      throw new ServiceError('IDEMPOTENCY_REPLAY_EXPIRED');
    return { upload: record, target: await signTarget(context, record), replayed: true };
  }
  const refusal = await orFree(
    context,
    claimed.mine,
    async () =>
      fileRefusal(context.catalog.models(), request) ?? roomRefusal(await usage, request.byteSize, context.settings),
  );
  if (refusal !== undefined) throw refusal;
  const upload = newUpload(context, caller, claimed.mine.subjectId, request);
  const outcome = await context.uploads.insert(upload);
  if (!outcome.inserted) throw takenOver();
  return { upload, target: await signTarget(context, upload), replayed: false };
}

function uploadTarget(context: Files & Machine, caller: Caller): ClaimTarget {
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

function newUpload(context: Machine, caller: Caller, uploadId: string, request: PrepareRequest): Upload {
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

function signTarget(context: Files, upload: Upload): Promise<SignedRequest> {
  return context.objects.signPut({
    key: upload.stagingKey,
    mediaType: upload.mediaType,
    byteSize: upload.byteSize,
    ...(upload.declaredSha256 === undefined ? {} : { sha256: upload.declaredSha256 }),
    expiresAt: upload.expiresAt,
  });
}

export const UPLOAD_MEDIA_TYPES = IMAGE_TYPES;

const SHA256 = { type: 'string', pattern: '^[0-9A-Fa-f]{64}$', description: 'SHA-256 of the file, in hex.' } as const;

/** The body of prepare. Allowed types and sizes are checked after the shape, with separate codes. */
export const PREPARE_REQUEST_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['filename', 'media_type', 'byte_size', 'role'],
  properties: {
    filename: {
      type: 'string',
      minLength: 1,
      maxLength: 255,
      pattern: '^[^\\u0000-\\u001f\\u007f/\\\\]+$',
      description: 'File name, without a path.',
    },
    media_type: {
      type: 'string',
      minLength: 1,
      maxLength: 128,
      description: `MIME type of the file: ${UPLOAD_MEDIA_TYPES.slice(0, -1).join(', ')} or ${UPLOAD_MEDIA_TYPES.at(-1)}.`,
    },
    byte_size: {
      type: 'integer',
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Size of the file in bytes.',
    },
    sha256: SHA256,
    role: {
      type: 'string',
      enum: [...REFERENCE_ROLES],
      description: 'Role of the file.',
    },
  },
} as const satisfies JsonObject;

export const COMPLETE_REQUEST_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  properties: { sha256: SHA256 },
} as const satisfies JsonObject;

const WORDING = {
  '/filename': 'filename must be 1 to 255 characters, without slashes, backslashes and control characters.',
  '/sha256': 'sha256 must be 64 hexadecimal digits.',
} as const;

export interface PrepareRequest {
  /** The body without null fields: what the digest under an idempotency key is of. */
  readonly content: JsonObject;
  readonly filename: string;
  readonly mediaType: string;
  readonly byteSize: number;
  readonly sha256?: string;
  readonly role: ReferenceRole;
}

interface PrepareBody {
  filename: string;
  media_type: string;
  byte_size: number;
  sha256?: string;
  role: ReferenceRole;
}

/** Refuses with FIELD_REQUIRED, FIELD_INVALID, UPLOAD_FILE_TOO_LARGE and UPLOAD_TYPE_NOT_ALLOWED, in that order. */
export function readPrepareRequest(
  { jsonSchemas, settings }: Pick<Machine, 'jsonSchemas' | 'settings'>,
  body: Json,
): PrepareRequest | ServiceError {
  const fields = checkBody<PrepareBody>({ jsonSchemas }, PREPARE_REQUEST_SCHEMA, body, WORDING);
  if (fields instanceof ServiceError) return fields;
  if (fields.byte_size > settings.maxUploadBytes) {
    return new ServiceError('UPLOAD_FILE_TOO_LARGE', `Files may have at most ${settings.maxUploadBytes} bytes.`, {
      pointer: '/byte_size',
    });
  }
  if (!UPLOAD_MEDIA_TYPES.some((type) => type === fields.media_type)) {
    return new ServiceError('UPLOAD_TYPE_NOT_ALLOWED', `media_type must be one of ${UPLOAD_MEDIA_TYPES.join(', ')}.`, {
      pointer: '/media_type',
    });
  }
  return {
    content: fields,
    filename: fields.filename,
    mediaType: fields.media_type,
    byteSize: fields.byte_size,
    ...(fields.sha256 === undefined ? {} : { sha256: fields.sha256.toLowerCase() }),
    role: fields.role,
  };
}

export interface CompleteRequest {
  /** The body without null fields. */
  readonly content: JsonObject;
  /** The checksum it declares, in lower case. */
  readonly sha256?: string;
}

/** Refuses with FIELD_INVALID. */
export function readCompleteRequest(ports: Pick<Machine, 'jsonSchemas'>, body: Json): CompleteRequest | ServiceError {
  const fields = checkBody<{ sha256?: string }>(ports, COMPLETE_REQUEST_SCHEMA, body, WORDING);
  if (fields instanceof ServiceError) return fields;
  return { content: fields, ...(fields.sha256 === undefined ? {} : { sha256: fields.sha256.toLowerCase() }) };
}

/**
 * Refuses a file that no model of the catalog could take. Role, type and size are checked in this order, each among the
 * models that passed the previous check, so that a remaining model takes all three. The codes are FIELD_INVALID (of the
 * role), UPLOAD_TYPE_NOT_ALLOWED and UPLOAD_FILE_TOO_LARGE.
 */
export function fileRefusal(
  models: readonly Model[],
  { role, mediaType, byteSize }: PrepareRequest,
): ServiceError | undefined {
  const limits = models.map((model) => model.limits).filter(({ maxReferenceUploads }) => maxReferenceUploads > 0);
  const ofRole = limits.filter(({ referenceRoles }) => referenceRoles.includes(role));
  if (ofRole.length === 0) {
    const roles = distinct(limits.flatMap(({ referenceRoles }) => referenceRoles));
    const message =
      roles.length === 0
        ? 'No model of the catalog takes reference files.'
        : `role must be one that a model of the catalog takes: ${roles.join(', ')}.`;
    return fieldInvalid('/role', message);
  }
  const ofType = ofRole.filter(({ uploadMediaTypes }) => uploadMediaTypes.includes(mediaType));
  if (ofType.length === 0) {
    const types = distinct(ofRole.flatMap(({ uploadMediaTypes }) => uploadMediaTypes));
    return new ServiceError(
      'UPLOAD_TYPE_NOT_ALLOWED',
      `media_type must be one that a model of the catalog takes as ${role}: ${types.join(', ')}.`,
      { pointer: '/media_type' },
    );
  }
  const maxBytes = Math.max(...ofType.map(({ maxUploadBytes }) => maxUploadBytes));
  if (byteSize > maxBytes) {
    return new ServiceError(
      'UPLOAD_FILE_TOO_LARGE',
      `No model of the catalog takes more than ${maxBytes} bytes of ${mediaType} as ${role}.`,
      { pointer: '/byte_size' },
    );
  }
  return undefined;
}

function distinct<T>(items: readonly T[]): readonly T[] {
  return [...new Set(items)];
}
