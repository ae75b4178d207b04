import type { HttpError } from '../http-error.js';
import { jsonOf, MAX_JSON_DEPTH } from '../json-body.js';
import { ShortJson } from './short-json.js';

/** An object or an array that is open, and where in it the scanner is. */
interface Container {
  readonly isObject: boolean;
  /** The key or the index of the value that is being read. */
  place: string | number;
  /** In an object, whether the next string is a key. */
  expectsKey: boolean;
}

/**
 * Follows the structure of a JSON document as its bytes come, and keeps all of it but the strings at chosen places; other
 * long strings are cut, as `ShortJson` does it. At a chosen string it stops, and continues after it. It follows valid
 * documents; whether the document is valid is seen when what was kept is parsed, where each of these strings is an empty
 * one.
 */
export class JsonScanner {
  private readonly kept: ShortJson;
  private readonly open: Container[] = [];
  private readonly seen = new Set<string>();
  private within: 'structure' | 'string' | 'key' = 'structure';
  private isEscaped = false;
  private key = NO_KEY;

  constructor(
    private readonly chosen: PointerPatterns,
    maxBytes: number,
    private readonly fail: ReadFailure,
  ) {
    const tooLong = () =>
      fail('too-large', `The answer's JSON has more than ${maxBytes} bytes without its large strings.`);
    this.kept = new ShortJson(maxBytes, tooLong, false);
  }

  /**
   * Reads a piece from `from`. Answers where it stopped: at the end of the piece, or behind the opening quote of the
   * string at `pointer`. The next call continues after that string's closing quote.
   */
  scan(piece: Uint8Array, from: number): { readonly at: number; readonly pointer?: string } {
    let keyFrom = from;
    for (let at = from; at < piece.byteLength; at += 1) {
      const byte = piece[at] as number;
      if (this.within !== 'structure') {
        if (!this.endsString(byte)) continue;
        if (this.within === 'key') {
          this.key.add(piece.subarray(keyFrom, at + 1));
          this.endKey();
        }
        this.within = 'structure';
      } else if (byte === QUOTE) {
        const pointer = this.beginString();
        keyFrom = at;
        if (pointer === undefined) continue;
        this.kept.read(piece.subarray(from, at));
        this.kept.read(EMPTY_STRING);
        return { at: at + 1, pointer };
      } else this.follow(byte);
    }
    if (this.within === 'key') this.key.add(piece.subarray(keyFrom));
    this.kept.read(piece.subarray(from));
    return { at: piece.byteLength };
  }

  /** The document, once all of it was read. */
  end(): unknown {
    const json = this.kept.end();
    if ('fault' in json) throw this.notJson();
    return json.value;
  }

  private endsString(byte: number): boolean {
    if (this.isEscaped) this.isEscaped = false;
    else if (byte === BACKSLASH) this.isEscaped = true;
    else return byte === QUOTE;
    return false;
  }

  /** The pointer of a chosen string; any other is kept. */
  private beginString(): string | undefined {
    const container = this.open.at(-1);
    if (container?.expectsKey === true) {
      this.within = 'key';
      this.key = new KeptBytes(LONGEST_KEY_BYTES, () =>
        this.fail('too-large', 'The answer has a key that is too long.'),
      );
      return undefined;
    }
    const path = this.open.map(({ place }) => place);
    if (!this.chosen.matches(path)) {
      this.within = 'string';
      return undefined;
    }
    const pointer = pointerTo(path);
    if (this.seen.has(pointer)) throw this.fail('bad-answer', 'The answer has the same key twice.');
    this.seen.add(pointer);
    return pointer;
  }

  private endKey(): void {
    const key = jsonOf(this.key.since(0));
    const container = this.open.at(-1);
    if ('fault' in key || typeof key.value !== 'string' || container === undefined) throw this.notJson();
    container.place = key.value;
  }

