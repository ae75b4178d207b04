import { fieldInvalid } from '../../core/fields.js';
import type { Page, PageRequest } from '../../core/paging.js';

/**
 * One page of a list whose cursors are tokens bound to the list that `of` identifies: a token of another list, or of
 * another account, is refused and not misread. Throws FIELD_INVALID for
 * what it was sent as.
 */
export async function pageByToken<T>(
  { limit, cursor }: PageRequest,
  of: string,
  list: (page: PageRequest) => Promise<Page<T>>,
  sentAs: 'page_token' | 'cursor' = 'page_token',
): Promise<Page<T>> {
  const { items, nextCursor } = await list({
    limit,
    ...(cursor === undefined ? {} : { cursor: readToken(cursor, of, sentAs) }),
  });
  return { items, ...(nextCursor === undefined ? {} : { nextCursor: tokenOf(of, nextCursor) }) };
}

function readToken(token: string, of: string, sentAs: string): string {
  const [list, cursor, ...more] = Buffer.from(token, 'base64url').toString('utf8').split('\n');
  const isOurs = list === of && cursor !== undefined && more.length === 0 && token === tokenOf(of, cursor);
  if (!isOurs)
    throw fieldInvalid(`/${sentAs}`, `A ${sentAs.replace('_', ' ')} must come from an earlier page of the same list.`);
  return cursor;
}

function tokenOf(of: string, cursor: string): string {
  return Buffer.from(`${of}\n${cursor}`).toString('base64url');
}
