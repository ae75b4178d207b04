import { type ErrorCode, ServiceError } from '../../../core/errors.js';
import {
  type Generation,
  type GenerationRecord,
  isTerminal,
  type TaskErrorCode,
} from '../../../core/generation/generation.js';
import { requireKept, waitForEndOf } from '../../../core/generation/wait-for-generation.js';
import type { Place } from '../../../core/idempotency/silent-retries.js';
import { notedRefusal } from '../host/errors.js';
import { JSON_TYPE, sendText } from '../host/send.js';
import type { RequestWait } from '../host/wait.js';
import { AGAIN, type ApiError, apiErrorOf, ApiRefusal, errorText, failureOf } from './errors.js';
import type { ApiRequest } from './operation.js';

export function sendJson(ctx: ApiRequest, status: number, body: object): Promise<void> {
  return sendText(ctx, status, { mediaType: JSON_TYPE, text: JSON.stringify(body) });
}

/** What became of the answer to a create, which is reported to the place of its request when the response is over. */
export class Delivery {
  /** Set before the last byte is written, to what is answered; a response without it has not answered the request. */
  answered: Generation | undefined;

  constructor(
    { req, res }: ApiRequest,
    private place: Place | undefined,
  ) {
    if (place === undefined) return;
    if (res.closed || res.destroyed) this.end(false);
    // A response also finishes whose last bytes a broken connection has not taken.
    else
      res.on('finish', () => this.end(!req.socket.destroyed && !req.socket.errored)).on('close', () => this.end(false));
  }

  private end(isWritten: boolean): void {
    const { place, answered } = this;
    this.place = undefined;
    if (isWritten && answered !== undefined) place?.deliver(answered);
    else place?.leave();
  }
}

/** A successful response. */
export interface Success {
  readonly byteSize: number;
  readonly headers: Readonly<Record<string, string>>;
  /** In pieces of ASCII: they are written without being measured and copied again, which counts for large pictures. */
  readonly body: AsyncIterable<string>;
}

/** A request that waits for the end of its generation. Thousands do: it holds nothing that can be read again. */
export interface Answering {
  readonly delivery: Delivery;
  readonly until: RequestWait;
  /** Throws where the result cannot be given any more. */
  success(ctx: ApiRequest, ended: Generation): Promise<Success>;
}

/**
 * Answers once the generation has ended. For 25 seconds nothing is sent; then the head of a success and white space, which
 * JSON allows before a value. A failure after that cannot have a status any more: the response is cut in the middle of an
 * error, which clients take for a broken connection, and the repeated request gets the reason.
 */
export function answerAtEnd(ctx: ApiRequest, created: Generation, answering: Answering): Promise<void> {
  const { context, waitTimes } = ctx.state.parts;
  const { until } = answering;
  let hasBegun = false;
  let cancelTimer: (() => void) | undefined = context.clock.after(waitTimes.silentMs, () => {
    cancelTimer = undefined;
    if (until.isOver) return;
    hasBegun = true;
    beginPieces(ctx, answering, WHITE_SPACE);
  });
  return endOf(ctx, created, until).then((last) => {
    cancelTimer?.();
    return hasBegun ? endInPieces(ctx, last, answering, WHITE_SPACE) : answerWhole(ctx, last, answering);
  });
}

/** The same as server-sent events, which begin at once. A failure is an event. */
export function answerAsEvents(ctx: ApiRequest, created: Generation, answering: Answering): Promise<void> {
  beginPieces(ctx, answering, EVENTS);
  return endOf(ctx, created, answering.until).then((last) => endInPieces(ctx, last, answering, EVENTS));
}

/** The result of `waitForEndOf`. */
type Last = GenerationRecord | null | undefined;

function endOf({ state }: ApiRequest, created: Generation, until: RequestWait): Promise<Last> {
  const { context, waitTimes } = state.parts;
  if (isTerminal(created.status)) return Promise.resolve(created);
  return waitForEndOf(context, created.generationId, { waitMs: waitTimes.mostMs, until });
}

async function answerWhole(ctx: ApiRequest, last: Last, answering: Answering): Promise<void> {
  const { access, logger } = ctx.state.parts;
  const { delivery, until } = answering;
  until.end();
  if (ctx.res.closed) {
    ctx.respond = false;
    return;
  }
  // The credential may have been revoked in the meantime.
  await access.authenticate(ctx);
  if (last === undefined) throw stopping();
  const ended = requireKept(last);
  if (ended.status !== 'succeeded') return sendFailure(ctx, ended, delivery);
  const { byteSize, headers, body } = await answering.success(ctx, ended);
  delivery.answered = ended;
  ctx.respond = false;
  ctx.status = 200;
  const named = {
    'Content-Type': JSON_TYPE,
    'Cache-Control': 'no-store',
    ...headers,
    'Content-Length': String(byteSize),
  };
  for (const [name, value] of Object.entries(named)) ctx.res.setHeader(name, value);
  try {
    await writeAll(ctx, body);
    ctx.res.end();
  } catch (error) {
    notedRefusal(error, ctx.state, logger);
    ctx.res.destroy();
  }
}

