import { jsonOf, type ReadJson } from '../json-body.js';

/** Strings up to this length are kept whole; the mark stands for the rest of a longer one. */
const LONGEST_STRING_BYTES = 16 * 1024;
const HEAD_BYTES = 2 * 1024;
/** At the end of a string that was cut: no address and no word of an API has this character. */
export const CUT_MARK = '\u0000';
const WRITTEN_MARK = Buffer.from('\\u0000');

/** Members whose objects and lists repeat what was sent. They are read as null. */
const REPEATED: ReadonlySet<string> = new Set([
  'input',
  'inputs',
  'request',
  'body',
  'ctx',
  'parameters',
  'payload',
  'arguments',
]);
const LONGEST_NAME = 10;

const [QUOTE, BACKSLASH, LETTER_U] = [0x22, 0x5c, 0x75];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];
const [COLON, COMMA] = [0x3a, 0x2c];
const NULL = Buffer.from('null');

/**
 * Reads a JSON document of any size for its short members, in memory that does not grow with its long ones: an error that
 * repeats the pictures that were sent, or a task with its result in it. A long string is cut to its beginning.
 */
export class ShortJson {
  private kept: Uint8Array;
  private keptBytes = 0;
  private readonly isInObject: boolean[] = [];
  private expectsKey = false;
  private name = '';
  private place: 'structure' | 'string' | 'long string' | 'repeated' = 'structure';
  /** Within `repeated`: the containers that are open, and whether a string is. */
  private depth = 0;
  private isInString = false;
  /** Bytes of an escape that are still to come. */
  private escapeBytes = 0;
  private stringFrom = 0;
  private headEnd = 0;

  /**
   * `tooLong` makes the error for a document that has more than `maxBytes` of short members. `skipsRepeated` says whether
   * members that repeat a request are left out.
   */
  constructor(
    private readonly maxBytes: number,
    private readonly tooLong: () => Error,
    private readonly skipsRepeated: boolean,
  ) {
    this.kept = new Uint8Array(Math.min(4_096, maxBytes));
  }

  read(piece: Uint8Array): void {
    for (let at = 0; at < piece.byteLength; at += 1) {
      if (this.place === 'long string') {
        at = this.behindPlainText(piece, at);
        if (at === piece.byteLength) return;
      }
      const byte = piece[at] as number;
      if (this.place === 'structure') this.readStructure(byte);
      else if (this.place === 'repeated') this.skip(byte);
      else this.readString(byte);
    }
  }

  /** The document, once all of it was read. */
  end(): ReadJson {
    return jsonOf(this.kept.subarray(0, this.keptBytes));
  }

  private readStructure(byte: number): void {
    if (byte === QUOTE) {
      this.keep(byte);
      this.place = 'string';
      this.stringFrom = this.keptBytes;
      return;
    }
    const isContainer = byte === OPEN_OBJECT || byte === OPEN_ARRAY;
    if (isContainer && this.isRepeated()) {
      this.keepAll(NULL);
      this.place = 'repeated';
      this.depth = 1;
      return;
    }
    this.keep(byte);
    if (isContainer) this.isInObject.push(byte === OPEN_OBJECT);
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) this.isInObject.pop();
    if (isContainer || byte === COMMA) this.expectsKey = this.isInObject.at(-1) === true;
    else if (byte === COLON) this.expectsKey = false;
  }

  private readString(byte: number): void {
    const isBoundary = this.escapeBytes === 0 && (byte & 0xc0) !== 0x80;
    if (this.place === 'string' && isBoundary && this.keptBytes - this.stringFrom <= HEAD_BYTES)
      this.headEnd = this.keptBytes;
    const isEnd = this.endsString(byte);
    if (this.place === 'string' || isEnd) this.keep(byte);
    if (isEnd) {
      if (this.expectsKey) this.name = this.keptName();
      this.place = 'structure';
    } else if (this.place === 'string' && this.keptBytes - this.stringFrom > LONGEST_STRING_BYTES) {
      this.keptBytes = this.headEnd;
      this.keepAll(WRITTEN_MARK);
      this.place = 'long string';
    }
  }

  private isRepeated(): boolean {
    return this.skipsRepeated && !this.expectsKey && this.isInObject.at(-1) === true && REPEATED.has(this.name);
  }

  private skip(byte: number): void {
    if (this.isInString) this.isInString = !this.endsString(byte);
    else if (byte === QUOTE) this.isInString = true;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.depth += 1;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      this.depth -= 1;
      if (this.depth === 0) this.place = 'structure';
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

  private keptName(): string {
    const end = this.keptBytes - 1;
    if (end - this.stringFrom > LONGEST_NAME) return '';
    return Buffer.from(this.kept.subarray(this.stringFrom, end)).toString('latin1');
  }

  private keepAll(bytes: Uint8Array): void {
    for (const byte of bytes) this.keep(byte);
  }

  private keep(byte: number): void {
    if (this.keptBytes === this.kept.byteLength) {
      if (this.keptBytes >= this.maxBytes) throw this.tooLong();
      const larger = new Uint8Array(Math.min(this.maxBytes, this.kept.byteLength * 2));
      larger.set(this.kept);
      this.kept = larger;
    }
    this.kept[this.keptBytes++] = byte;
  }
}

/**
 * Added to the count of digits of `\uXXXX` that are still to come, to distinguish them from the character behind a
 * backslash.
 */
const ESCAPED_HEX = 10;

function nextEscape(left: number): number {
  if (left === 1 || left === ESCAPED_HEX + 1) return 0;
  return left - 1;
}
