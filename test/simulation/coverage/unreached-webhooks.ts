/** A stretch of core that no run is expected to take, told by its file and how its compiled text begins. */
export interface Unreached {
  readonly file: string;
  readonly begins: readonly string[];
  /** How many stretches may be meant: others that begin alike are taken. */
  readonly atMost: number;
  readonly why: string;
}

/** Of webhooks: runs are hours long, and deliveries are tried for days and kept for weeks. */
export const UNREACHED_OF_WEBHOOKS: readonly Unreached[] = [
  {
    file: 'core/generation/create-generation.ts',
    begins: [': { webhookUrl: request.webhookUrl'],
    atMost: 1,
    why: 'no client of a run has an address told of one generation',
  },
  {
    file: 'core/generation/create-generation.ts',
    begins: [
      ': await webhookUrlRefusal(',
      'return refusedUrl;',
      ': { ...read, webhookUrl }',
      ': { content: request.content, webhookUrl }',
    ],
    atMost: 4,
    why: 'no client of a run has an address told of one generation',
  },
  {
    file: 'core/recovery/recover.ts',
    begins: [': await remove(context', 'if (outcome)', 'async function remove('],
    atMost: 3,
    why: 'needs the thirty days for which deliveries are kept',
  },
  {
    file: 'core/recovery/recover.ts',
    begins: ['return null;'],
    atMost: 1,
    why: 'an open delivery may always be postponed',
  },
  {
    file: 'core/webhooks/deliveries.ts',
    begins: ['return;'],
    atMost: 2,
    why: 'what is queued is not announced, nor are deliveries older than thirty days cancelled',
  },
  {
    file: 'core/webhooks/deliveries.ts',
    begins: [': destinationOf(webhooks', ': [single]', '? { url }'],
    atMost: 3,
    why: 'no client of a run has an address told of one generation',
  },
  {
    file: 'core/webhooks/deliveries.ts',
    begins: ['?? g.updatedAt'],
    atMost: 1,
    why: 'what has ended says when',
  },
  {
    file: 'core/webhooks/deliveries.ts',
    begins: ['return null;', "throw new ServiceError('SERVICE_UNAVAILABLE'"],
    atMost: 2,
    why: 'needs a delivery removed after its thirty days, or ten lost races in a row',
  },
  {
    file: 'core/webhooks/manage-endpoints.ts',
    begins: ["throw new ServiceError('SERVICE_UNAVAILABLE'"],
    atMost: 1,
    why: 'needs ten lost races in a row',
  },
  {
    file: 'core/webhooks/decide.ts',
    begins: ["case 'replay'"],
    atMost: 1,
    why: 'no client of a run replays',
  },
  {
    file: 'core/webhooks/decide.ts',
    begins: [': ended', 'return { next: ended }', '?? now', '?? from', '?? 0'],
    atMost: 5,
    why: 'needs a message under way while its delivery is closed, or a delivery without its time',
  },
  {
    file: 'core/webhooks/send-delivery.ts',
    begins: [
      'get counts()',
      'refuse(new Stopping())',
      'return;',
      'return wakeDelivery(',
      'return this.endpointPaces.nextAt(',
      'return this.accountPaces.nextAt(',
      '(one) => one.delivery.accountId',
      '(one) => isSameEndpoint(one.delivery, delivery)',
      'return false;',
    ],
    atMost: 10,
    why: 'needs more deliveries at once than a run has, or one removed between two reads',
  },
  {
    file: 'core/webhooks/endpoint.ts',
    begins: [
      'const secret = webhooks?.defaultSecret',
      '&& { endpointId, url',
      '?.number',
      '&& now < until',
      '? until',
      'return [newest, signingKey(',
    ],
    atMost: 6,
    why: 'no client of a run has a default secret, or rotates one',
  },
  {
    file: 'core/webhooks/send-delivery.ts',
    begins: ['return undefined;', "? disabledFor(endpoint, 'failing'"],
    atMost: 2,
    why: 'needs a receiver that fails for five days, or two that are gone at once',
  },
  {
    file: 'core/webhooks/decide.ts',
    begins: ['return undefined;', '?? 0'],
    atMost: 2,
    why: 'needs the three days of ten attempts, or an attempt before the first',
  },
  {
    file: 'core/webhooks/send-delivery.ts',
    begins: ['nextAt(destination', 'for (const oldest of'],
    atMost: 2,
    why: 'needs hundreds of deliveries at once, or ten thousand destinations of one process',
  },
  {
    file: 'core/webhooks/send-delivery.ts',
    begins: [
      "return close(context, delivery, { event: 'cancel' }",
      'return;',
      'return false;',
      '?? 0',
      'catch (error)',
      'logGivenUp(',
      ": 'exhausted'",
      "? 'exhausted'",
      'function logGivenUp(',
    ],
    atMost: 9,
    why: 'needs a deleted webhook, ten attempts, an address of one generation, or a delivery removed between two reads',
  },
];
