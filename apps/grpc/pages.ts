import { fieldInvalid } from '../../core/fields.js';
import type { Page, PageRequest } from '../../core/paging.js';

const DEFAULT_SIZE = 50;
const MAX_SIZE = 1_000;

interface ListRequest {
  readonly pageSize: number;
  readonly pageToken: string;
}

/**
 * What a list request asks of a store. A token goes with what was listed, told by `of`: one of another list, or of another
 * account, is refused and not misread. Throws FIELD_INVALID.
 */
export function readPage({ pageSize, pageToken }: ListRequest, of: string): PageRequest {
  if (pageSize < 0) throw fieldInvalid('/page_size', 'page_size must not be negative.');
  const limit = pageSize === 0 ? DEFAULT_SIZE : Math.min(pageSize, MAX_SIZE);
  if (pageToken === '') return { limit };
  const [list, cursor, ...more] = Buffer.from(pageToken, 'base64url').toString('utf8').split('\n');
  if (list !== of || cursor === undefined || more.length > 0 || pageToken !== tokenOf(of, cursor)) throw fieldInvalid('/page_token', 'page_token must be the next_page_token of the same list.');
  return { limit, cursor };
}

/** Empty after the last page. */
export function nextPageToken({ nextCursor }: Page<unknown>, of: string): string {
  return nextCursor === undefined ? '' : tokenOf(of, nextCursor);
}

function tokenOf(of: string, cursor: string): string {
  return Buffer.from(`${of}\n${cursor}`).toString('base64url');
}
