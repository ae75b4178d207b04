import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Json, JsonObject } from '../../core/json.js';

/** Formats that an option may name, in addition to patterns. */
export type Formats = Readonly<Record<string, (text: string) => boolean>>;

/**
 * Checks single values of the configuration by the JSON Schemas of their options. Keywords that only describe, such as
 * `errorMessage`, are passed over. Throws for a schema that cannot be compiled.
 */
export class OptionValues {
  /** Made when a value is first checked: most commands keep every default. */
  #engine: Ajv2020 | undefined;

  constructor(private readonly formats: Formats) {}

  fits(schema: JsonObject, value: Json): boolean {
    this.#engine ??= new Ajv2020({
      strict: false,
      ownProperties: true,
      addUsedSchema: false,
      logger: false,
      formats: { ...this.formats },
    }).addVocabulary(['errorMessage']);
    return this.#engine.validate(schema, value);
  }
}
