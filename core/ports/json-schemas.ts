import type { Json, JsonObject } from '../json.js';

/** One fault of a value. `pointer` is a JSON Pointer to it; '' is the whole document. */
export interface Fault {
  readonly kind: 'required' | 'invalid';
  readonly pointer: string;
  /** The same as a path: `parameters.size`, `reference_upload_ids[3]`; '' for the whole. Names are not escaped. */
  readonly field: string;
  /** One sentence: what is wrong and what would be right. */
  readonly message: string;
}

/** JSON Schema 2020-12. String lengths count Unicode code points. */
export interface JsonSchemas {
  /**
   * Faults of `value` under `schema`, missing fields first, then in the value's document order; none when it conforms.
   * The first is always among them; where one rule is broken often, some of the others may be left out. `value` is not
   * changed; `withDefaults` is a copy with the schema's defaults filled in. A schema object is compiled once and kept.
   * `under` is the pointer of `value` in what the client sent: pointers and messages then begin with it.
   */
  check(
    schema: JsonObject,
    value: Json,
    under?: string,
  ): { readonly faults: readonly Fault[]; readonly withDefaults: Json };
}
