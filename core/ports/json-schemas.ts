import type { Json, JsonObject } from '../json.js';

/** One thing wrong with a value. `pointer` is a JSON Pointer to it; '' is the whole of what was sent. */
export interface Fault {
  readonly kind: 'required' | 'invalid';
  readonly pointer: string;
  /** The same as a person writes it: `parameters.size`, `reference_upload_ids[3]`; '' for the whole. Every name as it is. */
  readonly field: string;
  /** One sentence: what is wrong and what would be right. */
  readonly message: string;
}

/** JSON Schema 2020-12. String lengths count Unicode code points. */
export interface JsonSchemas {
  /**
   * Faults of `value` under `schema`, missing fields first, then in the value's document order; none when it conforms. The
   * first is always among them; of the others there may be only some where one rule is broken often.
   * `value` is left as it is; `withDefaults` is a copy with the schema's defaults filled in. A schema object is compiled
   * once and kept. `under` is the pointer of `value` in what the client sent: pointers and messages then begin with it.
   */
  check(schema: JsonObject, value: Json, under?: string): { readonly faults: readonly Fault[]; readonly withDefaults: Json };
}
