import type { MessageInitShape } from '@bufbuild/protobuf';
import { getModel } from '../../../core/catalog/get-model.js';
import { publicPrice } from '../../../core/catalog/price.js';
import type { Model } from '../../../core/catalog/model.js';
import { Catalog, type ModelSchema } from '../generated/darkroom/v1/catalog_pb.js';
import { plain } from '../method.js';
import { MODALITY, OPERATION, PRICE_UNIT, ROLE } from '../render/enums.js';

export const CATALOG_METHODS = [
  plain(Catalog.method.listModels, {
    answer: ({ context }) => Promise.resolve({ models: context.catalog.models().map(renderModel) }),
  }),
  plain(Catalog.method.getModel, {
    answer: async ({ context, request }) => ({ model: renderModel(getModel(context, request.modelKey)) }),
  }),
] as const;

function renderModel({
  modelKey,
  displayName,
  modality,
  operations,
  inputSchema,
  description,
  limits,
  price,
}: Model): MessageInitShape<typeof ModelSchema> {
  const shown = publicPrice(price);
  return {
    modelKey,
    displayName,
    modality: MODALITY[modality],
    operations: operations.map((operation) => OPERATION[operation]),
    inputSchema: inputSchema,
    ...(description === undefined ? {} : { description }),
    limits: {
      maxReferenceUploads: limits.maxReferenceUploads,
      referenceRoles: limits.referenceRoles.map((role) => ROLE[role]),
      uploadMediaTypes: [...limits.uploadMediaTypes],
      maxUploadBytes: BigInt(limits.maxUploadBytes),
      maxOutputs: limits.maxOutputs,
      negativePrompt: limits.negativePrompt,
    },
    ...(shown === undefined ? {} : { price: { unit: PRICE_UNIT[price.unit], credits: shown.price } }),
  };
}
