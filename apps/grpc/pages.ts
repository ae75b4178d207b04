import { fieldInvalid } from '../../core/fields.js';
import type { PageRequest } from '../../core/paging.js';

const DEFAULT_SIZE = 50;
const MAX_SIZE = 1_000;

interface ListRequest {
  readonly pageSize: number;
  readonly pageToken: string;
}

/** The page that a list request asks for; its cursor is the token. Throws FIELD_INVALID. */
export function readPage({ pageSize, pageToken }: ListRequest): PageRequest {
  if (pageSize < 0) throw fieldInvalid('/page_size', 'page_size must not be negative.');
  const limit = pageSize === 0 ? DEFAULT_SIZE : Math.min(pageSize, MAX_SIZE);
  return pageToken === '' ? { limit } : { limit, cursor: pageToken };
}