  private follow(byte: number): void {
    const container = this.open.at(-1);
    if (byte === OPEN_OBJECT) this.enter({ isObject: true, place: '', expectsKey: true });
    else if (byte === OPEN_ARRAY) this.enter({ isObject: false, place: 0, expectsKey: false });
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      if (this.open.pop()?.isObject !== (byte === CLOSE_OBJECT)) throw this.notJson();
    } else if (container === undefined) return;
    else if (byte === COLON) container.expectsKey = false;
    else if (byte === COMMA) {
      container.expectsKey = container.isObject;
      if (typeof container.place === 'number') container.place += 1;
    }
  }

  private enter(container: Container): void {
    if (this.open.length >= MAX_JSON_DEPTH)
      throw this.fail('bad-answer', `The answer's JSON has more than ${MAX_JSON_DEPTH} levels.`);
    this.open.push(container);
  }

  private notJson() {
    return this.fail('bad-answer', 'The answer is not JSON.');
  }
}

/** Bytes of pieces that do not last, up to a limit. */
export class KeptBytes {
  private buffer = new Uint8Array(256);
  private used = 0;

  /** `tooLong` makes the error for one byte more than `maxBytes`. */
  constructor(
    private readonly maxBytes: number,
    private readonly tooLong: () => Error,
  ) {}

  add(piece: Uint8Array): void {
    const needed = this.used + piece.byteLength;
    if (needed > this.maxBytes) throw this.tooLong();
    if (needed > this.buffer.byteLength) this.grow(needed);
    this.buffer.set(piece, this.used);
    this.used = needed;
  }

  /** The text added from this position on. It changes with what is added later. */
  since(from: number): Uint8Array {
    return this.buffer.subarray(from, this.used);
  }

  private grow(needed: number): void {
    const larger = new Uint8Array(Math.max(needed, this.buffer.byteLength * 2));
    larger.set(this.since(0));
    this.buffer = larger;
  }
}

/** The keys and indexes that lead to a value. */
export type JsonPath = readonly (string | number)[];

/**
 * Places in a JSON document, as JSON Pointers (RFC 6901) in which a part `*` stands for any one key or index:
 * `/images/*`.
 */
export class PointerPatterns {
  private readonly patterns: readonly (readonly string[])[];

  /** Throws a `RangeError` for a pattern that is not a pointer. */
  constructor(patterns: readonly string[]) {
    this.patterns = patterns.map(partsOf);
  }

  matches(path: JsonPath): boolean {
    return this.patterns.some(
      (parts) =>
        parts.length === path.length && parts.every((part, index) => part === '*' || part === String(path[index])),
    );
  }
}

/** The keys and indexes of a pointer, each as a text. */
export function pathOf(pointer: string): JsonPath {
  return partsOf(pointer);
}

/** The pointer to a value. */
export function pointerTo(path: JsonPath): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

function partsOf(pattern: string): readonly string[] {
  if (!/^(?:\/(?:[^~]|~[01])*)*$/.test(pattern)) throw new RangeError(`${pattern} is no JSON Pointer.`);
  return pattern
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Makes the error for a body that is invalid or too large. */
export type ReadFailure = (kind: 'bad-answer' | 'too-large', what: string) => HttpError;

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];
const [COLON, COMMA] = [0x3a, 0x2c];
const LONGEST_KEY_BYTES = 64 * 1024;
const NO_KEY = new KeptBytes(0, () => new Error('There is no key.'));
const EMPTY_STRING = new Uint8Array([QUOTE, QUOTE]);

/** Reads a body piece by piece, and remembers how far in a piece its reader is. */
export class BodyReader {
  /** The part of `piece` that was read. */
  at = 0;
  private current: Uint8Array | undefined;
  private readonly pieces: AsyncIterator<Uint8Array>;

  constructor(body: AsyncIterable<Uint8Array>) {
    this.pieces = body[Symbol.asyncIterator]();
  }

  /** The piece with the next bytes, which begin at `at`; undefined at the end. */
  async piece(): Promise<Uint8Array | undefined> {
    while (this.current === undefined || this.at >= this.current.byteLength) {
      const { done, value } = await this.pieces.next();
      if (done === true) return undefined;
      [this.current, this.at] = [value, 0];
    }
    return this.current;
  }

