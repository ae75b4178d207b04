import type { IncomingHttpHeaders } from 'node:http';
import { decodedBody } from './decoded-body.js';
import type { Exchange } from './exchange.js';
import type { HttpError, HttpErrorKind } from './http-error.js';
import { KeptBytes } from './json/kept-bytes.js';
import { declaredType, jsonOf, MAX_JSON_DEPTH, type DeclaredType } from './json-body.js';
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

  /** A header's value; several of one name are joined with commas. */
  header(name: string): string | undefined {
    const lower = name.toLowerCase();
    const value = Object.hasOwn(this.headers, lower) ? this.headers[lower] : undefined;
    return Array.isArray(value) ? value.join(', ') : value;
  }

  /** What the answer says its body is. */
  get declares(): DeclaredType {
    return declaredType(this.header('content-type'));
  }

  /**
   * The body's bytes as they come, decompressed, at most `maxBytes`, which is never more than `maxBodyBytes` of the limits.
   * Leaving the stream early closes the connection. Throws `HttpError`.
   */
  body(maxBytes = this.limits.maxBodyBytes): AsyncIterable<Uint8Array> {
    if (this.isTaken) throw new Error('The body of an answer is read once.');
    this.isTaken = true;
    const limits = { ...this.limits, maxBodyBytes: Math.min(maxBytes, this.limits.maxBodyBytes) };
    const declared = this.exchange.hop.method === 'HEAD' ? 0 : Number(this.header('content-length'));
    const encoding = (this.header('content-encoding') ?? '').trim().toLowerCase();
    if (declared > limits.maxBodyBytes) {
      const error = this.error('too-large', `The answer's body has more than ${limits.maxBodyBytes} bytes.`);
      this.exchange.drop();
      throw error;
    }
    const abandon = () => this.exchange.drop();
    return decodedBody(this.exchange.received(), abandon, encoding, limits, (kind, what) => this.error(kind, what));
  }

  /** The whole body, within the same bounds. Throws `HttpError`. */
  async bytes(maxBytes?: number): Promise<Uint8Array> {
    return this.collected(this.body(maxBytes));
  }

  /**
   * The body as JSON, within the same bounds. An answer that declares another type is not JSON, whatever its body is; one
   * that declares none may be. Throws `HttpError`: `bad-answer` where it is no JSON, or JSON of more than `MAX_JSON_DEPTH`
   * levels, without repeating any of it.
   */
  async json(maxBytes?: number): Promise<unknown> {
    const json = jsonOf(await this.collected(this.jsonBody(maxBytes)));
    if ('value' in json) return json.value;
    throw json.fault === 'too-deep' ? this.tooDeep() : this.notJson();
  }

  /** The body as it comes, like `body`, of an answer that does not declare another type than JSON. */
  jsonBody(maxBytes?: number): AsyncIterable<Uint8Array> {
    if (this.declares !== 'other') return this.body(maxBytes);
    this.discard();
    throw this.notJson();
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

  private get headers(): IncomingHttpHeaders {
    return this.exchange.headers;
  }

  /** An error about this answer. Its request was sent. */
  error(kind: HttpErrorKind, what: string): HttpError {
    return this.exchange.error(kind, what);
  }

  private notJson(): HttpError {
    return this.error('bad-answer', `The answer with status ${this.status} is not JSON.`);
  }

  private tooDeep(): HttpError {
    const what = `The JSON of the answer with status ${this.status} has more than ${MAX_JSON_DEPTH} levels.`;
    return this.error('bad-answer', what);
  }
}
