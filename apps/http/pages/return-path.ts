const SOME_ORIGIN = 'http://host';
const MAX_LENGTH = 2_000;

/**
 * Where a person goes on after signing in: a path of this server with its query. Anything else, such as an address of
 * another server in one of the spellings that browsers accept, is `/`.
 */
export function returnPath(text: string | undefined): string {
  if (text === undefined || text.length > MAX_LENGTH || !text.startsWith('/') || !URL.canParse(text, SOME_ORIGIN))
    return '/';
  const { origin, pathname, search, hash } = new URL(text, SOME_ORIGIN);
  // The parser has removed what browsers would: a path that begins with two slashes names a host to them.
  const path = pathname + search + hash;
  // What it escapes takes more room.
  return origin === SOME_ORIGIN && !pathname.startsWith('//') && path.length <= MAX_LENGTH ? path : '/';
}
