import type { Document, Pair, Scalar } from 'yaml';
import { escapePointerToken, type Json } from '../../core/json.js';
import { yaml } from '../lazy-packages.js';

/** A fault of a file, and its line, counted from 1. */
export interface LineFault {
  readonly line: number;
  /** One sentence; it names the key it is about. */
  readonly message: string;
}

const MAX_DEPTH = 64;
const MAX_NODES = 100_000;

/**
 * One YAML 1.2 document as JSON, which still knows on which line each value was written. It takes what JSON can hold
 * and no more: names that are given twice, numbers that would lose digits, tags and a second document are faults.
 */
export class LocatedYaml {
  /** The document; null when it is empty or when there are faults. */
  readonly value: Json;
  readonly faults: readonly LineFault[];
  readonly #lines = new Map<string, number>();
  readonly #sources = new Map<string, string>();
  readonly #faults: LineFault[];
  readonly #counter = new (yaml().LineCounter)();
  readonly #document: Document;
  #nodes = 0;

  constructor(text: string) {
    this.#document = yaml().parseDocument(text, {
      lineCounter: this.#counter,
      prettyErrors: false,
      uniqueKeys: false,
      version: '1.2',
    });
    const broken = [...this.#document.errors, ...this.#document.warnings];
    this.#faults = firstOfEachLine(
      broken.map((error) => ({ line: this.#counter.linePos(error.pos[0]).line, message: asSentence(error.message) })),
    );
    const value = this.#faults.length === 0 ? this.#read(this.#document.contents, '', 0) : null;
    this.value = this.#faults.length === 0 ? value : null;
    this.faults = this.#faults;
  }

  /** The line of a value, by its JSON Pointer; of the nearest value around it, when there is no such value. */
  lineOf(pointer: string): number {
    for (let at = pointer; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
      const line = this.#lines.get(at);
      if (line !== undefined) return line;
    }
    return 1;
  }

  /** A text or number exactly as it was written, so that a decimal fraction need not pass through a float. */
  sourceOf(pointer: string): string | undefined {
    return this.#sources.get(pointer);
  }

  #read(node: unknown, pointer: string, depth: number): Json {
    const { isAlias, isMap, isScalar, isSeq } = yaml();
    this.#nodes += 1;
    if (depth > MAX_DEPTH || this.#nodes > MAX_NODES) {
      if (this.#nodes <= MAX_NODES + 1)
        this.#complain(pointer, `${nameOf(pointer)} is nested too deep or repeats too much by aliases.`);
      return null;
    }
    if (isAlias(node)) return this.#read(node.resolve(this.#document), pointer, depth + 1);
    if (isMap(node)) return this.#readMap(node.items, pointer, depth);
    if (isSeq(node)) {
      return node.items.map((item, index) => {
        const at = `${pointer}/${index}`;
        this.#locate(at, item);
        return this.#read(item, at, depth + 1);
      });
    }
    return isScalar(node) ? this.#readScalar(node, pointer) : null;
  }

  #readMap(pairs: readonly Pair[], pointer: string, depth: number): Json {
    const entries = new Map<string, Json>();
    for (const { key, value } of pairs) {
      const name = yaml().isScalar(key) ? (key.source ?? String(key.value)) : undefined;
      if (name === undefined) {
        this.#complain(pointer, `${nameOf(pointer)} must have plain names as its keys.`);
        continue;
      }
      const at = `${pointer}/${escapePointerToken(name)}`;
      const line = this.#locate(at, key);
      if (entries.has(name)) this.#faults.push({ line, message: `${nameOf(at)} is given twice.` });
      entries.set(name, this.#read(value, at, depth + 1));
    }
    return Object.fromEntries(entries);
  }

  #readScalar(node: Scalar, pointer: string): Json {
    const { value } = node;
    if (node.source !== undefined) this.#sources.set(pointer, node.source);
    if (typeof value === 'number' && (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER)) {
      this.#complain(pointer, `${nameOf(pointer)} must be a number within ±(2^53 - 1).`);
    }
    return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null;
  }

  #locate(pointer: string, node: unknown): number {
    const start = (node as { range?: readonly number[] | null } | null)?.range?.[0];
    const line = start === undefined ? 1 : this.#counter.linePos(start).line;
    this.#lines.set(pointer, line);
    return line;
  }

  #complain(pointer: string, message: string): void {
    this.#faults.push({ line: this.#lines.get(pointer) ?? 1, message });
  }
}

/** A readable form of a JSON Pointer: `models[0].price.unit`; 'The file' for the whole. */
export function nameOf(pointer: string): string {
  if (pointer === '') return 'The file';
  const tokens = pointer
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
  return tokens.reduce(
    (name, token) => (/^\d+$/.test(token) ? `${name}[${token}]` : `${name}${name === '' ? '' : '.'}${token}`),
    '',
  );
}

/** One mistake makes several complaints on its line; the first is the one that helps. */
function firstOfEachLine(faults: readonly LineFault[]): LineFault[] {
  return faults.filter(({ line }, index) => faults.findIndex((other) => other.line === line) === index);
}

function asSentence(message: string): string {
  // The library's own sentence names its functions.
  if (message.startsWith('Source contains multiple documents'))
    return 'A file must have one YAML document: remove what begins with this line, or the line.';
  const text = message.split('\n', 1)[0]?.trim() ?? '';
  return `The YAML cannot be read: ${text}${/[.!?]$/.test(text) ? '' : '.'}`;
}
