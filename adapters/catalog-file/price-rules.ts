import { hash } from 'node:crypto';
import { PRICE_UNITS, type PriceTerms, sizeIn, type SizeTable, type UnitRule } from '../../core/catalog/price.js';
import { escapedBytes, MAX_PARAMETER_BYTES } from '../../core/generation/generation.js';
import { escapePointerToken, isObject, type Json, type JsonObject } from '../../core/json.js';
import type { JsonSchemas } from '../../core/ports/machine.js';
import type { ModelEntry } from './catalog-schema.js';

/** The text of a value of a model as it was written, by its pointer within the model. */
export type SourceOf = (pointer: string) => string | undefined;

/** The rules between the price of a model, its input schema and its limits. Pointers are relative to the model. */
export function* priceFaults(entry: ModelEntry, sourceOf: SourceOf): Generator<PlaceFault> {
  const { price, modality } = entry;
  for (const name of DECIMAL_KEYS) {
    const pointer = `/price/${name}`;
    if (price[name] !== undefined && scaledDecimal(sourceOf(pointer) ?? '', MICRO_PLACES) === undefined)
      yield { pointer, message: 'must be a decimal number from 0 with at most 6 places' };
  }
  if (price.minimum_credits > (price.maximum_credits ?? Infinity))
    yield { pointer: '/price/minimum_credits', message: 'must not be above maximum_credits' };
  if (price.unit === 'image' && modality !== 'image')
    yield { pointer: '/price/unit', message: 'must not be image for a video model' };
  if (price.unit === 'video' && modality !== 'video')
    yield { pointer: '/price/unit', message: 'must not be video for an image model' };
  const { needs }: UnitRule = PRICE_UNITS[price.unit];
  if (needs === 'size' && price.size_parameter === undefined && price.size_table === undefined)
    yield {
      pointer: '/price',
      message: `must name a size_parameter or have a size_table, since its unit is ${price.unit}`,
    };
  if (needs === 'duration' && price.duration_parameter === undefined)
    yield { pointer: '/price', message: `must name a duration_parameter, since its unit is ${price.unit}` };
  for (const name of ['count_parameter', 'size_parameter', 'duration_parameter'] as const) {
    const parameter = price[name];
    const message = parameter === undefined ? undefined : PARAMETER_FAULTS[name](entry, parameter);
    if (message !== undefined) yield { pointer: `/price/${name}`, message };
  }
  yield* formFaults(entry, sourceOf);
  yield* sizeTableFaults(entry);
  yield* multiplierFaults(entry, sourceOf);
}

/** The rules of the forms that count megapixels. */
function* formFaults({ price, modality, limits }: ModelEntry, sourceOf: SourceOf): Generator<PlaceFault> {
  const { unit, round_up, frames_per_second: frameRate, first_unit_credits: first } = price;
  const input = price.input_credits_per_megapixel;
  if (round_up === true && unit !== 'megapixel' && input === undefined)
    yield {
      pointer: '/price/round_up',
      message: `must not be true for the unit ${unit} without input_credits_per_megapixel, since it rounds megapixels`,
    };
  if (price.pixels_per_megapixel !== undefined && round_up !== true)
    yield {
      pointer: '/price/pixels_per_megapixel',
      message: 'must not be given without round_up: true, since it says which pixels make a whole megapixel',
    };
  if (first !== undefined && unit !== 'megapixel')
    yield {
      pointer: '/price/first_unit_credits',
      message: `must not be given for the unit ${unit}, only for megapixel`,
    };
  if (input !== undefined && limits.max_reference_uploads === 0)
    yield {
      pointer: '/price/input_credits_per_megapixel',
      message: 'must not be given for a model that takes no reference files',
    };
  if (frameRate === undefined) return;
  const pointer = '/price/frames_per_second';
  const millihertz = scaledDecimal(sourceOf(pointer) ?? '', THOUSANDTH_PLACES) ?? 0;
  if (millihertz < 1 || millihertz > MAX_FRAMES_PER_SECOND * 1_000)
    yield {
      pointer,
      message: `must be a decimal number above 0, at most ${MAX_FRAMES_PER_SECOND}, with at most 3 places`,
    };
  if (unit !== 'megapixel') yield { pointer, message: `must not be given for the unit ${unit}, only for megapixel` };
  if (modality !== 'video') yield { pointer, message: 'must not be given for an image model; give modality: video' };
  if (price.duration_parameter === undefined)
    yield { pointer: '/price', message: 'must name a duration_parameter, since it has frames_per_second' };
}

