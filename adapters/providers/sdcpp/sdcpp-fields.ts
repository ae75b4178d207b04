import { fieldRulesFault, type FieldRule, type FieldRules, type FieldValue } from '../shared/request-fields.js';

interface KnownField {
  readonly type: 'string' | 'integer' | 'number' | 'boolean';
  readonly minimum?: number;
  readonly maximum?: number;
  readonly enum?: readonly string[];
}

/** Sides that the server takes, in pixels. */
const SIDE = { minimum: 64, maximum: 4_096, multipleOf: 8 };

/** Width and height in one text, as `512x768`. It is sent as two fields. */
export const SIZE_FIELD = 'size';

/**
 * The fields of a request that settings may set, with what the server can use: it takes anything else without a word,
 * and makes something else. A dot leads into an object.
 */
const KNOWN_FIELDS: Readonly<Record<string, KnownField>> = {
  [SIZE_FIELD]: { type: 'string' },
  'seed': { type: 'integer', minimum: 0, maximum: 2 ** 31 - 1 },
  'strength': { type: 'number', minimum: 0, maximum: 1 },
  'clip_skip': { type: 'integer', minimum: -1, maximum: 12 },
  'output_format': { type: 'string', enum: ['png', 'jpeg', 'webp'] },
  'output_compression': { type: 'integer', minimum: 0, maximum: 100 },
  'sample_params.sample_steps': { type: 'integer', minimum: 1, maximum: 100 },
  'sample_params.sample_method': { type: 'string' },
  'sample_params.scheduler': { type: 'string' },
  'sample_params.eta': { type: 'number', minimum: 0, maximum: 10 },
  'sample_params.flow_shift': { type: 'number', minimum: 0, maximum: 100 },
  'sample_params.shifted_timestep': { type: 'integer', minimum: 0, maximum: 1_000 },
  'sample_params.guidance.txt_cfg': { type: 'number', minimum: 0, maximum: 100 },
  'sample_params.guidance.img_cfg': { type: 'number', minimum: 0, maximum: 100 },
  'sample_params.guidance.distilled_guidance': { type: 'number', minimum: 0, maximum: 100 },
  'vae_tiling_params.enabled': { type: 'boolean' },
  'auto_resize_ref_image': { type: 'boolean' },
  'increase_ref_index': { type: 'boolean' },
};

/** The first rule that cannot be used, as one sentence. */
export function fieldsFault(rules: FieldRules): string | undefined {
  for (const [name, rule] of Object.entries(rules)) {
    const known = Object.hasOwn(KNOWN_FIELDS, name) ? KNOWN_FIELDS[name] : undefined;
    if (known === undefined)
      return `fields.${name} is no field that settings can set; these are ${Object.keys(KNOWN_FIELDS).join(', ')}.`;
    const fault = fieldRulesFault({ [name]: rule }) ?? boundsFault(name, rule, known);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Width and height of a text in the form `512x768`; undefined for any other and for sides that cannot be. */
export function sizeOf(text: FieldValue): { readonly width: number; readonly height: number } | undefined {
  const [, width = 0, height = 0] = (/^(\d{2,4})x(\d{2,4})$/.exec(String(text)) ?? []).map(Number);
  const isSide = (px: number) => px >= SIDE.minimum && px <= SIDE.maximum && px % SIDE.multipleOf === 0;
  return isSide(width) && isSide(height) ? { width, height } : undefined;
}

/** What a rule would let through that the server cannot use. */
function boundsFault(name: string, rule: FieldRule, known: KnownField): string | undefined {
  if (rule.type !== undefined && rule.type !== known.type) return `fields.${name} must have the type ${known.type}.`;
  if (known.type === 'string' && rule.parameter !== undefined && rule.enum === undefined)
    return `fields.${name} needs an enum.`;
  const listed = rule.value === undefined ? rule.enum : [rule.value];
  const wrong = (listed ?? [rule.minimum, rule.maximum]).find(
    (value) => value !== undefined && !isUsable(name, value, known),
  );
  return wrong === undefined
    ? undefined
    : `fields.${name} must not allow ${JSON.stringify(wrong)}: ${ofKind(name, known)}.`;
}

function isUsable(name: string, value: FieldValue, { type, minimum, maximum, enum: choices }: KnownField): boolean {
  if (name === SIZE_FIELD) return sizeOf(value) !== undefined;
  if (typeof value === 'string') return type === 'string' && (choices?.includes(value) ?? value !== '');
  if (typeof value === 'boolean') return type === 'boolean';
  if (type === 'integer' && !Number.isSafeInteger(value)) return false;
  return type !== 'string' && type !== 'boolean' && value >= (minimum ?? value) && value <= (maximum ?? value);
}

/** The end of a sentence: what the server can use. */
function ofKind(name: string, { type, minimum, maximum, enum: choices }: KnownField): string {
  if (name === SIZE_FIELD)
    return `a size is WIDTHxHEIGHT, two multiples of ${SIDE.multipleOf} from ${SIDE.minimum} to ${SIDE.maximum}`;
  if (choices !== undefined) return `it is one of ${choices.join(', ')}`;
  if (minimum !== undefined) return `it is a number of type ${type} from ${minimum} to ${maximum}`;
  return `it is of type ${type}`;
}
