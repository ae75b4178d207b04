import { randomUUID } from 'node:crypto';
import type { AbortSignalLike } from '../../core/cancellation.js';
import { ACCEPTED_ENCODINGS } from './decoded-body.js';
import type { HttpLimits } from './limits.js';

export interface HttpRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: string | URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | SizedStream;
  /**
   * Whether the path of the address may be a secret, as in an address out of an answer that gives access to a file. Errors
   * then show its origin alone. They never show a query.
   */
  readonly hasSecretPath?: boolean;
  readonly signal: AbortSignalLike;
  readonly limits?: Partial<HttpLimits>;
  /**
   * How many redirects are followed; none when absent. Only for GET and HEAD without a body. Each target is checked
   * like the first address: public ones need TLS, and private ones must be listed. Headers that identify us are sent to
   * the first origin only, and never again after a redirect has left it.
   */
  readonly maxRedirects?: number;
  /**
   * Whether the request gets its own connection. On a kept one, a close by the server looks like the loss of an answer,
   * so POST and PATCH have their own unless this says otherwise.
   */
  readonly onOwnConnection?: boolean;
}

/** Headers that the connection decides. */
const OWN_HEADERS: readonly string[] = [
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'expect',
  'te',
  'trailer',
  'accept-encoding',
  'proxy-authorization',
];

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Throws a `RangeError` for a header that cannot be sent; its value is not repeated. */
export function headersOf({ headers = {}, body }: HttpRequest): Readonly<Record<string, string>> {
  const sent: Record<string, string> = { 'user-agent': 'darkroom', 'accept-encoding': ACCEPTED_ENCODINGS };
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (!NAME.test(name) || OWN_HEADERS.includes(lower))
      throw new RangeError(`The header ${JSON.stringify(name)} cannot be set.`);
    if (!VALUE.test(value))
      throw new RangeError(`The value of the header ${name} has characters that headers cannot have.`);
    sent[lower] = value;
  }
  const byteSize = byteSizeOf(body);
  if (byteSize !== undefined) sent['content-length'] = String(byteSize);
  return sent;
}

/** How many bytes the body of a request has; undefined where it has none. */
export function byteSizeOf(body: HttpRequest['body']): number | undefined {
  if (body === undefined) return undefined;
  if (typeof body === 'string') return Buffer.byteLength(body);
  return 'stream' in body ? body.byteSize : body.byteLength;
}

export function bodyOf({ body }: HttpRequest): Uint8Array | AsyncIterable<Uint8Array> | undefined {
  if (typeof body === 'string') return Buffer.from(body);
  if (body === undefined || body instanceof Uint8Array) return body;
  return body.bytes ?? body.stream;
}

/** A larger body is sent in pieces of this size. */
export const SENT_PIECE_BYTES = 64 * 1024;

/**
 * A body on its way out, in pieces, so that its progress is seen and it can be ended. `onProgress` is called when a piece has
 * been taken.
 */
export class OutgoingBody implements AsyncIterable<Uint8Array> {
  private readonly source: AsyncIterable<Uint8Array>;
  private stopWaiting: ((reason: Error) => void) | undefined;
  private stopped: Error | undefined;

  constructor(
    body: Uint8Array | AsyncIterable<Uint8Array>,
    private readonly onProgress: () => void,
  ) {
    this.source = body instanceof Uint8Array ? piecesOf(body) : body;
  }

  /** Nothing more comes, even if the source is waited for. */
  stop(reason: Error): void {
    this.stopped ??= reason;
    this.stopWaiting?.(reason);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const pieces = this.source[Symbol.asyncIterator]();
    let isOver = false;
    try {
      for (;;) {
        const { done, value } = await this.nextOf(pieces);
        isOver = done === true;
        if (done === true) return;
        yield value;
        this.onProgress();
      }
    } finally {
      // A source that is waited for ends when it comes to it.
      if (!isOver) pieces.return?.().catch(() => undefined);
    }
  }

  private async nextOf(pieces: AsyncIterator<Uint8Array>): Promise<IteratorResult<Uint8Array>> {
    if (this.stopped !== undefined) throw this.stopped;
    const stop = new Promise<never>((_, reject) => {
      this.stopWaiting = reject;
    });
    return Promise.race([pieces.next(), stop]);
  }
}

async function* piecesOf(body: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < body.byteLength; at += SENT_PIECE_BYTES) yield body.subarray(at, at + SENT_PIECE_BYTES);
}

/** Pauses and resumes the reading of a connection. */
export interface Flow {
  pause(): void;
  resume(): void;
}

/** How much of an answer waits in memory to be read. */
const MAX_WAITING_BYTES = 256 * 1024;
/** The overhead of a piece beside its bytes. */
const PIECE_OVERHEAD_BYTES = 128;
/** Short pieces are joined, to avoid overhead for each of them in code that stores them. */
const JOINED_BYTES = 16 * 1024;

/**
 * The pieces of one answer's body, as they come, for one reader. The connection is not read further while enough of
 * them wait.
 */
export class BodyQueue {
  private readonly pieces: Uint8Array[] = [];
  private waitingBytes = 0;
  private ending: { readonly error?: Error } | undefined;
  private wakeReader: (() => void) | undefined;

