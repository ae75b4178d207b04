/** More than any task has outputs; the rest of a longer list is left out. */
const MAX_VALUES = 100;

/**
 * The values at a JSON Pointer (RFC 6901) in which a token `*` stands for every item of a list, in the document's order;
 * none where it leads nowhere. At most 100.
 */
export function valuesAt(document: unknown, pointer: string): readonly unknown[] {
  let values: readonly unknown[] = [document];
  for (const token of pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    values = values.flatMap((value) => step(value, name)).slice(0, MAX_VALUES);
  }
  return values;
}

function step(value: unknown, name: string): readonly unknown[] {
  if (Array.isArray(value)) {
    if (name === '*') return value.slice(0, MAX_VALUES);
    return /^(?:0|[1-9]\d{0,8})$/.test(name) && Number(name) < value.length ? [value[Number(name)]] : [];
  }
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return [];
  return [(value as Record<string, unknown>)[name]];
}
