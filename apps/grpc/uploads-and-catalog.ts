import type { MessageInitShape } from '@bufbuild/protobuf';
import { getModel } from '../../core/catalog/find-model.js';
import type { Model } from '../../core/catalog/model.js';
import { publicPrice } from '../../core/catalog/price.js';
import type { Files, Machine, Models, Work } from '../../core/context.js';
import type { JsonObject } from '../../core/json.js';
import { completeUpload } from '../../core/uploads/complete-upload.js';
import { deleteUpload, getUpload } from '../../core/uploads/manage-uploads.js';
import { prepareUpload } from '../../core/uploads/prepare-upload.js';
import { MODALITY, OPERATION, PRICE_UNIT, ROLE, timestamp, UPLOAD_STATE, wordOf } from './enums.js';
import { Catalog, type ModelSchema } from './generated/darkroom/v1/catalog_pb.js';
import { Modality } from './generated/darkroom/v1/media_pb.js';
import { type PrepareUploadRequest, Uploads } from './generated/darkroom/v1/uploads_pb.js';
import { acting, keyOf, open, type ServedMethod } from './method.js';

const { method } = Uploads;

export const UPLOAD_METHODS: readonly ServedMethod<Work & Files & Models & Machine>[] = [
  acting(method.prepareUpload, 'uploads:write', async ({ context, caller, request }) => {
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
  }),
  acting(method.getUpload, 'uploads:write', async ({ context, caller, request }) => {
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
      media: ready && {
        mediaId: ready.mediaId,
        sha256: ready.sha256,
        width: ready.widthPx,
        height: ready.heightPx,
      },
    };
  }),
  acting(method.deleteUpload, 'uploads:write', ({ context, caller, request }) =>
    deleteUpload(context, caller, request.uploadId),
  ),
  acting(method.completeUpload, 'uploads:write', async ({ context, caller, request }) => {
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
  }),
];

function bodyOf({ filename, mediaType, byteSize, sha256, role }: PrepareUploadRequest): JsonObject {
  const roleName = wordOf(ROLE, role);
  return {
    ...(filename === undefined ? {} : { filename }),
    ...(mediaType === undefined ? {} : { media_type: mediaType }),
    // Beyond 2^53 - 1 the number is no longer exact, but it is refused anyway.
    ...(byteSize === undefined ? {} : { byte_size: Number(byteSize) }),
    ...(sha256 === undefined ? {} : { sha256 }),
    ...(roleName === undefined ? {} : { role: roleName }),
  };
}

export const CATALOG_METHODS: readonly ServedMethod<Models>[] = [
  open(Catalog.method.listModels, ({ context }) =>
    Promise.resolve({ models: context.catalog.models().map(renderModel) }),
  ),
  open(Catalog.method.getModel, async ({ context, request }) => ({
    model: renderModel(getModel(context, request.modelKey)),
  })),
];

function renderModel({
  modelKey,
  displayName,
  modality,
  operations,
  inputSchema,
  description,
  limits,
  price,
  examples = [],
  isTest,
}: Model): MessageInitShape<typeof ModelSchema> {
  const shown = publicPrice(price);
  return {
    modelKey,
    displayName,
    modality: MODALITY[modality],
    operations: operations.map((operation) => OPERATION[operation]),
    inputSchema,
    description,
    limits: {
      maxReferenceUploads: limits.maxReferenceUploads,
      referenceRoles: limits.referenceRoles.map((role) => ROLE[role]),
      uploadMediaTypes: [...limits.uploadMediaTypes],
      maxUploadBytes: BigInt(limits.maxUploadBytes),
      maxOutputs: limits.maxOutputs,
      negativePrompt: limits.negativePrompt,
    },
    price: shown && { unit: PRICE_UNIT[price.unit], credits: shown.price },
    examples: examples.map(({ title, prompt, parameters = {} }) => ({ title, prompt, parameters })),
    isTest: isTest === true,
  };
}
