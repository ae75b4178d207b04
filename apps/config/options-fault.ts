import type { Json, JsonObject } from '../../core/json.js';
import { keyOf } from './config-key.js';
import { optionsOf } from './config-keys.js';
import { firstLine } from './first-line.js';

/** What the options of a driver may say together. Everything else would be ignored, so it is refused. */
const SECTION_KEYWORDS = new Set(['type', 'properties', 'required', 'additionalProperties', 'title', 'description']);
const TYPES = new Set<unknown>(['string', 'integer', 'number', 'boolean', 'array', 'object']);
/** Keywords whose meaning no sentence of ours tells. */
const UNTOLD = [
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
 * Each option must have a schema of one type that can be compiled and told in a sentence, and a default that it takes.
 */
export function optionsFault(options: unknown): string | undefined {
  const schema = options as JsonObject | undefined;
  if (typeof schema !== 'object' || schema === null || schema['type'] !== 'object')
    return 'must be a JSON Schema of type object';
  const ignored = Object.keys(schema).find((keyword) => !SECTION_KEYWORDS.has(keyword));
  if (ignored !== undefined) return `may not have ${ignored}: each option is checked alone`;
  if (schema['required'] !== undefined && !isListOfText(schema['required'])) return 'must have a list as required';
  for (const [option, of] of optionsOf(schema)) {
    const fault = nameFault(option) ?? schemaFault(option, of);
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

function nameFault(option: string): string | undefined {
  return /^[a-z][a-z0-9_]*$/.test(option)
    ? undefined
    : `may not have one called ${option}: names have lower-case letters, digits and underscores`;
}

function schemaFault(option: string, schema: JsonObject): string | undefined {
  if (!TYPES.has(schema['type'])) return `must give ${option} one type, of ${[...TYPES].join(', ')}`;
  const untold = UNTOLD.find((keyword) => schema[keyword] !== undefined);
  if (untold !== undefined && schema['errorMessage'] === undefined)
    return `must give ${option} an errorMessage, because it has ${untold}`;
  if (holdsSecret(schema)) return `may not have writeOnly within ${option}: a secret is an option of its own`;
  const { default: byDefault = null, ...rest } = schema;
  try {
    if (keyOf(rest).fits(byDefault) || byDefault === null) return undefined;
  } catch (error) {
    return `have no usable JSON Schema for ${option}: ${firstLine(error)}`;
  }
  return `have a default for ${option} that its JSON Schema refuses`;
}

/** Whether anything below the top of a schema is marked as a secret: messages would repeat it. */
function holdsSecret(schema: JsonObject): boolean {
  return Object.values(schema).some((value) => isSecret(value));
}

function isSecret(value: Json): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(isSecret);
  return value['writeOnly'] === true || holdsSecret(value);
}
