import { following } from '../decoded-body.js';
import type { ReadFailure } from './json-scanner.js';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const PADDING = 0x3d;
/** More than six bits: no character of the alphabet. */
const INVALID = 0x40;
const BLANK = 0x41;

const SIX_BITS = new Uint8Array(256).fill(INVALID);
for (let value = 0; value < ALPHABET.length; value += 1) SIX_BITS[ALPHABET.charCodeAt(value)] = value;
SIX_BITS['-'.charCodeAt(0)] = ALPHABET.indexOf('+');
SIX_BITS['_'.charCodeAt(0)] = ALPHABET.indexOf('/');
for (const blank of ' \t\n\f\r') SIX_BITS[blank.charCodeAt(0)] = BLANK;

/**
 * The bytes of a text in base64 as it comes, in either alphabet of RFC 4648 (sections 4 and 5). Servers break its lines
 * and leave out its padding, so both are taken; the bits that are not used must be zero. The bytes are written over the
 * text, so that decoding needs no additional memory. Breaks off with `bad-answer` for any other text, and with
 * `too-large` for more than `maxBytes`.
 */
export async function* decodedBase64(
  text: AsyncIterable<Uint8Array>,
  maxBytes: number,
  fail: ReadFailure,
): AsyncGenerator<Uint8Array> {
  const decoder = new Base64Decoder();
  let byteLength = 0;
  for await (const piece of text) {
    const bytes = decoder.decode(piece);
    byteLength += bytes.byteLength;
    if (decoder.isInvalid) throw fail('bad-answer', 'The answer has invalid base64.');
    if (byteLength > maxBytes)
      throw fail('too-large', `A decoded string of the answer has more than ${maxBytes} bytes.`);
    if (bytes.byteLength > 0) yield bytes;
  }
  if (!decoder.isComplete) throw fail('bad-answer', 'The answer has base64 that is cut off.');
}

class Base64Decoder {
  isInvalid = false;
  /**
   * The bits of characters that do not yet make a whole byte, and the number of characters since the last group of
   * four.
   */
  private bits = 0;
  private inGroup = 0;
  private padding = 0;

  /** One character alone has less than a byte: more must have followed. */
  get isComplete(): boolean {
    return this.inGroup === 0 || (this.inGroup > 1 && this.bits === 0);
  }

  /** Decodes into the memory of the text: no character becomes more than one byte. */
  decode(text: Uint8Array): Uint8Array {
    let [at, length] = [0, 0];
    while (at < text.byteLength && !this.isInvalid) {
      if (this.inGroup === 0 && this.padding === 0) {
        const from = at;
        at = decodeGroups(text, from, length);
        length += ((at - from) / 4) * 3;
      }
      // Characters outside a whole group, and groups with padding.
      if (at < text.byteLength) length += this.decodeOne(text[at++] as number, text, length);
    }
    return text.subarray(0, length);
  }

  /** How many bytes a character completes. */
  private decodeOne(char: number, bytes: Uint8Array, at: number): number {
    const value = SIX_BITS[char] as number;
    if (value === BLANK) return 0;
    if (value === INVALID || this.padding > 0) {
      this.isInvalid = !this.pad(char);
      return 0;
    }
    this.bits = (this.bits << 6) | value;
    this.inGroup += 1;
    const unused = 8 - 2 * this.inGroup;
    this.inGroup %= 4;
    if (unused > 4) return 0;
    bytes[at] = this.bits >> unused;
    this.bits &= (1 << unused) - 1;
    return 1;
  }

  /** Whether a character may follow here as padding: behind two or three of a group, whose unused bits are zero. */
  private pad(char: number): boolean {
    if (char !== PADDING || this.inGroup < 2 || this.bits !== 0) return false;
    this.padding += 1;
    this.inGroup = (this.inGroup + 1) % 4;
    return true;
  }
}

/**
 * Decodes whole groups of four characters without padding, to `to`. Returns the position of the first other group.
 */
function decodeGroups(text: Uint8Array, from: number, to: number): number {
  const last = text.byteLength - 4;
  let [at, length] = [from, to];
  for (; at <= last; at += 4) {
    const first = SIX_BITS[text[at] as number] as number;
    const second = SIX_BITS[text[at + 1] as number] as number;
    const third = SIX_BITS[text[at + 2] as number] as number;
    const fourth = SIX_BITS[text[at + 3] as number] as number;
    if (((first | second | third | fourth) & INVALID) !== 0) return at;
    text[length++] = (first << 2) | (second >> 4);
    text[length++] = (second << 4) | (third >> 2);
    text[length++] = (third << 6) | fourth;
  }
  return at;
}

export interface EncodedText {
  /** The media type that a data URL declares, in lower case and without parameters. */
  readonly mediaType?: string;
  /** The base64. */
  readonly text: AsyncIterable<Uint8Array>;
}

const SCHEME = 'data:';
const BLANKS: readonly number[] = [0x20, 0x09, 0x0a, 0x0c, 0x0d];
const MAX_HEADER_BYTES = 256;

/** The base64 in a text that is base64, or a data URL with it. Reads no more of the text than is needed to tell. */
export async function encodedText(text: AsyncIterable<Uint8Array>, fail: ReadFailure): Promise<EncodedText> {
  const pieces = text[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  let next = await pieces.next();
  while (next.done !== true) {
    head = withoutBlanks(Buffer.concat([head, next.value]));
    if (hasWholeHeader(head)) break;
    next = await pieces.next();
  }
  if (beginning(head) !== SCHEME) return { text: following(head, pieces) };
  const comma = head.indexOf(',');
  const [, type] = /^data:([^;,]*)(?:;[^;,]*)*;base64$/i.exec(head.toString('latin1', 0, Math.max(comma, 0))) ?? [];
  if (type === undefined || comma > MAX_HEADER_BYTES)
    throw fail('bad-answer', 'The answer has a data URL that is not base64.');
  return {
    ...(type === '' ? {} : { mediaType: type.trim().toLowerCase() }),
    text: following(head.subarray(comma + 1), pieces),
  };
}

/** Whether it is known that this begins no data URL, or where the base64 in it begins. */
function hasWholeHeader(head: Buffer): boolean {
  return !SCHEME.startsWith(beginning(head)) || head.byteLength > MAX_HEADER_BYTES || head.includes(',');
}

function beginning(head: Buffer): string {
  return head.toString('latin1', 0, SCHEME.length).toLowerCase();
}

/** Without white space before it. */
function withoutBlanks(text: Buffer): Buffer {
  const from = text.findIndex((byte) => !BLANKS.includes(byte));
  return from === -1 ? Buffer.alloc(0) : text.subarray(from);
}
