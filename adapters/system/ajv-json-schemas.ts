import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import { pathOf, tokensOf } from '../../core/field-path.js';
import type { Json, JsonObject } from '../../core/json.js';
import type { Fault, JsonSchemas } from '../../core/ports/json-schemas.js';
import { compileSchema } from './ajv-engine.js';
import { describeFault, essentialErrors, isRequired, memberAtFault } from './fault-messages.js';
import { comparePlaces, DocumentOrder, type Place } from './fault-order.js';
import { copyJson, NestedTooDeep } from './json-copy.js';

interface Validator {
  readonly validate: ValidateFunction;
  readonly hasReferences: boolean;
}

const NO_FAULTS: readonly Fault[] = [];

/**
 * The number of errors of one schema rule that are examined: for a list of thousands of wrong items the first few
 * suffice.
 */
const MAX_ERRORS_OF_A_RULE = 20;

/** One of ajv's errors, and its position in the value. */
interface PlacedError {
  readonly error: ErrorObject;
  readonly isRequired: boolean;
  readonly place: Place;
}

/**
 * Ajv's errors as our faults, in the order a client should read them: missing fields, then the rest in the order of the
 * document; `under` is the position of the value in the request. There may be as many errors as the value has members,
 * and a client is told only the first fault, so only a few errors of each rule are sorted, the very first among them.
 */
export function orderedFaults(
  errors: readonly ErrorObject[],
  value: Json,
  { under = '', hasReferences = true } = {},
): readonly Fault[] {
  const order = new DocumentOrder(value);
  const placed = (error: ErrorObject): PlacedError => ({
    error,
    isRequired: isRequired(error),
    place: order.placeOf(error.instancePath, memberAtFault(error)),
  });
  const ordered = essentialErrors(firstOfEachRule(errors))
    .map(placed)
    .toSorted(compareErrors)
    .map(({ error }) => error);
  const isCut = hasReferences && errors.length > MAX_ERRORS_OF_A_RULE;
  const first = isCut
    ? essentialErrors(errors)
        .map(placed)
        .reduce((least, next) => (compareErrors(next, least) < 0 ? next : least)).error
    : ordered[0];
  if (first === undefined) return NO_FAULTS;
  return [first, ...ordered.filter((error) => error !== first)].map((error) => describeFault(error, value, under));
}

function compareErrors(one: PlacedError, other: PlacedError): number {
  return Number(other.isRequired) - Number(one.isRequired) || comparePlaces(one.place, other.place);
}

/**
 * Ajv applies one rule to members in document order, so the omitted errors come after the kept ones. A rule behind a
 * reference is the exception: several places of a schema use it, in the order of the schema.
 */
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
 * JSON Schema 2020-12 by ajv. Validators are kept as long as their schema object is reachable. `check` throws for a
 * schema that does not compile: see `checkSchema`, which says what is wrong with it.
 */
export class AjvJsonSchemas implements JsonSchemas {
  readonly #validators = new WeakMap<JsonObject, Validator>();

  check(
    schema: JsonObject,
    value: Json,
    under = '',
  ): { readonly faults: readonly Fault[]; readonly withDefaults: Json } {
    const { validate, hasReferences } = this.#validatorOf(schema);
    let withDefaults: Json;
    try {
      withDefaults = copyJson(value);
    } catch (error) {
      if (!(error instanceof NestedTooDeep)) throw error;
      return {
        faults: [{ kind: 'invalid', pointer: under, field: pathOf(tokensOf(under, {})), message: error.message }],
        withDefaults: value,
      };
    }
    if (validate(withDefaults)) return { faults: NO_FAULTS, withDefaults };
    return { faults: orderedFaults(validate.errors ?? [], value, { under, hasReferences }), withDefaults };
  }

  #validatorOf(schema: JsonObject): Validator {
    let validator = this.#validators.get(schema);
    if (validator === undefined) {
      validator = {
        validate: compileSchema(schema),
        hasReferences: /"\$(?:dynamicRef|ref)":/.test(JSON.stringify(schema)),
      };
      this.#validators.set(schema, validator);
    }
    return validator;
  }
}
