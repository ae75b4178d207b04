import type { Json } from '../../../core/json.js';

/**
 * One value of a JSON text, with the characters that it was read from: a number beyond 2^53, or one that JavaScript would
 * write differently, can be sent as it was. NaN, Infinity and -Infinity are numbers, as Python's `json` reads and writes them.
 */
export interface ExactJson {
  readonly value: Json;
  readonly source: string;
  /** The members of an object, in the order of the text; the last of two members with one name. */
  readonly members?: ReadonlyMap<string, ExactJson>;
  /** The items of an array. */
  readonly items?: readonly ExactJson[];
}

/** A text that is not JSON. `at` says where, as "line 3, column 7". */
export class JsonUnreadable extends Error {
  constructor(readonly at: string) {
    super(`The text is not JSON at ${at}.`);
    this.name = 'JsonUnreadable';
  }
}

const MAX_DEPTH = 200;
const SPACE = /[ \t\r\n]*/y;
const SCALAR = /true|false|null|NaN|-?(?:Infinity|(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)/y;
const WORDS: ReadonlyMap<string, Json> = new Map<string, Json>([
  ['true', true],
  ['false', false],
  ['null', null],
]);

/** Throws `JsonUnreadable`. */
export function readExactJson(text: string): ExactJson {
  return new Reader(text).document();
}

class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  document(): ExactJson {
    // A byte order mark, as editors on Windows write it.
    if (this.text.startsWith('\uFEFF')) this.at = 1;
    const read = this.next(0);
    this.match(SPACE);
    if (this.at < this.text.length) throw this.unreadable();
    return read;
  }

  private next(depth: number): ExactJson {
    this.match(SPACE);
    if (depth > MAX_DEPTH) throw this.unreadable();
    const start = this.at;
    const first = this.text[start];
    if (first === '{') return this.object(start, depth);
    if (first === '[') return this.array(start, depth);
    const value = first === '"' ? this.string() : this.scalar();
    return { value, source: this.text.slice(start, this.at) };
  }

  private object(start: number, depth: number): ExactJson {
    const members = new Map<string, ExactJson>();
    this.list('}', () => {
      this.match(SPACE);
      const name = this.string();
      this.match(SPACE);
      this.expect(':');
      const member = this.next(depth + 1);
      members.delete(name);
      members.set(name, member);
    });
    const value = Object.fromEntries([...members].map(([name, member]) => [name, member.value]));
    return { value, source: this.text.slice(start, this.at), members };
  }

  private array(start: number, depth: number): ExactJson {
    const items: ExactJson[] = [];
    this.list(']', () => items.push(this.next(depth + 1)));
    return { value: items.map((item) => item.value), source: this.text.slice(start, this.at), items };
  }

  /** The items between brackets, separated by commas. */
  private list(end: string, one: () => void): void {
    this.at += 1;
    this.match(SPACE);
    if (this.text[this.at] === end) {
      this.at += 1;
      return;
    }
    for (;;) {
      one();
      this.match(SPACE);
      if (this.text[this.at] === end) break;
      this.expect(',');
    }
    this.at += 1;
  }

  private string(): string {
    const start = this.at;
    if (this.text[start] !== '"') throw this.unreadable();
    let end = start + 1;
    while (end < this.text.length && this.text[end] !== '"') end += this.text[end] === '\\' ? 2 : 1;
    try {
      const value = JSON.parse(this.text.slice(start, end + 1)) as string;
      this.at = end + 1;
      return value;
    } catch {
      throw this.unreadable();
    }
  }

  private scalar(): Json {
    const source = this.match(SCALAR);
    if (source === undefined) throw this.unreadable();
    const word = WORDS.get(source);
    return word === undefined ? Number(source) : word;
  }

  private expect(character: string): void {
    if (this.text[this.at] !== character) throw this.unreadable();
    this.at += 1;
  }

  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    this.at += found?.length ?? 0;
    return found;
  }

  private unreadable(): JsonUnreadable {
    const before = this.text.slice(0, this.at).split('\n');
    return new JsonUnreadable(`line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`);
  }
}