/** The price of a model whose faults were checked. A version that the file does not give is a digest of the terms. */
export function priceTerms(entry: ModelEntry, sourceOf: SourceOf): PriceTerms {
  const terms = unversionedTerms(entry, sourceOf);
  const digest = () => hash('sha256', JSON.stringify(terms), 'hex').slice(0, DIGEST_DIGITS);
  return { version: entry.price.version ?? `sha256-${digest()}`, ...terms };
}

function unversionedTerms(entry: ModelEntry, sourceOf: SourceOf): Omit<PriceTerms, 'version'> {
  const { price } = entry;
  const scaled = (pointer: string, places: number) => scaledDecimal(sourceOf(pointer) ?? '0', places) ?? 0;
  const micro = (name: (typeof DECIMAL_KEYS)[number]) => scaled(`/price/${name}`, MICRO_PLACES);
  return {
    unit: price.unit,
    microcreditsPerUnit: micro('credits_per_unit'),
    ...(price.first_unit_credits === undefined ? {} : { firstUnitMicrocredits: micro('first_unit_credits') }),
    ...(price.input_credits_per_megapixel === undefined
      ? {}
      : { inputMicrocreditsPerMegapixel: micro('input_credits_per_megapixel') }),
    baseMicrocredits: micro('base_credits'),
    ...(price.round_up === true ? { roundsUp: true } : {}),
    ...(price.pixels_per_megapixel === undefined ? {} : { pixelsPerMegapixel: price.pixels_per_megapixel }),
    ...(price.frames_per_second === undefined
      ? {}
      : { frameRateMillihertz: scaled('/price/frames_per_second', THOUSANDTH_PLACES) }),
    ...(price.count_parameter === undefined ? {} : { countParameter: price.count_parameter }),
    ...(price.size_parameter === undefined ? {} : { sizeParameter: price.size_parameter }),
    ...(price.size_table === undefined ? {} : { sizeTable: sizeTableOf(entry, price.size_table) }),
    ...(price.duration_parameter === undefined ? {} : { durationParameter: price.duration_parameter }),
    multipliers: (price.multipliers ?? []).map(({ parameter, values }, index) => ({
      parameter,
      thousandthsByValue: Object.fromEntries(
        Object.keys(values).map((name) => {
          const pointer = `/price/multipliers/${index}/values/${escapePointerToken(name)}`;
          return [name, scaled(pointer, THOUSANDTH_PLACES)];
        }),
      ),
    })),
    minimumCredits: price.minimum_credits,
    maximumCredits: price.maximum_credits ?? Number.MAX_SAFE_INTEGER,
  };
}

/**
 * A decimal number as it was written, times 10 to the power of `places`, exactly; undefined when it is negative,
 * written in another way, has more places, or would not fit a safe integer.
 */
export function scaledDecimal(text: string, places: number): number | undefined {
  const match = /^([0-9]+)(?:\.([0-9]+))?$/.exec(text);
  const fraction = match?.[2] ?? '';
  if (!match || fraction.length > places) return undefined;
  const scaled = BigInt(match[1] + fraction.padEnd(places, '0'));
  return scaled <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(scaled) : undefined;
}

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

/** Keywords whose schemas say what a value may be, and those whose schemas only narrow it. */
const DEFINING = ['items', 'prefixItems', 'anyOf', 'oneOf', 'properties', 'patternProperties', '$defs'];
const NARROWING = [
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
  'additionalProperties',
  'unevaluatedItems',
  'unevaluatedProperties',
  'allOf',
  'dependentSchemas',
];
/** The keywords whose value maps names to schemas. */
const BY_NAME = ['properties', 'patternProperties', '$defs', 'dependentSchemas'];

