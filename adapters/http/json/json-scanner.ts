import { jsonOf, MAX_JSON_DEPTH } from '../json-body.js';
import { KeptBytes } from './kept-bytes.js';
import { ShortJson } from './short-json.js';
import { pointerTo, type PointerPatterns } from './pointer-patterns.js';
import type { ReadFailure } from './read-failure.js';

/** An object or an array that is open, and where in it the scanner is. */
interface Container {
  readonly isObject: boolean;
  /** The key or the index of the value that is being read. */
  place: string | number;
  /** In an object, whether the next string is a key. */
  expectsKey: boolean;
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];
const [COLON, COMMA] = [0x3a, 0x2c];
const LONGEST_KEY_BYTES = 64 * 1024;
const NO_KEY = new KeptBytes(0, () => new Error('There is no key.'));
const EMPTY_STRING = new Uint8Array([QUOTE, QUOTE]);

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
   * Reads a piece from `from`. Answers where it stopped: at the end of the piece, or behind the opening quote of the string
   * at `pointer`. The next call goes on behind that string's closing quote.
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
