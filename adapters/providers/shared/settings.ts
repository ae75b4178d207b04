import type { JsonObject } from '../../../core/json.js';
import type { Fault } from '../../../core/ports/json-schemas.js';
import { AjvJsonSchemas } from '../../system/ajv-json-schemas.js';

const schemas = new AjvJsonSchemas();

export type CheckedSettings =
  /** One sentence, and the JSON Pointer of its place. */
  | { readonly fault: string; readonly pointer: string }
  /** With the schema's defaults filled in. */
  | { readonly settings: JsonObject };

/**
 * A model's `provider_settings` under a JSON Schema 2020-12, whose type is `object`: the first fault as one sentence, or
 * the settings. A field that is missing is named with one beside it that is not known. The schema object must be a constant, as it is compiled once for each object.
 */
export function checkSettings(schema: JsonObject, settings: JsonObject): CheckedSettings {
  const { faults, withDefaults } = schemas.check(schema, settings);
  const [first] = faults;
  if (first === undefined) return { settings: withDefaults as JsonObject };
  const misspelt = first.kind === 'required' ? faults.find((other) => isUnknownBeside(first, other)) : undefined;
  const fault = misspelt === undefined ? first.message : `${first.message.replace(/\.$/, '')}; ${misspelt.message}`;
  return { fault, pointer: first.pointer };
}

/** A field that is missing may be there under another name. */
function isUnknownBeside(missing: Fault, { pointer, message }: Fault): boolean {
  return message.startsWith('unknown field ') && dirname(pointer) === dirname(missing.pointer);
}

function dirname(pointer: string): string {
  return pointer.slice(0, pointer.lastIndexOf('/'));
}
