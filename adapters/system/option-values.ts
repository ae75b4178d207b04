import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Json, JsonObject } from '../../core/json.js';

/** Formats that an option may name, beside patterns. */
export type Formats = Readonly<Record<string, (text: string) => boolean>>;

/**
 * Checks single values of the configuration by the JSON Schemas of their options. Keywords that only describe, such as `errorMessage`,
 * are passed over. Throws for a schema that cannot be compiled.
 */
export class OptionValues {
  readonly #engine: Ajv2020;

  constructor(formats: Formats) {
    this.#engine = new Ajv2020({ strict: false, allErrors: false, ownProperties: true, addUsedSchema: false, validateSchema: true, logger: false, formats: { ...formats } });
    this.#engine.addVocabulary(['errorMessage']);
  }

  fits(schema: JsonObject, value: Json): boolean {
    return this.#engine.validate(schema, value);
  }
}