function* subschemas(schema: Json, pointer: string, defines: boolean): Generator<Subschema> {
  if (!isObject(schema)) return;
  yield { schema, pointer, defines };
  for (const [keyword, value] of Object.entries(schema)) {
    const isDefining = DEFINING.includes(keyword);
    if (!isDefining && !NARROWING.includes(keyword)) continue;
    const at = `${pointer}/${keyword}`;
    const several = Array.isArray(value) || (BY_NAME.includes(keyword) && isObject(value));
    if (!several) yield* subschemas(value, at, defines && isDefining);
    else
      for (const [name, item] of Object.entries(value))
        yield* subschemas(item, `${at}/${escapePointerToken(name)}`, defines && isDefining);
  }
}

/**
 * The rules for an input schema beyond being a schema, so that nothing unforeseen reaches a provider: objects are
 * closed, texts are bounded, every value has a type, and nothing is fetched from elsewhere.
 */
export function inputSchemaFaults(schema: JsonObject, jsonSchemas: JsonSchemas): PlaceFault[] {
  const faults = [...shapeFaults(schema), ...sizeFaults(schema)];
  return faults.length > 0 ? faults : defaultFaults(schema, jsonSchemas);
}

function* shapeFaults(schema: JsonObject): Generator<PlaceFault> {
  if (schema['type'] !== 'object') yield { pointer: '/type', message: 'must be object' };
  for (const part of subschemas(schema, '', true)) {
    for (const keyword of ['$ref', '$dynamicRef']) {
      const target = part.schema[keyword];
      if (target !== undefined && !(typeof target === 'string' && target.startsWith('#')))
        yield {
          pointer: `${part.pointer}/${keyword}`,
          message: 'must refer to a place in the same schema, beginning with #',
        };
    }
    if (part.defines) yield* opennessFaults(part);
  }
}

function* sizeFaults(schema: JsonObject): Generator<PlaceFault> {
  const bytes = escapedBytes(textLength(schema));
  if (bytes > MAX_PARAMETER_BYTES)
    yield {
      pointer: '/properties',
      message: `may take ${bytes} bytes of a request with all characters of their texts escaped, and must take at most ${MAX_PARAMETER_BYTES}; lower maxLength or maxItems`,
    };
}

/** The code points that the texts of a value may have together, as far as maxLength and maxItems bound them. */
function textLength(schema: Json | undefined): number {
  if (!isObject(schema) || schema['enum'] !== undefined || schema['const'] !== undefined) return 0;
  const { maxLength, maxItems, items, properties } = schema;
  const text = typeof maxLength === 'number' ? maxLength : 0;
  const list = textLength(items) * (typeof maxItems === 'number' ? maxItems : 1);
  const members = isObject(properties) ? Object.values(properties).map(textLength) : [];
  const either = ['anyOf', 'oneOf'].flatMap((keyword) => {
    const schemas = schema[keyword];
    return Array.isArray(schemas) ? schemas.map(textLength) : [];
  });
  return Math.max(
    text,
    list,
    members.reduce((sum, one) => sum + one, 0),
    ...either,
  );
}

