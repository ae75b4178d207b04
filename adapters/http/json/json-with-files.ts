import type { HttpAnswer } from '../http-answer.js';
import { decodedBase64 } from './base64.js';
import { encodedText } from './data-url.js';
import { largeStrings, type LargeString, type LargeStringsOptions } from './large-strings.js';
import { pathOf, PointerPatterns } from './pointer-patterns.js';
import type { ReadFailure } from './read-failure.js';

const LONGEST_ADDRESS = 8 * 1024;

export interface JsonWithFilesOptions extends LargeStringsOptions {
  /**
   * Further places, at which a string is the address of a file, unless it is a data URL or longer than an address. With
   * this, an address is also expected at the other places. None when absent.
   */
  readonly addressesAt?: readonly string[];
  /** Of each file, decoded. The answer as a whole is bounded by `maxBodyBytes` of its limits. */
  readonly maxFileBytes: number;
}

/** A file in a JSON document: base64, or a data URL with it, or the address of one. */
export interface EncodedFile {
  /** Where it is, as a JSON Pointer. */
  readonly pointer: string;
  /** As a data URL declares it. */
  readonly mediaType?: string;
  /** In place of bytes. */
  readonly address?: string;
  /** Decoded as it comes, to be read before the next file. Invalid base64 breaks it off with `bad-answer`. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/**
 * Reads an answer in JSON that has files in it, in memory that does not grow with them. `take` is called for each file in
 * its order, and reads it, in whole, in part or not at all; the connection is read no faster. Resolves with the rest of the
 * document, in which each file is an empty string. Throws `HttpError`, as `HttpAnswer.json` does, and what `take` throws.
 */
export async function jsonWithFiles(
  answer: HttpAnswer,
  options: JsonWithFilesOptions,
  take: (file: EncodedFile) => Promise<void>,
): Promise<unknown> {
  const fail: ReadFailure = (kind, what) => answer.error(kind, what);
  const { at, addressesAt = [] } = options;
  const strings = largeStrings(answer.jsonBody(), { ...options, at: [...at, ...addressesAt] }, fail);
  const places = options.addressesAt === undefined ? undefined : new PointerPatterns(addressesAt);
  try {
    for (;;) {
      const { done, value } = await strings.next();
      if (done === true) return value;
      await take(await fileOf(value, places, options.maxFileBytes, fail));
    }
  } finally {
    await strings.return(undefined);
  }
}

async function fileOf(
  { pointer, text: given }: LargeString,
  addresses: PointerPatterns | undefined,
  maxBytes: number,
  fail: ReadFailure,
): Promise<EncodedFile> {
  let text: AsyncIterable<Uint8Array> = given;
  if (addresses !== undefined) {
    const begun = await beginningOf(given);
    const isAddress = addresses.matches(pathOf(pointer)) ? !/^\s*data:/i.test(begun.head) : isHttp(begun.head);
    if (isAddress && begun.isWhole)
      return { pointer, address: begun.head.trim(), bytes: (async function* none() {})() };
    text = begun.text;
  }
  const { text: base64, ...declared } = await encodedText(text, fail);
  return { pointer, ...declared, bytes: decodedBase64(base64, maxBytes, fail) };
}

/** No base64 begins so. */
function isHttp(head: string): boolean {
  return /^\s*https?:\/\//i.test(head);
}

/** As much of a text as an address may have, whether that is all of it, and the whole text. */
async function beginningOf(
  text: AsyncIterable<Uint8Array>,
): Promise<{ readonly head: string; readonly isWhole: boolean; readonly text: AsyncIterable<Uint8Array> }> {
  const pieces = text[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) {
    head = Buffer.concat([head, next.value]);
    if (head.byteLength > LONGEST_ADDRESS) break;
  }
  return {
    head: head.toString('utf8', 0, LONGEST_ADDRESS),
    isWhole: head.byteLength <= LONGEST_ADDRESS,
    text: following(head, pieces),
  };
}

async function* following(head: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (head.byteLength > 0) yield head;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}
