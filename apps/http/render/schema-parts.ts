import { MODALITIES, OPERATIONS, REFERENCE_ROLES } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';

/** Parts of response schemas that several of them share. */
export const UUID = { type: 'string', format: 'uuid' } as const;
export const TIMESTAMP: JsonObject = {
  type: 'string',
  format: 'date-time',
  description: 'UTC, with milliseconds and Z.',
};
export const CREDITS: JsonObject = { type: 'integer', minimum: 0 };
export const MODALITY: JsonObject = { type: 'string', enum: [...MODALITIES] };
export const OPERATION: JsonObject = { type: 'string', enum: [...OPERATIONS] };
export const ROLE = { type: 'string' as const, enum: [...REFERENCE_ROLES] };
/** The field of an answer that continues its list. */
export const NEXT_CURSOR: JsonObject = {
  type: 'string',
  description: 'The cursor of the next page; absent on the last one.',
};

const DAY_MS = 86_400_000;

let dayShown = Number.NaN;
let datePart = '';

/**
 * UTC with milliseconds and Z. Every task has two or three of these, nearly all of one day, so the date is written once
 * a day and only the time by hand.
 */
export function timestamp(epochMs: number): string {
  const day = Math.floor(epochMs / DAY_MS);
  if (day !== dayShown) {
    dayShown = day;
    datePart = new Date(day * DAY_MS).toISOString().slice(0, 11);
  }
  const inDay = epochMs - day * DAY_MS;
  const seconds = Math.floor(inDay / 1_000);
  // A leading 1 keeps the zeros that the digits begin with.
  const hh = String(100 + Math.floor(seconds / 3_600)).slice(1);
  const mm = String(100 + (Math.floor(seconds / 60) % 60)).slice(1);
  const ss = String(100 + (seconds % 60)).slice(1);
  return `${datePart}${hh}:${mm}:${ss}.${String(1_000 + (inDay % 1_000)).slice(1)}Z`;
}

/** A schema under the name it has in the OpenAPI document. */
export type TitledSchema = JsonObject & { readonly title: string };

/** The schema of an object that answers have under this name. Its fields are always there, unless they are `optional`. */
export function record(
  title: string,
  properties: JsonObject,
  optional: readonly string[] = [],
  description?: string,
): TitledSchema {
  return {
    title,
    type: 'object',
    ...(description === undefined ? {} : { description }),
    required: Object.keys(properties).filter((name) => !optional.includes(name)),
    properties,
  };
}
