import type { JsonObject, Model, Output } from '../api-types.js';
import { creditsText } from '../parts/parts.js';
import type { Thumbnails } from '../server-types.js';
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
  readonly sample: { readonly output: Output; readonly thumbnails: Thumbnails | null } | null;
}

export function useModels(): Data<readonly ConsoleModel[]> {
  const { value, ...data } = useData<{ readonly models: readonly ConsoleModel[] }>('/models');
  return { ...data, value: value?.models };
}

/** The price in the model's unit; that it depends on the request where there is no single one. */
export function priceText({ price, price_unit: unit }: Pick<Model, 'price' | 'price_unit'>): string {
  if (price === undefined || unit === undefined) return 'Price depends on the request';
  return `${creditsText(price)}${unit === 'task' ? '' : ` per ${unit}`}`;
}
