import { isObject, type Json, type JsonObject, memberOf, unescapePointerToken } from '../../core/json.js';
import { ImportRefused } from './proposal.js';

/** How deep references and schemas lead into each other, and how many values they may have once they are in place. */
const MAX_DEPTH = 48;
const MAX_NODES = 50_000;
/** So many characters of listed values and names count as one more value. */
const CHARACTERS_OF_A_NODE = 40;

const TYPES = ['string', 'integer', 'number', 'boolean', 'array', 'object', 'null'];

/** The keywords of a schema that are read, with the form of each value. Everything else that a document has is left out. */
const KEYWORDS: Readonly<Record<string, 'schema' | 'schemas' | 'named' | 'number' | 'text' | 'flag' | 'any'>> = {
  'items': 'schema',
  'anyOf': 'schemas',
  'oneOf': 'schemas',
  'allOf': 'schemas',
  'properties': 'named',
  'minimum': 'number',
  'maximum': 'number',
  'exclusiveMinimum': 'number',
  'exclusiveMaximum': 'number',
  'multipleOf': 'number',
  'minLength': 'number',
  'maxLength': 'number',
  'minItems': 'number',
  'maxItems': 'number',
  'default': 'any',
  'title': 'text',
  'description': 'text',
  'format': 'text',
  '_fal_ui_field': 'text',
  'deprecated': 'flag',
  'writeOnly': 'flag',
  'x-cog-secret': 'flag',
  'x-fal': 'any',
  'x-order': 'number',
  'x-fal-order-properties': 'any',
};

/** The keywords that say which values fit. */
const FITTING = new Set(
  [
    'type enum items anyOf oneOf allOf properties required additionalProperties minimum maximum exclusiveMinimum',
    'exclusiveMaximum multipleOf minLength maxLength minItems maxItems',
  ].flatMap((line) => line.split(' ')),
);

/** The mark of a reference that leads nowhere: any value fits there. */
export const MISSING = 'x-missing';

/**
 * Schemas of a vendor's document with their references in place. Only known keywords with values of their types are kept,
 * in the form of JSON Schema 2020-12; patterns are left out, as those of others may take forever. Throws `ImportRefused`
 * for a reference that leads out of the document or to itself, and for a schema that grows beyond all bounds.
 */
export class SchemaReader {
  #nodes = 0;

  constructor(private readonly document: Json) {}

  read(schema: Json | undefined, within: readonly string[] = [], depth = 0): JsonObject {
    this.#count(1, depth);
    if (!isObject(schema)) return {};
    const target = memberOf(schema, '$ref');
    if (typeof target === 'string') return this.#referred(target, schema, within, depth);
    const read: JsonObject = {};
    this.#readTypes(schema, read, depth);
    for (const [keyword, form] of Object.entries(KEYWORDS)) {
      const value = memberOf(schema, keyword);
      const kept = value === undefined ? undefined : this.#kept(value, form, within, depth);
      if (kept !== undefined) read[keyword] = kept;
    }
    readExclusive(schema, read);
    const required = memberOf(schema, 'required');
    if (Array.isArray(required)) {
      this.#countListed(required, depth);
      read['required'] = [...new Set(required.filter((name) => typeof name === 'string'))];
    }
    const further = memberOf(schema, 'additionalProperties');
    if (typeof further === 'boolean') read['additionalProperties'] = further;
    return memberOf(schema, 'nullable') === true ? orNull(read) : read;
  }

  /** Each use of a schema counts with all its values: a list of many that is referred to often costs as much as its copies. */
  #count(nodes: number, depth: number): void {
    this.#nodes += nodes;
    if (depth > MAX_DEPTH || this.#nodes > MAX_NODES)
      throw new ImportRefused('The schema is too large once its references are in place.');
  }

