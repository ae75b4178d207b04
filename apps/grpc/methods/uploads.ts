import { completeUpload } from '../../../core/uploads/complete-upload.js';
import { deleteUpload } from '../../../core/uploads/delete-upload.js';
import { getUpload } from '../../../core/uploads/get-upload.js';
import { prepareUpload } from '../../../core/uploads/prepare-upload.js';
import type { JsonObject } from '../../../core/json.js';
import { Modality } from '../generated/darkroom/v1/media_pb.js';
import { Uploads, type PrepareUploadRequest } from '../generated/darkroom/v1/uploads_pb.js';
import { acting } from '../method.js';
import { keyOf } from '../idempotency-key.js';
import { ROLE, UPLOAD_STATE, wordOf } from '../render/enums.js';
import { timestamp } from '../render/times.js';

const { method } = Uploads;

export const UPLOAD_METHODS = [
  acting(method.prepareUpload, {
    scope: 'uploads:write',
    async answer({ context, caller, request }) {
      const { upload, target, replayed } = await prepareUpload(context, caller, keyOf(request), bodyOf(request));
      return {
        uploadId: upload.uploadId,
        uploadUrl: target.url,
        method: target.method,
        requiredHeaders: { ...target.headers },
        expireTime: timestamp(upload.expiresAt),
        mediaType: upload.mediaType,
        byteSize: BigInt(upload.byteSize),
        role: ROLE[upload.role],
        replayed,
      };
    },
  }),
  acting(method.getUpload, {
    scope: 'uploads:write',
    async answer({ context, caller, request }) {
      const { upload, state } = await getUpload(context, caller, request.uploadId);
      const { ready } = upload;
      return {
        uploadId: upload.uploadId,
        state: UPLOAD_STATE[state],
        filename: upload.filename,
        mediaType: upload.mediaType,
        byteSize: BigInt(upload.byteSize),
        role: ROLE[upload.role],
        createTime: timestamp(upload.createdAt),
        expireTime: timestamp(upload.expiresAt),
        ...(ready === undefined
          ? {}
          : {
              media: { mediaId: ready.mediaId, sha256: ready.sha256, width: ready.widthPx, height: ready.heightPx },
            }),
      };
    },
  }),
  acting(method.deleteUpload, {
    scope: 'uploads:write',
    answer: ({ context, caller, request }) => deleteUpload(context, caller, request.uploadId),
  }),
  acting(method.completeUpload, {
    scope: 'uploads:write',
    async answer({ context, caller, request }) {
      const body = request.sha256 === undefined ? {} : { sha256: request.sha256 };
      const { upload, replayed } = await completeUpload(context, caller, keyOf(request), request.uploadId, body);
      // Only images can be uploaded, so the kind is always the same.
      return {
        uploadId: upload.uploadId,
        mediaId: upload.ready.mediaId,
        modality: Modality.IMAGE,
        byteSize: BigInt(upload.byteSize),
        replayed,
      };
    },
  }),
] as const;

function bodyOf({ filename, mediaType, byteSize, sha256, role }: PrepareUploadRequest): JsonObject {
  const roleName = wordOf(ROLE, role);
  return {
    ...(filename === undefined ? {} : { filename }),
    ...(mediaType === undefined ? {} : { media_type: mediaType }),
    // Beyond 2^53 - 1 it is no longer exact, and refused all the same.
    ...(byteSize === undefined ? {} : { byte_size: Number(byteSize) }),
    ...(sha256 === undefined ? {} : { sha256 }),
    ...(roleName === undefined ? {} : { role: roleName }),
  };
}
