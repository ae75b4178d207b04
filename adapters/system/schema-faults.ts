import type { Ajv2020, ErrorObject } from 'ajv/dist/2020.js';
import { NOT_BLANK } from '../../core/fields.js';
import {
  escapePointerToken,
  type Json,
  type JsonObject,
  memberOf,
  pathOf,
  tokensOf,
  unescapePointerToken,
} from '../../core/json.js';
import type { Fault } from '../../core/ports/machine.js';
import { ajv } from '../lazy-packages.js';

/**
 * An error as a fault with a pointer to the field itself and a sentence for the client; `value` is at `under` in the
 * request.
 */
export function describeFault(error: ErrorObject, value: Json, under: string): Fault {
  const member = memberAtFault(error);
  const tokens = [
    ...tokensOf(under, {}),
    ...tokensOf(error.instancePath, value),
    ...(member === undefined ? [] : [member]),
  ];
  const pointer = under + error.instancePath + (member === undefined ? '' : `/${escapePointerToken(member)}`);
  const message = sentenceOf(error, pathOf(tokens, shownName) || 'the value');
  return { kind: isRequired(error) ? 'required' : 'invalid', pointer, field: pathOf(tokens), message };
}

function sentenceOf({ keyword, params }: ErrorObject, path: string): string {
  if (keyword === 'required') return `${path} is required.`;
  if (keyword === 'dependentRequired')
    return `${path} is required when ${String((params as Record<string, unknown>)['property'])} is given.`;
  if (keyword === 'propertyNames') return `${path} does not have an allowed name.`;
  if (MEMBER_PARAMS[keyword] !== undefined) return `unknown field "${path}".`;
  return `${path} ${SENTENCES[keyword]?.(params as Record<string, unknown>) ?? 'does not have any of the allowed forms'}.`;
}

/**
 * Checks single values of the configuration by the JSON Schemas of their options. Keywords that only describe, such as
 * `errorMessage`, are passed over. Throws for a schema that cannot be compiled. The schemas are not checked by the meta-schema.
 */
export class OptionValues {
  /** Made when a value is first checked: most commands keep every default. */
  #engine: Ajv2020 | undefined;

  constructor(private readonly formats: Formats) {}

  fits(schema: JsonObject, value: Json): boolean {
    this.#engine ??= new (ajv().Ajv2020)({
      strict: false,
      // The meta-schema would take longer to compile than everything else that a start compiles.
      meta: false,
      validateSchema: false,
      ownProperties: true,
      addUsedSchema: false,
      logger: false,
      formats: { ...this.formats },
    }).addVocabulary(['errorMessage']);
    return this.#engine.validate(schema, value);
  }
}

/** A long name is cut, so that a fault's message stays one readable sentence. */
const MAX_SHOWN_NAME = 64;

/** Plain names as they are; others with what JSON would escape escaped, and cut when long. */
function shownName(name: string): string {
  const points = Array.from(name.slice(0, 2 * MAX_SHOWN_NAME));
  const cut =
    points.length > MAX_SHOWN_NAME || name.length > 2 * MAX_SHOWN_NAME
      ? `${points.slice(0, MAX_SHOWN_NAME).join('')}…`
      : name;
  return JSON.stringify(cut).slice(1, -1);
}

const MAX_LISTED_VALUES = 20;

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  null: 'null',
  object: 'an object',
  array: 'an array',
};

function count(quantity: unknown, noun: string): string {
  return `${String(quantity)} ${noun}${quantity === 1 ? '' : 's'}`;
}

function listed(values: readonly unknown[]): string {
  const shown = values
    .slice(0, MAX_LISTED_VALUES)
    .map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
  return values.length > MAX_LISTED_VALUES ? `${shown.join(', ')}, …` : shown.join(', ');
}

type Sentence = (params: Record<string, unknown>) => string;

/** The violated requirement, by keyword; the message starts with `path`. */
const SENTENCES: Readonly<Record<string, Sentence>> = {
  'type': ({ type }) =>
    `must be ${[type]
      .flat()
      .flatMap((name) => String(name).split(','))
      .map((name) => TYPE_NAMES[name] ?? name)
      .join(' or ')}`,
  'enum': ({ allowedValues }) => `must be one of ${listed(allowedValues as unknown[])}`,
  'const': ({ allowedValue }) => `must be ${listed([allowedValue])}`,
  'minLength': ({ limit }) => (limit === 1 ? 'must not be empty' : `must be at least ${count(limit, 'character')}`),
  'maxLength': ({ limit }) => `must be at most ${count(limit, 'character')}`,
  'pattern': ({ pattern }) =>
    pattern === NOT_BLANK ? 'must not be white space alone' : `must match the pattern ${String(pattern)}`,
  'format': ({ format }) => (format === 'uuid' ? 'must be a UUID' : `must be a valid ${String(format)}`),
  'minimum': ({ limit }) => `must be at least ${String(limit)}`,
  'maximum': ({ limit }) => `must be at most ${String(limit)}`,
  'exclusiveMinimum': ({ limit }) => `must be greater than ${String(limit)}`,
  'exclusiveMaximum': ({ limit }) => `must be less than ${String(limit)}`,
  'multipleOf': ({ multipleOf }) => `must be a multiple of ${String(multipleOf)}`,
  'minItems': ({ limit }) => `must have at least ${count(limit, 'item')}`,
  'maxItems': ({ limit }) => `must have at most ${count(limit, 'item')}`,
  'items': ({ limit }) => `must have at most ${count(limit, 'item')}`,
  'unevaluatedItems': ({ len }) => `must have at most ${count(len, 'item')}`,
  'uniqueItems': () => 'must not contain duplicate items',
  'contains': () => 'must have an item that matches contains',
  'minProperties': ({ limit }) => `must have at least ${count(limit, 'field')}`,
  'maxProperties': ({ limit }) => `must have at most ${count(limit, 'field')}`,
  'not': () => 'has a form that is not allowed',
  'false schema': () => 'is not allowed here',
};

