import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import PQueue from 'p-queue';
import { secretText, signedHeaders } from '../../../adapters/webhooks/signature.js';
import {
  type Darkroom,
  type GenerationEvent,
  type GenerationTask,
  verifyWebhook,
} from '../../../clients/typescript/src/index.js';
import { derivedUuid } from '../../../core/ids.js';
import { END_EVENTS, WEBHOOK_EVENTS, type WebhookEvent } from '../../../core/webhooks/endpoint.js';
import { SEND_MS } from '../../../core/webhooks/send-delivery.js';
import { printable } from '../../logging/logged-fields.js';
import { connect, type ConnectionOptions } from '../client/connection.js';
import { Interruption } from '../client/follow-generation.js';
import { usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import { counted, print, say } from '../terminal.js';

const SECRET_BYTES = 32;
/** About two hours without a service, which may be restarted, or a network, which may be asleep. */
const MAX_TRIES = 1_000;

export interface ListenOptions extends ConnectionOptions {
  readonly forwardTo?: string;
  readonly event?: readonly WebhookEvent[];
  readonly lastEventId?: string;
  readonly json?: boolean;
}

/** `darkroom webhooks listen`: prints what a webhook would be sent, and forwards it on this machine. */
export async function listen(io: CliIo, options: ListenOptions): Promise<void> {
  const client = connect(io, options);
  const url = options.forwardTo === undefined ? undefined : readTarget(options.forwardTo);
  const secret = url === undefined ? '' : readSecret(io);
  const interruption = new Interruption(io.signals);
  const { signal, leaving } = interruption;
  const forwarder = new Forwarder(
    (message) => postMessage(message, { url: url ?? '', secret }, leaving),
    (attempt) => print(io, options.json ? JSON.stringify(attemptJson(attempt)) : printable(attemptText(attempt))),
    signal,
  );
  try {
    await follow(io, client, { ...options, target: url, signal }, async (message, eventId) => {
      if (url !== undefined) await forwarder.take(message);
      else
        print(
          io,
          options.json ? JSON.stringify({ ...messageJson(message), event_id: eventId }) : printable(textOf(message)),
        );
    });
  } catch (error) {
    if (!signal.aborted) throw error;
    // Waits for attempts that are in flight; a second Ctrl-C ends that too.
    await forwarder.settled().catch((failure: unknown) => {
      if (!leaving.aborted) throw failure;
      io.leaveBehind(0);
    });
    const { delivered, exhausted } = forwarder.counts;
    if (url !== undefined) say(io, `Ended: ${counted(delivered, 'message')} delivered, ${exhausted} given up.`);
  } finally {
    interruption.release();
  }
}

type Following = Omit<ListenOptions, 'url' | 'forwardTo'> & {
  /** The address that messages are posted to; undefined to only print them. */
  readonly target: string | undefined;
  readonly signal: AbortSignal;
};

/** Without end: until the signal fires, or the server refuses. */
async function follow(
  io: CliIo,
  client: Darkroom,
  { target, event: wanted = END_EVENTS, lastEventId, signal }: Following,
  onMessage: (message: ListenedMessage, eventId: string | undefined) => Promise<void>,
): Promise<void> {
  let isCut = false;
  const events = client.appEvents({
    signal,
    lastEventId,
    maxTries: MAX_TRIES,
    onOpen: () => {
      isCut = false;
      say(io, `Listening for ${wanted.join(', ')}${target === undefined ? '' : `, to post to ${target}`}.`);
    },
    // Once for each interruption: up to two hours of tries would fill the terminal.
    onRetry: () => {
      if (!isCut) say(io, 'The stream was cut, or the server does not answer; trying again until it does.');
      isCut = true;
    },
  });
  for await (const event of events) {
    const message = messageOf(event);
    if (message !== undefined && wanted.includes(message.event)) await onMessage(message, event.id);
  }
}

function readTarget(text: string): string {
  const address = withScheme(text);
  const url = URL.canParse(address) ? new URL(address) : undefined;
  // A URL may have any word as its host, which is hardly meant without a scheme, a port or a path.
  const isWord = /^(?!localhost$|\d+$)[^.:/]+$/i.test(text);
  const isUsable = url !== undefined && /^https?:$/.test(url.protocol) && !text.startsWith('/') && !isWord;
  // The text is not repeated: it may have a password in it.
  if (!isUsable || url.username !== '' || url.password !== '')
    throw usageFailure(
      '--forward-to must be a port, an address such as localhost:3000/webhooks, or an http or https URL without a password.',
    );
  return url.href;
}

/** Reads an address as development servers print it: `new URL` takes `localhost:` for a scheme, and a port for an IPv4 address. */
function withScheme(text: string): string {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return text;
  return `http://${text.replace(/^:?(?=\d+(?:\/|$))/, 'localhost:')}`;
}

/** A given one is not shown again. */
function readSecret(io: CliIo): string {
  const given = io.environment['DARKROOM_WEBHOOK_SECRET']?.trim();
  if (!given) {
    const secret = secretText(randomBytes(SECRET_BYTES).toString('hex'));
    say(io, `Messages are signed with the secret ${secret}`);
    return secret;
  }
  if (!/^whsec_(?:[A-Za-z0-9+/]{4}){8,}(?:[A-Za-z0-9+/]{2,3}={1,2})?$/.test(given))
    throw usageFailure('DARKROOM_WEBHOOK_SECRET must be whsec_ and at least 24 bytes in base64.');
  return given;
}

function messageJson({ messageId, event, generationId, occurredAt }: ListenedMessage): object {
  return { message_id: messageId, type: event, generation_id: generationId, occurred_at: occurredAt };
}

function textOf({ event, generationId, occurredAt }: ListenedMessage): string {
  return `${occurredAt}  ${event}  ${generationId}`;
}

function attemptJson({ message, attempt, state, status, fault, tookMs }: Attempt): object {
  return {
    ...messageJson(message),
    attempt,
    state,
    ...(status === undefined ? {} : { status }),
    ...(fault === undefined ? {} : { error: fault }),
    took_ms: tookMs,
  };
}

function attemptText({ message, state, status, fault, tookMs, waitSeconds }: Attempt): string {
  const next = state === 'delivered' ? '' : waitSeconds === undefined ? ', given up' : `, again in ${waitSeconds} s`;
  return `${textOf(message)}  ${status ?? fault} (${tookMs} ms)${next}`;
}

/** The message that a webhook would receive for an event. */
export interface ListenedMessage {
  /** The same for every repetition of the event. */
  readonly messageId: string;
  readonly event: WebhookEvent;
  readonly generationId: string;
  /** When it happened, as the service writes it. */
  readonly occurredAt: string;
  readonly body: string;
}

/** Undefined for an event that webhooks do not receive, and for a start that is reported after the end. */
export function messageOf({ type, at, task }: GenerationEvent): ListenedMessage | undefined {
  const event = eventOf(type, task.status);
  if (event === undefined) return undefined;
  const generationId = task.generation_id;
  const digest = createHash('sha256').update(JSON.stringify(['listen', generationId, event]));
  return {
    messageId: `msg_${derivedUuid(digest.digest('hex'))}`,
    event,
    generationId,
    occurredAt: at,
    body: JSON.stringify({ type: event, timestamp: at, data: task }),
  };
}

function eventOf(type: GenerationEvent['type'], status: GenerationTask['status']): WebhookEvent | undefined {
  if (type !== 'ended' && (type !== 'running' || status !== 'running')) return undefined;
  return WEBHOOK_EVENTS.find((event) => event === `generation.${status}`);
}

/** The outcome of one attempt. */
export interface Posted {
  /** Absent if there was no response. */
  readonly status?: number;
  /** Why there was no response, as a clause. */
  readonly fault?: string;
  /** The delay that `Retry-After` asks for, in seconds. */
  readonly retryAfter?: number;
  readonly tookMs: number;
}

export interface PostTarget {
  readonly url: string;
  /** `whsec_` and base64. */
  readonly secret: string;
}

/**
 * Posts a message as the service does: with a new signature, for 15 seconds at most, and without following redirects.
 * A receiver that verifies with the secret accepts it: the signature is verified before the message is sent.
 */
export async function postMessage(
  { messageId, body }: ListenedMessage,
  { url, secret }: PostTarget,
  signal: AbortSignal,
): Promise<Posted> {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64').toString('hex');
  const signed = signedHeaders({ messageId, sentAt: Date.now(), body }, [key]);
  await verifyWebhook(body, signed, secret);
  const startedAt = performance.now();
  const tookMs = () => Math.round(performance.now() - startedAt);
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'darkroom', ...signed },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(SEND_MS)]),
    });
    // The status alone counts.
    await response.body?.cancel().catch(() => undefined);
    const asked = response.headers.get('retry-after') ?? '';
    return {
      status: response.status,
      tookMs: tookMs(),
      ...(/^[0-9]{1,6}$/.test(asked) ? { retryAfter: Number(asked) } : {}),
    };
  } catch (error) {
    signal.throwIfAborted();
    return { fault: faultOf(error), tookMs: tookMs() };
  }
}

