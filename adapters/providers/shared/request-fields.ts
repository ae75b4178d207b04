import type { Json, JsonObject } from '../../../core/json.js';

export type FieldValue = string | number | boolean;

/** The source of the value of one field of a request: a constant, or a parameter of the task within bounds. */
export interface FieldRule {
  readonly value?: FieldValue;
  readonly parameter?: string;
  /** The value to send for each value of the parameter, written as a text; instead of a type with its bounds. */
  readonly values?: Readonly<Record<string, FieldValue>>;
  readonly type?: 'string' | 'integer' | 'number' | 'boolean';
  readonly enum?: readonly FieldValue[];
  /** A regular expression for the whole text. */
  readonly pattern?: string;
  /** In Unicode code points. */
  readonly max_length?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** The rules of a request, by the name of the field. Parameters without a rule are never sent. */
export type FieldRules = Readonly<Record<string, FieldRule>>;

const SCALAR = ['string', 'number', 'boolean'];

/** The JSON Schema of `FieldRules` within `provider_settings`; `fieldRulesFault` says what it cannot. */
export const FIELD_RULES_SCHEMA: JsonObject = {
  type: 'object',
  maxProperties: 100,
  propertyNames: { pattern: '^[A-Za-z0-9_.-]{1,64}$' },
  additionalProperties: {
    type: 'object',
    additionalProperties: false,
    properties: {
      value: { type: SCALAR },
      parameter: { type: 'string', minLength: 1, maxLength: 128 },
      values: { type: 'object', minProperties: 1, maxProperties: 1_000, additionalProperties: { type: SCALAR } },
      type: { type: 'string', enum: ['string', 'integer', 'number', 'boolean'] },
      enum: { type: 'array', minItems: 1, maxItems: 1_000, items: { type: SCALAR } },
      pattern: { type: 'string', minLength: 1, maxLength: 1_000 },
      max_length: { type: 'integer', minimum: 1, maximum: 100_000 },
      minimum: { type: 'number' },
      maximum: { type: 'number' },
    },
  },
};

/** A parameter whose value the rules do not allow. The message is one sentence, fit for clients. */
export class ParameterInvalid extends Error {
  constructor(parameter: string) {
    super(`The parameter ${parameter} has a value that the provider cannot use.`);
    this.name = 'ParameterInvalid';
  }
}

/** The first rule that cannot be used, as one sentence; `at` names the place of the rules. */
export function fieldRulesFault(rules: FieldRules, at = 'fields'): string | undefined {
  for (const [field, rule] of Object.entries(rules)) {
    const fault = ruleFault(rule);
    if (fault !== undefined) return `${at}.${field} ${fault}.`;
  }
  return undefined;
}

/** The names of the parameters that rules take. */
export function parametersIn(...rules: readonly FieldRules[]): readonly string[] {
  return rules.flatMap((some) => Object.values(some).flatMap(({ parameter }) => parameter ?? []));
}

/** The same for `provider_settings` with rules as their `fields`. */
export function parametersOfFields({ fields = {} }: JsonObject): readonly string[] {
  return parametersIn(fields as FieldRules);
}

/**
 * The fields of a request. A parameter that the task does not have leaves its field out. Throws `ParameterInvalid`: the
 * model's own input schema may allow more than the rules.
 */
export function fieldsFrom(rules: FieldRules, parameters: JsonObject): Readonly<Record<string, FieldValue>> {
  const fields: Record<string, FieldValue> = {};
  for (const [field, rule] of Object.entries(rules)) {
    const value = valueOf(rule, parameters);
    if (value !== undefined) fields[field] = value;
  }
  return fields;
}

function valueOf(rule: FieldRule, parameters: JsonObject): FieldValue | undefined {
  if (rule.parameter === undefined) return rule.value;
  if (!Object.hasOwn(parameters, rule.parameter)) return undefined;
  const value = parameters[rule.parameter];
  const sent = value === undefined ? undefined : sentFor(value, rule);
  if (sent === undefined) throw new ParameterInvalid(rule.parameter);
  return sent;
}

function sentFor(value: Json, rule: FieldRule): FieldValue | undefined {
  const { values } = rule;
  if (values === undefined) return fits(value, rule) ? value : undefined;
  if (typeof value === 'object') return undefined;
  return Object.hasOwn(values, String(value)) ? values[String(value)] : undefined;
}

function fits(value: Json, rule: FieldRule): value is FieldValue {
  if (rule.enum !== undefined && !rule.enum.some((allowed) => allowed === value)) return false;
  if (typeof value === 'string') return rule.type === 'string' && fitsText(value, rule);
  if (typeof value === 'boolean') return rule.type === 'boolean';
  if (typeof value !== 'number' || !isWithin(value, rule)) return false;
  return rule.type === 'integer' ? Number.isSafeInteger(value) : rule.type === 'number';
}

function fitsText(text: string, { pattern, max_length: maxLength }: FieldRule): boolean {
  if (maxLength !== undefined && [...text].length > maxLength) return false;
  return pattern === undefined || wholeMatch(pattern).test(text);
}

function isWithin(value: number, { minimum = -Infinity, maximum = Infinity }: FieldRule): boolean {
  return value >= minimum && value <= maximum;
}

/** The rest of a sentence that begins with the name of the field. */
function ruleFault(rule: FieldRule): string | undefined {
  const { value, parameter, values, type, ...bounds } = rule;
  if ((value === undefined) === (parameter === undefined)) return 'needs either a value or a parameter';
  const isBounded = type !== undefined || Object.keys(bounds).length > 0;
  if (parameter === undefined)
    return isBounded || values !== undefined ? 'has a value, and so no other key' : undefined;
  if (values !== undefined) return isBounded ? 'has values, and so no type and no bounds' : undefined;
  if (type === undefined) return 'needs values, or a type, one of string, integer, number, boolean';
  return boundsFault(type, bounds);
}

const BOUNDS = {
  string: ['enum', 'pattern', 'max_length'],
  integer: ['enum', 'minimum', 'maximum'],
  number: ['enum', 'minimum', 'maximum'],
  boolean: [],
} as const satisfies Record<NonNullable<FieldRule['type']>, readonly (keyof FieldRule)[]>;

function boundsFault(type: NonNullable<FieldRule['type']>, bounds: FieldRule): string | undefined {
  const known: readonly string[] = BOUNDS[type];
  const foreign = Object.keys(bounds).find((key) => !known.includes(key));
  if (foreign !== undefined) return `has ${foreign}, which is none of a field of type ${type}`;
  if (bounds.pattern !== undefined && !isPattern(bounds.pattern)) return 'has a pattern that is no regular expression';
  if (bounds.enum?.some((value) => !fits(value, { ...bounds, type })) === true)
    return 'has a value in enum that its other keys do not allow';
  if (type === 'string') return textBoundsFault(bounds);
  if (type === 'boolean' || bounds.enum !== undefined) return undefined;
  const { minimum, maximum } = bounds;
  return minimum === undefined || maximum === undefined || minimum > maximum
    ? 'needs an enum, or a minimum and a maximum that is not below it'
    : undefined;
}

function textBoundsFault({ enum: choices, pattern, max_length: maxLength }: FieldRule): string | undefined {
  return choices === undefined && pattern === undefined && maxLength === undefined
    ? 'needs an enum, a pattern or a max_length'
    : undefined;
}

function wholeMatch(pattern: string): RegExp {
  return new RegExp(`^(?:${pattern})$`, 'u');
}

function isPattern(text: string): boolean {
  try {
    return wholeMatch(text) instanceof RegExp;
  } catch {
    return false;
  }
}
