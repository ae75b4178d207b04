import { escapePointerToken, type Json, type JsonObject } from '../../core/json.js';
import type { JsonSchemas } from '../../core/ports/json-schemas.js';

/** A fault at a place in the file; the sentence continues after the name of the place. */
export interface PlaceFault {
  readonly pointer: string;
  readonly message: string;
  /** The pointer whose line is shown, where the fault is deeper than the place that the message names. */
  readonly lineAt?: string;
}

interface Subschema {
  readonly schema: JsonObject;
  readonly pointer: string;
  /** Whether it says by itself what a value may be; a condition only narrows what was said elsewhere. */
  readonly defines: boolean;
}

const DEFINING_ONE = new Set(['items']);
const DEFINING_MANY = new Set(['prefixItems', 'anyOf', 'oneOf']);
const DEFINING_NAMED = new Set(['properties', 'patternProperties', '$defs']);
const NARROWING_ONE = new Set([
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
  'additionalProperties',
  'unevaluatedItems',
  'unevaluatedProperties',
]);
const NARROWING_MANY = new Set(['allOf']);
const NARROWING_NAMED = new Set(['dependentSchemas']);

function* subschemas(schema: Json, pointer: string, defines: boolean): Generator<Subschema> {
  if (!isObject(schema)) return;
  yield { schema, pointer, defines };
  for (const [keyword, value] of Object.entries(schema)) {
    const at = `${pointer}/${keyword}`;
    const inner = defines && (DEFINING_ONE.has(keyword) || DEFINING_MANY.has(keyword) || DEFINING_NAMED.has(keyword));
    if (DEFINING_ONE.has(keyword) || NARROWING_ONE.has(keyword)) yield* subschemas(value, at, inner);
    else if ((DEFINING_MANY.has(keyword) || NARROWING_MANY.has(keyword)) && Array.isArray(value)) {
      for (const [index, item] of value.entries()) yield* subschemas(item, `${at}/${index}`, inner);
    } else if ((DEFINING_NAMED.has(keyword) || NARROWING_NAMED.has(keyword)) && isObject(value)) {
      for (const [name, item] of Object.entries(value))
        yield* subschemas(item, `${at}/${escapePointerToken(name)}`, inner);
    }
  }
}

/**
 * What an input schema must keep to beyond being a schema, so that nothing unforeseen reaches a provider: objects are
 * closed, texts are bounded, every value has a type, and nothing is fetched from elsewhere.
 */
export function inputSchemaFaults(schema: JsonObject, jsonSchemas: JsonSchemas): PlaceFault[] {
  const faults: PlaceFault[] = [];
  if (schema['type'] !== 'object') faults.push({ pointer: '/type', message: 'must be object' });
  for (const part of subschemas(schema, '', true)) {
    for (const keyword of ['$ref', '$dynamicRef']) {
      const target = part.schema[keyword];
      if (target !== undefined && !(typeof target === 'string' && target.startsWith('#'))) {
        faults.push({
          pointer: `${part.pointer}/${keyword}`,
          message: 'must refer to a place in the same schema, beginning with #',
        });
      }
    }
    if (part.defines) faults.push(...opennessFaults(part));
  }
  return faults.length > 0 ? faults : defaultFaults(schema, jsonSchemas);
}

function opennessFaults({ schema, pointer }: Subschema): PlaceFault[] {
  const faults: PlaceFault[] = [];
  const listed = schema['enum'] !== undefined || schema['const'] !== undefined;
  if (listed) return faults;
  const types = [schema['type'] ?? []].flat();
  if (types.includes('object') && schema['additionalProperties'] !== false) {
    faults.push({ pointer, message: 'must have additionalProperties: false' });
  }
  if (types.includes('string') && schema['pattern'] === undefined && schema['maxLength'] === undefined) {
    faults.push({ pointer, message: 'is a string and must have an enum, a const, a pattern or a maxLength' });
  }
  if (types.includes('array') && !isObject(schema['items']) && schema['items'] !== false) {
    faults.push({ pointer, message: 'is an array and must define its items' });
  }
  if (!isTyped(schema)) faults.push({ pointer, message: 'must have a type' });
  for (const [name, item] of Object.entries({
    ...asObject(schema['properties']),
    ...asObject(schema['patternProperties']),
  })) {
    if (item === true)
      faults.push({ pointer: `${pointer}/properties/${escapePointerToken(name)}`, message: 'must have a type' });
  }
  return faults;
}

function isTyped(schema: Json | undefined): boolean {
  if (!isObject(schema)) return schema === false;
  if (['type', 'enum', 'const', '$ref'].some((keyword) => schema[keyword] !== undefined)) return true;
  return ['anyOf', 'oneOf'].some((keyword) => Array.isArray(schema[keyword]) && schema[keyword].every(isTyped));
}

/** Defaults are checked in place, with the whole schema, so that references resolve. */
function defaultFaults(schema: JsonObject, jsonSchemas: JsonSchemas): PlaceFault[] {
  const faults: PlaceFault[] = [];
  const id = typeof schema['$id'] === 'string' ? schema['$id'] : 'input';
  for (const { schema: part, pointer } of subschemas(schema, '', true)) {
    const value = part['default'];
    if (value === undefined) continue;
    const alone: JsonObject = { $defs: { input: { ...schema, $id: id } }, $ref: `${id}#${encodeURI(pointer)}` };
    const [fault] = jsonSchemas.check(alone, value).faults;
    if (fault)
      faults.push({ pointer: `${pointer}/default`, message: `does not conform to its own schema: ${fault.message}` });
  }
  return faults;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function asObject(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}
