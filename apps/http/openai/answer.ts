import { ServiceError } from '../../../core/errors.js';
import { type Generation, isTerminal } from '../../../core/generation/generation.js';
import { waitForEnd } from '../../../core/generation/wait-for-generation.js';
import type { Place } from '../../../core/idempotency/silent-retries.js';
import { JSON_TYPE, sendText, streamBody } from '../host/send.js';
import type { RequestWait } from '../host/wait.js';
import { errorText, failureOf } from './errors.js';
import type { ApiRequest } from './operation.js';

/** How long a response is silent, so that fast refusals keep their status, in milliseconds. */
const SILENT_MS = 25_000;
/** How often white space is sent after that: proxies and clients give up a silent response after 30 s and more. */
export const BEAT_MS = 15_000;
/** How long a request waits for the end of its generation. */
const MOST_MS = 600_000;

export function sendJson(ctx: ApiRequest, status: number, body: object): Promise<void> {
  return sendText(ctx, status, { mediaType: JSON_TYPE, text: JSON.stringify(body) });
}

/** What became of the answer to a create, which is reported to the place of its request when the response is over. */
export class Delivery {
  /** Set before the last byte is written; a response without it has not answered the request. */
  answered: 'success' | 'failure' | undefined;

  constructor(ctx: ApiRequest, place: Place | undefined) {
    if (place === undefined) return;
    const { res } = ctx;
    let isOver = false;
    const end = (isWritten: boolean): void => {
      if (isOver) return;
      isOver = true;
      if (isWritten && this.answered !== undefined) place.deliver(this.answered === 'failure');
      else place.leave();
    };
    if (res.closed || res.destroyed) end(false);
    else res.once('finish', () => end(true)).once('close', () => end(false));
  }
}

/** The parts of a successful response. */
export interface Success {
  readonly byteSize: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: () => AsyncIterable<Uint8Array | string>;
}

/**
 * Answers once the generation has ended. For 25 seconds nothing is sent; then the head of a success and white space, which
 * JSON allows before a value. A failure after that cannot have a status any more: the response is cut in the middle of an
 * error, which clients take for a broken connection, and the repeated request gets the reason.
 */
export async function answerAtEnd(
  ctx: ApiRequest,
  created: Generation,
  delivery: Delivery,
  until: RequestWait,
  success: (ended: Generation) => Promise<Success>,
): Promise<void> {
  const { context, access } = ctx.state.parts;
  const early = await waitForEnd(context, created, { waitMs: SILENT_MS, until });
  if (!isTerminal(early.status) && !until.isOver) return answerSlowly(ctx, early, delivery, until, success);
  // The credential may have been revoked in the meantime.
  await access.authenticate(ctx);
  if (!isTerminal(early.status)) throw notYet();
  if (early.status !== 'succeeded') return sendFailure(ctx, early, delivery);
  const { byteSize, headers, body } = await success(early);
  delivery.answered = 'success';
  const length = byteSize === undefined ? {} : { 'Content-Length': String(byteSize) };
  await streamBody(ctx, {
    status: 200,
    headers: { 'Content-Type': JSON_TYPE, 'Cache-Control': 'no-store', ...headers, ...length },
    body: body(),
  });
}

function notYet(): ServiceError {
  const message = 'The generation has not ended; send the same request again, and it waits for the same generation.';
  return new ServiceError('SERVICE_UNAVAILABLE', message, { retryAfterMs: 1_000 });
}

async function answerSlowly(
  ctx: ApiRequest,
  created: Generation,
  delivery: Delivery,
  until: RequestWait,
  success: (ended: Generation) => Promise<Success>,
): Promise<void> {
  const { res, req } = ctx;
  const { context, access } = ctx.state.parts;
  until.streams(BEAT_MS);
  ctx.respond = false;
  ctx.status = 200;
  res.setHeader('Content-Type', JSON_TYPE);
  res.setHeader('Cache-Control', 'no-store');
  // nginx must not hold the white space back.
  res.setHeader('X-Accel-Buffering', 'no');
  res.write(' ');
  const beat = setInterval(() => res.write(' '), BEAT_MS);
  try {
    const ended = await waitForEnd(context, created, { waitMs: MOST_MS - SILENT_MS, until });
    if (ended.status !== 'succeeded') return cut(ctx, ended);
    await access.authenticate(ctx);
    const { body } = await success(ended);
    delivery.answered = 'success';
    clearInterval(beat);
    for await (const piece of body()) if (!res.write(piece)) await drained(ctx);
    res.end();
  } catch {
    req.socket.resetAndDestroy();
  } finally {
    clearInterval(beat);
  }
}

function drained({ res }: ApiRequest): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      res.off('drain', done).off('close', done);
      resolve();
    };
    if (res.destroyed) return resolve();
    res.once('drain', done).once('close', done);
  });
}

/** Writes an error without its last brace and resets the connection, so that no proxy makes a whole response of it. */
function cut({ res, req }: ApiRequest, generation: Generation): void {
  const text = isTerminal(generation.status)
    ? errorText(failureOf(generation).error)
    : errorText({
        message: notYet().message,
        type: 'server_error',
        param: null,
        code: 'generation_timeout',
      });
  res.write(text.slice(0, -1), () => req.socket.resetAndDestroy());
}

export async function sendFailure(ctx: ApiRequest, generation: Generation, delivery: Delivery): Promise<void> {
  const { status, error } = failureOf(generation);
  delivery.answered = 'failure';
  ctx.res.setHeader('x-should-retry', String(generation.error?.retryable ?? false));
  ctx.res.setHeader('Cache-Control', 'no-store');
  await sendText(ctx, status, { mediaType: JSON_TYPE, text: errorText(error) });
}