/** Keywords whose fault is a missing or forbidden member, by the parameter that names it. */
const MEMBER_PARAMS: Readonly<Record<string, string>> = {
  required: 'missingProperty',
  dependentRequired: 'missingProperty',
  additionalProperties: 'additionalProperty',
  unevaluatedProperties: 'unevaluatedProperty',
  propertyNames: 'propertyName',
};

export function isRequired({ keyword }: ErrorObject): boolean {
  return keyword === 'required' || keyword === 'dependentRequired';
}

/** The missing or forbidden member; none if the fault concerns the value at the error's own pointer. */
export function memberAtFault({ keyword, params }: ErrorObject): string | undefined {
  const param = MEMBER_PARAMS[keyword];
  return param === undefined ? undefined : String((params as Record<string, unknown>)[param]);
}

const CHOICES = new Set(['anyOf', 'oneOf', 'contains', 'propertyNames']);

/**
 * Leaves out what only explains another error: the branches of a choice, and the type of a value that is not among the
 * listed ones.
 */
export function essentialErrors(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const choices = [...new Set(errors.filter((e) => CHOICES.has(e.keyword)).map((e) => `${e.schemaPath}/`))];
  const listedAt = new Set(
    errors.filter((e) => e.keyword === 'enum' || e.keyword === 'const').map((e) => e.instancePath),
  );
  const essential = errors.filter((e) => {
    if (e.keyword === 'if' || (e.keyword === 'type' && listedAt.has(e.instancePath))) return false;
    return !choices.some((path) => e.schemaPath.startsWith(path));
  });
  return essential.length === 0 ? errors : essential;
}

/** A position in a value: the index in each container on the path to it. */
export type Place = readonly number[];

interface Placed {
  readonly value: Json | undefined;
  readonly place: Place;
}

const ROOT: Place = [];

/**
 * The order in which a value has its members: a container before its members, and members as `Object.keys` has them.
 * Only the containers on the path to a requested pointer are examined.
 */
export class DocumentOrder {
  readonly #placed = new Map<string, Placed>();
  readonly #indexes = new Map<object, ReadonlyMap<string, number>>();

  constructor(value: Json) {
    this.#placed.set('', { value, place: ROOT });
  }

  /**
   * The position of a pointer's value, or of a member of it. A missing value has the position of its container; without
   * a container, that of the root.
   */
  placeOf(pointer: string, member?: string): Place {
    const { value, place } = this.#at(pointer);
    if (member === undefined) return place;
    if (value === undefined) return ROOT;
    return memberOf(value, member) === undefined ? place : [...place, this.#indexIn(value, member)];
  }

  #at(pointer: string): Placed {
    let placed = this.#placed.get(pointer);
    if (placed === undefined) {
      const slash = pointer.lastIndexOf('/');
      const container = this.#at(pointer.slice(0, Math.max(0, slash)));
      const name = unescapePointerToken(pointer.slice(slash + 1));
      const value = memberOf(container.value, name);
      if (container.value === undefined) placed = { value, place: ROOT };
      else
        placed = {
          value,
          place: value === undefined ? container.place : [...container.place, this.#indexIn(container.value, name)],
        };
      this.#placed.set(pointer, placed);
    }
    return placed;
  }

  #indexIn(container: Json | undefined, name: string): number {
    if (Array.isArray(container)) return Number(name);
    let indexes = this.#indexes.get(container as object);
    if (indexes === undefined) {
      indexes = new Map(Object.keys(container as object).map((key, index) => [key, index]));
      this.#indexes.set(container as object, indexes);
    }
    return indexes.get(name) ?? 0;
  }
}

/** Negative if `one` comes before `other`. */
export function comparePlaces(one: Place, other: Place): number {
  const depth = Math.min(one.length, other.length);
  for (let level = 0; level < depth; level += 1) {
    const difference = (one[level] as number) - (other[level] as number);
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}

/** Formats that an option may name, in addition to patterns. */
export type Formats = Readonly<Record<string, (text: string) => boolean>>;
