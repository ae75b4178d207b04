/** The pages of a list, fetched as they are needed, by the cursor that each has of the next. */
export async function* eachPage<
  Query extends { readonly cursor?: string | null },
  Page extends { readonly next_cursor?: string },
>(query: Query, fetchPage: (query: Query) => Promise<Page>): AsyncGenerator<Page> {
  let { cursor } = query;
  do {
    const page = await fetchPage(cursor === undefined ? query : { ...query, cursor });
    yield page;
    cursor = page.next_cursor;
  } while (cursor !== undefined);
}

/** A query with its question mark, without what is absent; nothing if nothing is left. */
export function queryText(query: object): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}
