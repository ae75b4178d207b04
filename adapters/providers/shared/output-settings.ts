import type { Modality } from '../../../core/generation/generation.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { formatFault } from '../../../core/media/image-header.js';
import type { FieldRules } from './request-fields.js';

/** The part of `provider_settings` that says what a model makes, and where its answer has it. */
export interface OutputSettings {
  readonly output: {
    readonly media_type: string;
    /** A JSON Pointer to the addresses of the results; see `valuesAt`. */
    readonly at?: string;
  };
}

/** A JSON Pointer in which a token may be `*`. */
export const POINTER: JsonObject = {
  type: 'string',
  maxLength: 200,
  pattern: '^(/([^~/]|~[01])*)*$',
  description: 'a JSON Pointer, which begins with a slash, such as /images/0/url',
};

/** The properties of `output` for the JSON Schema of `provider_settings`. */
export const OUTPUT_PROPERTIES: JsonObject = { media_type: { type: 'string', maxLength: 100 }, at: POINTER };

const FORMAT_FIELD = /(?:^|_)format$/;

/** The formats that a constant names: its text in a field for a format, and those in such members of it. */
function formatsIn(name: string, value: Json | undefined): readonly string[] {
  if (typeof value === 'string') return FORMAT_FIELD.test(name) ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([member, inner]) => formatsIn(Array.isArray(value) ? name : member, inner));
}

/** The first format that a model of these settings may make and that cannot be delivered, as one sentence. */
export function outputFormatFault(
  { output, fields }: OutputSettings & { readonly fields: FieldRules },
  modality: Modality,
): string | undefined {
  const named = Object.entries(fields)
    .filter(([field]) => FORMAT_FIELD.test(field))
    .flatMap(([, { enum: choices = [], values = {} }]) => [...choices, ...Object.values(values)])
    .filter((format) => typeof format === 'string');
  const constants = Object.entries(fields).flatMap(([field, { value }]) => formatsIn(field, value));
  const faults = [output.media_type, ...named, ...constants].map((format) => formatFault(format, modality));
  return faults.find((fault) => fault !== undefined);
}

/** The option of an instance for the hosts that results are fetched from. */
export function outputHostsOption(byDefault: readonly string[]): JsonObject {
  return {
    type: 'array',
    maxItems: 20,
    items: { type: 'string', minLength: 1, maxLength: 253 },
    default: [...byDefault],
    errorMessage: 'must list up to 20 hosts',
    description: 'Hosts that results are fetched from; with a dot before it, all hosts below a name.',
  };
}
