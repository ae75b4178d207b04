import type { Model } from '../../../core/catalog/model.js';
import { PRICE_UNITS, publicPrice } from '../../../core/catalog/price.js';
import type { JsonObject } from '../../../core/json.js';
import { MODALITY, OPERATION, record, ROLE } from './schema-parts.js';

export const MODEL_SCHEMA = record(
  'Model',
  {
    model_key: { type: 'string' },
    display_name: { type: 'string' },
    modality: MODALITY,
    operations: { type: 'array', minItems: 1, items: OPERATION },
    input_schema: { type: 'object', additionalProperties: true, description: 'JSON Schema 2020-12 of the parameters.' },
    description: { type: 'string' },
    limits: record('ModelLimits', {
      max_reference_uploads: { type: 'integer', minimum: 0 },
      reference_roles: { type: 'array', items: ROLE },
      upload_media_types: { type: 'array', items: { type: 'string' } },
      max_upload_bytes: { type: 'integer', minimum: 0 },
      max_outputs: { type: 'integer', minimum: 1 },
      negative_prompt: { type: 'boolean', description: 'Whether negative_prompt is supported.' },
    }),
    price_unit: { type: 'string', enum: Object.keys(PRICE_UNITS) },
    price: {
      type: 'number',
      minimum: 0,
      description: 'Credits for one price_unit. A missing price must not be guessed.',
    },
  },
  ['description', 'price_unit', 'price'],
);

export const CATALOG_SCHEMA = record('Catalog', { models: { type: 'array', items: MODEL_SCHEMA } });

export function renderCatalog(models: readonly Model[]): JsonObject {
  return { models: models.map(renderModel) };
}

export function renderModel(model: Model): JsonObject {
  const { limits } = model;
  const price = publicPrice(model.price);
  return {
    model_key: model.modelKey,
    display_name: model.displayName,
    modality: model.modality,
    operations: [...model.operations],
    input_schema: model.inputSchema,
    ...(model.description === undefined ? {} : { description: model.description }),
    limits: {
      max_reference_uploads: limits.maxReferenceUploads,
      reference_roles: [...limits.referenceRoles],
      upload_media_types: [...limits.uploadMediaTypes],
      max_upload_bytes: limits.maxUploadBytes,
      max_outputs: limits.maxOutputs,
      negative_prompt: limits.negativePrompt,
    },
    ...(price === undefined ? {} : { price_unit: price.priceUnit, price: price.price }),
  };
}
