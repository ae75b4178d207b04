import { type AbortSignalLike, AbortSource } from '../cancellation.js';
import type { Files, Machine, Webhooks, Work } from '../context.js';
import type { GenerationView } from '../generation/generation.js';
import { viewGeneration } from '../generation/read-generations.js';
import type { SendOutcome } from '../ports/outside.js';
import { type AttemptEnd, type DeliveryCommand, dueFrom, retryDelayMs } from './decide.js';
import { changeDelivery, wakeDelivery } from './deliveries.js';
import { type Delivery, isOpen, messageIdOf } from './delivery.js';
import {
  type Destination,
  destinationOf,
  type DisabledBecause,
  signingKeys,
  TEST_EVENT,
  type WebhookEndpoint,
} from './endpoint.js';
import { exampleView } from './example-generation.js';
import { changeWebhooks, withEndpoint } from './manage-endpoints.js';

/** How many messages one process sends at once: in all, for one account, and to one endpoint. */
const MAX_SENDING = 128;
const MAX_SENDING_FOR_ACCOUNT = 16;
const MAX_SENDING_TO_ENDPOINT = 4;

/** How many wait in one process, for one endpoint, for one account and in all; further ones are woken again later. */
const MAX_WAITING_FOR_ENDPOINT = 256;
const MAX_WAITING_FOR_ACCOUNT = 512;
const MAX_WAITING = 2_000;

class Stopping extends Error {
  constructor() {
    super('This process is stopping.');
    this.name = 'Stopping';
  }
}

interface Waiting {
  readonly delivery: Delivery;
  readonly admit: () => void;
  readonly refuse: (why: Error) => void;
}

/**
 * Sends deliveries that this process is woken for, a bounded number at a time. A slow endpoint delays only its own:
 * each endpoint and each account has a separate limit below that of the process.
 */
export class DeliveryQueue {
  private readonly stopped = new AbortSource();
  private readonly sending = new Set<Delivery>();
  private readonly waiting: Waiting[] = [];
  private readonly promises = new Map<string, Promise<void>>();
  private readonly endpointPaces = new Paces(MAX_SENDING_TO_ENDPOINT);
  private readonly accountPaces = new Paces(MAX_SENDING_FOR_ACCOUNT);
  private isStopping = false;

  constructor(private readonly context: Work & Files & Webhooks & Machine) {}

  get counts(): { readonly sending: number; readonly waiting: number } {
    return { sending: this.sending.size, waiting: this.waiting.length };
  }

  /** Rejects when the wake-up should be delivered again later. One that is here already is not taken twice. */
  deliver(deliveryId: string): Promise<void> {
    if (this.isStopping) return Promise.reject(new Stopping());
    const known = this.promises.get(deliveryId);
    if (known !== undefined) return known;
    const done = this.take(deliveryId).finally(() => this.promises.delete(deliveryId));
    this.promises.set(deliveryId, done);
    return done;
  }

  /**
   * Stops accepting deliveries, and aborts those that are being sent after `graceMs`. Returns whether it ended by
   * itself.
   */
  async stop(graceMs: number): Promise<boolean> {
    this.isStopping = true;
    for (const { refuse } of this.waiting.splice(0)) refuse(new Stopping());
    let isCut = false;
    const cancel = this.context.clock.after(graceMs, () => {
      isCut = true;
      this.stopped.abort(new Stopping());
    });
    await Promise.allSettled(this.promises.values());
    cancel();
    return !isCut;
  }

  private async take(deliveryId: string): Promise<void> {
    const delivery = await this.context.deliveries.read(deliveryId);
    if (delivery === null) return;
    const putOffTo = this.hasRoomFor(delivery) ? undefined : this.putOffTo(delivery);
    if (putOffTo !== undefined) return wakeDelivery(this.context, delivery, putOffTo);
    await this.enter(delivery);
    try {
      await this.send(delivery);
    } finally {
      this.sending.delete(delivery);
      this.admit();
    }
  }

  private async send({ deliveryId, accountId, endpointId }: Delivery): Promise<void> {
    const { clock } = this.context;
    const begunAt = clock.now();
    if (!(await sendDelivery(this.context, deliveryId, this.stopped.signal))) return;
    const durationMs = clock.now() - begunAt;
    this.endpointPaces.took(endpointId, durationMs);
    this.accountPaces.took(accountId, durationMs);
  }

