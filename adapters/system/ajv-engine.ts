import { Ajv2020 } from 'ajv/dist/2020.js';
import type { FuncKeywordDefinition, ValidateFunction } from 'ajv/dist/2020.js';
import type { Json, JsonObject } from '../../core/json.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The formats a schema may name. */
const FORMATS = { uuid: UUID };

export const FORMAT_NAMES: ReadonlySet<string> = new Set(Object.keys(FORMATS));

/**
 * In place of ajv's own, which compares every item with every other: a list of a thousand would cost thirty times a
 * plain request. Each item is written out once here, its members in one order.
 */
const UNIQUE_ITEMS: FuncKeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  errors: false,
  compile: (isWanted: boolean) => (items: Json[]) =>
    !isWanted || new Set(items.map((item) => JSON.stringify(item, inOneOrder))).size === items.length,
};

/** Of `JSON.stringify`: an object with its members in the order of their names. */
function inOneOrder(_: string, value: Json): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * All faults are gathered, because the first by document order is wanted; fronts bound how many members a request has.
 * `ownProperties` keeps names such as `constructor` from being found on a prototype. Lengths count code points and
 * patterns are Unicode patterns by ajv's own default.
 */
const OPTIONS = {
  allErrors: true,
  useDefaults: true,
  ownProperties: true,
  strictTypes: false,
  strictTuples: false,
  strictRequired: false,
  addUsedSchema: false,
  messages: false,
  logger: false,
  formats: FORMATS,
} as const;

/**
 * Compiles one schema with a separate engine, so that nothing outlives the schema and equal `$id`s do not clash. Throws
 * for a schema that cannot be compiled: unknown keywords and formats, unresolved references.
 */
export function compileSchema(schema: JsonObject): ValidateFunction {
  const engine = new Ajv2020({ ...OPTIONS, meta: false, validateSchema: false });
  return engine.removeKeyword('uniqueItems').addKeyword(UNIQUE_ITEMS).compile(schema);
}

let metaSchema: ValidateFunction | undefined;

/** The validator of the 2020-12 meta-schema, compiled when first asked for. */
export function metaSchemaValidator(): ValidateFunction {
  metaSchema ??= new Ajv2020({ ...OPTIONS, useDefaults: false }).getSchema(
    'https://json-schema.org/draft/2020-12/schema',
  );
  if (metaSchema === undefined) throw new Error('The JSON Schema 2020-12 meta-schema is missing.');
  return metaSchema;
}