/** A response whose head is sent before its generation has ended. */
interface Pieces {
  readonly mediaType: string;
  /** Sent with the head, and again and again until the body begins. */
  readonly beat: string;
  /** Ends the response with an error; of the generation itself, or why there is none yet. */
  readonly fail: (ctx: ApiRequest, delivery: Delivery, error: ApiError, failed?: Generation) => void;
}

/** A reset that comes with the text before it is not seen by some clients, and makes others lose the text. */
const RESET_AFTER_MS = 50;

const WHITE_SPACE: Pieces = {
  mediaType: JSON_TYPE,
  beat: ' ',
  // Without the last brace, and with a reset: a proxy makes a whole response of anything else.
  fail: ({ req, res }, _, error) => {
    res.write(errorText(error).slice(0, -1));
    setTimeout(() => req.socket.resetAndDestroy(), RESET_AFTER_MS).unref();
  },
};

const EVENTS: Pieces = {
  mediaType: 'text/event-stream; charset=utf-8',
  beat: ': \n\n',
  fail: ({ res }, delivery, error, failed) => {
    delivery.answered = failed;
    res.end(`event: error\ndata: ${errorText(error)}\n\n`);
  },
};

function beginPieces(ctx: ApiRequest, { until }: Answering, { mediaType, beat }: Pieces): void {
  const { beats, waitTimes } = ctx.state.parts;
  until.streams(waitTimes.beatMs);
  sendHead(ctx, mediaType);
  beats.begin(ctx.res, beat);
}

async function endInPieces(ctx: ApiRequest, last: Last, answering: Answering, { fail }: Pieces): Promise<void> {
  const { req, res } = ctx;
  const { access, beats, logger } = ctx.state.parts;
  const { delivery, until } = answering;
  const isStopping = until.isOver;
  until.end();
  let hasBegun = false;
  try {
    if (res.destroyed) return;
    await access.authenticate(ctx);
    if (last === undefined) throw isStopping ? stopping() : tooLong();
    const ended = requireKept(last);
    if (ended.status !== 'succeeded') return fail(ctx, delivery, failureOf(ended).error, ended);
    const { body } = await answering.success(ctx, ended);
    beats.end(res);
    delivery.answered = ended;
    hasBegun = true;
    await writeAll(ctx, body);
    res.end();
  } catch (error) {
    const refusal = notedRefusal(error, ctx.state, logger);
    if (hasBegun) req.socket.resetAndDestroy();
    else fail(ctx, delivery, apiErrorOf(refusal));
  } finally {
    beats.end(res);
  }
}

function sendHead(ctx: ApiRequest, mediaType: string): void {
  const { res } = ctx;
  ctx.respond = false;
  ctx.status = 200;
  res.setHeader('Content-Type', mediaType);
  res.setHeader('Cache-Control', 'no-store');
  // nginx must not hold the pieces back.
  res.setHeader('X-Accel-Buffering', 'no');
  // The library keeps the head. Sent by itself it becomes one text; with the next piece, it stays one of forty parts.
  res.flushHeaders();
}

/** Writes a body as fast as the client takes it, until the client has gone. */
async function writeAll({ res }: ApiRequest, body: AsyncIterable<string>): Promise<void> {
  for await (const piece of body) {
    if (res.destroyed) return;
    if (!res.write(piece, 'latin1')) await drained(res);
  }
}

function drained(res: ApiRequest['res']): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      res.off('drain', done).off('close', done);
      resolve();
    };
    if (res.destroyed) return resolve();
    res.once('drain', done).once('close', done);
  });
}

function stopping(): ServiceError {
  return new ServiceError('SERVICE_UNAVAILABLE', `This process is stopping; ${AGAIN}`, { retryAfterMs: 1_000 });
}

function tooLong(): ServiceError {
  const code: ErrorCode = 'SERVICE_UNAVAILABLE';
  return new ApiRefusal(code, `The generation has not ended yet; ${AGAIN}`, null, 'generation_timeout');
}

/** Reasons of failed generations that are faults of this service. */
const OUR_FAULTS: ReadonlySet<TaskErrorCode | undefined> = new Set(['OUTPUT_STORE_FAILED', 'INTERNAL_ERROR'] as const);

export async function sendFailure(ctx: ApiRequest, generation: Generation, delivery: Delivery): Promise<void> {
  const { res } = ctx;
  const { status, error } = failureOf(generation);
  delivery.answered = generation;
  ctx.state.hasFailedGeneration = !OUR_FAULTS.has(generation.error?.code);
  res.statusMessage = error.code;
  res.setHeader('x-should-retry', String(generation.error?.retryable ?? false));
  res.setHeader('Cache-Control', 'no-store');
  await sendText(ctx, status, { mediaType: JSON_TYPE, text: errorText(error) });
}
