/** Whatever holds the bytes of a file: a `Blob` or `File` of a browser, a stream, or the bytes themselves. */
export type FileSource =
  | Blob
  | ArrayBuffer
  | Uint8Array
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>
  | Response;

/** The types of reference files, by their first bytes. */
export type ReferenceMediaType = 'image/png' | 'image/jpeg' | 'image/webp';

/** All bytes of a source. Throws a `RangeError` as soon as there are more than `maxBytes`. */
export async function bytesOf(source: FileSource, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  if (source instanceof Uint8Array) return bounded(new Uint8Array(source), maxBytes);
  if (source instanceof ArrayBuffer) return bounded(new Uint8Array(source), maxBytes);
  if (source instanceof Blob) {
    if (source.size > maxBytes) throw tooLarge(maxBytes);
    return new Uint8Array(await source.arrayBuffer());
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunksOf(source instanceof Response ? source.body : source)) {
    if (!ArrayBuffer.isView(chunk)) throw notReadable();
    size += chunk.byteLength;
    if (size > maxBytes) throw tooLarge(maxBytes);
    chunks.push(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength));
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}

/** The SHA-256 of bytes or of a text in UTF-8, as 64 hexadecimal digits. */
export async function sha256Hex(data: Uint8Array<ArrayBuffer> | string): Promise<string> {
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;
  return hex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
}

/** 128 random bits as 32 hexadecimal digits. */
export function randomKey(): string {
  return hex(crypto.getRandomValues(new Uint8Array(16)));
}

/** The media type of a picture that starts with these bytes; undefined if it may not be a reference file. */
export function pictureType(bytes: Uint8Array): ReferenceMediaType | undefined {
  const head = String.fromCharCode(...bytes.subarray(0, 12));
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (head.startsWith('RIFF') && head.slice(8) === 'WEBP') return 'image/webp';
  return undefined;
}

/** The media type of a model's output: a picture or a video. */
export function mediaTypeOf(bytes: Uint8Array): string | undefined {
  const isMp4 = String.fromCharCode(...bytes.subarray(4, 8)) === 'ftyp';
  return pictureType(bytes) ?? (isMp4 ? 'video/mp4' : undefined);
}

async function* chunksOf(source: unknown): AsyncGenerator {
  // A response without a body.
  if (source === null) return;
  if (source instanceof ReadableStream) yield* readAll(source as ReadableStream<unknown>);
  else if (isIterable(source)) yield* source;
  else throw notReadable();
}

/** Not every browser can iterate its streams. */
async function* readAll(stream: ReadableStream<unknown>): AsyncGenerator {
  const reader = stream.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function isIterable(source: unknown): source is AsyncIterable<unknown> {
  return typeof source === 'object' && source !== null && Symbol.asyncIterator in source;
}

function notReadable(): TypeError {
  return new TypeError(
    'A reference file must be a Blob, a Response, a stream of bytes or bytes. For a path, openAsBlob of node:fs makes a Blob.',
  );
}

function bounded(bytes: Uint8Array<ArrayBuffer>, maxBytes: number): Uint8Array<ArrayBuffer> {
  if (bytes.byteLength > maxBytes) throw tooLarge(maxBytes);
  return bytes;
}

function tooLarge(maxBytes: number): RangeError {
  return new RangeError(`The file has more than ${maxBytes} bytes.`);
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
