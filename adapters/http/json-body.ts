/**
 * The meaning of an answer's `Content-Type` for its body: JSON, something else, or nothing. Servers declare JSON as
 * other types as well, so this does not decide whether a body is read as JSON.
 */
export type DeclaredType = 'json' | 'other' | 'none';

const JSON_TYPE = /^(?:application\/(?:[a-z0-9!#$&^_.+-]+\+)?json|text\/json)$/;

export function declaredType(contentType: string | undefined): DeclaredType {
  const [essence = ''] = (contentType ?? '').split(';');
  const type = essence.trim().toLowerCase();
  if (type === '') return 'none';
  return JSON_TYPE.test(type) ? 'json' : 'other';
}

const BLANK: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);
const BYTE_ORDER_MARK: ReadonlySet<number> = new Set([0xef, 0xbb, 0xbf]);
/** With which values of JSON begin, and numbers as Python writes them. */
const BEGINNINGS = new Set(Buffer.from('{["-0123456789tfnNI'));

/** Whether these bytes, after white space, can begin JSON; undefined where they are white space alone. */
export function beginsJson(bytes: Uint8Array): boolean | undefined {
  const first = bytes.find((byte) => !BLANK.has(byte) && !BYTE_ORDER_MARK.has(byte));
  return first === undefined ? undefined : BEGINNINGS.has(first);
}

/** Containers within each other that the JSON of an answer may have: far above any API, and safe for a recursive walk. */
export const MAX_JSON_DEPTH = 200;

/** The value that bytes are the JSON of, or the reason why they are not read as JSON. */
export type ReadJson = { readonly value: unknown } | { readonly fault: 'not-json' | 'too-deep' };

/**
 * Reads JSON in UTF-8, with a byte order mark or without, also behind white space that kept a connection alive. Its depth is counted before it is parsed: a value that is deeper
 * never exists. The numbers `NaN`, `Infinity` and `-Infinity`, which Python writes and JSON does not have, are read as null.
 */
export function jsonOf(body: Uint8Array): ReadJson {
  const from = body.findIndex((byte) => !BLANK.has(byte));
  const bytes = body.subarray(Math.max(0, from));
  if (isTooDeep(bytes)) return { fault: 'too-deep' };
  const value = parsed(bytes) ?? parsed(withoutPythonNumbers(bytes));
  return value ?? { fault: 'not-json' };
}

function parsed(bytes: Uint8Array | undefined): { readonly value: unknown } | undefined {
  if (bytes === undefined) return undefined;
  try {
    return { value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown };
  } catch {
    return undefined;
  }
}

const PYTHON_NUMBERS = ['NaN', '-Infinity', 'Infinity'].map((word) => Buffer.from(word));
const NULL = Buffer.from('null');

/** The bytes with null in the place of these numbers outside of strings; undefined where there are none. */
function withoutPythonNumbers(bytes: Uint8Array): Uint8Array | undefined {
  const kept: Uint8Array[] = [];
  let from = 0;
  for (let at = 0; at < bytes.byteLength; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) at = closingQuote(bytes, at + 1);
    else if (byte === CAPITAL_N || byte === CAPITAL_I || byte === MINUS) {
      const word = PYTHON_NUMBERS.find((one) => one.equals(bytes.subarray(at, at + one.byteLength)));
      if (word === undefined) continue;
      kept.push(bytes.subarray(from, at), NULL);
      from = at + word.byteLength;
      at = from - 1;
    }
  }
  return from === 0 ? undefined : Buffer.concat([...kept, bytes.subarray(from)]);
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [CAPITAL_N, CAPITAL_I, MINUS] = [0x4e, 0x49, 0x2d];
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

/** The position of the closing quote of the string that begins at `from`; the end of the bytes when there is none. */
function closingQuote(bytes: Uint8Array, from: number): number {
  for (let at = bytes.indexOf(QUOTE, from); at !== -1; at = bytes.indexOf(QUOTE, at + 1)) {
    let unescaped = at;
    while (unescaped > from && bytes[unescaped - 1] === BACKSLASH) unescaped -= 1;
    if ((at - unescaped) % 2 === 0) return at;
  }
  return bytes.byteLength;
}
