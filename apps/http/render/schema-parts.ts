import type { JsonObject } from '../../../core/json.js';

/** Parts of response schemas that several of them share. */
export const UUID: JsonObject = { type: 'string', format: 'uuid' };
export const TIMESTAMP: JsonObject = {
  type: 'string',
  format: 'date-time',
  description: 'UTC, with milliseconds and Z.',
};
export const CREDITS: JsonObject = { type: 'integer', minimum: 0 };
export const MODALITY: JsonObject = { type: 'string', enum: ['image', 'video'] };
export const OPERATION: JsonObject = { type: 'string', enum: ['image_generation', 'video_generation'] };
export const ROLE: JsonObject = { type: 'string', enum: ['reference_image', 'start_frame', 'end_frame'] };
/** The field of an answer that continues its list. */
export const NEXT_CURSOR: JsonObject = {
  type: 'string',
  description: 'The cursor of the next page; absent on the last one.',
};
