import type { HttpError } from '../http-error.js';
import { jsonOf, MAX_JSON_DEPTH, type ReadJson } from '../json-body.js';

/** Makes the error for a body that is invalid or too large. */
export type ReadFailure = (kind: 'bad-answer' | 'too-large', what: string) => HttpError;

const [QUOTE, BACKSLASH, LETTER_U] = [0x22, 0x5c, 0x75];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];
const [COLON, COMMA] = [0x3a, 0x2c];
const [NULL, EMPTY_STRING] = [Buffer.from('null'), Buffer.from('""')];

/** Strings up to this length are kept whole; the mark stands for the rest of a longer one. */
const LONGEST_STRING_BYTES = 16 * 1024;
const HEAD_BYTES = 2 * 1024;
/** At the end of a string that was cut: no address and no word of an API has this character. */
export const CUT_MARK = '\u0000';
const WRITTEN_MARK = Buffer.from('\\u0000');
/** A key on the way to a chosen string is kept whole. */
const LONGEST_KEY_BYTES = 64 * 1024;

/** Members whose objects and lists repeat what was sent. */
const REPEATED: ReadonlySet<string | number> = new Set([
  'input',
  'inputs',
  'request',
  'body',
  'ctx',
  'parameters',
  'payload',
  'arguments',
]);

/** The length of the longest of these names. */
const LONGEST_NAME_BYTES = 10;

/** An object or an array that is open, and where in it the scanner is. */
interface Container {
  readonly isObject: boolean;
  /** The key or the index of the value that is being read. */
  place: string | number;
  /** In an object, whether the next string is a key. */
  expectsKey: boolean;
}

/** Strings at which a scanner stops. They are looked for in documents that must be valid. */
interface ChosenStrings {
  readonly at: PointerPatterns;
  readonly fail: ReadFailure;
}

/**
 * Follows the structure of a JSON document of any size as its bytes come, and keeps its short members, in memory that does not grow
 * with its long ones: an error that repeats the pictures that were sent, or a task with its result in it. A long string is cut to
 * its beginning. At a chosen string the scanner stops, and continues after it. It follows valid documents; whether the document is
 * valid is seen when what was kept is parsed, where each chosen string is an empty one.
 */
export class JsonScanner {
  private readonly kept: KeptBytes;
  private readonly open: Container[] = [];
  private readonly seen = new Set<string>();
  private within: 'structure' | 'string' | 'long string' | 'repeated' = 'structure';
  /** Within `repeated`: the containers that are open, and whether a string is. */
  private depth = 0;
  private isInString = false;
  /** Bytes of an escape that are still to come. */
  private escapeBytes = 0;
  private stringFrom = 0;
  private headEnd = 0;

  /**
   * `tooLong` makes the error for a document that has more than `maxBytes` of what is kept. With `skipsRepeated`, members that
   * repeat a request are read as null.
   */
  constructor(
    maxBytes: number,
    tooLong: () => Error,
    private readonly rules: { readonly skipsRepeated?: boolean; readonly chosen?: ChosenStrings } = {},
  ) {
    this.kept = new KeptBytes(maxBytes, tooLong);
  }

  /**
   * Reads a piece from `from`. Returns where it stopped: at the end of the piece, or behind the opening quote of the
   * string at `pointer`. The next call continues after that string's closing quote.
   */
  read(piece: Uint8Array, from = 0): { readonly at: number; readonly pointer?: string } {
    for (let at = from; at < piece.byteLength; at += 1) {
      if (this.within === 'long string') {
        at = this.behindPlainText(piece, at);
        if (at === piece.byteLength) break;
      }
      const byte = piece[at] as number;
      if (this.within === 'repeated') this.skip(byte);
      else if (this.within !== 'structure') this.readString(byte);
      else if (byte === QUOTE) {
        const pointer = this.beginString();
        if (pointer !== undefined) return { at: at + 1, pointer };
      } else this.readStructure(byte);
    }
    return { at: piece.byteLength };
  }

  /** The document, once all of it was read. */
  end(): ReadJson {
    return jsonOf(this.kept.since(0));
  }

  /** Returns the pointer of a chosen string; any other is kept. */
  private beginString(): string | undefined {
    const { chosen } = this.rules;
    const path = chosen && this.open.at(-1)?.expectsKey !== true ? this.open.map(({ place }) => place) : undefined;
    if (chosen === undefined || path === undefined || !chosen.at.matches(path)) {
      this.kept.push(QUOTE);
      this.within = 'string';
      this.stringFrom = this.kept.byteLength;
      return undefined;
    }
    const pointer = pointerTo(path);
    if (this.seen.has(pointer)) throw chosen.fail('bad-answer', 'The answer has the same key twice.');
    this.seen.add(pointer);
    this.kept.add(EMPTY_STRING);
    return pointer;
  }

