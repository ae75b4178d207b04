import type { PriceTerms } from '../../core/catalog/model.js';
import { escapePointerToken, type Json, type JsonObject } from '../../core/json.js';
import type { ModelEntry } from './catalog-schema.js';
import { scaledDecimal } from './decimal.js';
import { isObject, type PlaceFault } from './input-schema-rules.js';

const SIZE = /^[1-9][0-9]{0,5}x[1-9][0-9]{0,5}$/;
/** What a pattern for sizes must not take. */
const NOT_SIZES = ['', '1024', 'x', '1024x', 'x1024', 'axb', '0x0', '1024x1024x1', ' 1024x1024', '1024X1024'];
const MICRO_PLACES = 6;
const THOUSANDTH_PLACES = 3;

type Say = (pointer: string, message: string) => void;

/** What must hold between the price of a model, its input schema and its limits. Pointers are relative to the model. */
export function priceFaults(entry: ModelEntry, sourceOf: (pointer: string) => string | undefined): PlaceFault[] {
  const faults: PlaceFault[] = [];
  const say: Say = (pointer, message) => {
    faults.push({ pointer, message });
  };
  const { price } = entry;
  for (const name of ['credits_per_unit', 'base_credits'] as const) {
    if (price[name] === undefined) continue;
    if (scaledDecimal(sourceOf(`/price/${name}`) ?? '', MICRO_PLACES) === undefined) {
      say(`/price/${name}`, 'must be a decimal number from 0 with at most 6 places');
    }
  }
  if (price.minimum_credits > price.maximum_credits) say('/price/minimum_credits', 'must not be above maximum_credits');
  if (price.unit === 'image' && entry.modality !== 'image') say('/price/unit', 'must not be image for a video model');
  if (price.unit === 'video' && entry.modality !== 'video') say('/price/unit', 'must not be video for an image model');
  if (price.unit === 'megapixel' && price.size_parameter === undefined) {
    say('/price', 'must name a size_parameter, since its unit is megapixel');
  }
  if (price.unit === 'second' && price.duration_parameter === undefined) {
    say('/price', 'must name a duration_parameter, since its unit is second');
  }
  checkCount(entry, say);
  checkSize(entry, say);
  checkDuration(entry, say);
  checkMultipliers(entry, sourceOf, say);
  return faults;
}

function checkCount(entry: ModelEntry, say: Say): void {
  const name = entry.price.count_parameter;
  if (name === undefined) return;
  const { max_outputs: most } = entry.limits;
  const values = integerRange(propertyOf(entry, name));
  if (!values || values.minimum < 1 || values.maximum > most) {
    const bounds = `with a minimum of at least 1 and a maximum of at most limits.max_outputs, ${most}`;
    say('/price/count_parameter', `must name an integer parameter ${bounds}`);
  }
}

function checkSize(entry: ModelEntry, say: Say): void {
  const name = entry.price.size_parameter;
  if (name === undefined) return;
  const property = propertyOf(entry, name);
  if (!isObject(property) || property['type'] !== 'string' || !takesOnlySizes(property)) {
    say('/price/size_parameter', 'must name a string parameter whose enum or pattern takes only WIDTHxHEIGHT');
  } else if (!isAlwaysThere(entry, name))
    say('/price/size_parameter', 'must name a parameter that is required or has a default');
}

function checkDuration(entry: ModelEntry, say: Say): void {
  const name = entry.price.duration_parameter;
  if (name === undefined) return;
  const values = integerRange(propertyOf(entry, name));
  if (!values || values.minimum < 1) {
    say(
      '/price/duration_parameter',
      'must name an integer parameter of seconds with a minimum of at least 1 and a maximum',
    );
  } else if (!isAlwaysThere(entry, name))
    say('/price/duration_parameter', 'must name a parameter that is required or has a default');
}

function checkMultipliers(entry: ModelEntry, sourceOf: (pointer: string) => string | undefined, say: Say): void {
  const seen = new Set<string>();
  for (const [index, { parameter, values }] of (entry.price.multipliers ?? []).entries()) {
    const at = `/price/multipliers/${index}`;
    const property = propertyOf(entry, parameter);
    if (property === undefined) say(`${at}/parameter`, 'must name a parameter of input_schema');
    if (seen.has(parameter)) say(`${at}/parameter`, 'must not name a parameter that another multiplier names');
    seen.add(parameter);
    for (const name of Object.keys(values)) {
      const pointer = `${at}/values/${escapePointerToken(name)}`;
      if (scaledDecimal(sourceOf(pointer) ?? '', THOUSANDTH_PLACES) === undefined) {
        say(pointer, 'must be a decimal number from 0 with at most 3 places');
      }
      if (isObject(property) && !canTake(property, name))
        say(pointer, `must be a value that the parameter ${parameter} can have`);
    }
  }
}

function propertyOf(entry: ModelEntry, name: string): Json | undefined {
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

function integerRange(property: Json | undefined): { readonly minimum: number; readonly maximum: number } | undefined {
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
  if (Array.isArray(property['enum']))
    return property['enum'].every((value) => typeof value === 'string' && SIZE.test(value));
  if (typeof property['pattern'] !== 'string' || !/^\^.*\$$/.test(property['pattern'])) return false;
  const pattern = new RegExp(property['pattern'], 'u');
  return !NOT_SIZES.some((text) => pattern.test(text));
}

/** Whether a multiplier's name can be a value of the parameter: texts as they are, others as JSON writes them. */
function canTake(property: JsonObject, name: string): boolean {
  if (Array.isArray(property['enum'])) {
    return property['enum'].some((value) => (typeof value === 'string' ? value : JSON.stringify(value)) === name);
  }
  if (property['type'] === 'boolean') return name === 'true' || name === 'false';
  if (property['type'] === 'integer') return /^(0|-?[1-9][0-9]*)$/.test(name);
  return true;
}

/** The price of a model whose faults were checked. */
export function priceTerms({ price }: ModelEntry, sourceOf: (pointer: string) => string | undefined): PriceTerms {
  const scaled = (pointer: string, places: number) => scaledDecimal(sourceOf(pointer) ?? '0', places) ?? 0;
  return {
    version: price.version,
    unit: price.unit,
    microcreditsPerUnit: scaled('/price/credits_per_unit', MICRO_PLACES),
    baseMicrocredits: scaled('/price/base_credits', MICRO_PLACES),
    ...(price.count_parameter === undefined ? {} : { countParameter: price.count_parameter }),
    ...(price.size_parameter === undefined ? {} : { sizeParameter: price.size_parameter }),
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
    maximumCredits: price.maximum_credits,
  };
}
