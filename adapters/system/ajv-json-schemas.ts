import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import type { Json, JsonObject } from '../../core/json.js';
import type { Fault, JsonSchemas } from '../../core/ports/json-schemas.js';
import { compileSchema } from './ajv-engine.js';
import { describeFault, essentialErrors } from './fault-messages.js';
import { inDocumentOrder } from './fault-order.js';
import { copyJson, NestedTooDeep } from './json-copy.js';

const NO_FAULTS: readonly Fault[] = [];

/** Errors of one rule of a schema that are looked at: a list of thousands of wrong items is wrong at its first few. */
const MAX_ERRORS_OF_A_RULE = 20;

/** Ajv's errors as our faults, in the order a client should read them; `under` is where the value lies in what was sent. */
export function orderedFaults(errors: readonly ErrorObject[], value: Json, under = ''): readonly Fault[] {
  return inDocumentOrder(essentialErrors(firstOfEachRule(errors)).map((error) => describeFault(error, under)), value, under);
}

/** Within one rule errors come in document order, so that what is left out stands behind what is kept. */
function firstOfEachRule(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  if (errors.length <= MAX_ERRORS_OF_A_RULE) return errors;
  const seen = new Map<string, number>();
  return errors.filter(({ schemaPath }) => {
    const count = (seen.get(schemaPath) ?? 0) + 1;
    seen.set(schemaPath, count);
    return count <= MAX_ERRORS_OF_A_RULE;
  });
}

/**
 * JSON Schema 2020-12 by ajv. Validators are kept for as long as their schema object lives. `check` throws for a schema
 * that does not compile: see `checkSchema`, which says what is wrong with it.
 */
export class AjvJsonSchemas implements JsonSchemas {
  readonly #validators = new WeakMap<JsonObject, ValidateFunction>();

  check(schema: JsonObject, value: Json, under = ''): { readonly faults: readonly Fault[]; readonly withDefaults: Json } {
    const validate = this.#validatorOf(schema);
    let withDefaults: Json;
    try {
      withDefaults = copyJson(value);
    } catch (error) {
      if (!(error instanceof NestedTooDeep)) throw error;
      return { faults: [{ kind: 'invalid', pointer: under, message: error.message }], withDefaults: value };
    }
    if (validate(withDefaults)) return { faults: NO_FAULTS, withDefaults };
    return { faults: orderedFaults(validate.errors ?? [], value, under), withDefaults };
  }

  #validatorOf(schema: JsonObject): ValidateFunction {
    let validate = this.#validators.get(schema);
    if (validate === undefined) {
      validate = compileSchema(schema);
      this.#validators.set(schema, validate);
    }
    return validate;
  }
}
