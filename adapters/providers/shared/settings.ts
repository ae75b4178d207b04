import type { JsonObject } from '../../../core/json.js';
import { AjvJsonSchemas } from '../../system/ajv-json-schemas.js';

const schemas = new AjvJsonSchemas();

export type CheckedSettings =
  /** One sentence, and the JSON Pointer of its place. */
  | { readonly fault: string; readonly pointer: string }
  /** With the schema's defaults filled in. */
  | { readonly settings: JsonObject };

/**
 * A model's `provider_settings` under a JSON Schema 2020-12, whose type is `object`: the first fault as one sentence, or
 * the settings. The schema object must be a constant, as it is compiled once for each object.
 */
export function checkSettings(schema: JsonObject, settings: JsonObject): CheckedSettings {
  const { faults, withDefaults } = schemas.check(schema, settings);
  const [first] = faults;
  return first === undefined
    ? { settings: withDefaults as JsonObject }
    : { fault: first.message, pointer: first.pointer };
}
