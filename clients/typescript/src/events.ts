import { ApiError, ConnectionError, DarkroomError } from './errors.js';
import { readEvents } from './event-stream.js';
import type { GenerationEvent } from './generated/api.js';
import { anySignal, pause } from './pause.js';
import {
  backOffMs,
  isHopeless,
  networkReason,
  PATIENT_TRIES,
  RETRIED_STATUSES,
  secondsOf,
  waitBeforeRetry,
} from './retry.js';
import type { Transport } from './transport.js';

/** Streams have a sign of life every 15 s; one that is silent for longer than this is opened again. */
const SILENCE_MS = 45_000;
/** A stream that lasts this long is no failed try, whatever ends it. */
const LASTING_MS = 5_000;

export interface EventOptions {
  readonly signal?: AbortSignal | undefined;
  /** Of the last event that was seen: the ones behind it come. All of them when absent. */
  readonly lastEventId?: string;
  /** Called when the stream was cut and is opened again. */
  readonly onRetry?: (() => void) | undefined;
}

/** An event, and its id for `lastEventId`. */
export interface SeenEvent extends GenerationEvent {
  readonly id: string | undefined;
}

/** The service, or a proxy before it, does not stream events. */
export class EventsUnsupported extends Error {}

/**
 * What has happened to a generation, and then what happens, until it has ended. A stream that is cut is opened again
 * behind the last event, after 14 tries in a row without an event a `ConnectionError` is thrown.
 */
export async function* generationEvents(
  transport: Transport,
  generationId: string,
  { signal, lastEventId, onRetry }: EventOptions = {},
): AsyncGenerator<SeenEvent> {
  const path = `/generations/${encodeURIComponent(generationId)}/events`;
  let last = lastEventId;
  let askedMs = 0;
  for (let tries = 1; ; tries += 1) {
    const silence = new Silence();
    const openedAt = Date.now();
    let failure: unknown;
    let retryAfter: number | undefined;
    try {
      const headers = { accept: 'text/event-stream', ...(last === undefined ? {} : { 'last-event-id': last }) };
      const response = await transport.open(path, headers, anySignal(signal, silence.signal));
      // Nothing is behind the last event.
      if (response.status === 204) return;
      if (!response.ok) {
        retryAfter = secondsOf(response.headers.get('retry-after'));
        throw refused(await transport.refusalOf(response), response.status);
      }
      const type = response.headers.get('content-type') ?? '';
      if (!type.startsWith('text/event-stream') || !response.body) throw new EventsUnsupported(type);
      const reading = { onBytes: () => silence.end(), onRetry: (ms: number) => (askedMs = ms) };
      for await (const { id, data } of readEvents(response.body, reading)) {
        tries = 1;
        last = id ?? last;
        const event = JSON.parse(data) as GenerationEvent;
        yield { ...event, id };
        if (event.type === 'ended') return;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof EventsUnsupported || error instanceof ApiError) throw error;
      if (silence.signal.aborted && !silence.isBroken) throw new EventsUnsupported('Nothing came.');
      failure = error instanceof Busy ? error.refusal : error;
    } finally {
      silence.stop();
    }
    if (silence.isBroken && Date.now() - openedAt >= LASTING_MS) tries = 1;
    if (tries >= PATIENT_TRIES || (failure !== undefined && isHopeless(failure))) {
      // Something between cuts every stream, and no other answers.
      if (silence.isBroken) throw new EventsUnsupported('Every stream was cut.');
      throw unreachable(transport, failure);
    }
    onRetry?.();
    if (failure === undefined) await pause(Math.max(askedMs, backOffMs(tries)), signal);
    else await waitBeforeRetry(tries, retryAfter, signal);
  }
}

/** A refusal that may be over soon. */
class Busy extends Error {
  constructor(readonly refusal: Error) {
    super(refusal.message);
  }
}

/** What ends a try: all but `Busy` end the stream. */
function refused(refusal: Error, status: number): Error {
  if (RETRIED_STATUSES.has(status)) return new Busy(refusal);
  return refusal instanceof ApiError ? refusal : new EventsUnsupported(refusal.message);
}

function unreachable({ baseUrl }: Transport, failure: unknown): Error {
  if (failure instanceof DarkroomError) return failure;
  return new ConnectionError(`${baseUrl} cannot be reached: ${networkReason(failure ?? {})}.`, undefined, {
    cause: failure,
  });
}

/** Fires when nothing arrives for too long. */
class Silence {
  /** Whether anything has arrived. */
  isBroken = false;
  private readonly controller = new AbortController();
  private timer = this.start();

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  end(): void {
    this.isBroken = true;
    this.stop();
    this.timer = this.start();
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private start(): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      this.controller.abort(new DOMException('Nothing came.', 'TimeoutError'));
    }, SILENCE_MS);
  }
}
