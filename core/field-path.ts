import { escapePointerToken, type Json } from './json.js';

/** One step into a value: the name of a member, or the index of an item. */
export type FieldToken = string | number;

/**
 * The steps of a JSON Pointer into `value`. A token is an index only where the value has an array: a member of an
 * object may be named `0`. Without a value every number counts as an index.
 */
export function tokensOf(pointer: string, value?: Json): FieldToken[] {
  if (pointer === '') return [];
  let container = value;
  return pointer
    .slice(1)
    .split('/')
    .map((escaped) => {
      const name = unescapePointerToken(escaped);
      const isIndex = value === undefined ? /^\d+$/.test(name) : Array.isArray(container);
      container = memberOf(container, name);
      return isIndex ? Number(name) : name;
    });
}

export function unescapePointerToken(token: string): string {
  return token.includes('~') ? token.replaceAll('~1', '/').replaceAll('~0', '~') : token;
}

/** The member or item of that name; undefined when there is none. */
export function memberOf(container: Json | undefined, name: string): Json | undefined {
  if (typeof container !== 'object' || container === null || !Object.hasOwn(container, name)) return undefined;
  return (container as Record<string, Json>)[name];
}

export function pointerOf(tokens: readonly FieldToken[]): string {
  return tokens.map((token) => `/${typeof token === 'number' ? token : escapePointerToken(token)}`).join('');
}

/** A readable path: `parameters.size`, `reference_upload_ids[3]`; empty for the value itself. */
export function pathOf(tokens: readonly FieldToken[], shown: (name: string) => string = (name) => name): string {
  return tokens.reduce<string>((path, token) => {
    if (typeof token === 'number') return `${path}[${token}]`;
    return path === '' ? shown(token) : `${path}.${shown(token)}`;
  }, '');
}
