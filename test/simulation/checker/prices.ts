import type { Model } from '../../../core/catalog/model.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { demand } from './demand.js';
import { textOf } from '../../history/values.js';

/** A fraction of whole numbers, so that nothing is rounded before the end. */
interface Fraction {
  readonly over: bigint;
  readonly under: bigint;
}

const times = (a: Fraction, b: Fraction): Fraction => ({ over: a.over * b.over, under: a.under * b.under });
const plus = (a: Fraction, b: Fraction): Fraction => ({
  over: a.over * b.under + b.over * a.under,
  under: a.under * b.under,
});
const whole = (value: number | bigint): Fraction => ({ over: BigInt(value), under: 1n });

/** The parameters with the defaults of the model's schema, which are all at its top. */
export function withDefaults(model: Model, parameters: JsonObject): JsonObject {
  const properties = asObject(model.inputSchema['properties']);
  const missing = Object.entries(properties).filter(
    ([name, schema]) => parameters[name] === undefined && asObject(schema)['default'] !== undefined,
  );
  return {
    ...parameters,
    ...Object.fromEntries(missing.map(([name, schema]) => [name, asObject(schema)['default'] ?? null])),
  };
}

/** What models cost, worked out anew from their terms. */
export class Prices {
  private readonly models: ReadonlyMap<string, Model>;

  constructor(models: readonly Model[]) {
    this.models = new Map(models.map((model) => [model.modelKey, model]));
  }

  model(modelKey: string): Model {
    const model = this.models.get(modelKey);
    demand(model !== undefined, 3, () => `there is no model ${modelKey}, and something was made with it`);
    return model;
  }

  has(modelKey: unknown): modelKey is string {
    return typeof modelKey === 'string' && this.models.has(modelKey);
  }

  /** How many outputs are asked for; the parameters have their defaults. */
  wanted(modelKey: string, parameters: JsonObject): number {
    const { price, limits } = this.model(modelKey);
    const count = price.countParameter === undefined ? 1 : (parameters[price.countParameter] ?? 1);
    return Math.min(Number(count), limits.maxOutputs);
  }

  /** The price of so many delivered outputs; the parameters have their defaults. */
  of(modelKey: string, parameters: JsonObject, delivered: number): number {
    const count = Math.min(delivered, this.wanted(modelKey, parameters));
    return count === 0 ? 0 : creditsFor(this.model(modelKey), parameters, count);
  }

  /** What is reserved: the price when everything is delivered. */
  whole(modelKey: string, parameters: JsonObject): number {
    return this.of(modelKey, parameters, this.wanted(modelKey, parameters));
  }

  /** What a create or an estimate with this body would reserve, if the body can be read. */
  ofBody(body: JsonObject): number | undefined {
    const modelKey = body['model_key'];
    if (!this.has(modelKey)) return undefined;
    return this.whole(modelKey, withDefaults(this.model(modelKey), asObject(body['parameters'])));
  }
}

function creditsFor({ price }: Model, parameters: JsonObject, count: number): number {
  let millionths = times(whole(price.microcreditsPerUnit), units(price, parameters, count));
  for (const { parameter, thousandthsByValue } of price.multipliers) {
    const value = parameters[parameter];
    const name = typeof value === 'string' ? value : JSON.stringify(value ?? null);
    const factor = Object.entries(thousandthsByValue).find(([listed]) => listed === name)?.[1] ?? 1_000;
    millionths = times(millionths, { over: BigInt(factor), under: 1_000n });
  }
  const { over, under } = times(plus(millionths, whole(price.baseMicrocredits)), { over: 1n, under: 1_000_000n });
  const credits = Number(over / under + (over % under === 0n ? 0n : 1n));
  return Math.min(price.maximumCredits, Math.max(price.minimumCredits, credits));
}

function units(price: Model['price'], parameters: JsonObject, count: number): Fraction {
  switch (price.unit) {
    case 'task':
      return whole(1);
    case 'image':
    case 'video':
      return whole(count);
    case 'second':
      return whole(count * Math.ceil(Number(parameters[price.durationParameter ?? ''] ?? 1)));
    case 'megapixel': {
      const [width, height] = textOf(parameters[price.sizeParameter ?? ''] ?? '1000x1000').split('x');
      return { over: BigInt(width ?? 0) * BigInt(height ?? 0) * BigInt(count), under: 1_000_000n };
    }
  }
}

export function asObject(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}