  /**
   * When it is woken again, where it finds no place to wait: what an account has too much of is put off, and nobody else's.
   * The addresses of single generations of an App share its id, and a pace: there may be as many as generations.
   */
  private putOffTo(delivery: Delivery): number | undefined {
    const now = this.context.clock.now();
    const ofAccount = this.waiting.filter((one) => one.delivery.accountId === delivery.accountId);
    const toEndpoint = ofAccount.filter((one) => isSameEndpoint(one.delivery, delivery));
    if (toEndpoint.length >= MAX_WAITING_FOR_ENDPOINT)
      return this.endpointPaces.nextAt(delivery.endpointId, toEndpoint.length, now);
    if (ofAccount.length >= MAX_WAITING_FOR_ACCOUNT || this.waiting.length >= MAX_WAITING)
      return this.accountPaces.nextAt(delivery.accountId, ofAccount.length, now);
    return undefined;
  }

  private enter(delivery: Delivery): Promise<void> {
    if (this.isStopping) return Promise.reject(new Stopping());
    if (this.hasRoomFor(delivery)) {
      this.sending.add(delivery);
      return Promise.resolve();
    }
    return new Promise((admit, refuse) => this.waiting.push({ delivery, admit, refuse }));
  }

  /** In the order in which they came, past those whose endpoint or account has no room. */
  private admit(): void {
    for (let index = 0; index < this.waiting.length && this.sending.size < MAX_SENDING;) {
      const next = this.waiting[index] as Waiting;
      if (!this.hasRoomFor(next.delivery)) {
        index += 1;
        continue;
      }
      this.waiting.splice(index, 1);
      this.sending.add(next.delivery);
      next.admit();
    }
  }

  private hasRoomFor(delivery: Delivery): boolean {
    if (this.sending.size >= MAX_SENDING) return false;
    const ofAccount = [...this.sending].filter(({ accountId }) => accountId === delivery.accountId);
    if (ofAccount.length >= MAX_SENDING_FOR_ACCOUNT) return false;
    return ofAccount.filter((one) => isSameEndpoint(one, delivery)).length < MAX_SENDING_TO_ENDPOINT;
  }
}

function isSameEndpoint(a: Delivery, b: Delivery): boolean {
  return a.endpointId === b.endpointId && a.url === b.url;
}

/** How long a receiver may take for the whole exchange, in milliseconds. */
export const SEND_MS = 15_000;

/**
 * How long a process has an attempt exclusively, in milliseconds: longer than it can last by any of our clocks, so that
 * an older event is never sent after a newer one.
 */
const LEASE_MS = SEND_MS + 75_000;

/**
 * How long after the start of its lease a message may leave, in milliseconds. Even with its sending time, and with
 * clocks a minute apart, it is then sent within the lease.
 */
const LATEST_START_MS = SEND_MS;

/** The end of an attempt that was aborted because this process stops: it is unknown what its receiver has seen. */
const CUT: AttemptEnd = { result: 'unknown' };

/**
 * Sends a delivery once, if it is due, and records the result. A wake-up is scheduled for whatever is left to be done.
 * Returns whether a message was sent. Throws `StoreUnavailable`: the attempt may have been made, and is repeated once
 * its lease is over.
 */
async function sendDelivery(
  context: Work & Files & Webhooks & Machine,
  deliveryId: string,
  signal: AbortSignalLike,
): Promise<boolean> {
  const delivery = await context.deliveries.read(deliveryId);
  if (delivery === null || !isOpen(delivery)) return false;
  const now = context.clock.now();
  const from = dueFrom(delivery, now);
  if (from > now) return wakeLater(context, delivery);

  const webhooks = await context.webhookEndpoints.read(delivery.appId);
  const destination = destinationOf(webhooks, delivery);
  if (destination === undefined) return close(context, delivery, { event: 'cancel' });
  if (destination.disabled !== undefined && delivery.event !== TEST_EVENT)
    return close(context, delivery, { event: 'disable' });
  const begun = await changeDelivery(context, delivery, {
    event: 'begin',
    token: context.ids.uuid(),
    leaseMs: LEASE_MS,
  });
  if (begun === null) return false;
  // Another process sends it, or has changed it: the newest version shows what is to be done then.
  if (begun.refused !== undefined) return wakeLater(context, begun.delivery);
  return attempt(context, begun.delivery, destination, signal);
}

async function close(context: Webhooks & Machine, delivery: Delivery, command: DeliveryCommand): Promise<false> {
  await changeDelivery(context, delivery, command);
  return false;
}

function wakeLater(context: Work & Machine, delivery: Delivery): false {
  const now = context.clock.now();
  if (isOpen(delivery)) wakeDelivery(context, delivery, Math.max(now + 1, dueFrom(delivery, now)));
  return false;
}