  #countListed(values: readonly Json[], depth: number): void {
    this.#count(values.length, depth);
    this.#count(Math.floor(JSON.stringify(values).length / CHARACTERS_OF_A_NODE), depth);
  }

  /** Other keywords beside a reference count too. */
  #referred(target: string, schema: JsonObject, within: readonly string[], depth: number): JsonObject {
    if (!target.startsWith('#'))
      throw new ImportRefused('The schema refers to another document, which is never fetched.');
    if (within.includes(target)) throw new ImportRefused('The schema refers to itself.');
    const { $ref: _, ...beside } = schema;
    const found = this.#at(target);
    const inPlace = found === undefined ? { [MISSING]: true } : this.read(found, [...within, target], depth + 1);
    return { ...inPlace, ...this.read(beside, within, depth + 1) };
  }

  #at(target: string): Json | undefined {
    let place: Json | undefined = this.document;
    for (const token of target.split('/').slice(1)) place = memberOf(place, unescapePointerToken(token));
    return place;
  }

  #readTypes(schema: JsonObject, read: JsonObject, depth: number): void {
    const types = [memberOf(schema, 'type') ?? []].flat().filter((type) => TYPES.includes(type as string));
    if (types.length > 0) read['type'] = types.length === 1 ? (types[0] as Json) : types;
    const listed = memberOf(schema, 'enum') ?? (Object.hasOwn(schema, 'const') ? [schema['const'] as Json] : undefined);
    if (!Array.isArray(listed) || listed.length === 0) return;
    this.#countListed(listed, depth);
    read['enum'] = distinct(listed);
  }

  #kept(value: Json, form: (typeof KEYWORDS)[string], within: readonly string[], depth: number): Json | undefined {
    if (form === 'schema') return isObject(value) ? this.read(value, within, depth + 1) : undefined;
    if (form === 'schemas') {
      if (!Array.isArray(value) || value.length === 0) return undefined;
      return value.map((item) => this.read(item, within, depth + 1));
    }
    if (form === 'named') {
      if (!isObject(value)) return undefined;
      // No field of a request can have that name.
      const members = Object.entries(value).filter(([name]) => name !== '__proto__');
      return Object.fromEntries(members.map(([name, item]) => [name, this.read(item, within, depth + 1)]));
    }
    if (form === 'any') return value;
    const type = form === 'number' ? 'number' : form === 'text' ? 'string' : 'boolean';
    return typeof value === type ? value : undefined;
  }
}

/** In OpenAPI 3.0 a flag makes the bound beside it exclusive. */
function readExclusive(schema: JsonObject, read: JsonObject): void {
  for (const [flag, bound] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    const value = read[bound];
    if (memberOf(schema, flag) !== true || value === undefined) continue;
    read[flag] = value;
    delete read[bound];
  }
}

/** In OpenAPI 3.0 a flag lets a value be null. */
function orNull(schema: JsonObject): JsonObject {
  const about = Object.entries(schema).filter(([keyword]) => !FITTING.has(keyword));
  const fitting = Object.entries(schema).filter(([keyword]) => FITTING.has(keyword));
  return { ...Object.fromEntries(about), anyOf: [Object.fromEntries(fitting), { type: 'null' }] };
}

function distinct(values: readonly Json[]): Json[] {
  const seen = new Map(values.map((value) => [JSON.stringify(value), value]));
  return [...seen.values()];
}

/** The same schema with only what says which values fit. */
export function fittingOnly(schema: JsonObject): JsonObject {
  const kept: JsonObject = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (!FITTING.has(keyword)) continue;
    if (keyword === 'properties')
      kept[keyword] = Object.fromEntries(
        Object.entries(value as JsonObject).map(([name, item]) => [name, fittingOnly(item as JsonObject)]),
      );
    else if (Array.isArray(value) && ['anyOf', 'oneOf', 'allOf'].includes(keyword))
      kept[keyword] = value.map((item) => fittingOnly(item as JsonObject));
    else kept[keyword] = keyword === 'items' ? fittingOnly(value as JsonObject) : value;
  }
  return kept;
}