  private readStructure(byte: number): void {
    const container = this.open.at(-1);
    const isOpening = byte === OPEN_OBJECT || byte === OPEN_ARRAY;
    if (
      isOpening &&
      this.rules.skipsRepeated === true &&
      container?.expectsKey === false &&
      REPEATED.has(container.place)
    ) {
      this.kept.add(NULL);
      this.within = 'repeated';
      this.depth = 1;
      return;
    }
    this.kept.push(byte);
    if (isOpening) this.enter(byte === OPEN_OBJECT);
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      if (this.open.pop()?.isObject !== (byte === CLOSE_OBJECT)) this.refuse('The answer is not JSON.');
    } else if (container === undefined) return;
    else if (byte === COLON) container.expectsKey = false;
    else if (byte === COMMA) {
      container.expectsKey = container.isObject;
      if (typeof container.place === 'number') container.place += 1;
    }
  }

  private enter(isObject: boolean): void {
    const isTooDeep = this.open.length >= MAX_JSON_DEPTH;
    if (isTooDeep) this.refuse(`The answer's JSON has more than ${MAX_JSON_DEPTH} levels.`);
    this.open.push(isTooDeep ? TOO_DEEP : { isObject, place: isObject ? '' : 0, expectsKey: isObject });
  }

  /** In a document that must be valid. Others are refused when they are parsed. */
  private refuse(what: string): void {
    if (this.rules.chosen) throw this.rules.chosen.fail('bad-answer', what);
  }

  private readString(byte: number): void {
    const { kept, stringFrom } = this;
    const isBoundary = this.escapeBytes === 0 && (byte & 0xc0) !== 0x80;
    if (this.within === 'string' && isBoundary && kept.byteLength - stringFrom <= HEAD_BYTES)
      this.headEnd = kept.byteLength;
    const isEnd = this.endsString(byte);
    if (this.within === 'string' || isEnd) kept.push(byte);
    if (isEnd) {
      this.within = 'structure';
      this.endKey();
    } else if (this.within === 'string' && kept.byteLength - stringFrom > LONGEST_STRING_BYTES) this.cut();
  }

  private cut(): void {
    const { chosen } = this.rules;
    if (chosen && this.open.at(-1)?.expectsKey === true) {
      if (this.kept.byteLength - this.stringFrom > LONGEST_KEY_BYTES)
        throw chosen.fail('too-large', 'The answer has a key that is too long.');
      return;
    }
    this.kept.truncate(this.headEnd);
    this.kept.add(WRITTEN_MARK);
    this.within = 'long string';
  }

  private endKey(): void {
    const container = this.open.at(-1);
    if (container?.expectsKey !== true) return;
    if (this.rules.chosen === undefined) {
      // Only the names of repeated members matter, as they are written: any other key is not decoded.
      const name = this.kept.since(this.stringFrom).subarray(0, -1);
      container.place = name.byteLength > LONGEST_NAME_BYTES ? '' : Buffer.from(name).toString('latin1');
      return;
    }
    const key = jsonOf(this.kept.since(this.stringFrom - 1));
    if ('fault' in key) return this.refuse('The answer is not JSON.');
    container.place = key.value as string;
  }

  private skip(byte: number): void {
    if (this.isInString) this.isInString = !this.endsString(byte);
    else if (byte === QUOTE) this.isInString = true;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.depth += 1;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      this.depth -= 1;
      if (this.depth === 0) this.within = 'structure';
    }
  }

  private endsString(byte: number): boolean {
    if (this.escapeBytes > 0) {
      this.escapeBytes = this.escapeBytes === 1 && byte === LETTER_U ? 4 + ESCAPED_HEX : nextEscape(this.escapeBytes);
      return false;
    }
    if (byte === BACKSLASH) this.escapeBytes = 1;
    return byte === QUOTE;
  }

  /** The end of text without an escape: the fast way through base64. */
  private behindPlainText(piece: Uint8Array, from: number): number {
    if (this.escapeBytes > 0) return from;
    const quote = piece.indexOf(QUOTE, from);
    const end = quote === -1 ? piece.byteLength : quote;
    const backslash = piece.subarray(from, end).indexOf(BACKSLASH);
    return backslash === -1 ? end : from + backslash;
  }
}

