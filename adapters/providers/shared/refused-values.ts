import type { Json, JsonObject } from '../../../core/json.js';
import type { RefusedValue } from '../../driver.js';
import { isObject } from './json-members.js';
import { type FieldRules, fieldsFrom, ParameterInvalid } from './request-fields.js';

/** Whole numbers of a range that are tried one by one; of a wider one, its ends. */
const MAX_TRIED = 1_000;

/** The first value of each parameter that the schema of an object allows and a rule refuses. */
export function refusedValues(rules: readonly FieldRules[], inputSchema: JsonObject): readonly RefusedValue[] {
  const { properties } = inputSchema;
  if (!isObject(properties)) return [];
  return Object.entries(properties).flatMap(([parameter, schema]) => {
    if (!isObject(schema)) return [];
    const offered = candidatesOf(schema).filter((one) => isOffered(one, schema));
    const value = offered.find((one) => isRefused(rules, parameter, one));
    return value === undefined ? [] : [{ parameter, value }];
  });
}

/** The same for `provider_settings` with rules as their `fields`. */
export function refusedByFields({ fields = {} }: JsonObject, inputSchema: JsonObject): readonly RefusedValue[] {
  return refusedValues([fields as FieldRules], inputSchema);
}

/** Values that the schema lists, or the ends of its range, and its default. */
function candidatesOf({ type, enum: listed, const: only, minimum, maximum, default: usual }: JsonObject): Json[] {
  const byDefault = usual === undefined ? [] : [usual];
  if (Array.isArray(listed)) return [...listed, ...byDefault];
  if (only !== undefined) return [only, ...byDefault];
  if (type === 'boolean') return [false, true];
  if (type !== 'integer' && type !== 'number') return byDefault;
  const [least, most] = [minimum, maximum].map((end) => (typeof end === 'number' ? end : undefined));
  if (type === 'integer' && least !== undefined && most !== undefined && most - least < MAX_TRIED)
    return Array.from({ length: Math.floor(most) - Math.ceil(least) + 1 }, (_, index) => Math.ceil(least) + index);
  return [...byDefault, ...[least, most].filter((end) => end !== undefined)];
}

/** Whether a number of a range is one that the schema allows. */
function isOffered(value: Json, { multipleOf, exclusiveMinimum: above, exclusiveMaximum: below }: JsonObject): boolean {
  if (typeof value !== 'number') return true;
  const isStep = typeof multipleOf !== 'number' || Number.isInteger(value / multipleOf);
  return isStep && !(typeof above === 'number' && value <= above) && !(typeof below === 'number' && value >= below);
}

function isRefused(rules: readonly FieldRules[], parameter: string, value: Json): boolean {
  const own = rules.map((some) =>
    Object.fromEntries(Object.entries(some).filter(([, rule]) => rule.parameter === parameter)),
  );
  try {
    for (const some of own) fieldsFrom(some, { [parameter]: value });
    return false;
  } catch (error) {
    if (error instanceof ParameterInvalid) return true;
    throw error;
  }
}
