/** A file that is sent within a request's body. The references of a submission are such files. */
export interface BodyFile {
  readonly mediaType: string;
  /** Of exactly what `open` gives. */
  readonly byteSize: number;
  open(): Promise<AsyncIterable<Uint8Array>>;
}

/** A body whose length is known before it is sent: what `HttpRequest.body` takes. */
export interface SizedStream {
  readonly stream: AsyncIterable<Uint8Array>;
  readonly byteSize: number;
}

export interface SizedRequest {
  readonly headers: { readonly 'content-type': string };
  readonly body: SizedStream;
}

const MEDIA_TYPE = /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+$/i;

/** The file's type, where it may be written into a header. Throws a `RangeError` for what is no type. */
export function mediaTypeOf({ mediaType }: BodyFile): string {
  if (!MEDIA_TYPE.test(mediaType)) throw new RangeError('A media type is a type and a subtype.');
  return mediaType;
}

/** The file's bytes. Throws if they are not as many as it says: a body must not end early, or go on as something else. */
export async function* bytesOfFile(file: BodyFile): AsyncGenerator<Uint8Array> {
  const { byteSize } = file;
  let byteLength = 0;
  for await (const piece of await file.open()) {
    byteLength += piece.byteLength;
    if (byteLength > byteSize) throw new Error(`A file has more than the ${byteSize} bytes that it should have.`);
    yield piece;
  }
  if (byteLength < byteSize) throw new Error(`A file has ${byteLength} bytes instead of ${byteSize}.`);
}

/** Texts and streams one after another. Each stream is begun when it is reached. */
export function joined(parts: readonly (string | SizedStream)[]): SizedStream {
  const sized = parts.map((part) => (typeof part === 'string' ? sizedText(part) : part));
  return {
    byteSize: sized.reduce((sum, { byteSize }) => sum + byteSize, 0),
    stream: inOrder(sized),
  };
}

function sizedText(text: string): SizedStream {
  const bytes = Buffer.from(text);
  return { byteSize: bytes.byteLength, stream: once(bytes) };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.byteLength > 0) yield bytes;
}

async function* inOrder(parts: readonly SizedStream[]): AsyncGenerator<Uint8Array> {
  for (const { stream } of parts) yield* stream;
}
