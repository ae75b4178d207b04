import type { PageRequest } from '../../../core/paging.js';
import { readText, readWhole } from '../host/query-values.js';
import type { Call } from './operation.js';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;
const MAX_CURSOR = 2_000;

/** Query parameters of every list. */
export const LIMIT = {
  type: 'integer',
  minimum: 1,
  maximum: MAX_LIMIT,
  default: DEFAULT_LIMIT,
  example: 50,
  description: 'How many a page may hold.',
} as const;
export const CURSOR = {
  type: 'string',
  minLength: 1,
  maxLength: MAX_CURSOR,
  description: 'The `next_cursor` of the page before, with the same other parameters; the first page without it.',
} as const;

/** The page that a query asks for; its cursor is the token of the list. Throws FIELD_INVALID. */
export function readPage(query: Call['query']): PageRequest {
  const limit = readWhole(query, 'limit', { min: 1, max: MAX_LIMIT, absent: DEFAULT_LIMIT });
  const cursor = readText(query, 'cursor', MAX_CURSOR);
  return cursor === undefined ? { limit } : { limit, cursor };
}