/** Stands for every container below the deepest that is read: the document is refused in the end. */
const TOO_DEEP: Container = { isObject: false, place: 0, expectsKey: false };

/**
 * Added to the count of digits of `\uXXXX` that are still to come, to distinguish them from the character behind a
 * backslash.
 */
const ESCAPED_HEX = 10;

function nextEscape(left: number): number {
  if (left === 1 || left === ESCAPED_HEX + 1) return 0;
  return left - 1;
}

/** Bytes of pieces that do not last, up to a limit. */
export class KeptBytes {
  byteLength = 0;
  private buffer = new Uint8Array(256);

  /** `tooLong` makes the error for one byte more than `maxBytes`. */
  constructor(
    private readonly maxBytes: number,
    private readonly tooLong: () => Error,
  ) {}

  add(piece: Uint8Array): void {
    this.reserve(piece.byteLength);
    this.buffer.set(piece, this.byteLength);
    this.byteLength += piece.byteLength;
  }

  push(byte: number): void {
    if (this.byteLength >= this.buffer.byteLength || this.byteLength >= this.maxBytes) this.reserve(1);
    this.buffer[this.byteLength] = byte;
    this.byteLength += 1;
  }

  /** The bytes added from this position on. They change with what is added later. */
  since(from: number): Uint8Array {
    return this.buffer.subarray(from, this.byteLength);
  }

  /** Keeps so many of the first bytes. */
  truncate(byteLength: number): void {
    this.byteLength = byteLength;
  }

  private reserve(more: number): void {
    const needed = this.byteLength + more;
    if (needed > this.maxBytes) throw this.tooLong();
    if (needed <= this.buffer.byteLength) return;
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
  /** The parts of every pattern so far: those of our drivers and of the settings, asked for again with each answer. */
  private static readonly known = new Map<string, readonly string[]>();
  private readonly patterns: readonly (readonly string[])[];

  /** Throws a `RangeError` for a pattern that is not a pointer. */
  constructor(patterns: readonly string[]) {
    this.patterns = patterns.map((pattern) => {
      const parts = PointerPatterns.known.get(pattern) ?? partsOf(pattern);
      PointerPatterns.known.set(pattern, parts);
      return parts;
    });
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

function charOf(escape: string): number {
  if (/^\\["\\/]$/.test(escape)) return escape.charCodeAt(1);
  if (/^\\(?:[nrtf]|u00(?:09|0[aA]|0[cCdD]))$/.test(escape)) return SPACE;
  const code = /^\\u[0-9a-f]{4}$/i.test(escape) ? Number.parseInt(escape.slice(2), 16) : OTHER;
  return code >= 0x20 && code < 0x7f ? code : OTHER;
}

/**
 * The text of one large JSON string, from behind its opening quote to its closing one, as it comes. It is for base64 and
 * data URLs, which are ASCII: an escaped character that is not printable ASCII becomes a zero byte, and a line break or a tab a
 * space. A reader may leave it early: `skip` reads the rest.
 */
export class StringText implements AsyncIterable<Uint8Array> {
  private isLeft = false;
  /** Whether the closing quote was read. */
  private hasEnded = false;
  /** The beginning of an escape whose end is in the next piece. */
  private escape = '';

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
    this.isLeft = !this.hasEnded;
    while ((await this.read()) !== undefined);
  }

  /** The text of the next piece; undefined at the end of the string. */
  private async read(): Promise<Uint8Array | undefined> {
    if (this.hasEnded) return undefined;
    const { body } = this;
    const piece = await body.piece();
    if (piece === undefined) throw this.fail('bad-answer', 'The answer ends within a string.');
    const from = body.at;
    const quote = piece.indexOf(QUOTE, from);
    const end = quote === -1 ? piece.byteLength : quote;
    if (this.escape !== '' || piece.subarray(from, end).includes(BACKSLASH)) return this.unescaped(piece);
    this.hasEnded = quote !== -1;
    body.at = this.hasEnded ? end + 1 : end;
    return piece.subarray(from, end);
  }

  private unescaped(piece: Uint8Array): Uint8Array {
    const { body } = this;
    const text = new Uint8Array(piece.byteLength - body.at);
    let length = 0;
    while (body.at < piece.byteLength && !this.hasEnded) {
      const byte = piece[body.at++] as number;
      if (this.escape !== '') {
        const char = this.escaped(byte);
        if (char !== undefined) text[length++] = char;
      } else if (byte === BACKSLASH) this.escape = '\\';
      else if (byte === QUOTE) this.hasEnded = true;
      else text[length++] = byte;
    }
    return text.subarray(0, length);
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
