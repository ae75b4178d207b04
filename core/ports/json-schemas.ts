import type { Json, JsonObject } from '../json.js';

/** One thing wrong with a value. `pointer` is a JSON Pointer to it; '' is the whole of what was sent. */
export interface Fault {
  readonly kind: 'required' | 'invalid';
  readonly pointer: string;
  /** One sentence: what is wrong and what would be right. */
  readonly message: string;
}

/** JSON Schema 2020-12. String lengths count Unicode code points. */
export interface JsonSchemas {
  /**
   * Faults of `value` under `schema`, missing fields first, then in the value's document order; none when it conforms.
   * `value` is left as it is; `withDefaults` is a copy with the schema's defaults filled in. A schema object is compiled
   * once and kept. `under` is the pointer of `value` in what the client sent: pointers and messages then begin with it.
   */
  check(schema: JsonObject, value: Json, under?: string): { readonly faults: readonly Fault[]; readonly withDefaults: Json };
}
