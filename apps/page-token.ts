import { fieldInvalid, isText } from '../core/fields.js';
import type { Page, PageRequest } from '../core/paging.js';

type SentAs = 'page_token' | 'cursor';

/**
 * One page of a list whose cursors are tokens bound to the list that `of` identifies: a token of another list, or of
 * another account, is refused and not misread. Throws FIELD_INVALID for what it was sent as.
 */
export async function pageByToken<T>(
  page: PageRequest,
  of: string,
  list: (page: PageRequest) => Promise<Page<T>>,
  sentAs?: SentAs,
): Promise<Page<T>> {
  const { items, nextCursor } = await list(cursorOf(page, of, sentAs));
  return { items, ...(nextCursor === undefined ? {} : { nextCursor: tokenOf(of, nextCursor) }) };
}

/** The page with the cursor in its token. Throws as `pageByToken` does. */
export function cursorOf({ limit, cursor }: PageRequest, of: string, sentAs: SentAs = 'page_token'): PageRequest {
  return cursor === undefined ? { limit } : { limit, cursor: readToken(cursor, of, sentAs) };
}

function readToken(token: string, of: string, sentAs: SentAs): string {
  const [list, cursor, ...more] = Buffer.from(token, 'base64url').toString('utf8').split('\n');
  const isOurs = list === of && cursor !== undefined && more.length === 0 && token === tokenOf(of, cursor);
  // No cursor has NUL, which databases do not compare in one way.
  if (!isOurs || !isText(cursor))
    throw fieldInvalid(`/${sentAs}`, `A ${sentAs.replace('_', ' ')} must come from an earlier page of the same list.`);
  return cursor;
}

/** The token for a cursor of a list; none for the last page, which has no cursor. */
export function tokenOf<C extends string | undefined>(of: string, cursor: C): C {
  return (cursor === undefined ? undefined : Buffer.from(`${of}\n${cursor}`).toString('base64url')) as C;
}
