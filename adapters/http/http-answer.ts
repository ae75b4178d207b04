import { type ListedHosts, readTarget, type Target } from './allow-list.js';
import { decodedBody } from './decoded-body.js';
import type { Exchange } from './exchange.js';
import { HttpError, type HttpErrorDetails, type HttpErrorKind, readRetryAfter } from './http-error.js';
import { beginsJson, declaredType, type DeclaredType, jsonOf, MAX_JSON_DEPTH, type ReadJson } from './json-body.js';
import { JsonScanner, KeptBytes } from './json/json-scanner.js';
import type { HttpLimits } from './limits.js';

/**
 * An answer whose headers have arrived; its body is still arriving, and is read once: as a stream, completely, or not
 * at all. The limits of the call hold until then, so an answer that is not read must be discarded.
 */
export class HttpAnswer {
  readonly status: number;
  private isTaken = false;

  constructor(
    private readonly exchange: Exchange,
    private readonly limits: HttpLimits,
  ) {
    this.status = exchange.status;
  }

  /** Whether the status is one of success. */
  get isOk(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  /**
   * The address that it came from: through a proxy, that of the proxy. Unknown on a connection that is kept for other
   * requests.
   */
  get peer(): string | undefined {
    return this.exchange.peer;
  }

  /** A header's value; several of one name are joined with commas. */
  header(name: string): string | undefined {
    const lower = name.toLowerCase();
    const { headers } = this.exchange;
    const value = Object.hasOwn(headers, lower) ? headers[lower] : undefined;
    return Array.isArray(value) ? value.join(', ') : value;
  }

  /** The type of the body, as stated by the answer. */
  get declares(): DeclaredType {
    return declaredType(this.header('content-type'));
  }

  /**
   * The body's bytes as they come, decompressed, at most `maxBytes`, which is never more than `maxBodyBytes` of the limits.
   * Leaving the stream early closes the connection. Throws `HttpError`.
   */
  body(maxBytes = this.limits.maxBodyBytes): AsyncIterable<Uint8Array> {
    return this.read({ ...this.limits, maxBodyBytes: Math.min(maxBytes, this.limits.maxBodyBytes) });
  }

  private read(limits: HttpLimits): AsyncIterable<Uint8Array> {
    if (this.isTaken) throw new Error('The body of an answer is read once.');
    this.isTaken = true;
    const declared = this.exchange.hop.method === 'HEAD' ? 0 : Number(this.header('content-length'));
    const encoding = (this.header('content-encoding') ?? '').trim().toLowerCase();
    if (declared > limits.maxBodyBytes) {
      const error = this.error('too-large', `The answer's body has more than ${limits.maxBodyBytes} bytes.`);
      this.exchange.drop();
      throw error;
    }
    const abandon = () => this.exchange.drop();
    const fail = (kind: 'too-large' | 'bad-answer', what: string) => this.error(kind, what);
    const body = decodedBody(this.exchange.received(), abandon, encoding, limits, fail);
    return limits.firstByteTimeoutMs === undefined ? body : this.noted(body);
  }

  /** White space that keeps the connection alive is not yet what the server computes. */
  private async *noted(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let hasContent = false;
    for await (const piece of body) {
      hasContent ||= piece.some((byte) => !WHITE_SPACE.has(byte));
      if (hasContent) this.exchange.noteContent();
      yield piece;
    }
  }

  /** The whole body, within the same bounds. Throws `HttpError`. */
  async bytes(maxBytes?: number): Promise<Uint8Array> {
    return this.collected(this.body(maxBytes));
  }

  /**
   * The body as JSON, within the same bounds, whatever type the answer declares. Throws `HttpError`: `bad-answer` where it is
   * not JSON, or JSON of more than `MAX_JSON_DEPTH` levels, without repeating any of it.
   */
  async json(maxBytes?: number): Promise<unknown> {
    return this.required(jsonOf(await this.collected(this.jsonBody(maxBytes))));
  }

  /** The body as it comes, like `body`. It breaks off with `bad-answer` where it does not begin as JSON does, such as a page. */
  jsonBody(maxBytes?: number): AsyncIterable<Uint8Array> {
    return this.begunAsJson(this.body(maxBytes));
  }

  private async *begunAsJson(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let begins: boolean | undefined;
    for await (const piece of body) {
      begins ??= beginsJson(piece);
      if (begins === false) throw this.notJson();
      yield piece;
    }
  }

  /**
   * The short members of a body that is JSON: its long strings are cut, as `JsonScanner` does it, and 256 KiB are kept at
   * most. `maxBytes` is not bounded by the limits, as the rest is not kept. Throws `HttpError`, not for what is not JSON.
   */
  async shortJson(maxBytes: number): Promise<ReadJson> {
    const tooLong = () =>
      this.error('too-large', `The JSON of the answer has more than ${MAX_SHORT_BYTES} bytes of short members.`);
    const short = new JsonScanner(MAX_SHORT_BYTES, tooLong, { skipsRepeated: true });
    let begins: boolean | undefined;
    const { maxDecompressionRatio: ratio } = this.limits;
    const maxDecompressionRatio = Math.max(ratio, SHORT_DECOMPRESSION_RATIO);
    for await (const piece of this.read({ ...this.limits, maxBodyBytes: maxBytes, maxDecompressionRatio })) {
      begins ??= beginsJson(piece);
      // A body that is not JSON is read to its end, because the meaning depends on whether the answer is whole.
      if (begins !== false) short.read(piece);
    }
    return begins === true ? short.end() : { fault: 'not-json' };
  }

  /** The same, where anything but JSON is an error. Throws `HttpError`. */
  async requiredShortJson(maxBytes: number): Promise<unknown> {
    return this.required(await this.shortJson(maxBytes));
  }

  private required(json: ReadJson): unknown {
    if ('value' in json) return json.value;
    throw json.fault === 'too-deep' ? this.tooDeep() : this.notJson();
  }

  /** In one buffer: a server may send a byte at a time, and a piece takes a hundred times as much. */
  private async collected(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
    const kept = new KeptBytes(this.limits.maxBodyBytes, () => this.error('too-large', 'The answer is too long.'));
    for await (const piece of body) kept.add(piece);
    const { buffer, byteOffset, byteLength } = kept.since(0);
    return Buffer.from(buffer, byteOffset, byteLength);
  }

  /** Gives the body up. */
  discard(): void {
    this.isTaken = true;
    this.exchange.drop();
  }

  /** An error about this answer, with what the answer asks of its caller. Its request was sent. */
  error(
    kind: HttpErrorKind,
    what: string,
    hints: Pick<HttpErrorDetails, 'retryAfterMs' | 'isAccessRefused'> = {},
  ): HttpError {
    const waitMs = readRetryAfter(this.header('retry-after'), this.header('date'), Date.now());
    return this.exchange.error(kind, what, {
      ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
      ...(this.status === 401 || this.status === 403 ? { isAccessRefused: true } : {}),
      ...hints,
    });
  }

  private notJson(): HttpError {
    return this.error('bad-answer', `The answer with status ${this.status} is not JSON.`);
  }

  private tooDeep(): HttpError {
    const what = `The JSON of the answer with status ${this.status} has more than ${MAX_JSON_DEPTH} levels.`;
    return this.error('bad-answer', what);
  }
}

/** The parts that are kept of a JSON document that is read for its short members. */
const MAX_SHORT_BYTES = 256 * 1024;
/** A picture of one colour compresses beyond any ratio; what is read is not kept. */
const SHORT_DECOMPRESSION_RATIO = 2_000;
const WHITE_SPACE: ReadonlySet<number | undefined> = new Set([0x20, 0x09, 0x0a, 0x0d]);

export interface AddressRules {
  /** The configured address of the instance; relative addresses begin there. */
  readonly base: string | URL;
  /** Other hosts that answers may point to. */
  readonly hosts: ListedHosts;
}

export interface AnswerAddress {
  readonly url: string;
  /** Whether it has the configured origin. Credentials are only for that one; the path of any other may be a secret. */
  readonly isOwnOrigin: boolean;
}

const MAX_LENGTH = 8 * 1024;

/**
 * An address out of an answer, to poll, to cancel or for a result: of the configured origin, or https to a listed host.
 * The client then refuses what is not public at the moment of connecting, unless the operator listed it. Throws
 * `HttpError` with `bad-answer` for any other address, which is not repeated in the message; its `requestSent` is true, as
 * the answer belongs to a request.
 */
export function answerAddress(address: unknown, { base, hosts }: AddressRules): AnswerAddress {
  const own = readTarget(base);
  const target = targetOf(address, own);
  const isOwnOrigin = target.origin === own.origin;
  if (!isOwnOrigin && !hosts.has(target)) throw badAddress('is of a host that is not listed');
  return { url: target.origin + target.path, isOwnOrigin };
}

function targetOf(address: unknown, own: Target): Target {
  if (typeof address !== 'string' || address === '') throw badAddress('is missing');
  if (address.length > MAX_LENGTH) throw badAddress('is too long');
  // Also the mark of a text that was cut.
  if (hasControlCharacter(address)) throw badAddress('has characters that addresses cannot have');
  try {
    return readTarget(address, own);
  } catch {
    throw badAddress('is none that may be used');
  }
}

function hasControlCharacter(text: string): boolean {
  return [...text].some((char) => char < ' ');
}

function badAddress(what: string): HttpError {
  return new HttpError('bad-answer', `An address in the answer ${what}.`, { requestSent: true });
}
