import { ApiError, ConnectionError, DarkroomError, EventsUnsupported } from './errors.js';
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

/** The default for how long a stream may be silent: the service sends a keep-alive every 15 s. */
const SILENCE_MS = 45_000;
/** A stream that lasts this long does not count as a failed try, however it ends. */
const LASTING_MS = 5_000;
/**
 * Statuses of streams that may open soon: those of a service, and those of a proxy in front of a restarting service.
 */
const BUSY_STATUSES: ReadonlySet<number> = new Set([...RETRIED_STATUSES, 502, 504]);

/** The number of events to remember, so that events repeated after a reconnect are left out. */
const MAX_REMEMBERED = 10_000;

export interface EventOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * The id of the last event seen: the stream starts after it. If absent, all events of a generation, or new events
   * of the App.
   */
  readonly lastEventId?: string | undefined;
  /** Called when a stream opens, including after each reconnect: events are reported from then on. */
  readonly onOpen?: (() => void) | undefined;
  /** Called when the stream was broken and is being reopened. */
  readonly onRetry?: (() => void) | undefined;
  /** The maximum number of consecutive failures of a stream; 14 if absent, which takes about a minute. */
  readonly maxTries?: number | undefined;
  /** How long a stream may be silent before it is reopened, in milliseconds; 45,000 if absent. */
  readonly silenceMs?: number | undefined;
}

/** An event, and its id for `lastEventId`. */
export interface SeenEvent extends GenerationEvent {
  readonly id: string | undefined;
}

/**
 * The past and future events of a generation, until it has ended. A broken stream is reopened after the last event;
 * after `maxTries` consecutive tries without an event it throws a `ConnectionError`.
 */
export async function* generationEvents(
  transport: Transport,
  generationId: string,
  options: EventOptions = {},
): AsyncGenerator<SeenEvent> {
  for await (const event of eventsAt(transport, `/generations/${encodeURIComponent(generationId)}/events`, options)) {
    yield event;
    if (event.type === 'ended') return;
  }
}

/**
 * All events of the App's generations, without end. A broken stream is resumed where it was, and the service repeats
 * some events before that point: none of the last 10,000 events is returned twice.
 */
export async function* appEvents(transport: Transport, options: EventOptions = {}): AsyncGenerator<SeenEvent> {
  const given = new Set<string>();
  for await (const event of eventsAt(transport, '/events', options)) {
    const { type, progress, task } = event;
    const name = `${task.generation_id} ${type} ${progress ?? ''}`;
    if (given.has(name)) continue;
    given.add(name);
    const [oldest] = given;
    if (given.size > MAX_REMEMBERED && oldest !== undefined) given.delete(oldest);
    yield event;
  }
}

async function* eventsAt(transport: Transport, path: string, options: EventOptions): AsyncGenerator<SeenEvent> {
  const { signal, onRetry, maxTries = PATIENT_TRIES, silenceMs = SILENCE_MS } = options;
  const place: Place = { last: options.lastEventId, askedMs: 0, hasCome: false };
  for (let tries = 1; ; tries += 1) {
    const silence = new Silence(silenceMs);
    const openedAt = Date.now();
    let failure: unknown;
    let retryAfter: number | undefined;
    try {
      const body = await openStream(transport, path, place, anySignal(signal, silence.signal));
      // Nothing is behind the last event.
      if (body === undefined) return;
      for await (const event of eventsIn(body, place, silence, options.onOpen)) {
        tries = 1;
        yield event;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof EventsUnsupported || error instanceof ApiError) throw error;
      if (silence.signal.aborted && !place.hasCome) throw unsupported('nothing came');
      if (error instanceof Busy) ({ refusal: failure, retryAfter } = error);
      else failure = error;
    } finally {
      silence.stop();
    }
    if (silence.isBroken && Date.now() - openedAt >= LASTING_MS) tries = 1;
    if (tries >= maxTries || (failure !== undefined && isHopeless(failure))) {
      // A proxy breaks every stream, and nothing else responds.
      if (silence.isBroken) throw unsupported('every stream was cut');
      throw unreachable(transport, failure);
    }
    onRetry?.();
    if (failure === undefined) await pause(Math.max(place.askedMs, backOffMs(tries)), signal);
    else await waitBeforeRetry(tries, retryAfter, signal);
  }
}

/** How far the events have come, over all streams. */
interface Place {
  last: string | undefined;
  /** How long to wait before the next stream, as the service asks. */
  askedMs: number;
  /** Whether any stream has brought anything. */
  hasCome: boolean;
}

/** Opens one stream; undefined when there is nothing behind the last event. */
async function openStream(
  transport: Transport,
  path: string,
  { last }: Place,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array> | undefined> {
  const headers = { accept: 'text/event-stream', ...(last === undefined ? {} : { 'last-event-id': last }) };
  const response = await transport.open(path, headers, signal);
  if (response.status === 204) return undefined;
  if (!response.ok) throw refused(await transport.refusalOf(response), response);
  const type = response.headers.get('content-type') ?? '';
  if (!type.startsWith('text/event-stream') || !response.body) throw unsupported('something else came');
  return response.body;
}

/** The events of one stream. */
async function* eventsIn(
  body: ReadableStream<Uint8Array>,
  place: Place,
  silence: Silence,
  onOpen: (() => void) | undefined,
): AsyncGenerator<SeenEvent> {
  let isOpen = false;
  const noteId = (id: string | undefined): void => {
    place.last = id ?? place.last;
    if (!isOpen) onOpen?.();
    isOpen = true;
  };
  const onBytes = () => {
    place.hasCome = true;
    silence.end();
  };
  const reading = { onBytes, onRetry: (ms: number) => (place.askedMs = ms), onId: noteId };
  for await (const { id, data } of readEvents(body, reading)) {
    noteId(id);
    yield { ...(JSON.parse(data) as GenerationEvent), id };
  }
}

/** A refusal that may be temporary. */
class Busy extends Error {
  constructor(
    readonly refusal: Error,
    readonly retryAfter: number | undefined,
  ) {
    super(refusal.message);
  }
}

/** The error that ends a try: all but `Busy` end the stream. */
function refused(refusal: Error, { status, headers }: Response): Error {
  if (BUSY_STATUSES.has(status)) return new Busy(refusal, secondsOf(headers.get('retry-after')));
  return refusal instanceof ApiError ? refusal : new EventsUnsupported(refusal.message, { cause: refusal });
}

function unsupported(why: string): EventsUnsupported {
  return new EventsUnsupported(`The service, or a proxy before it, does not stream events: ${why}.`);
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
  private timer: ReturnType<typeof setTimeout>;

  constructor(private readonly afterMs: number) {
    this.timer = this.start();
  }

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
    }, this.afterMs);
  }
}