function* opennessFaults({ schema, pointer }: Subschema): Generator<PlaceFault> {
  if (schema['enum'] !== undefined || schema['const'] !== undefined) return;
  const types = [schema['type'] ?? []].flat();
  if (types.includes('object') && schema['additionalProperties'] !== false)
    yield { pointer, message: 'must have additionalProperties: false' };
  if (types.includes('string') && schema['pattern'] === undefined && schema['maxLength'] === undefined)
    yield { pointer, message: 'is a string and must have an enum, a const, a pattern or a maxLength' };
  if (types.includes('array') && !isObject(schema['items']) && schema['items'] !== false)
    yield { pointer, message: 'is an array and must define its items' };
  if (!isTyped(schema)) yield { pointer, message: 'must have a type' };
  const named = { ...(schema['properties'] as object), ...(schema['patternProperties'] as object) };
  for (const [name, item] of Object.entries(named))
    if (item === true)
      yield { pointer: `${pointer}/properties/${escapePointerToken(name)}`, message: 'must have a type' };
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

/** Texts that a pattern for sizes must not match. */
const NOT_SIZES = ['', '1024', 'x', '1024x', 'x1024', 'axb', '0x0', '1024x1024x1', ' 1024x1024', '1024X1024'];
const MICRO_PLACES = 6;
const THOUSANDTH_PLACES = 3;
const DIGEST_DIGITS = 12;

const MAX_FRAMES_PER_SECOND = 1_000;

/** The decimals of a price that are credits. */
const DECIMAL_KEYS = ['credits_per_unit', 'first_unit_credits', 'input_credits_per_megapixel', 'base_credits'] as const;

/** The fault of a parameter that a price names. */
const PARAMETER_FAULTS: Readonly<
  Record<`${'count' | 'size' | 'duration'}_parameter`, (entry: ModelEntry, name: string) => string | undefined>
> = {
  count_parameter(entry, name) {
    const { max_outputs: most } = entry.limits;
    const values = integerRange(propertyOf(entry, name));
    if (values && values.minimum >= 1 && values.maximum <= most) return undefined;
    const bounds = `with a minimum of at least 1 and a maximum of at most limits.max_outputs, ${most}`;
    return `must name an integer parameter ${bounds}`;
  },
  size_parameter(entry, name) {
    const property = propertyOf(entry, name);
    if (!isObject(property) || property['type'] !== 'string' || !takesOnlySizes(property))
      return 'must name a string parameter whose enum or pattern takes only WIDTHxHEIGHT';
    return isAlwaysThere(entry, name) ? undefined : NOT_ALWAYS_THERE;
  },
  duration_parameter(entry, name) {
    const values = integerRange(propertyOf(entry, name));
    if (!values || values.minimum < 1)
      return 'must name an integer parameter of seconds with a minimum of at least 1 and a maximum';
    return isAlwaysThere(entry, name) ? undefined : NOT_ALWAYS_THERE;
  },
};
const NOT_ALWAYS_THERE = 'must name a parameter that is required or has a default';

/** Sizes are listed for every combination of the values, so that no request is without one. */
function* sizeTableFaults(entry: ModelEntry): Generator<PlaceFault> {
  const { size_table: table, size_parameter } = entry.price;
  if (table === undefined) return;
  const pointer = '/price/size_table';
  if (size_parameter !== undefined) yield { pointer, message: 'must not be given beside size_parameter' };
  const named: PlaceFault[] = table.parameters.flatMap((name, index) => {
    const message = tableParameterFault(entry, name);
    return message === undefined ? [] : [{ pointer: `${pointer}/parameters/${index}`, message }];
  });
  yield* named;
  if (named.length === 0) yield* listingFaults(entry, table.parameters, table.sizes, `${pointer}/sizes`);
}

function tableParameterFault(entry: ModelEntry, name: string): string | undefined {
  const listed = choicesOf(propertyOf(entry, name));
  if (listed.length === 0 || !listed.every((value) => typeof value === 'string' || typeof value === 'number'))
    return 'must name a parameter with an enum of texts or numbers';
  return isAlwaysThere(entry, name) ? undefined : NOT_ALWAYS_THERE;
}

/** The faults of a table by the values of the first parameter, whose entries are by those of the next one. */
function* listingFaults(
  entry: ModelEntry,
  [name = '', ...others]: readonly string[],
  listing: JsonObject,
  pointer: string,
): Generator<PlaceFault> {
  const names = choicesOf(propertyOf(entry, name)).map(spelled);
  const missing = names.filter((value) => !Object.hasOwn(listing, value));
  if (missing.length > 0)
    yield { pointer, message: `must have each value of the parameter ${name}; it lacks ${missing.join(', ')}` };
  for (const [value, size] of Object.entries(listing)) {
    const at = `${pointer}/${escapePointerToken(value)}`;
    if (!names.includes(value)) yield { pointer: at, message: `must be a value that the parameter ${name} can have` };
    else if (others.length > 0 && isObject(size)) yield* listingFaults(entry, others, size, at);
    else if (others.length > 0)
      yield { pointer: at, message: `must have a size for each value of the parameter ${others[0]}` };
    else if (sizeIn(size) === undefined)
      yield { pointer: at, message: 'must be WIDTHxHEIGHT, each of 1 to 999999 pixels' };
  }
}

function sizeTableOf(
  entry: ModelEntry,
  { parameters, sizes }: NonNullable<ModelEntry['price']['size_table']>,
): SizeTable {
  const [first = [], second] = parameters.map((name) => choicesOf(propertyOf(entry, name)));
  const listed = (values: readonly Json[], text: Json | undefined): SizeTable['sizes'] => {
    const size = sizeIn(text);
    return size === undefined ? [] : [{ values, ...size }];
  };
  return {
    parameters,
    sizes: first.flatMap((one) => {
      const listing = sizes[spelled(one)];
      if (second === undefined) return listed([one], listing);
      return isObject(listing) ? second.flatMap((other) => listed([one, other], listing[spelled(other)])) : [];
    }),
  };
}

/** The values of a parameter with an enum, each once. */
function choicesOf(property: Json | undefined): readonly Json[] {
  const listed = isObject(property) ? property['enum'] : undefined;
  return Array.isArray(listed) ? listed : [];
}

function* multiplierFaults(entry: ModelEntry, sourceOf: SourceOf): Generator<PlaceFault> {
  const seen = new Set<string>();
  for (const [index, { parameter, values }] of (entry.price.multipliers ?? []).entries()) {
    const at = `/price/multipliers/${index}`;
    const property = propertyOf(entry, parameter);
    if (property === undefined) yield { pointer: `${at}/parameter`, message: 'must name a parameter of input_schema' };
    if (seen.has(parameter))
      yield { pointer: `${at}/parameter`, message: 'must not name a parameter that another multiplier names' };
    seen.add(parameter);
    for (const name of Object.keys(values)) {
      const pointer = `${at}/values/${escapePointerToken(name)}`;
      if (scaledDecimal(sourceOf(pointer) ?? '', THOUSANDTH_PLACES) === undefined)
        yield { pointer, message: 'must be a decimal number from 0 with at most 3 places' };
      if (isObject(property) && !canTake(property, name))
        yield { pointer, message: `must be a value that the parameter ${parameter} can have` };
    }
  }
}

export function propertyOf(entry: Pick<ModelEntry, 'input_schema'>, name: string): Json | undefined {
  const properties = entry.input_schema['properties'];
  return isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
}

function isAlwaysThere(entry: ModelEntry, name: string): boolean {
  const { required } = entry.input_schema;
  const property = propertyOf(entry, name);
  return (
    (Array.isArray(required) && required.includes(name)) || (isObject(property) && property['default'] !== undefined)
  );
}

/** The least and the greatest value of an integer parameter; undefined where the schema does not bound both. */
export function integerRange(
  property: Json | undefined,
): { readonly minimum: number; readonly maximum: number } | undefined {
  if (!isObject(property) || property['type'] !== 'integer') return undefined;
  const listed = property['enum'];
  if (Array.isArray(listed)) {
    const values = listed.filter((value) => typeof value === 'number');
    return values.length > 0 ? { minimum: Math.min(...values), maximum: Math.max(...values) } : undefined;
  }
  const { minimum, maximum } = property;
  return typeof minimum === 'number' && typeof maximum === 'number' ? { minimum, maximum } : undefined;
}

function takesOnlySizes(property: JsonObject): boolean {
  if (Array.isArray(property['enum'])) return property['enum'].every((value) => sizeIn(value) !== undefined);
  if (typeof property['pattern'] !== 'string' || !/^\^.*\$$/.test(property['pattern'])) return false;
  const pattern = new RegExp(property['pattern'], 'u');
  return !NOT_SIZES.some((text) => pattern.test(text));
}

/** A value as the keys of the file spell it: texts as they are, others as JSON writes them. */
function spelled(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Whether a multiplier's name can be a value of the parameter. */
function canTake(property: JsonObject, name: string): boolean {
  if (Array.isArray(property['enum'])) {
    return property['enum'].some((value) => spelled(value) === name);
  }
  if (property['type'] === 'boolean') return name === 'true' || name === 'false';
  if (property['type'] === 'integer') return /^(0|-?[1-9][0-9]*)$/.test(name);
  return true;
}
