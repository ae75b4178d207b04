/** What an answer's `Content-Type` says of its body: JSON, something else, or nothing. */
export type DeclaredType = 'json' | 'other' | 'none';

const JSON_TYPE = /^(?:application\/(?:[a-z0-9!#$&^_.+-]+\+)?json|text\/json)$/;

export function declaredType(contentType: string | undefined): DeclaredType {
  const [essence = ''] = (contentType ?? '').split(';');
  const type = essence.trim().toLowerCase();
  if (type === '') return 'none';
  return JSON_TYPE.test(type) ? 'json' : 'other';
}

/** Containers within each other that the JSON of an answer may have: far above any API, and safe for a recursive walk. */
export const MAX_JSON_DEPTH = 200;

/** What bytes are the JSON of, or why they are not read as JSON. */
export type ReadJson = { readonly value: unknown } | { readonly fault: 'not-json' | 'too-deep' };

/** Reads JSON in UTF-8. Its depth is counted before it is parsed: a value that is deeper never exists. */
export function jsonOf(bytes: Uint8Array): ReadJson {
  if (isTooDeep(bytes)) return { fault: 'too-deep' };
  try {
    return { value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown };
  } catch {
    return { fault: 'not-json' };
  }
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];

/** Takes valid JSON for granted: JSON that is not valid up to here is refused when it is parsed. */
function isTooDeep(bytes: Uint8Array): boolean {
  let depth = 0;
  for (let at = 0; at < bytes.byteLength; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) at = closingQuote(bytes, at + 1);
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth += 1;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth -= 1;
    if (depth > MAX_JSON_DEPTH) return true;
  }
  return false;
}

/** Where the string that begins at `from` has its closing quote; the end of the bytes where it has none. */
function closingQuote(bytes: Uint8Array, from: number): number {
  for (let at = bytes.indexOf(QUOTE, from); at !== -1; at = bytes.indexOf(QUOTE, at + 1)) {
    let unescaped = at;
    while (unescaped > from && bytes[unescaped - 1] === BACKSLASH) unescaped -= 1;
    if ((at - unescaped) % 2 === 0) return at;
  }
  return bytes.byteLength;
}
