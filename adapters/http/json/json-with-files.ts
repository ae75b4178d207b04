import { SpooledBytes } from '../../spooled-bytes.js';
import type { HttpAnswer } from '../http-answer.js';
import { following } from '../decoded-body.js';
import { decodedBase64, encodedText } from './base64.js';
import { BodyReader, JsonScanner, pathOf, PointerPatterns, type ReadFailure, StringText } from './json-scanner.js';

export interface JsonWithFilesOptions extends LargeStringsOptions {
  /**
   * Further places, at which a string is the address of a file, unless it is a data URL or longer than an address. With
   * this, an address is also expected at the other places. There are no such places when absent.
   */
  readonly addressesAt?: readonly string[];
  /** The limit for each decoded file. The answer as a whole is bounded by `maxBodyBytes` of its limits. */
  readonly maxFileBytes: number;
}

/** A file in a JSON document: base64, or a data URL with it, or the address of one. */
export interface EncodedFile {
  /** Its place in the document, as a JSON Pointer. */
  readonly pointer: string;
  /** The media type that a data URL declares. */
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

/** A string of a JSON document that is read as it comes. */
export interface LargeString {
  /** Its place in the document, as a JSON Pointer. */
  readonly pointer: string;
  /** To be read before the next one; what is not read by then is skipped. */
  readonly text: AsyncIterable<Uint8Array>;
}

export interface LargeStringsOptions {
  /** The places of the large strings: JSON Pointers in which `*` stands for any key or index. */
  readonly at: readonly string[];
  /** The limit for the rest of the document. */
  readonly maxJsonBytes: number;
  /** The most large strings. */
  readonly maxCount: number;
}

/**
 * Reads a JSON document of any size in little memory: yields its large strings in their order, and returns the rest of
 * it parsed, with an empty string in the place of each. Nothing is read ahead: while a string is not read, the body is
 * not. Whether the document is valid JSON is known at the end, when strings have been read already. A place that has
 * something else than a string is left in the rest as it is.
 */
export async function* largeStrings(
  body: AsyncIterable<Uint8Array>,
  { at: places, maxJsonBytes, maxCount }: LargeStringsOptions,
  fail: ReadFailure,
): AsyncGenerator<LargeString, unknown, undefined> {
  const tooLong = () =>
    fail('too-large', `The answer's JSON has more than ${maxJsonBytes} bytes without its large strings.`);
  const scanner = new JsonScanner(maxJsonBytes, tooLong, { chosen: { at: new PointerPatterns(places), fail } });
  const reader = new BodyReader(body);
  let count = 0;
  try {
    for (let piece = await reader.piece(); piece !== undefined; piece = await reader.piece()) {
      const { at, pointer } = scanner.read(piece, reader.at);
      reader.at = at;
      if (pointer === undefined) continue;
      count += 1;
      if (count > maxCount) throw fail('too-large', `The answer has more than ${maxCount} large strings.`);
      const text = new StringText(reader, fail);
      yield { pointer, text };
      await text.skip();
    }
    const json = scanner.end();
    if ('fault' in json) throw fail('bad-answer', 'The answer is not JSON.');
    return json.value;
  } finally {
    await reader.leave();
  }
}

const LONGEST_ADDRESS = 8 * 1024;

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

/** The beginning of a text, up to the longest address, whether that is all of it, and the whole text. */
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

export interface SpooledFile {
  /** The media type that the data URL declared. */
  readonly mediaType?: string;
  /** The document has the address of the file instead of its bytes. */
  readonly address?: string;
  readonly byteSize: number;
  /** May be read several times, until the document is closed. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** A JSON document whose files are kept until it is closed. */
export interface SpooledJson {
  /** With an empty string in the place of each file. */
  readonly json: unknown;
  /** The files by their JSON Pointers, in the order of the document. */
  readonly files: ReadonlyMap<string, SpooledFile>;
  /** Frees the memory and the disk. */
  close(): Promise<void>;
}

/**
 * Reads an answer like `jsonWithFiles`, and keeps its files, for documents that say after their files what they are: in memory
 * while they are small, and else in a temporary file of `folder`, the system's own by default. The file has no name once it is
 * open, so nothing is left behind if the process ends. Throws `HttpError`, and errors of the disk.
 */
export async function spooledJson(
  answer: HttpAnswer,
  { folder, ...options }: JsonWithFilesOptions & { readonly folder?: string },
): Promise<SpooledJson> {
  const spool = new SpooledBytes(folder);
  const files = new Map<string, SpooledFile>();
  try {
    const json = await jsonWithFiles(answer, options, async (file) => {
      const from = spool.byteSize;
      for await (const piece of file.bytes) await spool.append(piece);
      const [byteSize, { mediaType, address }] = [spool.byteSize - from, file];
      const bytes = { [Symbol.asyncIterator]: () => spool.read(from, byteSize) };
      files.set(file.pointer, {
        ...(mediaType === undefined ? {} : { mediaType }),
        ...(address === undefined ? {} : { address }),
        byteSize,
        bytes,
      });
    });
    return { json, files, close: () => spool.close() };
  } catch (error) {
    await spool.close();
    throw error;
  }
}
