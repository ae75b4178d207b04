/** A JSON value, as `JSON.parse` returns it. Core takes requests in this form and assumes nothing of their shape. */
export type Json = string | number | boolean | null | Json[] | JsonObject;
export interface JsonObject {
  [name: string]: Json;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const [SLASH, TILDE] = ['/'.charCodeAt(0), '~'.charCodeAt(0)];

/**
 * A name as one reference token of a JSON Pointer (RFC 6901). One pass: `replaceAll` takes three times as long for a
 * name of only such characters.
 */
export function escapePointerToken(name: string): string {
  let escaped = '';
  let start = 0;
  for (let index = 0; index < name.length; index += 1) {
    const code = name.charCodeAt(index);
    if (code !== SLASH && code !== TILDE) continue;
    escaped += name.slice(start, index) + (code === TILDE ? '~0' : '~1');
    start = index + 1;
  }
  return start === 0 ? name : escaped + name.slice(start);
}

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

/** The bytes of a text in UTF-8. A lone surrogate counts three, as the character that replaces it does. */
export function utf8ByteLength(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    if (unit < 0x800) bytes += 1;
    else if (isHighSurrogate(unit) && isLowSurrogate(text.charCodeAt(index + 1))) {
      // Two units become four bytes.
      bytes += 2;
      index += 1;
    } else bytes += 2;
  }
  return bytes;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000;
}
