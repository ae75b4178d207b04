import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { CallKind, Fault } from './faults.js';
import type { FakeAnswer } from './fake-answer.js';

/** One request as a vendor's fake sees it. */
export interface FakeRequest {
  readonly method: string;
  /** The path without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The values of the `:name` segments of the route's path, percent-decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Aborted when the client has closed the connection before the answer was complete. */
  readonly gone: AbortSignal;
  /** The body as JSON. Throws a `SyntaxError` if it is not. */
  json(): unknown;
  /** The body as `multipart/form-data`. Throws a `TypeError` if it is not. */
  form(): Promise<FormData>;
}

/** One request in the log. The values of headers that carry secrets are left out. */
export interface LoggedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly of: readonly CallKind[];
  /** When its headers had come, and each time when its route began to handle it; milliseconds since the epoch. */
  readonly arrivedAt: number;
  readonly handledAt: readonly number[];
  readonly headers: IncomingHttpHeaders;
  /** The part of the body that was read, up to `maxLoggedBytes`. */
  readonly body: Buffer;
  /** Whether the body came whole. */
  readonly isWhole: boolean;
  /** How often the route has handled it. */
  readonly timesHandled: number;
  /** The fault that it met. */
  readonly fault?: Fault;
  /** The answer of each handling, whether or not it was sent. */
  readonly answers: readonly FakeAnswer[];
}

/** A logged request while it is under way. */
export type RequestRecord = { -readonly [Name in keyof LoggedRequest]: LoggedRequest[Name] } & {
  readonly answers: FakeAnswer[];
  readonly handledAt: number[];
};

/** The time of a monotonic clock, in milliseconds since the epoch. */
export function fakeTime(): number {
  return performance.timeOrigin + performance.now();
}

export const WITHHELD = '(withheld)';

const SECRET_HEADERS: readonly string[] = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'x-api-key',
  'x-key',
  'x-goog-api-key',
];

export function withoutSecrets(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, SECRET_HEADERS.includes(name) ? WITHHELD : value]),
  );
}

/** More of a body than the server reads. */
export class BodyTooLarge extends Error {}

/** The whole body. Throws `BodyTooLarge`, and an error where the connection is closed before its end. */
export async function readBody(message: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let byteSize = 0;
  for await (const piece of message as AsyncIterable<Buffer>) {
    byteSize += piece.byteLength;
    if (byteSize > maxBytes) throw new BodyTooLarge(`The body has more than ${maxBytes} bytes.`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Reads the form with the platform's own parser. */
export async function formOf(body: Buffer, headers: IncomingHttpHeaders): Promise<FormData> {
  const contentType = headers['content-type'] ?? '';
  return new Response(new Uint8Array(body), { headers: { 'content-type': contentType } }).formData();
}
