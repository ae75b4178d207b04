import type { Model } from '../../../core/catalog/model.js';
import type { JsonObject } from '../../../core/json.js';
import { type PricedModel, priceOf, priceOfOutputs, wantedOutputs, withDefaults } from '../../history/prices.js';
import { asObject } from '../../history/values.js';
import { violation } from '../observed.js';

/**
 * The prices of models, by the terms of the operator's catalog. Parameters include their defaults, except those of a
 * body.
 */
export class Prices {
  private readonly models: ReadonlyMap<string, Model>;

  constructor(models: readonly Model[]) {
    this.models = new Map(models.map((model) => [model.modelKey, model]));
  }

  model(modelKey: string): Model {
    const model = this.models.get(modelKey);
    if (model === undefined) throw violation`3: there is no model ${modelKey}, and something was made with it`;
    return model;
  }

  has(modelKey: unknown): modelKey is string {
    return typeof modelKey === 'string' && this.models.has(modelKey);
  }

  wanted(modelKey: string, parameters: JsonObject): number {
    return wantedOutputs(this.priced(modelKey), parameters);
  }

  of(modelKey: string, parameters: JsonObject, delivered?: number): number {
    return priceOf(this.priced(modelKey), parameters, delivered);
  }

  ofOutputs(modelKey: string, parameters: JsonObject, outputs: Parameters<typeof priceOfOutputs>[2]): number {
    return priceOfOutputs(this.priced(modelKey), parameters, outputs);
  }

  /** The parameters of a request as its generation has them. */
  parametersIn(body: JsonObject, modelKey: string): JsonObject {
    return withDefaults(this.model(modelKey).inputSchema, asObject(body['parameters']));
  }

  /** The credits that a create or an estimate with this body would reserve, if the body can be read. */
  ofBody(body: JsonObject): number | undefined {
    const modelKey = body['model_key'];
    return this.has(modelKey) ? this.of(modelKey, this.parametersIn(body, modelKey)) : undefined;
  }

  private priced(modelKey: string): PricedModel {
    const { price, limits, inputSchema } = this.model(modelKey);
    return { terms: price, maxOutputs: limits.maxOutputs, inputSchema };
  }
}
