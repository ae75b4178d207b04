import type { Json, JsonObject, Model } from '../../api-types.js';

type Kind = 'shapes' | 'segments' | 'select' | 'switch' | 'stepper' | 'seed' | 'number' | 'text' | 'long' | 'json';

/** A parameter as it is entered. */
export type ParameterField = ReturnType<typeof fieldOf>;

/** A text of more characters than this gets more lines. */
const LONG = 120;
/** The most choices that are all shown at once. */
const MAX_SEGMENTS = 4;
const MAX_SHAPES = 10;
/** The most values that a person steps through. */
const MAX_STEPS = 100;
/** Fields that most models have stand first, in this order. */
const FIRST = ['size', 'aspect_ratio', 'resolution', 'n', 'seed'];

/** The fields of a model's parameters. */
export function parameterFields({ input_schema: schema, modality }: Model): readonly ParameterField[] {
  const { properties, required } = schema as JsonObject;
  if (!isObject(properties))
    return [{ ...fieldOf('', {}, false, modality), label: 'Parameters', note: 'a JSON object' }];
  const isRequired = (name: string): boolean => Array.isArray(required) && required.includes(name);
  const rank = ({ name }: ParameterField): number => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
  return Object.entries(properties)
    .map(([name, sub]) => fieldOf(name, isObject(sub) ? sub : {}, isRequired(name), modality))
    .sort((a, b) => rank(a) - rank(b));
}

function fieldOf(name: string, schema: JsonObject, isRequired: boolean, modality: string) {
  const { title, description, default: defaultValue, enum: among, type, multipleOf } = schema;
  const [min, max, longest] = ['minimum', 'maximum', 'maxLength'].map((rule) => numberOf(schema[rule]));
  const step: number | 'any' = numberOf(multipleOf) ?? (type === 'integer' ? 1 : 'any');
  const choices: readonly Json[] = Array.isArray(among) ? among : [];
  const kind = kindOf();
  const bounds =
    kind === 'json'
      ? 'JSON'
      : (kind === 'stepper' || kind === 'number') && min !== undefined && max !== undefined
        ? `${min} to ${max}`
        : (kind === 'text' || kind === 'long') && longest !== undefined
          ? `up to ${longest} characters`
          : '';
  const isGroup = kind === 'shapes' || kind === 'segments';
  const notes = isRequired && defaultValue === undefined && !isGroup ? ['required', bounds] : [bounds];
  const isPlain = kind === 'shapes' || kind === 'seed' || isCount(name);
  return {
    /** Its name in the API; empty for all parameters as one text, where the schema does not list them. */
    name,
    label: typeof title === 'string' && title !== '' ? title : labelOf(name, modality),
    hint: typeof description === 'string' && !isPlain ? description : '',
    /** The allowed values, such as "1 to 4", where the field does not show them. */
    note: kind === 'seed' ? 'empty is random' : notes.filter((note) => note !== '').join(', ') || undefined,
    isRequired,
    defaultValue,
    /** `json`: as text, where no simpler field takes all its values. */
    kind,
    choices,
    min,
    max,
    step,
  };

  /** Rules that the field does not support are left to the server, whose error is shown at the field. */
  function kindOf(): Kind {
    if (Array.isArray(among)) {
      if (choices.length <= MAX_SHAPES && choices.every((one) => shapeOf(one) !== undefined)) return 'shapes';
      // All are shown only where one of them is in effect, or must be chosen.
      const isSure = isRequired || defaultValue !== undefined;
      const isShort = choices.length <= MAX_SEGMENTS && choices.map(valueText).join('').length <= 40;
      return isSure && isShort ? 'segments' : 'select';
    }
    if (type === 'boolean') return 'switch';
    if (type === 'string') return (longest ?? 0) > LONG ? 'long' : 'text';
    if (type !== 'integer' && type !== 'number') return 'json';
    if (name === 'seed') return 'seed';
    const span = (max ?? Infinity) - (min ?? -Infinity);
    return step !== 'any' && span / step <= MAX_STEPS ? 'stepper' : 'number';
  }
}

