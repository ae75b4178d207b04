import { BodyReader } from './body-reader.js';
import { JsonScanner } from './json-scanner.js';
import { PointerPatterns } from './pointer-patterns.js';
import type { ReadFailure } from './read-failure.js';
import { StringText } from './string-text.js';

/** A string of a JSON document that is read as it comes. */
export interface LargeString {
  /** Where it is, as a JSON Pointer. */
  readonly pointer: string;
  /** To be read before the next one; what is not read by then is skipped. */
  readonly text: AsyncIterable<Uint8Array>;
}

export interface LargeStringsOptions {
  /** Where the large strings are: JSON Pointers in which `*` stands for any key or index. */
  readonly at: readonly string[];
  /** Of the rest of the document. */
  readonly maxJsonBytes: number;
  /** Of the large strings. */
  readonly maxCount: number;
}

/**
 * Reads a JSON document of any size in little memory: yields its large strings in their order, and returns the rest of it
 * parsed, with an empty string in the place of each. Nothing is read ahead: while a string is not read, the body is not.
 * That the document is valid JSON is known at the end, when strings have been read already. A place that has something
 * else than a string is left in the rest as it is.
 */
export async function* largeStrings(
  body: AsyncIterable<Uint8Array>,
  { at: places, maxJsonBytes, maxCount }: LargeStringsOptions,
  fail: ReadFailure,
): AsyncGenerator<LargeString, unknown, undefined> {
  const scanner = new JsonScanner(new PointerPatterns(places), maxJsonBytes, fail);
  const reader = new BodyReader(body);
  let count = 0;
  try {
    for (let piece = await reader.piece(); piece !== undefined; piece = await reader.piece()) {
      const { at, pointer } = scanner.scan(piece, reader.at);
      reader.at = at;
      if (pointer === undefined) continue;
      count += 1;
      if (count > maxCount) throw fail('too-large', `The answer has more than ${maxCount} large strings.`);
      const text = new StringText(reader, fail);
      yield { pointer, text };
      await text.skip();
    }
    return scanner.end();
  } finally {
    await reader.leave();
  }
}