  constructor(private readonly flow: Flow) {}

  push(piece: Uint8Array): void {
    if (this.ending) return;
    this.pieces.push(piece);
    this.waitingBytes += PIECE_OVERHEAD_BYTES + piece.byteLength;
    if (this.waitingBytes > MAX_WAITING_BYTES) this.flow.pause();
    this.wakeReader?.();
  }

  end(): void {
    this.ending ??= {};
    this.wakeReader?.();
  }

  /** Pieces that are unread at that time are dropped: a broken body is useless. */
  fail(error: Error): void {
    this.ending ??= { error };
    this.pieces.length = 0;
    this.wakeReader?.();
  }

  /**
   * The next piece, or undefined at the end. `waits` is called when there is none yet, and what it returns when there
   * is.
   */
  async next(waits: () => () => void): Promise<Uint8Array | undefined> {
    while (this.pieces.length === 0) {
      if (this.ending?.error) throw this.ending.error;
      if (this.ending) return undefined;
      const ready = waits();
      await new Promise<void>((resolve) => {
        this.wakeReader = resolve;
      });
      this.wakeReader = undefined;
      ready();
    }
    const taken = this.pieces.splice(0, this.countToJoin());
    for (const { byteLength } of taken) this.waitingBytes -= PIECE_OVERHEAD_BYTES + byteLength;
    if (this.waitingBytes <= MAX_WAITING_BYTES / 2) this.flow.resume();
    return taken.length === 1 ? taken[0] : Buffer.concat(taken);
  }

  /** The number of waiting pieces to join, at least one. */
  private countToJoin(): number {
    let [count, bytes] = [1, this.pieces[0]?.byteLength ?? 0];
    for (; count < this.pieces.length; count += 1) {
      bytes += this.pieces[count]?.byteLength ?? 0;
      if (bytes > JOINED_BYTES) break;
    }
    return count;
  }
}

/** A file that is sent within a request's body. The references of a submission are such files. */
export interface BodyFile {
  readonly mediaType: string;
  /** The exact number of bytes that `open` returns. */
  readonly byteSize: number;
  open(): Promise<AsyncIterable<Uint8Array>>;
}

/** A body whose length is known before it is sent: what `HttpRequest.body` takes. */
export interface SizedStream {
  readonly stream: AsyncIterable<Uint8Array>;
  readonly byteSize: number;
  /** The same bytes, where all of them are in memory already. */
  readonly bytes?: Uint8Array;
}

export interface SizedRequest {
  readonly headers: { readonly 'content-type': string };
  readonly body: SizedStream;
}

const MEDIA_TYPE = /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+$/i;

/** The file's type, where it may be written into a header. Throws a `RangeError` for an invalid media type. */
export function mediaTypeOf({ mediaType }: BodyFile): string {
  if (!MEDIA_TYPE.test(mediaType)) throw new RangeError('A media type is a type and a subtype.');
  return mediaType;
}

/**
 * The file's bytes. Throws if their number differs from the declared size: a body must not end early, or continue
 * with other data.
 */
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

/** Texts and streams one after another. Each stream is opened when it is reached. */
export function joined(parts: readonly (string | SizedStream)[]): SizedStream {
  const sized = parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part));
  const [only] = sized;
  return {
    ...(sized.length === 1 && only instanceof Uint8Array ? { bytes: only } : {}),
    byteSize: sized.reduce((sum, part) => sum + ('stream' in part ? part.byteSize : part.byteLength), 0),
    stream: inOrder(sized),
  };
}

async function* inOrder(parts: readonly (Buffer | SizedStream)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) {
    if ('stream' in part) yield* part.stream;
    else if (part.byteLength > 0) yield part;
  }
}

/** A field of a form: a text, or a file with the name that is sent to the server. */
export type FormField =
  | { readonly name: string; readonly value: string }
  | { readonly name: string; readonly fileName: string; readonly file: BodyFile };

/**
 * A form as multipart/form-data (RFC 7578). Files are opened as the body is sent; its length is known before. Names are sent
 * in UTF-8, with quotes and line breaks escaped as browsers do it. Throws a `RangeError` for a type that is none.
 */
export function formRequest(fields: readonly FormField[]): SizedRequest {
  // It cannot be guessed, so that no value contains it.
  const boundary = `darkroom-${randomUUID()}`;
  const parts = fields.flatMap((field) => [`--${boundary}\r\n`, ...partsOf(field), '\r\n']);
  return {
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    body: joined([...parts, `--${boundary}--\r\n`]),
  };
}

function partsOf(field: FormField): readonly (string | SizedStream)[] {
  const disposition = `Content-Disposition: form-data; name="${escaped(field.name)}"`;
  if ('value' in field) return [`${disposition}\r\n\r\n`, field.value];
  const { fileName, file } = field;
  return [
    `${disposition}; filename="${escaped(fileName)}"\r\nContent-Type: ${mediaTypeOf(file)}\r\n\r\n`,
    { byteSize: file.byteSize, stream: bytesOfFile(file) },
  ];
}

function escaped(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

/** Stands for a file in a JSON document: a string with the file's base64. */
export class Base64File {
  /** Either a data URL with its type, or base64 alone. */
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
  // It cannot be guessed, so no other string of the document is equal to a mark.
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
