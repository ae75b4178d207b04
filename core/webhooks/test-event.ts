import type { Call, Machine, Webhooks, Work } from '../context.js';
import { ServiceError } from '../errors.js';
import { announced } from './decide.js';
import { wakeDelivery } from './deliveries.js';
import type { Delivery } from './delivery.js';
import { TEST_EVENT } from './endpoint.js';
import { getEndpoint, type Owner } from './manage-endpoints.js';

/** How many test messages an endpoint may be sent within a minute, and within a day: each stays in the log for 30 days. */
export const MAX_TESTS_PER_MINUTE = 10;
export const MAX_TESTS_PER_DAY = 100;

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** The id in test messages to an endpoint. No generation has it, because ids of generations begin with their time. */
export function testGenerationId(endpointId: string): string {
  return `00000000-0000-0000-0000-${endpointId.slice(-12)}`;
}

/**
 * Sends one test message to an endpoint, also to one that is disabled: signed as every message, tried once, and without
 * consequences for the endpoint. Returns its delivery, which is then sent. Throws NOT_FOUND as `getEndpoint` does, and
 * RATE_LIMITED.
 */
export async function sendTest(
  context: Work & Webhooks & Machine & Call,
  caller: Owner,
  webhookId: string,
): Promise<Delivery> {
  const { endpointId } = await getEndpoint(context, caller, webhookId);
  const generationId = testGenerationId(endpointId);
  const now = context.clock.now();
  await requireFewTests(context, generationId, now);
  const delivery = announced(
    {
      deliveryId: context.ids.uuid(),
      accountId: caller.accountId,
      appId: caller.appId,
      endpointId,
      generationId,
      event: TEST_EVENT,
      occurredAt: now,
      createdAt: now,
    },
    false,
  );
  if (!(await context.deliveries.insert(delivery)).inserted) throw new ServiceError('CONFLICT');
  wakeDelivery(context, delivery, now);
  return delivery;
}

async function requireFewTests({ deliveries, call }: Webhooks & Call, id: string, now: number): Promise<void> {
  const wanted = { of: 'generation', id, createdFrom: now - DAY_MS } as const;
  const { items } = await deliveries.list(wanted, { limit: MAX_TESTS_PER_DAY }, call);
  const [oldest] = items.slice(-1);
  const ofMinute = items.filter(({ createdAt }) => createdAt > now - MINUTE_MS);
  if (items.length >= MAX_TESTS_PER_DAY && oldest !== undefined)
    throw tooMany(`${MAX_TESTS_PER_DAY} tests a day`, oldest.createdAt + DAY_MS - now);
  const first = ofMinute.at(-1);
  if (ofMinute.length >= MAX_TESTS_PER_MINUTE && first !== undefined)
    throw tooMany(`${MAX_TESTS_PER_MINUTE} tests a minute`, first.createdAt + MINUTE_MS - now);
}

function tooMany(most: string, retryAfterMs: number): ServiceError {
  return new ServiceError('RATE_LIMITED', `A webhook may be sent ${most}; try again later.`, { retryAfterMs });
}