function faultOf(error: unknown): string {
  const { cause, name } = error as { readonly cause?: { readonly code?: string }; readonly name?: string };
  if (name === 'TimeoutError') return `no answer within ${SEND_MS / 1_000} seconds`;
  return cause?.code === 'ECONNREFUSED' ? 'nothing listens there' : `the connection failed (${cause?.code ?? name})`;
}

/** How many are posted at the same time; the service sends as many to one address. */
const MAX_POSTING = 4;
/** How many wait, those for their next attempt among them, before no more are taken. */
const MAX_OPEN = 100;
/** Before the second attempt and the ones after it, in seconds; then it is given up. */
const PAUSES_S = [1, 2, 5, 10];
const MAX_RETRY_AFTER_S = 60;
const GONE = 410;

export type ForwardState = 'delivered' | 'retrying' | 'exhausted';

export interface Attempt extends Posted {
  readonly message: ListenedMessage;
  /** 1 for the first one. */
  readonly attempt: number;
  readonly state: ForwardState;
  /** Until the next one. */
  readonly waitSeconds?: number;
}

interface Open {
  /** Ends its attempts when a later message of the generation arrives. */
  readonly superseded: AbortController;
  done: Promise<void>;
}

/**
 * Posts messages with bounded concurrency and a bounded number of attempts each. A message is never posted after a
 * later one of the same generation.
 */
