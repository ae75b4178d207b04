import type { Json, JsonObject, Model } from '../../api-types.js';

/** How a parameter is asked for. `json`: as text, where no simpler field takes all its values. */
export type FieldKind =
  | { readonly kind: 'choice'; readonly choices: readonly Json[] }
  | {
      readonly kind: 'number';
      readonly step: number | 'any';
      readonly min: number | undefined;
      readonly max: number | undefined;
    }
  | { readonly kind: 'switch' }
  | { readonly kind: 'text'; readonly isLong: boolean }
  | { readonly kind: 'json' };

export interface ParameterField {
  readonly name: string;
  readonly label: string;
  readonly note: string;
  readonly isRequired: boolean;
  readonly defaultValue: Json | undefined;
  readonly field: FieldKind;
}

/** A text of more characters than this gets more lines. */
const LONG = 120;

/** The parameters of a model in the order of its schema; undefined for a schema that does not list them. */
export function parameterFields({ input_schema: schema }: Pick<Model, 'input_schema'>): ParameterField[] | undefined {
  const properties = objectOf(schema['properties']);
  if (properties === undefined) return undefined;
  const { required } = schema;
  const isRequired = (name: string) => Array.isArray(required) && required.includes(name);
  return Object.entries(properties).map(([name, sub]) => fieldOf(name, objectOf(sub) ?? {}, isRequired(name)));
}

function fieldOf(name: string, schema: JsonObject, isRequired: boolean): ParameterField {
  const { title, description, default: defaultValue } = schema;
  const field = kindOf(schema);
  const notes = [typeof description === 'string' ? description : '', boundsText(schema, field)];
  return {
    name,
    label: typeof title === 'string' && title !== '' ? title : name,
    note: notes.filter((text) => text !== '').join(' '),
    isRequired,
    defaultValue,
    field,
  };
}

/** Of a schema that says more than these words do, the server has the last word: its answer is shown at the field. */
function kindOf(schema: JsonObject): FieldKind {
  const { type } = schema;
  const choices = schema['enum'];
  if (Array.isArray(choices)) return { kind: 'choice', choices: choices as readonly Json[] };
  if (type === 'boolean') return { kind: 'switch' };
  if (type === 'integer' || type === 'number')
    return {
      kind: 'number',
      step: numberOf(schema['multipleOf']) ?? (type === 'integer' ? 1 : 'any'),
      min: numberOf(schema['minimum']),
      max: numberOf(schema['maximum']),
    };
  if (type === 'string') return { kind: 'text', isLong: (numberOf(schema['maxLength']) ?? 0) > LONG };
  return { kind: 'json' };
}

function boundsText(schema: JsonObject, { kind }: FieldKind): string {
  if (kind === 'json') return 'As JSON.';
  const [min, max] = [numberOf(schema['minimum']), numberOf(schema['maximum'])];
  if (kind === 'number' && min !== undefined && max !== undefined) return `${min} to ${max}.`;
  const longest = numberOf(schema['maxLength']);
  return kind === 'text' && longest !== undefined ? `At most ${longest} characters.` : '';
}

function objectOf(value: Json | undefined): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

function numberOf(value: Json | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
