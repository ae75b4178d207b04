import type { JsonObject } from '../../../core/json.js';
import { type PricedModel, withDefaults } from '../../history/prices.js';
import { asObject } from '../../history/values.js';

/**
 * A model by the public catalog alone: so much an image, or a second of a video. Undefined where the catalog does not
 * say.
 */
export function pricedModel(models: readonly JsonObject[], body: JsonObject): PricedModel | undefined {
  const model = modelOf(models, body);
  const price = model?.['price'];
  const unit = model?.['price_unit'];
  if (!model || typeof price !== 'number' || (unit !== 'image' && unit !== 'second')) return undefined;
  return {
    terms: {
      unit,
      microcreditsPerUnit: Math.round(price * 1_000_000),
      baseMicrocredits: 0,
      countParameter: 'n',
      durationParameter: 'duration_seconds',
      multipliers: [],
      minimumCredits: 0,
      maximumCredits: Infinity,
    },
    maxOutputs: Infinity,
    inputSchema: asObject(model['input_schema']),
  };
}

/** The parameters of a request as they were sent, with the defaults that the public catalog shows. */
export function parametersOf(models: readonly JsonObject[], body: JsonObject): JsonObject {
  const model = modelOf(models, body);
  return model ? withDefaults(asObject(model['input_schema']), asObject(body['parameters'])) : {};
}

function modelOf(models: readonly JsonObject[], body: JsonObject): JsonObject | undefined {
  return models.find((candidate) => candidate['model_key'] === body['model_key']);
}
