import { fieldInvalid } from '../../../core/fields.js';
import { escapePointerToken } from '../../../core/json.js';

/**
 * The parameters of a query by name, percent-decoded; absent ones are left out. `names` are those that an operation
 * takes: throws FIELD_INVALID for any other, for one that is sent twice and for one that is not UTF-8.
 */
export function readQuery(query: string, names: readonly string[]): Readonly<Record<string, string>> {
  const values: Record<string, string> = {};
  for (const pair of query === '' ? [] : query.split('&')) {
    const mark = pair.indexOf('=');
    const name = decoded(mark === -1 ? pair : pair.slice(0, mark));
    const pointer = `/${escapePointerToken(name)}`;
    if (!names.includes(name))
      throw fieldInvalid(pointer, `Unknown query parameter "${name}". This operation takes ${listed(names)}.`);
    if (Object.hasOwn(values, name)) throw fieldInvalid(pointer, `The query parameter "${name}" must be sent once.`);
    values[name] = mark === -1 ? '' : decoded(pair.slice(mark + 1));
  }
  return values;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw fieldInvalid('', 'The query must be percent-encoded UTF-8.');
  }
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.join(', ');
}
