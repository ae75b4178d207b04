import type { IncomingHttpHeaders } from 'node:http';
import { decodedBody } from './decoded-body.js';
import type { Exchange } from './exchange.js';
import type { HttpError } from './http-error.js';
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

  /**
   * The body's bytes as they come, decompressed. Leaving the stream early closes the connection. Throws `HttpError`.
   */
  body(): AsyncIterable<Uint8Array> {
    if (this.isTaken) throw new Error('The body of an answer is read once.');
    this.isTaken = true;
    const declared = this.exchange.hop.method === 'HEAD' ? 0 : Number(this.header('content-length'));
    const encoding = (this.header('content-encoding') ?? '').trim().toLowerCase();
    if (declared > this.limits.maxBodyBytes) {
      const error = this.error('too-large', `The answer's body has more than ${this.limits.maxBodyBytes} bytes.`);
      this.exchange.drop();
      throw error;
    }
    const abandon = () => this.exchange.drop();
    return decodedBody(this.exchange.received(), abandon, encoding, this.limits, (kind, what) =>
      this.error(kind, what),
    );
  }

  /** The whole body, at most `maxBodyBytes`. Throws `HttpError`. */
  async bytes(): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this.body()) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  /** The body as JSON. Throws `HttpError`: `bad-answer` where it is none, without repeating any of it. */
  async json(): Promise<unknown> {
    const bytes = await this.bytes();
    try {
      return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    } catch {
      throw this.error('bad-answer', `The answer with status ${this.status} is not JSON.`);
    }
  }

  /** Gives the body up. */
  discard(): void {
    this.isTaken = true;
    this.exchange.drop();
  }

  private get headers(): IncomingHttpHeaders {
    return this.exchange.headers;
  }

  private error(kind: 'too-large' | 'bad-answer', what: string): HttpError {
    return this.exchange.error(kind, what);
  }
}
