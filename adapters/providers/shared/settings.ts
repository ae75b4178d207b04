import type { JsonObject } from '../../../core/json.js';
import type { Fault } from '../../../core/ports/machine.js';
import { AjvJsonSchemas } from '../../system/ajv-json-schemas.js';

const schemas = new AjvJsonSchemas();

export type CheckedSettings =
  /** One sentence, and the JSON Pointer of its place. */
  | { readonly fault: string; readonly pointer: string }
  /** With the schema's defaults filled in. */
  | { readonly settings: JsonObject };

/**
 * A model's `provider_settings` under a JSON Schema 2020-12, whose type is `object`: the first fault as one sentence,
 * or the settings. A field that is missing is named with one beside it that is not known. For a text that does not
 * match a pattern, the sentence quotes the `description` of the schema, if there is one. The schema object must be a
 * constant, as it is compiled once for each object.
 */
export function checkSettings(schema: JsonObject, settings: JsonObject): CheckedSettings {
  const { faults, withDefaults } = schemas.check(schema, settings);
  const [first] = faults;
  if (first === undefined) return { settings: withDefaults as JsonObject };
  const misspelt = first.kind === 'required' ? faults.find((other) => isUnknownBeside(first, other)) : undefined;
  const fault = misspelt === undefined ? first.message : `${first.message.replace(/\.$/, '')}; ${misspelt.message}`;
  return { fault: inWords(fault, schema, first.pointer), pointer: first.pointer };
}

/** A sentence about a pattern, without the pattern. */
function inWords(fault: string, schema: JsonObject, pointer: string): string {
  const [field, pattern] = fault.split(' must match the pattern ');
  const description = pattern === undefined ? undefined : descriptionAt(schema, pointer);
  return description === undefined ? fault : `${field} must be ${description}.`;
}

function descriptionAt(schema: JsonObject, pointer: string): string | undefined {
  let place: JsonObject | undefined = schema;
  for (const name of pointer.split('/').slice(1)) {
    const { properties, items } = (place ?? {}) as { properties?: Record<string, JsonObject>; items?: JsonObject };
    place = properties?.[name] ?? items;
  }
  const description = place?.['description'];
  return typeof description === 'string' ? description : undefined;
}

/** A field that is missing may be there under another name. */
function isUnknownBeside(missing: Fault, { pointer, message }: Fault): boolean {
  return message.startsWith('unknown field ') && dirname(pointer) === dirname(missing.pointer);
}

function dirname(pointer: string): string {
  return pointer.slice(0, pointer.lastIndexOf('/'));
}
