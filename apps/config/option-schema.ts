import { FILLED_TEXT } from '../../adapters/driver.js';
import { metaSchema, orderedFaults } from '../../adapters/system/ajv-json-schemas.js';
import { OptionValues } from '../../adapters/system/schema-faults.js';
import type { Json, JsonObject } from '../../core/json.js';
import { optionsOf } from './keys.js';
import { isNetwork } from './network-address.js';

/**
 * Ajv compiles the schema of a key only when a value is given for it: compiling all of them would take 50 ms of every
 * start.
 */
const values = new OptionValues({ 'uri': (text) => URL.canParse(text), 'ip-network': isNetwork });

/** Whether a key accepts a value; null leaves out a key without a default. Throws for a schema that cannot be used. */
export function accepts(schema: JsonObject, value: Json): boolean {
  return value === (schema['default'] ?? null) || values.fits(schema, value);
}

/** The keywords that a sentence about a key is made of. */
interface Keywords {
  readonly type?: string;
  readonly errorMessage?: string;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly items?: { readonly type?: string };
}

/** The text of a variable as the file would have it; the schema then accepts or refuses it. */
export function valueOfText(schema: JsonObject, text: string): Json {
  const { type, items } = schema as Keywords;
  if (type !== 'array') return scalarOf(type, text);
  return text.split(',').map((item) => scalarOf(items?.type, item.trim()));
}

function scalarOf(type: string | undefined, text: string): Json {
  if (type === 'integer' || type === 'number') return /^-?[0-9]+(\.[0-9]+)?$/.test(text) ? Number(text) : text;
  return type === 'boolean' ? text === 'true' || (text !== 'false' && text) : text;
}

/** The part of a message after the name of a key with a wrong value: `must be …`. */
export function requirementOf(schema: JsonObject): string {
  const keywords = schema as Keywords;
  const { type, errorMessage, enum: choices, items } = keywords;
  if (errorMessage !== undefined) return errorMessage;
  if (choices !== undefined) return `must be one of ${choices.join(', ')}`;
  if (type === 'integer') return `must be an integer${rangeOf(keywords)}`;
  if (type === 'number') return `must be a number${rangeOf(keywords)}`;
  if (type === 'boolean') return 'must be true or false';
  if (type === 'object') return 'must hold keys with values';
  if (type === 'array') return `must be a list${ITEMS[items?.type ?? ''] ?? ''}`;
  return `must be text${formOf(keywords)}`;
}

const ITEMS: Readonly<Record<string, string>> = {
  string: ' of text',
  integer: ' of integers',
  number: ' of numbers',
};

function rangeOf({ minimum, maximum, exclusiveMinimum }: Keywords): string {
  if (exclusiveMinimum !== undefined)
    return ` above ${exclusiveMinimum}${maximum === undefined ? '' : ` and at most ${maximum}`}`;
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  if (minimum !== undefined) return ` of at least ${minimum}`;
  return maximum === undefined ? '' : ` of at most ${maximum}`;
}

function formOf({ minLength, maxLength, pattern }: Keywords): string {
  let lengths = '';
  if (minLength !== undefined && maxLength !== undefined) lengths = ` of ${minLength} to ${maxLength} characters`;
  else if (maxLength !== undefined) lengths = ` of at most ${maxLength} characters`;
  else if (minLength !== undefined && minLength > 1) lengths = ` of at least ${minLength} characters`;
  if (pattern !== undefined && pattern !== FILLED_TEXT.pattern) return `${lengths} that matches ${pattern}`;
  return lengths === '' ? ' that is not empty' : lengths;
}

/** The keywords that the options of a driver may have together. Every other one would be ignored. */
const SECTION_KEYWORDS = new Set(['type', 'properties', 'required', 'additionalProperties', 'title', 'description']);
const TYPES = new Set<unknown>(['string', 'integer', 'number', 'boolean', 'array', 'object']);
/** Keywords that `requirementOf` has no words for. */
const UNDESCRIBED = [
  'oneOf',
  'anyOf',
  'allOf',
  'not',
  'if',
  'const',
  'multipleOf',
  'exclusiveMaximum',
  'format',
  'minItems',
  'maxItems',
  'uniqueItems',
  'contains',
  'prefixItems',
] as const;

/**
 * Why the options of a driver cannot be used, as the rest of a sentence that begins with "The options of the driver …".
 * Each option needs a schema of one type that compiles, that a sentence can describe, and that accepts its default.
 */
export function optionsFault(options: unknown): string | undefined {
  const schema = options as JsonObject | undefined;
  if (typeof schema !== 'object' || schema === null || schema['type'] !== 'object')
    return 'must be a JSON Schema of type object';
  const ignored = Object.keys(schema).find((keyword) => !SECTION_KEYWORDS.has(keyword));
  if (ignored !== undefined) return `may not have ${ignored}: each option is checked alone`;
  if (schema['required'] !== undefined && !isListOfText(schema['required'])) return 'must have a list as required';
  for (const [option, of] of optionsOf(schema)) {
    const fault = optionFault(option, of);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** The first option with a name that has another use, as the rest of the same sentence. */
export function takenOptionFault(options: JsonObject, taken: readonly string[]): string | undefined {
  const [option] = optionsOf(options).find(([name]) => taken.includes(name)) ?? [];
  return option === undefined ? undefined : `may not have one called ${option}: that is a key of every instance`;
}

export function isListOfText(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function optionFault(option: string, schema: JsonObject): string | undefined {
  if (!/^[a-z][a-z0-9_]*$/.test(option))
    return `may not have one called ${option}: names have lower-case letters, digits and underscores`;
  if (!TYPES.has(schema['type'])) return `must give ${option} one type, of ${[...TYPES].join(', ')}`;
  const undescribed = UNDESCRIBED.find((keyword) => schema[keyword] !== undefined);
  if (undescribed !== undefined && schema['errorMessage'] === undefined)
    return `must give ${option} an errorMessage, because it has ${undescribed}`;
  if (Object.values(schema).some(hasSecret))
    return `may not have writeOnly within ${option}: a secret is an option of its own`;
  const { default: byDefault = null, ...rest } = schema;
  const { validate } = metaSchema();
  if (!validate(rest)) {
    const [first] = orderedFaults(validate.errors ?? [], rest);
    return `have no usable JSON Schema for ${option}: ${first?.message ?? ''}`;
  }
  try {
    if (values.fits(rest, byDefault) || byDefault === null) return undefined;
  } catch (error) {
    return `have no usable JSON Schema for ${option}: ${firstLine(error)}`;
  }
  return `have a default for ${option} that its JSON Schema refuses`;
}

/** Whether a part of a schema is marked as a secret: messages would repeat it. */
function hasSecret(value: Json): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (!Array.isArray(value) && value['writeOnly'] === true) return true;
  return Object.values(value).some(hasSecret);
}

/** The first line of an error's message, without the mark that ends its sentence. */
export function firstLine(error: unknown): string {
  return ((error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? '').replace(/[.!?]$/, '');
}
