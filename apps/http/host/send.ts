import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ErrorCode } from '../../../core/errors.js';
import { type HttpContext, MAX_BODY_PIECES } from './http-context.js';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** An unread body is skipped up to this many bytes so that its connection can be used again. */
const MAX_SKIPPED_BYTES = 1024 * 1024;
/** How long a client that is still sending has to read our answer before its connection is closed, in milliseconds. */
export const LINGER_MS = 2_000;

/** The content of the envelope of a success. */
export interface Answer {
  /** An object, or JSON text. */
  readonly data: object | string;
  /** Whether this is the first answer of an Idempotency-Key, given again. */
  readonly replayed?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

export function sendAnswer(ctx: HttpContext, status: number, { data, replayed, headers }: Answer): Promise<void> {
  const { res, state } = ctx;
  res.setHeader('Cache-Control', 'no-store');
  for (const name in headers) res.setHeader(name, headers[name] as string);
  if (replayed === true) res.setHeader('Idempotency-Replayed', 'true');
  const dataText = typeof data === 'string' ? data : JSON.stringify(data);
  // The request id was checked or made here, so it needs no escaping.
  const text = `{"success":true,"code":"OK","message":"OK","request_id":"${state.requestId}","data":${dataText}}`;
  return sendText(ctx, status, { mediaType: JSON_TYPE, text });
}

export function errorEnvelope(
  requestId: string,
  code: ErrorCode,
  message: string,
  more: Readonly<Record<string, string | undefined>> = {},
): string {
  return JSON.stringify({ success: false, code, message, request_id: requestId, ...more });
}

/** Responds with a text. Resolves when the response is handed over, not when the client has received it. */
export async function sendText(
  ctx: HttpContext,
  status: number,
  { mediaType, text }: { readonly mediaType: string; readonly text: string },
): Promise<void> {
  const { req, res, state } = ctx;
  res.statusCode = status;
  res.setHeader('Content-Type', mediaType);
  if (!req.complete && isLongBodyUnread(req)) return answerAndClose(ctx, text);
  state.text = text;
}

/**
 * Hands over the text that `sendText` was given, if it was. The framework would determine the type and the length of each
 * body again, which costs a few percent of a request.
 */
export function finishSending(ctx: HttpContext): void {
  const { req, res, state } = ctx;
  if (state.text === undefined || res.headersSent) return;
  ctx.respond = false;
  res.setHeader('Content-Length', Buffer.byteLength(state.text));
  res.end(req.method === 'HEAD' ? undefined : state.text);
}

/** A response without envelope that is sent as it is made. An error must be thrown before it begins. */
export interface StreamedAnswer {
  /** Opens the stream. Not called for HEAD. */
  readonly stream: () => AsyncIterable<Uint8Array | string>;
  readonly mediaType: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function sendStream(ctx: HttpContext, { stream, mediaType, headers }: StreamedAnswer): Promise<void> {
  return streamBody(ctx, {
    status: 200,
    headers: { 'Cache-Control': 'no-store', 'Content-Type': mediaType, ...headers },
    body: ctx.method === 'HEAD' ? undefined : stream(),
  });
}

export interface StreamedBody {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: AsyncIterable<Uint8Array | string> | Uint8Array | undefined;
}

/**
 * Responds with a streamed body. Resolves when all of it is handed over, or when the client has disconnected, which
 * ends the source of the body. A body that fails midway destroys the connection, because the status was already sent.
 */
export async function streamBody(ctx: HttpContext, { status, headers, body }: StreamedBody): Promise<void> {
  const { res } = ctx;
  ctx.status = status;
  for (const name in headers) res.setHeader(name, headers[name] as string);
  // Not before: an invalid status or header throws, and the error must be answered.
  ctx.respond = false;
  if (body === undefined || body instanceof Uint8Array) {
    res.end(body);
    return;
  }
  try {
    const length = headers['Content-Length'];
    const { first, pieces } = length === undefined ? { first: undefined, pieces: body } : await firstOf(body);
    // Many files are one piece, for which a stream would cost more than reading and sending it.
    if (first instanceof Uint8Array && first.byteLength === Number(length)) {
      await pieces[Symbol.asyncIterator]().return?.();
      res.end(first);
      return;
    }
    await pipeline(Readable.from(pieces, { objectMode: false }), res);
  } catch {
    res.destroy();
  }
}

/**
 * A client that was answered before all of its body had arrived may send the rest, so that the connection can be used
 * again; but not slowly, for as long as a request may take, as the body is no longer needed.
 */
export function cutLateBody({ req, res }: Pick<HttpContext, 'req' | 'res'>, lingerMs: number): void {
  const cutSoon = (): void => {
    setTimeout(() => {
      if (!req.complete) req.socket.destroy();
    }, lingerMs).unref();
  };
  if (res.writableFinished) cutSoon();
  else res.once('finish', cutSoon);
}

/** Resolves once the first piece is there, so that what fails before it can have a status. The rest is read as it is taken. */
export async function begun<T>(pieces: AsyncIterable<T>): Promise<AsyncIterable<T>> {
  return (await firstOf(pieces)).pieces;
}

/** The first piece, undefined where there is none, and all of them. */
async function firstOf<T>(
  all: AsyncIterable<T>,
): Promise<{ readonly first: T | undefined; readonly pieces: AsyncIterable<T> }> {
  const iterator = all[Symbol.asyncIterator]();
  const first = await iterator.next();
  let isTaken = false;
  const next = async (): Promise<IteratorResult<T, unknown>> => {
    if (isTaken) return iterator.next();
    isTaken = true;
    return first;
  };
  const end = async (): Promise<IteratorResult<T, unknown>> => {
    await iterator.return?.();
    return { done: true, value: undefined };
  };
  const pieces = { [Symbol.asyncIterator]: () => ({ next, return: end }) };
  return { first: first.done === true ? undefined : first.value, pieces };
}

function isLongBodyUnread(req: IncomingMessage): boolean {
  const declared = req.headers['content-length'];
  if (declared !== undefined) return Number(declared) > MAX_SKIPPED_BYTES;
  return req.headers['transfer-encoding'] !== undefined;
}

/**
 * Closing a connection while its client still sends would throw our answer away with it. So the complete answer is sent
 * first, then a little more of the body is skipped, and only then the connection is closed.
 */
async function answerAndClose(ctx: HttpContext, text: string): Promise<void> {
  const { req, res } = ctx;
  ctx.respond = false;
  res.setHeader('Connection', 'close');
  res.setHeader('Content-Length', Buffer.byteLength(text));
  res.write(ctx.method === 'HEAD' ? '' : text);
  await skipBody(req);
  res.end();
}

function skipBody(req: IncomingMessage): Promise<void> {
  if (req.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    let skipped = 0;
    let pieces = 0;
    const done = (): void => {
      clearTimeout(timer);
      req.off('data', count).off('close', done).off('end', done).pause();
      resolve();
    };
    const count = (chunk: Uint8Array): void => {
      skipped += chunk.byteLength;
      pieces += 1;
      // The bytes already read from the connection are parsed to their end; without a consumer that costs little.
      if (pieces > MAX_BODY_PIECES) req.destroy();
      if (skipped > MAX_SKIPPED_BYTES || pieces > MAX_BODY_PIECES) done();
    };
    const timer = setTimeout(done, LINGER_MS);
    req.on('data', count).on('close', done).on('end', done).resume();
    req.on('error', done);
  });
}
