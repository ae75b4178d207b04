import { isObject, type Json, type JsonObject } from '../../core/json.js';
import { isPlainText, shownText } from './bounded-json.js';
import { MISSING } from './vendor-schema.js';

export type Scalar = string | number | boolean;

/** One field of a vendor's input, with unions and exclusive bounds resolved. */
export interface VendorField {
  readonly name: string;
  /** Its description, for the words in it. */
  readonly text: string;
  readonly isRequired: boolean;
  readonly isDeprecated: boolean;
  readonly isSecret: boolean;
  /** Whether a reference of its schema leads nowhere, so that its values are not known. */
  readonly isMissing: boolean;
  readonly types: ReadonlySet<string>;
  /** The values of a list of scalars. */
  readonly choices?: readonly Scalar[];
  /** Both bounds are inclusive, except that `isOpenBelow` excludes the minimum of a number with fractions. */
  readonly minimum?: number;
  readonly maximum?: number;
  readonly isOpenBelow: boolean;
  readonly maxLength?: number;
  readonly multipleOf?: number;
  /** The bounds of a side, where the field takes an object of width and height. */
  readonly sides?: { readonly minimum: number; readonly maximum: number };
  /** The field that describes the items of a list. */
  readonly item?: VendorField;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly isUri: boolean;
  /** The kind of field that fal's pages show, such as `image`. */
  readonly shownAs?: string;
  /** In bytes, of a file. */
  readonly maxFileBytes?: number;
  readonly default?: Json;
  /** The schema itself. */
  readonly schema: JsonObject;
}

const FIELD_NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;
const MAX_TEXT = 2_000;
/** The largest side of a picture that any rule of a size may name. */
const MAX_SIDE = 65_536;
/** The largest bound that is taken from a schema. */
const MOST = 1e12;

export interface VendorFields {
  /** In the order in which the vendor shows them. */
  readonly fields: readonly VendorField[];
  /** Names that no rule of a request may have. */
  readonly unusable: readonly string[];
}

/** The fields of an input, whose references are in place. */
export function fieldsOf(input: JsonObject): VendorFields {
  const properties = Object.entries(input['properties'] as JsonObject);
  const required = Array.isArray(input['required']) ? input['required'] : [];
  const order = Array.isArray(input['x-fal-order-properties']) ? input['x-fal-order-properties'] : [];
  const placeOf = (name: string, schema: Json, index: number) => {
    const own = isObject(schema) ? schema['x-order'] : undefined;
    const at = order.indexOf(name);
    return typeof own === 'number' ? own : at < 0 ? order.length + index : at;
  };
  const fields = properties
    .map(([name, schema], index) => ({ name, schema, place: placeOf(name, schema, index) }))
    .toSorted((one, other) => one.place - other.place);
  return {
    fields: fields
      .filter(({ name }) => FIELD_NAME.test(name))
      .map(({ name, schema }) => fieldOf(name, schema as JsonObject, required.includes(name))),
    unusable: fields.filter(({ name }) => !FIELD_NAME.test(name)).map(({ name }) => name),
  };
}

function fieldOf(name: string, schema: JsonObject, isRequired: boolean): VendorField {
  const parts = partsOf(schema);
  const numberOf = (keyword: string) =>
    parts.map((part) => part[keyword]).find((value): value is number => typeof value === 'number');
  const textOf = (keyword: string) =>
    parts.map((part) => part[keyword]).find((value): value is string => typeof value === 'string');
  const has = (keyword: string) => parts.some((part) => part[keyword] === true);
  const types = new Set(parts.flatMap((part) => (part['type'] ?? []) as string[]).filter((type) => type !== 'null'));
  const choices = choicesOf(parts);
  const items = parts.map((part) => part['items']).find(isObject);
  const sides = parts.map(sidesOf).find((one) => one !== undefined);
  const text = shownText(textOf('description'), MAX_TEXT);
  const [maxLength, multipleOf, minItems, maxItems] = ['maxLength', 'multipleOf', 'minItems', 'maxItems'].map(numberOf);
  const maxFileBytes = parts.map((part) => part['x-fal']).find(isObject)?.['max_file_size'];
  const byDefault = parts.map((part) => part['default']).find(isUsableDefault);
  const shownAs = textOf('_fal_ui_field') ?? (items === undefined ? undefined : items['_fal_ui_field']);
  return {
    name,
    text,
    isRequired,
    isDeprecated: has('deprecated') || /^deprecated\b/i.test(text),
    isSecret: has('x-cog-secret') || has('writeOnly') || textOf('format') === 'password',
    isMissing: has(MISSING),
    types,
    ...(choices.length === 0 ? {} : { choices }),
    ...boundsOf(numberOf, types),
    ...(maxLength === undefined ? {} : { maxLength }),
    ...(multipleOf === undefined ? {} : { multipleOf }),
    ...(sides === undefined ? {} : { sides }),
    ...(items === undefined ? {} : { item: fieldOf(name, items, false) }),
    ...(minItems === undefined ? {} : { minItems }),
    ...(maxItems === undefined ? {} : { maxItems }),
    isUri: textOf('format') === 'uri',
    ...(typeof shownAs === 'string' ? { shownAs } : {}),
    ...(typeof maxFileBytes === 'number' && maxFileBytes >= 1 ? { maxFileBytes: Math.floor(maxFileBytes) } : {}),
    ...(byDefault === undefined ? {} : { default: byDefault }),
    schema,
  };
}

