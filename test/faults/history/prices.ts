import type { Json, JsonObject } from '../../../core/json.js';

/**
 * The price of a request by the public catalog alone: so much an image, or a second of a video. Undefined where it does
 * not say.
 */
export function priceOf(models: readonly JsonObject[], body: JsonObject, delivered?: number): number | undefined {
  const model = models.find((candidate) => candidate['model_key'] === body['model_key']);
  const price = model?.['price'];
  if (!model || typeof price !== 'number') return undefined;
  const wanted = numberOf(parameterOf(model, body, 'n')) ?? 1;
  const count = Math.min(delivered ?? wanted, wanted);
  if (model['price_unit'] === 'image') return price * count;
  if (model['price_unit'] === 'second')
    return count === 0 ? 0 : price * (numberOf(parameterOf(model, body, 'duration_seconds')) ?? 1);
  return undefined;
}

/** A parameter of a request as it was sent, or the default that the public catalog shows for it. */
export function parameterIn(models: readonly JsonObject[], body: JsonObject, name: string): Json | undefined {
  const model = models.find((candidate) => candidate['model_key'] === body['model_key']);
  return model && parameterOf(model, body, name);
}

function parameterOf(model: JsonObject, body: JsonObject, name: string): Json | undefined {
  const schema = objectOf(objectOf(objectOf(model['input_schema'])['properties'])[name]);
  return objectOf(body['parameters'])[name] ?? schema['default'];
}

function numberOf(value: Json | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

export function objectOf(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}
