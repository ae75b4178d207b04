import { readTime } from '../host/query-values.js';
import { EXAMPLE_TIME } from './openapi/example-request.js';
import type { Call } from './operation.js';

const TIME = { type: 'string', format: 'date-time' } as const;

/** Query parameters of lists of what was created within a time. */
export const CREATED_BETWEEN = {
  created_after: { ...TIME, example: EXAMPLE_TIME, description: 'Those created at this time or later.' },
  created_before: { ...TIME, example: '2030-01-31T12:00:00Z', description: 'Those created before this time.' },
} as const;

/** Throws FIELD_INVALID. */
export function readCreatedBetween(query: Call['query']) {
  return { createdFrom: readTime(query, 'created_after'), createdBefore: readTime(query, 'created_before') };
}
