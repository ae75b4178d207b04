import type { Json, JsonObject } from '../../api-types.js';
import type { ParameterField } from './parameter-field.js';

/** What is in the fields, by the names of the parameters. A text that is empty is a parameter that is not sent. */
export type FieldTexts = Readonly<Record<string, string>>;

/** The name under which parameters are kept as one text, where the schema does not list them. No parameter is called so. */
export const ALL_PARAMETERS = '';

export interface ReadParameters {
  readonly parameters: JsonObject;
  /** What cannot be sent at all, by the pointer of its field in the request. */
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
    if (value === undefined) faults[pointerTo(field.name)] = faultOf(field);
    else parameters[field.name] = value;
  }
  return { parameters, faults };
}

function readAll(text: string): ReadParameters {
  if (text.trim() === '') return { parameters: {}, faults: {} };
  const value = parsed(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? { parameters: value as JsonObject, faults: {} }
    : { parameters: {}, faults: { '/parameters': 'The parameters must be a JSON object.' } };
}

function valueOf({ field }: ParameterField, text: string): Json | undefined {
  switch (field.kind) {
    case 'text':
      return text;
    case 'number':
      return Number.isFinite(Number(text)) ? Number(text) : undefined;
    case 'choice':
    case 'switch':
    case 'json':
      return parsed(text);
    default:
      return undefined;
  }
}

function faultOf({ label, field }: ParameterField): string {
  return field.kind === 'number' ? `${label} must be a number.` : `${label} must be JSON.`;
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