/** A label for a parameter whose schema has no title. */
function labelOf(name: string, modality: string): string {
  if (name === 'n') return modality === 'video' ? 'Videos' : 'Images';
  const text = name.replaceAll(/[_-]+/g, ' ').trim();
  return text === '' ? name : text.charAt(0).toUpperCase() + text.slice(1);
}

export const isCount = (name: string): boolean => name === 'n' || name === 'count';

/** The number of outputs that parameters ask for; undefined where they do not say. */
export function countIn(parameters: JsonObject): number | undefined {
  return numberOf(parameters[Object.keys(parameters).find(isCount) ?? '']);
}
const numberOf = (value: Json | undefined): number | undefined => (typeof value === 'number' ? value : undefined);

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The shape that a text such as `1024x576` or `16:9` names. */
export function shapeOf(value: Json | undefined): { width: number; height: number } | undefined {
  const [, width, height] = (typeof value === 'string' && /^(\d{1,5})[x×*:](\d{1,5})$/.exec(value)) || [];
  return Number(width) > 0 && Number(height) > 0 ? { width: Number(width), height: Number(height) } : undefined;
}

/** The ratio of width and height, and the number, of the outputs that parameters or their defaults ask for. */
export function layoutOf(fields: readonly ParameterField[], parameters: JsonObject): { ratio: number; count: number } {
  const valueOf = (wanted: (field: ParameterField) => boolean): Json | undefined => {
    const field = fields.find(wanted);
    return field === undefined ? undefined : (parameters[field.name] ?? field.defaultValue);
  };
  const { width, height } = shapeOf(valueOf(({ kind }) => kind === 'shapes')) ?? { width: 1, height: 1 };
  return { ratio: width / height, count: numberOf(valueOf(({ name }) => isCount(name))) ?? 1 };
}

/** Values that people know by other spellings. */
const SPELLINGS: Readonly<Record<string, string>> = { png: 'PNG', jpeg: 'JPEG', jpg: 'JPG', webp: 'WebP', mp4: 'MP4' };

/** A value as a person reads it. */
export function valueText(value: Json): string {
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  if (typeof value !== 'string') return JSON.stringify(value);
  return SPELLINGS[value] ?? value.replace(/^(\d+)x(\d+)$/, '$1 × $2');
}

/** The texts of the fields, by the names of the parameters. An empty text is a parameter that is not sent. */
export type FieldTexts = Readonly<Record<string, string>>;

/** The value of a text that the browser does not accept as a number and does not report. */
export const NO_NUMBER = 'NaN';

/** The parameters that the fields stand for, and the errors of values that cannot be sent, by JSON Pointer. */
export function readParameters(fields: readonly ParameterField[], texts: FieldTexts) {
  let parameters: Record<string, Json> = {};
  const faults: Record<string, string> = {};
  for (const { name, label, kind } of fields) {
    const text = texts[name] ?? '';
    if (text.trim() === '') continue;
    const isNumber = kind === 'stepper' || kind === 'seed' || kind === 'number';
    const value = kind === 'text' || kind === 'long' ? text : isNumber ? Number(text) : parsed(text);
    if (name === '' && isObject(value)) parameters = value;
    else if (name === '' || value === undefined || (isNumber && !Number.isFinite(value)))
      faults[pointerTo(name)] = `${label} must be ${isNumber ? 'a number' : name === '' ? 'a JSON object' : 'JSON'}.`;
    else parameters[name] = value;
  }
  return { parameters, faults };
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** The texts that stand for parameters. */
export function textsOf(fields: readonly ParameterField[], parameters: JsonObject): FieldTexts {
  const texts: Record<string, string> = {};
  for (const { name, kind } of fields) {
    const value = name === '' ? parameters : parameters[name];
    const isText = typeof value === 'string' && (kind === 'text' || kind === 'long');
    if (value !== undefined) texts[name] = isText ? value : JSON.stringify(value, null, name === '' ? 2 : 0);
  }
  return texts;
}

/** The JSON Pointer of a parameter in a request. */
export function pointerTo(name: string): string {
  return name === '' ? '/parameters' : `/parameters/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

const MAX_SEED = 2_147_483_647;

/** A seed that the model takes. */
export function randomSeed({ min = 0, max = MAX_SEED }: ParameterField): string {
  return String(min + Math.floor(Math.random() * (Math.min(max, MAX_SEED) - min + 1)));
}
