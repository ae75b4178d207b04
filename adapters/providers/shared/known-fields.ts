import { IMAGE_SIDE, sizeOf } from './image-size.js';
import { fieldRulesFault, type FieldRule, type FieldRules, type FieldValue } from './request-fields.js';

/**
 * The values that a server can use in one field of a request. `size` is a text of width and height, such as `512x768`.
 */
export interface KnownField {
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'size';
  readonly minimum?: number;
  readonly maximum?: number;
  readonly enum?: readonly string[];
}

/**
 * The first rule that cannot be used, as one sentence: of a field that is not among those that settings may set, or that
 * would let a value through that the server cannot use.
 */
export function knownFieldsFault(rules: FieldRules, fields: Readonly<Record<string, KnownField>>): string | undefined {
  for (const [name, rule] of Object.entries(rules)) {
    const known = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (known === undefined)
      return `fields.${name} is no field that settings can set; these are ${Object.keys(fields).join(', ')}.`;
    const fault = fieldRulesFault({ [name]: rule }) ?? boundsFault(name, rule, known);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function boundsFault(name: string, rule: FieldRule, known: KnownField): string | undefined {
  if (rule.size !== undefined) return sizeFault(name, rule, known);
  const type = known.type === 'size' ? 'string' : known.type;
  if (rule.type !== undefined && rule.type !== type) return `fields.${name} must have the type ${type}.`;
  if (type === 'string' && rule.parameter !== undefined && rule.values === undefined && rule.enum === undefined)
    return `fields.${name} needs an enum.`;
  const wrong = sentValues(rule).find((value) => value !== undefined && !isUsable(value, known));
  return wrong === undefined ? undefined : `fields.${name} must not allow ${JSON.stringify(wrong)}: ${ofKind(known)}.`;
}

/** A rule for any size within bounds, where the server takes a size. */
function sizeFault(name: string, rule: FieldRule, known: KnownField): string | undefined {
  if (known.type !== 'size') return `fields.${name} may not have a size: ${ofKind(known)}.`;
  const { multipleOf, minimum: least, maximum: most } = IMAGE_SIDE;
  const { size, minimum = 0, maximum = Infinity, multiple_of: step = 1 } = rule;
  return size === '{w}x{h}' && minimum >= least && maximum <= most && step % multipleOf === 0
    ? undefined
    : `fields.${name} needs the size "{w}x{h}", a minimum from ${least}, a maximum up to ${most}, and a multiple_of ${multipleOf}.`;
}

/** The values that a rule may send, or the least and the greatest of them. */
function sentValues({
  value,
  values,
  enum: choices,
  minimum,
  maximum,
}: FieldRule): readonly (FieldValue | undefined)[] {
  if (value !== undefined) return [value];
  return values === undefined ? (choices ?? [minimum, maximum]) : Object.values(values);
}

function isUsable(value: FieldValue, { type, minimum, maximum, enum: choices }: KnownField): boolean {
  if (type === 'size') return sizeOf(value) !== undefined;
  if (typeof value === 'string') return type === 'string' && (choices?.includes(value) ?? value !== '');
  if (typeof value === 'boolean') return type === 'boolean';
  if (typeof value !== 'number' || (type === 'integer' && !Number.isSafeInteger(value))) return false;
  return type !== 'string' && type !== 'boolean' && value >= (minimum ?? value) && value <= (maximum ?? value);
}

/** The end of a sentence: what the server can use. */
function ofKind({ type, minimum, maximum, enum: choices }: KnownField): string {
  if (type === 'size') {
    const { multipleOf, minimum: least, maximum: most } = IMAGE_SIDE;
    return `a size is WIDTHxHEIGHT, two multiples of ${multipleOf} from ${least} to ${most}`;
  }
  if (choices !== undefined) return `it is one of ${choices.join(', ')}`;
  if (minimum !== undefined) return `it is a number of type ${type} from ${minimum} to ${maximum}`;
  return `it is of type ${type}`;
}
