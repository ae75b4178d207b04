import { utf8ByteLength, type Json, type JsonObject } from '../../../core/json.js';
import { boundsBefore, drawnSeed, type SeedTask } from './drawn-seed.js';

type Scalar = string | number | boolean;

/** The value of a field of a request: JSON of the operator, a value of a client, or a size in the server's form. */
export type FieldValue = Json;

/** The source of the value of one field of a request: a constant, or a parameter of the task within bounds. */
export interface FieldRule {
  /** Any JSON of at most `MAX_CONSTANT_DEPTH` levels and `MAX_CONSTANT_BYTES` bytes. */
  readonly value?: Json;
  readonly parameter?: string;
  /** The value to send for each value of the parameter, written as a text; instead of a type with its bounds. */
  readonly values?: Readonly<Record<string, Scalar>>;
  /**
   * In place of a type, for a parameter of the form WIDTHxHEIGHT: `object` sends `{ width, height }`, `width` and `height`
   * send one side as an integer, and any other text is sent with the sides in place of `{w}` and `{h}`.
   */
  readonly size?: string;
  readonly type?: 'string' | 'integer' | 'number' | 'boolean';
  readonly enum?: readonly Scalar[];
  /** A regular expression for the whole text. */
  readonly pattern?: string;
  /** In Unicode code points. */
  readonly max_length?: number;
  /** Draws an integer from the task's token if the task has no value, for vendors that require a seed. */
  readonly draw?: boolean;
  /** A number is sent as `value × times + plus`; an integer is rounded. */
  readonly times?: number;
  readonly plus?: number;
  /** The bounds of the number that is sent, or of each side of a size, in pixels. */
  readonly minimum?: number;
  readonly maximum?: number;
  /** Each side of a size is a multiple of it, in pixels. */
  readonly multiple_of?: number;
}

/** The rules of a request, by the name of the field. Parameters without a rule are never sent. */
export type FieldRules = Readonly<Record<string, FieldRule>>;

/** The bounds of a constant: levels of lists and objects, and bytes of its JSON in UTF-8. */
export const [MAX_CONSTANT_DEPTH, MAX_CONSTANT_BYTES] = [8, 16 * 1024];

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
      value: {},
      parameter: { type: 'string', minLength: 1, maxLength: 128 },
      values: { type: 'object', minProperties: 1, maxProperties: 1_000, additionalProperties: { type: SCALAR } },
      size: { type: 'string', minLength: 1, maxLength: 64 },
      type: { type: 'string', enum: ['string', 'integer', 'number', 'boolean'] },
      enum: { type: 'array', minItems: 1, maxItems: 1_000, items: { type: SCALAR } },
      pattern: { type: 'string', minLength: 1, maxLength: 1_000 },
      max_length: { type: 'integer', minimum: 1, maximum: 100_000 },
      draw: { type: 'boolean' },
      times: { type: 'number' },
      plus: { type: 'number' },
      minimum: { type: 'number' },
      maximum: { type: 'number' },
      multiple_of: { type: 'integer', minimum: 1, maximum: 10_000 },
    },
  },
};

