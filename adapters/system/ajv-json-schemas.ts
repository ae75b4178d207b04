import type { ErrorObject, FuncKeywordDefinition, ValidateFunction } from 'ajv/dist/2020.js';
import { type Json, type JsonObject, pathOf, tokensOf } from '../../core/json.js';
import type { Fault, JsonSchemas } from '../../core/ports/machine.js';
import { ajv } from '../lazy-packages.js';
import {
  comparePlaces,
  describeFault,
  DocumentOrder,
  essentialErrors,
  isRequired,
  memberAtFault,
  type Place,
} from './schema-faults.js';

/**
 * JSON Schema 2020-12 by ajv. Validators are kept as long as their schema object is reachable. `check` throws for a
 * schema that does not compile: see `checkSchema`, which says what is wrong with it.
 */
export class AjvJsonSchemas implements JsonSchemas {
  readonly #validators = new WeakMap<JsonObject, Validator>();

  check(
    schema: JsonObject,
    value: Json,
    under = '',
  ): { readonly faults: readonly Fault[]; readonly withDefaults: Json } {
    let validator = this.#validators.get(schema);
    if (validator === undefined) {
      const hasReferences = /"\$(?:dynamicRef|ref)":/.test(JSON.stringify(schema));
      validator = { validate: compileSchema(schema), hasReferences };
      this.#validators.set(schema, validator);
    }
    const { validate, hasReferences } = validator;
    let withDefaults: Json;
    try {
      withDefaults = copyJson(value);
    } catch (error) {
      if (!(error instanceof NestedTooDeep)) throw error;
      return {
        faults: [{ kind: 'invalid', pointer: under, field: pathOf(tokensOf(under, {})), message: error.message }],
        withDefaults: value,
      };
    }
    if (validate(withDefaults)) return { faults: NO_FAULTS, withDefaults };
    return { faults: orderedFaults(validate.errors ?? [], value, { under, hasReferences }), withDefaults };
  }
}

/**
 * Maps Ajv's errors to our faults, in the order a client should read them: missing fields, then the rest in document
 * order; `under` is the position of the value in the request. There may be one error per member of the value, but a
 * client receives only the first fault, so only a few errors of each rule are sorted, including the very first one.
 */
export function orderedFaults(
  errors: readonly ErrorObject[],
  value: Json,
  { under = '', hasReferences = true } = {},
): readonly Fault[] {
  const order = new DocumentOrder(value);
  const placed = (error: ErrorObject): PlacedError => ({
    error,
    isRequired: isRequired(error),
    place: order.placeOf(error.instancePath, memberAtFault(error)),
  });
  const ordered = essentialErrors(firstOfEachRule(errors))
    .map(placed)
    .toSorted(compareErrors)
    .map(({ error }) => error);
  const isCut = hasReferences && errors.length > MAX_ERRORS_OF_A_RULE;
  const first = isCut
    ? essentialErrors(errors)
        .map(placed)
        .reduce((least, next) => (compareErrors(next, least) < 0 ? next : least)).error
    : ordered[0];
  if (first === undefined) return NO_FAULTS;
  return [first, ...ordered.filter((error) => error !== first)].map((error) => describeFault(error, value, under));
}

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

/** Replacer for `JSON.stringify`: returns an object with its members sorted by name. */
function inOneOrder(_: string, value: Json): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * All errors are collected, because the first one in document order is needed; fronts limit the number of members in
 * a request. `ownProperties` keeps names such as `constructor` from being found on a prototype. Lengths count code
 * points and patterns are Unicode patterns by ajv's own default.
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
  const engine = new (ajv().Ajv2020)({ ...OPTIONS, meta: false, validateSchema: false });
  return engine.removeKeyword('uniqueItems').addKeyword(UNIQUE_ITEMS).compile(schema);
}

const DRAFT = 'https://json-schema.org/draft/2020-12';
/** The vocabularies of its meta-schema. */
const VOCABULARIES = ['core', 'applicator', 'unevaluated', 'validation', 'meta-data', 'format-annotation', 'content'];

interface MetaSchema {
  readonly validate: ValidateFunction;
  /** The schema of each keyword. */
  readonly keywords: ReadonlyMap<string, Json>;
}

let compiled: MetaSchema | undefined;

/** The meta-schema, compiled when first asked for. */
export function metaSchema(): MetaSchema {
  if (compiled === undefined) {
    const engine = new (ajv().Ajv2020)({ ...OPTIONS, useDefaults: false });
    const validate = engine.getSchema(`${DRAFT}/schema`);
    if (validate === undefined) throw new Error('The JSON Schema 2020-12 meta-schema is missing.');
    // The vocabularies are only read here, so they are not compiled one by one.
    const keywords = VOCABULARIES.flatMap((name) => {
      const { schema } = engine.schemas[`${DRAFT}/meta/${name}`] ?? {};
      return Object.entries((schema as JsonObject)['properties'] ?? {});
    });
    compiled = { validate, keywords: new Map(keywords) };
  }
  return compiled;
}

/** Deeper than any request or schema we take, and shallow enough for every recursive walk. */
const MAX_DEPTH = 128;

/** Thrown by `copyJson` for a value nested too deep to be walked safely. */
export class NestedTooDeep extends Error {
  constructor() {
    super(`the value must not be nested deeper than ${MAX_DEPTH} levels.`);
    this.name = 'NestedTooDeep';
  }
}

/**
 * Above so many members an object is filled without a prototype, which takes half as long: no shape is made for each
 * member added.
 */
const MANY_MEMBERS = 100;

/** A deep copy. An own member called `__proto__` stays an ordinary member and never becomes a prototype. */
export function copyJson(value: Json, depth = 0): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (depth === MAX_DEPTH) throw new NestedTooDeep();
  if (Array.isArray(value)) return value.map((item) => copyJson(item, depth + 1));
  const names = Object.keys(value);
  const isBare = names.length > MANY_MEMBERS || Object.hasOwn(value, '__proto__');
  const copy = (isBare ? Object.create(null) : {}) as JsonObject;
  for (const name of names) copy[name] = copyJson(value[name] as Json, depth + 1);
  return isBare ? (Object.setPrototypeOf(copy, Object.prototype) as JsonObject) : copy;
}

interface Validator {
  readonly validate: ValidateFunction;
  readonly hasReferences: boolean;
}

const NO_FAULTS: readonly Fault[] = [];

/**
 * The number of errors of one schema rule that are examined: for a list of thousands of wrong items the first few
 * suffice.
 */
const MAX_ERRORS_OF_A_RULE = 20;

/** One of ajv's errors, and its position in the value. */
interface PlacedError {
  readonly error: ErrorObject;
  readonly isRequired: boolean;
  readonly place: Place;
}

function compareErrors(one: PlacedError, other: PlacedError): number {
  return Number(other.isRequired) - Number(one.isRequired) || comparePlaces(one.place, other.place);
}

/**
 * Ajv applies one rule to members in document order, so the omitted errors come after the kept ones. A rule behind a
 * reference is the exception: several places of a schema use it, in the order of the schema.
 */
function firstOfEachRule(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  if (errors.length <= MAX_ERRORS_OF_A_RULE) return errors;
  const seen = new Map<string, number>();
  return errors.filter(({ schemaPath }) => {
    const count = (seen.get(schemaPath) ?? 0) + 1;
    seen.set(schemaPath, count);
    return count <= MAX_ERRORS_OF_A_RULE;
  });
}
