import { parse, stringify } from 'yaml';
import { parseCatalog } from '../../adapters/catalog-file/file-catalog.js';
import { AjvJsonSchemas } from '../../adapters/system/ajv-json-schemas.js';
import { checkSchema } from '../../adapters/system/check-schema.js';
import type { JsonObject } from '../../core/json.js';

/** Keys that the release before does not know; without them the file means the same. */
const NEW_KEYS = new Set(['prompt', 'max_prompt_characters', 'required_roles', 'on_other_size', 'examples', 'test']);

/** A catalog with each default written out, so that a test can replace any of its values, and the release before can read it. */
export function fullCatalog(shipped: string): string {
  const catalog = parseCatalog(shipped, 'catalog.yaml', { jsonSchemas: new AjvJsonSchemas(), checkSchema });
  const { models, ...file } = parse(catalog.explained()) as { readonly models: readonly JsonObject[] };
  return stringify({ ...file, models: models.map(inKnownKeys) }, { lineWidth: 0 });
}

/** There a price has a maximum in any case. */
function inKnownKeys({ price, ...model }: JsonObject): JsonObject {
  const known = Object.entries(model).filter(([key]) => !NEW_KEYS.has(key));
  return { ...Object.fromEntries(known), price: { maximum_credits: MAXIMUM_CREDITS, ...(price as JsonObject) } };
}

/** Above what any generation of the shipped models costs. */
const MAXIMUM_CREDITS = 1_000;