/** A parameter whose value the rules do not allow, or that needs one. The message is one sentence, fit for clients. */
export class ParameterInvalid extends Error {
  constructor(parameter: string, what = 'has a value that the provider cannot use') {
    super(`The parameter ${parameter} ${what}.`);
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
 * The fields of a request. A parameter that the task does not have leaves its field out, unless `task` is there and a rule
 * draws a number. Throws `ParameterInvalid`: the model's own input schema may allow more than the rules.
 */
export function fieldsFrom(
  rules: FieldRules,
  parameters: JsonObject,
  task?: Pick<SeedTask, 'token' | 'inputSchema'>,
): Readonly<Record<string, FieldValue>> {
  const given = task === undefined ? parameters : withDrawn(rules, { ...task, parameters });
  const fields: Record<string, FieldValue> = {};
  for (const [field, rule] of Object.entries(rules)) {
    const value = valueOf(rule, given);
    if (value !== undefined) fields[field] = value;
  }
  return fields;
}

/** The parameters with a number for each that is drawn. All fields of a parameter get the same one. */
function withDrawn(rules: FieldRules, { parameters, token, inputSchema }: SeedTask): JsonObject {
  const all: Record<string, Json> = { ...parameters };
  for (const { parameter, draw } of Object.values(rules)) {
    if (draw !== true || parameter === undefined || Object.hasOwn(all, parameter)) continue;
    const targets = Object.values(rules).filter((rule) => rule.parameter === parameter);
    const isUsable = (number: number) => targets.every((rule) => sentFor(number, rule) !== undefined);
    const drawn = drawnSeed({ token, parameters: all, inputSchema, parameter }, boundsBefore(targets), isUsable);
    if (drawn === undefined) throw new ParameterInvalid(parameter, 'needs a value');
    all[parameter] = drawn;
  }
  return all;
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
  const { values, size } = rule;
  if (size !== undefined) return sentSize(value, size, rule);
  if (values === undefined) return sentScalar(value, rule);
  if (typeof value === 'object') return undefined;
  return Object.hasOwn(values, String(value)) ? values[String(value)] : undefined;
}

const SIZE = /^([1-9]\d{0,4})x([1-9]\d{0,4})$/;

/** The sides of a text of the form `512x768`, in pixels; undefined for any other value. */
export function sidesOf(value: Json): { readonly width: number; readonly height: number } | undefined {
  const [, width, height] = (typeof value === 'string' ? SIZE.exec(value) : null) ?? [];
  return width === undefined || height === undefined ? undefined : { width: Number(width), height: Number(height) };
}

function sentSize(value: Json, form: string, rule: FieldRule): FieldValue | undefined {
  const sides = sidesOf(value);
  if (sides === undefined) return undefined;
  const { multiple_of: step = 1 } = rule;
  const { width, height } = sides;
  // A rule for one side says nothing of the other one.
  const bound = form === 'width' ? [width] : form === 'height' ? [height] : [width, height];
  if (!bound.every((side) => isWithin(side, rule) && side % step === 0)) return undefined;
  if (form === 'object') return sides;
  if (form === 'width' || form === 'height') return sides[form];
  return form.replaceAll('{w}', String(width)).replaceAll('{h}', String(height));
}

function sentScalar(value: Json, rule: FieldRule): FieldValue | undefined {
  const isScaled = rule.times !== undefined || rule.plus !== undefined;
  if (!isScaled || typeof value !== 'number') return fits(value, rule) ? value : undefined;
  const sent = scaled(value, rule);
  // Adding 0 turns -0 into 0.
  const number = rule.type === 'integer' ? Math.round(sent) + 0 : sent;
  return Number.isFinite(number) && fits(number, rule) ? number : undefined;
}

/** A value as `value × times + plus`. 0.1 × 30 is 3, and not a little more. */
export function scaled(value: number, { times = 1, plus = 0 }: Pick<FieldRule, 'times' | 'plus'>): number {
  const sent = value * times + plus;
  const whole = Math.round(sent);
  return Math.abs(sent - whole) < 1e-9 ? whole : sent;
}

function fits(value: Json, rule: FieldRule): value is Scalar {
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
  const { value, parameter, values, size, type, ...bounds } = rule;
  if ((value === undefined) === (parameter === undefined)) return 'needs either a value or a parameter';
  const isBounded = type !== undefined || Object.keys(bounds).length > 0;
  if (value !== undefined)
    return isBounded || values !== undefined || size !== undefined
      ? 'has a value, and so no other key'
      : constantFault(value);
  if (rule.draw === true && type !== 'integer') return 'has draw, and so needs the type integer';
  if (values !== undefined)
    return isBounded || size !== undefined ? 'has values, and so no type, no size and no bounds' : undefined;
  if (size !== undefined) return type === undefined ? sizeFault(size, bounds) : 'has a size, and so no type';
  if (type === undefined) return 'needs values, a size, or a type, one of string, integer, number, boolean';
  return boundsFault(type, bounds);
}

function constantFault(value: Json): string | undefined {
  if (depthOf(value) > MAX_CONSTANT_DEPTH) return `has a value of more than ${MAX_CONSTANT_DEPTH} levels`;
  return utf8ByteLength(JSON.stringify(value)) > MAX_CONSTANT_BYTES
    ? `has a value of more than ${MAX_CONSTANT_BYTES} bytes`
    : undefined;
}

/** Looks no deeper than one level below the limit. */
function depthOf(value: Json, above = 0): number {
  if (typeof value !== 'object' || value === null || above > MAX_CONSTANT_DEPTH) return above;
  let deepest = above + 1;
  for (const inner of Object.values(value)) deepest = Math.max(deepest, depthOf(inner, above + 1));
  return deepest;
}

function sizeFault(size: string, bounds: FieldRule): string | undefined {
  const isForm = ['object', 'width', 'height'].includes(size) || (size.includes('{w}') && size.includes('{h}'));
  if (!isForm) return 'has a size that is not object, width, height, or a text with {w} and {h}';
  const foreign = foreignKey('size', bounds);
  if (foreign !== undefined) return `has ${foreign}, which does not belong to a size`;
  const { minimum = 1, maximum = Infinity, multiple_of: step = 1 } = bounds;
  if (minimum > maximum) return 'has a minimum above its maximum';
  return Math.ceil(Math.max(1, minimum) / step) * step > Math.min(maximum, 99_999)
    ? 'has no side within its bounds that is a multiple of multiple_of'
    : undefined;
}

const NUMERIC = ['enum', 'times', 'plus', 'minimum', 'maximum'] as const;

const BOUNDS = {
  string: ['enum', 'pattern', 'max_length'],
  integer: [...NUMERIC, 'draw'],
  number: NUMERIC,
  boolean: [],
  size: ['minimum', 'maximum', 'multiple_of'],
} as const satisfies Record<NonNullable<FieldRule['type']> | 'size', readonly (keyof FieldRule)[]>;

function foreignKey(of: keyof typeof BOUNDS, bounds: FieldRule): string | undefined {
  const known: readonly string[] = BOUNDS[of];
  return Object.keys(bounds).find((key) => !known.includes(key));
}

function boundsFault(type: NonNullable<FieldRule['type']>, bounds: FieldRule): string | undefined {
  const foreign = foreignKey(type, bounds);
  if (foreign !== undefined) return `has ${foreign}, which is none of a field of type ${type}`;
  if (bounds.times === 0) return 'has times 0, which would send one number for all values; give it a value instead';
  if (bounds.enum !== undefined && (bounds.times ?? bounds.plus) !== undefined)
    return 'has an enum, and so neither times nor plus; use values';
  if (bounds.enum !== undefined && bounds.draw === true)
    return 'has draw, and so needs a minimum and a maximum in place of an enum';
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
