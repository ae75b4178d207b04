import { randomUUID } from 'node:crypto';
import { bytesOfFile, joined, mediaTypeOf, type BodyFile, type SizedRequest, type SizedStream } from './body-file.js';

/** Stands for a file in a JSON document: a string with the file's base64. */
export class Base64File {
  /** As a data URL with its type, or as base64 alone. */
  constructor(
    readonly file: BodyFile,
    readonly form: 'data-url' | 'base64',
  ) {}
}

/**
 * The JSON of a document in which each `Base64File` is a string with its base64. The files are opened and encoded as the
 * body is sent; its length is known before. Throws a `RangeError` for a type that is none.
 */
export function jsonRequest(document: unknown): SizedRequest {
  // Nobody can know it, so no other string of the document is equal to a mark.
  const mark = randomUUID();
  const files: Base64File[] = [];
  const json = JSON.stringify(document, (_, value: unknown) => {
    if (!(value instanceof Base64File)) return value;
    files.push(value);
    return mark;
  });
  const texts = json.split(JSON.stringify(mark));
  const parts = texts.flatMap((text, index) => [text, ...stringOf(files[index])]);
  return { headers: { 'content-type': 'application/json' }, body: joined(parts) };
}

function stringOf(encoded: Base64File | undefined): readonly (string | SizedStream)[] {
  if (encoded === undefined) return [];
  const { file, form } = encoded;
  const base64 = { byteSize: Math.ceil(file.byteSize / 3) * 4, stream: encodedBase64(bytesOfFile(file)) };
  return ['"', form === 'data-url' ? `data:${mediaTypeOf(file)};base64,` : '', base64, '"'];
}

/** Encodes whole groups of three bytes: what is left of a piece goes before the next one. */
async function* encodedBase64(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let left = Buffer.alloc(0);
  for await (const piece of bytes) {
    const all = Buffer.concat([left, piece]);
    const whole = all.byteLength - (all.byteLength % 3);
    left = all.subarray(whole);
    if (whole > 0) yield Buffer.from(all.toString('base64', 0, whole), 'latin1');
  }
  if (left.byteLength > 0) yield Buffer.from(left.toString('base64'), 'latin1');
}
