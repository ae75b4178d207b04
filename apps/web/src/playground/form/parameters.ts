import type { Json, JsonObject, Model } from '../../api-types.js';

/** How a parameter is entered. `json`: as text, where no simpler field takes all its values. */
export type FieldKind =
  | { readonly kind: 'choice'; readonly choices: readonly Json[]; readonly look: 'shapes' | 'segments' | 'select' }
  | {
      readonly kind: 'number';
      readonly step: number | 'any';
      readonly min: number | undefined;
      readonly max: number | undefined;
      readonly look: 'stepper' | 'seed' | 'plain';
    }
  | { readonly kind: 'switch' }
  | { readonly kind: 'text'; readonly isLong: boolean }
  | { readonly kind: 'json' };

export interface ParameterField {
  /** The parameter's name in the API. */
  readonly name: string;
  readonly label: string;
  /** What the schema says of it; empty where it says nothing. */
  readonly hint: string;
  /** The values that it takes, such as "1 to 4"; empty where the field shows them. */
  readonly bounds: string;
  readonly isRequired: boolean;
  readonly defaultValue: Json | undefined;
  readonly field: FieldKind;
}

/** A text of more characters than this gets more lines. */
const LONG = 120;
/** The most choices that are all shown at once. */
const MAX_SEGMENTS = 4;
const MAX_SHAPES = 10;
/** The most values that a person steps through. */
const MAX_STEPS = 100;
/** Fields that most models have stand first, in this order. */
const FIRST = ['size', 'aspect_ratio', 'resolution', 'n', 'seed'];

/** The fields of a model's parameters; undefined for a schema that does not list them. */
export function parameterFields({ input_schema, modality }: Model): readonly ParameterField[] | undefined {
  const schema = input_schema as JsonObject;
  const properties = objectOf(schema['properties']);
  if (properties === undefined) return undefined;
  const { required } = schema;
  const isRequired = (name: string) => Array.isArray(required) && required.includes(name);
  const rank = ({ name }: ParameterField): number => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
  return Object.entries(properties)
    .map(([name, sub]) => fieldOf(name, objectOf(sub) ?? {}, isRequired(name), modality))
    .sort((a, b) => rank(a) - rank(b));
}

function fieldOf(name: string, schema: JsonObject, isRequired: boolean, modality: Model['modality']): ParameterField {
  const { title, description, default: defaultValue } = schema;
  const isSure = isRequired || defaultValue !== undefined;
  const field = kindOf(name, schema, isSure);
  return {
    name,
    label: typeof title === 'string' && title !== '' ? title : labelOf(name, modality),
    hint: typeof description === 'string' ? description : '',
    bounds: boundsOf(schema, field),
    isRequired,
    defaultValue,
    field,
  };
}

