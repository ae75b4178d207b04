import type { HttpAnswer } from '../http-answer.js';
import { decodedBase64 } from './base64.js';
import { encodedText } from './data-url.js';
import { largeStrings, type LargeString, type LargeStringsOptions } from './large-strings.js';
import type { ReadFailure } from './read-failure.js';

export interface JsonWithFilesOptions extends LargeStringsOptions {
  /** Of each file, decoded. The answer as a whole is bounded by `maxBodyBytes` of its limits. */
  readonly maxFileBytes: number;
}

/** A file in a JSON document: base64, or a data URL with it. */
export interface EncodedFile {
  /** Where it is, as a JSON Pointer. */
  readonly pointer: string;
  /** As a data URL declares it. */
  readonly mediaType?: string;
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
  const strings = largeStrings(answer.jsonBody(), options, fail);
  try {
    for (;;) {
      const { done, value } = await strings.next();
      if (done === true) return value;
      await take(await fileOf(value, options.maxFileBytes, fail));
    }
  } finally {
    await strings.return(undefined);
  }
}

async function fileOf({ pointer, text }: LargeString, maxBytes: number, fail: ReadFailure): Promise<EncodedFile> {
  const { text: base64, ...declared } = await encodedText(text, fail);
  return { pointer, ...declared, bytes: decodedBase64(base64, maxBytes, fail) };
}