async function attempt(
  context: Work & Files & Webhooks & Machine,
  begun: Delivery,
  destination: Destination,
  signal: AbortSignalLike,
): Promise<boolean> {
  // Read after the lease is taken, so that the message is at least as new as the event that it reports.
  const view = await viewOf(context, begun);
  if (view === undefined) return close(context, begun, { event: 'cancel' });
  // A message this late could arrive after its lease, so it must not leave: another process may have sent a newer
  // event.
  const isLate = context.clock.now() - (begun.lease?.startedAt ?? 0) > LATEST_START_MS;
  const outcome = isLate ? undefined : await send(context, begun, destination, { view, signal });
  await record(context, begun, destination, outcome);
  return outcome !== undefined;
}

/** The generation that a message reports, as it is now. Undefined once it was deleted. */
export async function viewOf(context: Work & Files & Machine, delivery: Delivery): Promise<GenerationView | undefined> {
  if (delivery.event === TEST_EVENT) return exampleView(delivery);
  const generation = await context.generations.read(delivery.generationId);
  if (generation?.kind !== 'generation' || generation.deletedAt !== undefined) return undefined;
  return viewGeneration(context, generation);
}

async function send(
  context: Webhooks & Machine,
  { event, occurredAt, ...delivery }: Delivery,
  { endpointId, url, secret }: Destination,
  { view, signal }: { readonly view: GenerationView; readonly signal: AbortSignalLike },
): Promise<SendOutcome | undefined> {
  const message = {
    url,
    messageId: messageIdOf(context, { event, occurredAt, ...delivery }),
    event,
    occurredAt,
    view,
    keys: signingKeys(context, endpointId, secret, context.clock.now()),
  };
  try {
    return await context.webhookSender.send(message, signal);
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

async function record(
  context: Work & Webhooks & Machine,
  begun: Delivery,
  destination: Destination,
  outcome: SendOutcome | undefined,
): Promise<void> {
  const end = outcome === undefined ? CUT : endOf(outcome);
  const isGone = end.status === 410;
  const retryMs = retryDelayMs(begun, outcome !== undefined && 'retryAfterMs' in outcome ? outcome.retryAfterMs : 0);
  const changed = await changeDelivery(context, begun, {
    event: 'end-attempt',
    token: begun.lease?.token ?? '',
    end,
    afterFailure: begun.event === TEST_EVENT ? 'exhausted' : nextAfter(isGone, begun, retryMs),
  });
  if (changed !== null && changed.refused === undefined) {
    wakeLater(context, changed.delivery);
    if (changed.delivery.state === 'exhausted' && begun.event !== TEST_EVENT)
      logGivenUp(context, changed.delivery, end);
  }
  // A test has no consequences: its client may try an address that does not work yet.
  if (begun.url !== undefined || outcome === undefined || begun.event === TEST_EVENT) return;
  if (end.result === 'delivered') await noteSuccess(context, begun, destination);
  else await noteFailure(context, begun, destination, isGone);
}

function nextAfter(
  isGone: boolean,
  { url }: Delivery,
  retryMs: number | undefined,
): { readonly retryMs: number } | 'exhausted' | 'disabled' {
  if (isGone) return url === undefined ? 'disabled' : 'exhausted';
  return retryMs === undefined ? 'exhausted' : { retryMs };
}

function endOf(outcome: SendOutcome): AttemptEnd {
  if ('fault' in outcome) return { result: 'failed', fault: outcome.fault };
  const { status, body } = outcome;
  const result = status >= 200 && status < 300 ? 'delivered' : 'failed';
  return { result, status, ...(body === undefined ? {} : { body }) };
}

function logGivenUp(
  { log }: Machine,
  { deliveryId, generationId, appId, attemptsMade }: Delivery,
  end: AttemptEnd,
): void {
  log.warn('webhook delivery given up', {
    deliveryId,
    generationId,
    appId,
    attempts: attemptsMade,
    ...(end.status === undefined ? {} : { status: end.status }),
    ...(end.fault === undefined ? {} : { fault: end.fault }),
  });
}

/** An endpoint that fails for this long without a success is disabled, in milliseconds. */
const FAILING_MS = 5 * 86_400_000;

/** A delivery succeeded, so an endpoint that was failing when it started no longer is. */
async function noteSuccess(context: Webhooks & Machine, delivery: Delivery, known: Destination): Promise<void> {
  if (known.failingSince === undefined) return;
  await note(context, delivery, known.endpointId, (endpoint) => {
    if (endpoint.failingSince === undefined) return undefined;
    const { failingSince: _failingSince, ...rest } = endpoint;
    return rest;
  });
}

/**
 * An attempt failed. Disables an endpoint that reports that it is gone, and one that has failed for `FAILING_MS`;
 * writes nothing while it is failing and its time is not over.
 */
async function noteFailure(
  context: Webhooks & Machine,
  delivery: Delivery,
  { endpointId, failingSince }: Destination,
  isGone: boolean,
): Promise<void> {
  const now = context.clock.now();
  if (!isGone && failingSince !== undefined && now - failingSince < FAILING_MS) return;
  await note(context, delivery, endpointId, (endpoint) => {
    if (endpoint.disabled !== undefined) return undefined;
    if (isGone) return disabledFor(endpoint, 'gone', now);
    if (endpoint.failingSince === undefined) return { ...endpoint, failingSince: now };
    return now - endpoint.failingSince >= FAILING_MS ? disabledFor(endpoint, 'failing', now) : undefined;
  });
}

function disabledFor(endpoint: WebhookEndpoint, because: DisabledBecause, at: number): WebhookEndpoint {
  return { ...endpoint, disabled: { at, because }, updatedAt: at };
}

async function note(
  context: Webhooks & Machine,
  delivery: Delivery,
  endpointId: string,
  change: (endpoint: WebhookEndpoint) => WebhookEndpoint | undefined,
): Promise<void> {
  let changed: WebhookEndpoint | undefined;
  await changeWebhooks(context, delivery, (webhooks) => {
    const endpoint = webhooks.endpoints.find((one) => one.endpointId === endpointId);
    changed = endpoint && change(endpoint);
    return changed && withEndpoint(webhooks, changed);
  });
  if (changed?.disabled !== undefined)
    context.log.warn('webhook endpoint disabled', {
      endpointId,
      appId: delivery.appId,
      because: changed.disabled.because,
    });
}

/** How many destinations of one process are remembered. */
const MAX_KNOWN = 10_000;
/** How long a message takes until one has been sent, in milliseconds. */
const GUESS_MS = 200;
/** How soon something is woken again, in milliseconds. */
const SOONEST_MS = 1_000;
/** The longest wait before an early wake-up, in milliseconds: receivers may have become faster. */
const EARLY_MS = 300_000;
/** The least time between two early wake-ups, in milliseconds, because each costs something and sends nothing. */
const EARLY_EVERY_MS = 50;
/** The longest wait of a message, in milliseconds, however many are before it. */
const LATEST_MS = 3_600_000;
/** The weight of the newest message in the average. */
const NEWEST_PART = 0.2;

interface Pace {
  /** How long a message takes, in milliseconds. */
  readonly tookMs: number;
  /** When the last one that found no place is woken again. */
  readonly lastAt: number;
}

/**
 * Decides when to wake messages again that find no place in this process: one after another, about as fast as their
 * receivers take messages, and within minutes, in case they become faster. The cost of a backlog is bounded, however
 * long it is.
 */
export class Paces {
  private readonly paces = new Map<string, Pace>();

  /** `atOnce`: how many messages are sent to a destination at the same time. */
  constructor(private readonly atOnce: number) {}

  /** Records how long a message to the destination took. */
  took(destination: string, durationMs: number): void {
    const { tookMs, lastAt } = this.paces.get(destination) ?? { tookMs: durationMs, lastAt: 0 };
    this.keep(destination, { tookMs: tookMs + NEWEST_PART * (durationMs - tookMs), lastAt });
  }

  /** Schedules a message after all that wait for its destination here, and after all that were put off before. */
  nextAt(destination: string, waiting: number, now: number): number {
    const { tookMs, lastAt } = this.paces.get(destination) ?? { tookMs: GUESS_MS, lastAt: 0 };
    const eachMs = Math.ceil(tookMs / this.atOnce);
    const inTurn = Math.max(now + SOONEST_MS, now + waiting * eachMs, lastAt + eachMs);
    const early = Math.max(now + EARLY_MS, lastAt + EARLY_EVERY_MS);
    const at = Math.min(inTurn, early, now + LATEST_MS);
    this.keep(destination, { tookMs, lastAt: at });
    return at;
  }

  /** Evicts the least recently used destination first. */
  private keep(destination: string, pace: Pace): void {
    this.paces.delete(destination);
    this.paces.set(destination, pace);
    if (this.paces.size <= MAX_KNOWN) return;
    for (const oldest of this.paces.keys()) {
      this.paces.delete(oldest);
      return;
    }
  }
}