/** A label for a parameter whose schema has no title. */
function labelOf(name: string, modality: Model['modality']): string {
  if (name === 'n') return modality === 'video' ? 'Videos' : 'Images';
  const text = name.replaceAll(/[_-]+/g, ' ').trim();
  return text === '' ? name : text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * The kind of field for a schema. Rules that the field does not support are left to the server, whose error is shown
 * at the field.
 */
function kindOf(name: string, schema: JsonObject, isSure: boolean): FieldKind {
  const { type } = schema;
  const choices = schema['enum'];
  if (Array.isArray(choices)) return { kind: 'choice', choices, look: choiceLook(choices as readonly Json[], isSure) };
  if (type === 'boolean') return { kind: 'switch' };
  if (type === 'integer' || type === 'number') {
    const [min, max] = [numberOf(schema['minimum']), numberOf(schema['maximum'])];
    const step = numberOf(schema['multipleOf']) ?? (type === 'integer' ? 1 : 'any');
    const steps = min === undefined || max === undefined || step === 'any' ? Infinity : (max - min) / step;
    const look = name === 'seed' ? 'seed' : steps <= MAX_STEPS ? 'stepper' : 'plain';
    return { kind: 'number', step, min, max, look };
  }
  if (type === 'string') return { kind: 'text', isLong: (numberOf(schema['maxLength']) ?? 0) > LONG };
  return { kind: 'json' };
}

/** All choices are shown only where one of them is in effect, or must be chosen. */
function choiceLook(choices: readonly Json[], isSure: boolean): 'shapes' | 'segments' | 'select' {
  if (choices.length <= MAX_SHAPES && choices.every((one) => ratioOf(one) !== undefined)) return 'shapes';
  const isShort = choices.map(shown).join('').length <= 40;
  return isSure && isShort && choices.length <= MAX_SEGMENTS ? 'segments' : 'select';
}

function boundsOf(schema: JsonObject, { kind }: FieldKind): string {
  if (kind === 'json') return 'JSON';
  const [min, max] = [numberOf(schema['minimum']), numberOf(schema['maximum'])];
  if (kind === 'number' && min !== undefined && max !== undefined) return `${min} to ${max}`;
  const longest = numberOf(schema['maxLength']);
  return kind === 'text' && longest !== undefined ? `up to ${longest} characters` : '';
}

function objectOf(value: Json | undefined): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

function numberOf(value: Json | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

export interface Shape {
  readonly width: number;
  readonly height: number;
}

/** The shape that a text such as `1024x576` or `16:9` names. */
export function ratioOf(value: Json | undefined): Shape | undefined {
  const [, width = '', height = ''] = typeof value === 'string' ? (/^(\d{1,5})[x×*:](\d{1,5})$/.exec(value) ?? []) : [];
  return Number(width) > 0 && Number(height) > 0 ? { width: Number(width), height: Number(height) } : undefined;
}

/** The shape of what parameters ask for, or of their defaults; a square where they do not say. */
export function shapeOf(fields: readonly ParameterField[] | undefined, parameters: JsonObject): Shape {
  const field = fields?.find(({ field: { kind, ...of } }) => kind === 'choice' && 'look' in of && of.look === 'shapes');
  const value = field === undefined ? undefined : (parameters[field.name] ?? field.defaultValue);
  return ratioOf(value) ?? { width: 1, height: 1 };
}

/** How many outputs parameters ask for. */
export function countOf(fields: readonly ParameterField[] | undefined, parameters: JsonObject): number {
  const field = fields?.find(({ name }) => name === 'n' || name === 'count');
  return field === undefined ? 1 : (numberOf(parameters[field.name] ?? field.defaultValue) ?? 1);
}

/** Values that people know by other spellings. */
const SPELLINGS: Readonly<Record<string, string>> = { png: 'PNG', jpeg: 'JPEG', jpg: 'JPG', webp: 'WebP', mp4: 'MP4' };

/** A value as a person reads it. */
export function shown(value: Json): string {
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  if (typeof value !== 'string') return JSON.stringify(value);
  return SPELLINGS[value] ?? value.replace(/^(\d+)x(\d+)$/, '$1 × $2');
}

/** The texts of the fields, by the names of the parameters. An empty text is a parameter that is not sent. */
export type FieldTexts = Readonly<Record<string, string>>;

/** The name for all parameters as one text, where the schema does not list them. No parameter has this name. */
export const ALL_PARAMETERS = '';
/** The value of a text that the browser does not accept as a number and does not report. */
export const NO_NUMBER = 'NaN';

export interface ReadParameters {
  readonly parameters: JsonObject;
  /** The errors of values that cannot be sent, by the pointer of the field in the request. */
  readonly faults: Readonly<Record<string, string>>;
}

/** The parameters that the fields stand for. */
export function readParameters(fields: readonly ParameterField[] | undefined, texts: FieldTexts): ReadParameters {
  if (fields === undefined) return readAll(texts[ALL_PARAMETERS] ?? '');
  const parameters: Record<string, Json> = {};
  const faults: Record<string, string> = {};
  for (const field of fields) {
    const text = texts[field.name] ?? '';
    if (text.trim() === '') continue;
    const value = valueOf(field, text);
    if (value === undefined) faults[pointerTo(field.name)] = `${field.label} must be ${wanted(field)}.`;
    else parameters[field.name] = value;
  }
  return { parameters, faults };
}

function readAll(text: string): ReadParameters {
  if (text.trim() === '') return { parameters: {}, faults: {} };
  const value = objectOf(parsed(text));
  return value === undefined
    ? { parameters: {}, faults: { '/parameters': 'The parameters must be a JSON object.' } }
    : { parameters: value, faults: {} };
}

function valueOf({ field }: ParameterField, text: string): Json | undefined {
  if (field.kind === 'text') return text;
  if (field.kind === 'number') return Number.isFinite(Number(text)) ? Number(text) : undefined;
  return parsed(text);
}

function wanted({ field }: ParameterField): string {
  return field.kind === 'number' ? 'a number' : 'JSON';
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** The texts that stand for parameters. */
export function textsOf(fields: readonly ParameterField[] | undefined, parameters: JsonObject): FieldTexts {
  if (fields === undefined) return { [ALL_PARAMETERS]: JSON.stringify(parameters, null, 2) };
  const known = fields.flatMap(({ name, field }) => {
    const value = parameters[name];
    if (value === undefined) return [];
    return [[name, field.kind === 'text' && typeof value === 'string' ? value : JSON.stringify(value)] as const];
  });
  return Object.fromEntries(known);
}

/** The JSON Pointer of a parameter in a request. */
export function pointerTo(name: string): string {
  return `/parameters/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

const DEFAULT_MAX_SEED = 2_147_483_647;

/** A seed that the model takes. */
export function randomSeed(field: ParameterField): string {
  const { min, max } = field.field.kind === 'number' ? field.field : {};
  const [least, most] = [min ?? 0, Math.min(max ?? DEFAULT_MAX_SEED, DEFAULT_MAX_SEED)];
  return String(least + Math.floor(Math.random() * (most - least + 1)));
}
