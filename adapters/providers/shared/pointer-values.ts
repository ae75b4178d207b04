/** More than any task has outputs; the rest of a longer list is left out. */
const MAX_VALUES = 100;

/**
 * The values at a JSON Pointer (RFC 6901) in which a token `*` stands for every item of a list, in the document's order;
 * none where it leads nowhere. At most 100.
 */
export function valuesAt(document: unknown, pointer: string): readonly unknown[] {
  return placesAt(document, pointer).map(({ value }) => value);
}

/** A value of a document, and the pointer to it, without `*`. */
export interface Place {
  readonly pointer: string;
  readonly value: unknown;
}

/** The same values, with their pointers. */
export function placesAt(document: unknown, pointer: string): readonly Place[] {
  let places: readonly Place[] = [{ pointer: '', value: document }];
  for (const token of pointer.split('/').slice(1))
    places = places.flatMap((place) => step(place, token)).slice(0, MAX_VALUES);
  return places;
}

function step({ pointer, value }: Place, token: string): readonly Place[] {
  if (Array.isArray(value) && token === '*')
    return value.slice(0, MAX_VALUES).map((item: unknown, index) => ({ pointer: `${pointer}/${index}`, value: item }));
  const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
  if (Array.isArray(value) && !(/^(?:0|[1-9]\d{0,8})$/.test(name) && Number(name) < value.length)) return [];
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return [];
  return [{ pointer: `${pointer}/${token}`, value: (value as Record<string, unknown>)[name] }];
}
