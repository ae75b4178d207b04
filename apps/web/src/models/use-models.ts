import type { Model } from '../api-types.js';
import type { JsonObject } from '../api-types.js';
import { numberText } from '../format.js';
import { type Data, useData } from '../use-data.js';

/** A model of the catalog, with what the console shows of it besides. */
export interface ConsoleModel extends Model {
  /** Whether a request needs a prompt; with `none` the model does not use it. */
  readonly prompt_rule: 'required' | 'optional' | 'none';
  readonly max_prompt_characters: number;
  readonly examples: readonly {
    readonly title: string | null;
    readonly prompt: string | null;
    readonly parameters: JsonObject;
  }[];
  /** Whether it is for trying the service out. */
  readonly is_test: boolean;
  /** The median time to a result of recent generations, in milliseconds. */
  readonly usual_ms: number | null;
  /** A recent output of the account. */
  readonly sample: { readonly thumbnails: Readonly<Record<'320' | '640' | '1280', string>> } | null;
}

interface Answer {
  readonly models: readonly ConsoleModel[];
}

export function useModels(): Data<readonly ConsoleModel[]> {
  const { value, ...data } = useData<Answer>('/models');
  return { ...data, value: value?.models };
}

/** The price in the model's unit; that it depends on the request where there is no single one. */
export function priceText({ price, price_unit: unit }: Model, currency: string): string {
  if (price === undefined || unit === undefined) return 'Price depends on the request';
  return unit === 'task' ? `${numberText(price)} ${currency}` : `${numberText(price)} ${currency} per ${unit}`;
}