export class Forwarder {
  private readonly open = new Map<string, Open>();
  private readonly all = new Set<Promise<void>>();
  private readonly posts = new PQueue({ concurrency: MAX_POSTING });
  private failed: { readonly error: unknown } | undefined;
  readonly counts = { delivered: 0, exhausted: 0 };

  constructor(
    private readonly post: (message: ListenedMessage) => Promise<Posted>,
    private readonly tell: (attempt: Attempt) => void,
    /** Cancels all attempts that have not started. */
    private readonly stop: AbortSignal,
  ) {}

  /**
   * Accepts a message; resolves when there is room for another one. Rejects with the first error that an earlier post
   * threw.
   */
  async take(message: ListenedMessage): Promise<void> {
    this.throwIfFailed();
    const before = this.open.get(message.generationId);
    before?.superseded.abort();
    const open: Open = { superseded: new AbortController(), done: Promise.resolve() };
    open.done = this.deliver(message, open, before?.done)
      .catch((error: unknown) => {
        this.failed ??= { error };
      })
      .finally(() => {
        this.all.delete(open.done);
        if (this.open.get(message.generationId) === open) this.open.delete(message.generationId);
      });
    this.open.set(message.generationId, open);
    this.all.add(open.done);
    while (this.all.size >= MAX_OPEN) await Promise.race(this.all);
    this.throwIfFailed();
  }

  /** Resolves when all that was taken is delivered or given up. Rejects as `take` does. */
  async settled(): Promise<void> {
    while (this.all.size > 0 && this.failed === undefined) await Promise.race(this.all);
    this.throwIfFailed();
  }

  private throwIfFailed(): void {
    if (this.failed !== undefined) throw this.failed.error;
  }

  private async deliver(
    message: ListenedMessage,
    { superseded }: Open,
    before: Promise<void> | undefined,
  ): Promise<void> {
    await before;
    const signal = AbortSignal.any([superseded.signal, this.stop]);
    for (let attempt = 1; ; attempt += 1) {
      const posted = await this.posts.add(async () => (signal.aborted ? undefined : this.post(message)));
      if (posted === undefined) return;
      const { waitSeconds, ...outcome } = outcomeOf(posted, attempt);
      if (outcome.state !== 'retrying') this.counts[outcome.state] += 1;
      this.tell({ ...posted, ...outcome, message, attempt, ...(waitSeconds === undefined ? {} : { waitSeconds }) });
      if (waitSeconds === undefined) return;
      await sleep(waitSeconds * 1_000, undefined, { signal }).catch(() => undefined);
    }
  }
}

function outcomeOf(
  { status = 0, retryAfter }: Posted,
  attempt: number,
): { readonly state: ForwardState; readonly waitSeconds?: number } {
  if (status >= 200 && status < 300) return { state: 'delivered' };
  const pause = PAUSES_S[attempt - 1];
  if (pause === undefined || status === GONE) return { state: 'exhausted' };
  return { state: 'retrying', waitSeconds: Math.max(pause, Math.min(retryAfter ?? 0, MAX_RETRY_AFTER_S)) };
}
