import type { WebhookMessage } from '../../../core/ports/outside.js';
import type { Delivery } from '../../../core/webhooks/delivery.js';
import type { WebhookEndpoint } from '../../../core/webhooks/endpoint.js';
import { checkWanted, MessageIds } from '../../history/notifications.js';
import { type Told, violation } from '../observed.js';
import type { Handlers } from './calls.js';
import { demandNone } from './event-order.js';
import type { GenerationListener, Generations, Step } from './generations.js';
import { MAX_SKEW_MS, type ProcessClocks } from './process-clocks.js';

/**
 * How long after its time an open delivery may be untried once nothing fails: the lease of a process that died,
 * recovery's margin, the ten minutes after which recovery looks again, its interval, and the difference of clocks.
 */
const OVERDUE_MS = 90_000 + 60_000 + 10 * 60_000 + 60_000 + MAX_SKEW_MS;

/** Invariant 27: the notifications about generations that clients' receivers get. */
export class Webhooks implements GenerationListener {
  /** Endpoints by App. */
  private readonly endpoints = new Map<string, readonly WebhookEndpoint[]>();
  /** Deliveries by endpoint and generation. */
  private readonly deliveries = new Map<string, Delivery>();
  /** Accepted messages, as endpoint, generation and event. */
  private readonly delivered = new Set<string>();
  private readonly messageIds = new MessageIds();
  /** The last notification of each generation to each endpoint. */
  private readonly newest = new Map<string, string>();
  private quietAt: number | undefined;

  constructor(
    private readonly generations: Pick<Generations, 'lives'>,
    private readonly clocks: ProcessClocks,
  ) {}

  readonly handlers: Handlers = {
    'webhookEndpoints.replace': ({ args: [next], result }) => {
      if (result === 'applied') this.endpoints.set(next.appId, next.endpoints);
    },
    'deliveries.insert': ({ args: [delivery], result }) => {
      if (result.inserted) this.deliveries.set(placeOf(delivery), delivery);
    },
    'deliveries.replace': ({ args: [next], result }) => {
      if (result === 'applied') this.replaced(next);
    },
    'deliveries.remove': ({ args: [deliveryId], result }) => {
      if (result === 'applied') throw violation`27: delivery ${deliveryId} was removed long before its time`;
    },
  };

  /**
   * A settled generation has a delivery for every endpoint that subscribes to its end, because it is not looked at
   * again.
   */
  stepped({ next, event }: Pick<Step, 'next' | 'event'>): void {
    if (event !== 'settle') return;
    const { appId, generationId, status } = next;
    for (const { endpointId, events } of this.endpoints.get(appId) ?? []) {
      if (!events.some((one) => one === `generation.${status}`)) continue;
      const delivery = this.deliveries.get(`${endpointId} ${generationId}`);
      if (delivery?.event !== `generation.${status}`)
        throw violation`27: generation ${generationId} is settled, and endpoint ${endpointId} has ${delivery?.event} to be told of it`;
    }
  }

  told({ url, event, messageId, view }: WebhookMessage, { at, isTaken }: Told): void {
    const { generationId } = view.generation;
    const life = this.generations.lives.get(generationId);
    const endpoint = this.endpoints.get(life?.appId ?? '')?.find((one) => one.url === url);
    if (life === undefined || endpoint === undefined)
      throw violation`27: ${url} was told of generation ${generationId}, which is of another App`;
    demandNone(checkWanted(`${url} was told ${event} of generation ${generationId}`, event, endpoint, life.newest));
    const isEnd = event !== 'generation.running';
    const place = `${endpoint.endpointId} ${generationId}`;
    const before = this.newest.get(place);
    if (!isEnd && before !== undefined && before !== event && this.clocks.areSteady(at))
      throw violation`27: ${url} was told ${event} of generation ${generationId} after ${before}`;
    if (isEnd || before === undefined) this.newest.set(place, event);
    const name = `${place} ${event}`;
    demandNone(this.messageIds.check(messageId, name));
    if (isTaken) this.delivered.add(name);
  }

  quiet(at: number): void {
    this.quietAt = at;
  }

  /** No delivery waits for ever: an open one is tried soon after its time. */
  atRest(at: number): void {
    for (const delivery of this.deliveries.values()) {
      const { nextAttemptAt } = delivery;
      if (nextAttemptAt === undefined) continue;
      const latest = Math.max(nextAttemptAt, this.quietAt ?? at) + OVERDUE_MS;
      if (at > latest)
        throw violation`27: at rest delivery ${placeOf(delivery)} waits since ${nextAttemptAt}, at ${at}`;
    }
  }

  private replaced(next: Delivery): void {
    const place = placeOf(next);
    const before = this.deliveries.get(place);
    if (before !== undefined && next.version !== before.version + 1)
      throw violation`27: delivery ${place} went from version ${before?.version} to ${next.version}`;
    if (before !== undefined && before.event !== 'generation.running' && next.event !== before.event)
      throw violation`27: delivery ${place} tells ${next.event} after ${before?.event}`;
    if (next.state === 'delivered' && !this.delivered.has(`${place} ${next.event}`))
      throw violation`27: delivery ${place} of ${next.event} counts as delivered, and nobody has taken it`;
    this.deliveries.set(place, next);
  }
}

function placeOf({ endpointId, generationId }: Delivery): string {
  return `${endpointId} ${generationId}`;
}