/** The schema and all alternatives in it. */
function partsOf(schema: JsonObject): JsonObject[] {
  const alternatives = ['anyOf', 'oneOf', 'allOf'].flatMap((keyword) => (schema[keyword] ?? []) as JsonObject[]);
  return [schema, ...alternatives.flatMap(partsOf)];
}

function choicesOf(parts: readonly JsonObject[]): Scalar[] {
  const listed = parts.flatMap((part) => (Array.isArray(part['enum']) ? part['enum'] : []));
  return [...new Set(listed.filter(isScalar))];
}

function isUsableDefault(value: Json | undefined): value is Json {
  return value !== undefined && value !== null && !(typeof value === 'number' && Math.abs(value) > MOST);
}

/** The default as a text, where it is a scalar: it may have another type than the values beside it. */
export function defaultText({ default: value }: VendorField): string {
  return typeof value === 'object' || value === undefined ? '' : String(value);
}

function isScalar(value: Json): value is Scalar {
  if (typeof value === 'number') return Math.abs(value) <= MOST;
  return typeof value === 'string' ? isPlainText(value) : typeof value === 'boolean';
}

function boundsOf(numberOf: (keyword: string) => number | undefined, types: ReadonlySet<string>) {
  const isWhole = types.has('integer') && !types.has('number');
  const [above, below] = [numberOf('exclusiveMinimum'), numberOf('exclusiveMaximum')];
  const least = isWhole && above !== undefined ? Math.floor(above) + 1 : above;
  const most = isWhole && below !== undefined ? Math.ceil(below) - 1 : below;
  const [lowest, highest] = [greatest(numberOf('minimum'), least), smallest(numberOf('maximum'), most)];
  const minimum = isWhole && lowest !== undefined ? Math.ceil(lowest) : lowest;
  const maximum = isWhole && highest !== undefined ? Math.floor(highest) : highest;
  // Bounds that exclude every value, or that a float does not hold exactly, are ignored.
  const isCrossed = minimum !== undefined && maximum !== undefined && minimum > maximum;
  const isUsable = (bound: number | undefined) => bound !== undefined && Math.abs(bound) <= MOST && !isCrossed;
  return {
    ...(isUsable(minimum) ? { minimum: minimum as number } : {}),
    ...(isUsable(maximum) ? { maximum: maximum as number } : {}),
    isOpenBelow: !isWhole && above !== undefined && above === minimum && isUsable(minimum),
  };
}

function greatest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.max(one, other);
}

function smallest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

/** The bounds of width and height in an object that has both. */
function sidesOf(schema: JsonObject): { readonly minimum: number; readonly maximum: number } | undefined {
  const properties = schema['properties'];
  if (!isObject(properties) || !isObject(properties['width']) || !isObject(properties['height'])) return undefined;
  const sides = [properties['width'], properties['height']].map((side) => fieldOf('side', side, false));
  const minimum = Math.max(1, ...sides.map((side) => Math.ceil(side.minimum ?? 1)));
  const maximum = Math.min(MAX_SIDE, ...sides.map((side) => Math.floor(side.maximum ?? MAX_SIDE)));
  return minimum <= maximum ? { minimum, maximum } : undefined;
}