  /** Leaves what was not read. */
  async leave(): Promise<void> {
    await this.pieces.return?.();
  }
}

/** Stands for an escaped character that is neither printable ASCII nor white space. */
const OTHER = 0;
const SPACE = 0x20;

/** The text of a JSON string of ASCII characters, from behind its opening quote, piece by piece. */
export class StringUnescaper {
  /** Whether the closing quote was read. */
  hasEnded = false;
  /** The beginning of an escape whose end is in the next piece. */
  private escape = '';

  /**
   * The text of a piece from `from` on, and the end of the string or of the piece. An escaped character that is not
   * printable ASCII becomes a zero byte, and a line break or a tab a space.
   */
  read(piece: Uint8Array, from: number): { readonly text: Uint8Array; readonly at: number } {
    const quote = piece.indexOf(QUOTE, from);
    const end = quote === -1 ? piece.byteLength : quote;
    if (this.escape !== '' || piece.subarray(from, end).includes(BACKSLASH)) return this.unescape(piece, from);
    this.hasEnded = quote !== -1;
    return { text: piece.subarray(from, end), at: this.hasEnded ? end + 1 : end };
  }

  private unescape(piece: Uint8Array, from: number): { readonly text: Uint8Array; readonly at: number } {
    const text = new Uint8Array(piece.byteLength - from);
    let length = 0;
    for (let at = from; at < piece.byteLength; at += 1) {
      const byte = piece[at] as number;
      if (this.escape !== '') {
        const char = this.escaped(byte);
        if (char !== undefined) text[length++] = char;
      } else if (byte === BACKSLASH) this.escape = '\\';
      else if (byte === QUOTE) {
        this.hasEnded = true;
        return { text: text.subarray(0, length), at: at + 1 };
      } else text[length++] = byte;
    }
    return { text: text.subarray(0, length), at: piece.byteLength };
  }

  /** The character, once its escape is whole. */
  private escaped(byte: number): number | undefined {
    this.escape += String.fromCharCode(byte);
    if (this.escape.startsWith('\\u') && this.escape.length < 6) return undefined;
    const char = charOf(this.escape);
    this.escape = '';
    return char;
  }
}

function charOf(escape: string): number {
  if (/^\\["\\/]$/.test(escape)) return escape.charCodeAt(1);
  if (/^\\(?:[nrtf]|u00(?:09|0[aA]|0[cCdD]))$/.test(escape)) return SPACE;
  const code = /^\\u[0-9a-f]{4}$/i.test(escape) ? Number.parseInt(escape.slice(2), 16) : OTHER;
  return code >= 0x20 && code < 0x7f ? code : OTHER;
}

/**
 * The text of one large JSON string, from behind its opening quote to its closing one, as it comes. It is for base64 and
 * data URLs, which are ASCII; see `StringUnescaper`. A reader may leave it early: `skip` reads the rest.
 */
export class StringText implements AsyncIterable<Uint8Array> {
  private readonly unescaper = new StringUnescaper();
  private isLeft = false;

  constructor(
    private readonly body: BodyReader,
    private readonly fail: ReadFailure,
  ) {}

  /** It has no `return`: what a reader leaves is still to be skipped. */
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return {
      next: async () => {
        if (this.isLeft) throw new Error('A large string is read before the next one.');
        const value = await this.read();
        return value === undefined ? { done: true, value: undefined } : { done: false, value };
      },
    };
  }

  async skip(): Promise<void> {
    this.isLeft = !this.unescaper.hasEnded;
    while ((await this.read()) !== undefined);
  }

  private async read(): Promise<Uint8Array | undefined> {
    if (this.unescaper.hasEnded) return undefined;
    const piece = await this.body.piece();
    if (piece === undefined) throw this.fail('bad-answer', 'The answer ends within a string.');
    const { text, at } = this.unescaper.read(piece, this.body.at);
    this.body.at = at;
    return text;
  }
}
