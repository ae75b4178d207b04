import type { Call, Files, Identity, Machine, Money, Webhooks, Work } from '../../../core/context.js';
import { callerOfPerson, requireNotSuspended } from '../../../core/people/sessions.js';
import {
  type AccountWebhook,
  getAccountDelivery,
  getAccountWebhook,
  listAccountDeliveries,
  listAccountWebhooks,
  messageOfDelivery,
  type PerRequestWebhooks,
  type WebhookHealth,
} from '../../../core/webhooks/account-webhooks.js';
import { type WebhookActivity, webhookActivity } from '../../../core/webhooks/activity.js';
import { readDeliveryFilter, replayDelivery } from '../../../core/webhooks/deliveries.js';
import type { Delivery } from '../../../core/webhooks/delivery.js';
import { previousValidUntil } from '../../../core/webhooks/endpoint.js';
import { DEFAULT_ENDPOINT } from '../../../core/webhooks/manage-endpoints.js';
import { pageByToken } from '../../page-token.js';
import { readQuery, readText, readTime, readWhole } from '../host/request.js';
import { hintOf, renderDelivery, renderWebhook, renderWebhookMessage } from '../render/webhook.js';
import { type ConsoleOperation, get, post, shownTime } from './console-operation.js';

type WebhookContext = Money & Work & Files & Identity & Webhooks & Machine & Call;

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 100;
const MAX_CURSOR = 2_000;
const MAX_TEXT = 100;
const PARAMETERS = [
  'webhook_id',
  'app_id',
  'state',
  'event',
  'generation_id',
  'created_after',
  'created_before',
  'limit',
  'cursor',
] as const;

/** The webhooks of all Apps of the account, and their deliveries. An App's own are changed through the API's endpoints. */
export const WEBHOOK_OPERATIONS: readonly ConsoleOperation<WebhookContext>[] = [
  /** At most 200, and the URLs of single generations of the Apps that have a secret for them. */
  get('/webhooks', async ({ context }, { signedIn: { person } }) => {
    await requireNotSuspended(context, person);
    const { webhooks, perRequest } = await listAccountWebhooks(context, person.accountId);
    return {
      webhooks: webhooks.map((one) => renderAccountWebhook(one, context)),
      per_request: perRequest.map((one) => renderPerRequest(one, context)),
    };
  }),
  get('/webhooks/:webhook_id', async ({ context }, { ctx, signedIn: { person } }) => {
    await requireNotSuspended(context, person);
    const webhook = await getAccountWebhook(context, person.accountId, ctx.params['webhook_id'] ?? '');
    return { webhook: renderAccountWebhook(webhook, context) };
  }),
  /** `webhook_id` may be `default` with `app_id`. At most 1,000 deliveries are counted, the newest ones. */
  get('/webhooks/:webhook_id/activity', async ({ context }, { ctx, signedIn: { person } }) => {
    await requireNotSuspended(context, person);
    const query = readQuery(ctx.state.target.query, ['app_id']);
    const of = { webhookId: ctx.params['webhook_id'] ?? '', appId: readText(query, 'app_id', MAX_TEXT) };
    return renderActivity(await webhookActivity(context, person.accountId, of));
  }),
  /** Newest first. A page may have fewer than its limit, although there are more. */
  get('/deliveries', async ({ context }, { ctx, signedIn: { person } }) => {
    await requireNotSuspended(context, person);
    const { accountId } = person;
    const query = readQuery(ctx.state.target.query, PARAMETERS);
    const filter = {
      appId: readText(query, 'app_id', MAX_TEXT),
      webhookId: readText(query, 'webhook_id', MAX_TEXT),
      ...readDeliveryFilter(query),
      createdFrom: readTime(query, 'created_after'),
      createdBefore: readTime(query, 'created_before'),
    };
    const cursor = readText(query, 'cursor', MAX_CURSOR);
    const { items, nextCursor } = await pageByToken(
      {
        limit: readWhole(query, 'limit', { min: 1, max: MAX_LIMIT, absent: DEFAULT_LIMIT }),
        ...(cursor === undefined ? {} : { cursor }),
      },
      `deliveries of account ${accountId} ${JSON.stringify(filter)}`,
      (page) => listAccountDeliveries(context, accountId, filter, page),
      'cursor',
    );
    const names = await appNames(context, accountId);
    return { deliveries: items.map((delivery) => renderOwned(delivery, names)), next_cursor: nextCursor };
  }),
  get('/deliveries/:delivery_id', async ({ context }, { ctx, signedIn: { person } }) => {
    await requireNotSuspended(context, person);
    const delivery = await getAccountDelivery(context, person.accountId, ctx.params['delivery_id'] ?? '');
    const message = await messageOfDelivery(context, delivery);
    const names = await appNames(context, person.accountId);
    return {
      delivery: renderOwned(delivery, names),
      request:
        message === undefined
          ? null
          : { url: message.url ?? null, message_id: message.messageId, body: renderWebhookMessage(message) },
    };
  }),
  /** Only of an App in which the person may act. */
  post('/deliveries/:delivery_id/resend', async ({ context }, { ctx, signedIn: { person } }) => {
    const known = await getAccountDelivery(context, person.accountId, ctx.params['delivery_id'] ?? '');
    const caller = await callerOfPerson(context, person, known.appId);
    const delivery = await replayDelivery(context, caller, webhookIdOf(known), known.deliveryId);
    return { delivery: renderOwned(delivery, await appNames(context, person.accountId)) };
  }),
];

type Names = ReadonlyMap<string, string>;

/** The names of the first thousand Apps of the account. */
async function appNames({ credentials, call }: Identity & Call, accountId: string): Promise<Names> {
  const { items } = await credentials.listApps(accountId, { limit: 1_000 }, call);
  return new Map(items.map(({ appId, name }) => [appId, name]));
}

function webhookIdOf({ endpointId, appId }: Delivery): string {
  return endpointId === appId ? DEFAULT_ENDPOINT : endpointId;
}

function renderOwned(delivery: Delivery, names: Names): object {
  const { appId } = delivery;
  return {
    ...renderDelivery(delivery),
    webhook_id: webhookIdOf(delivery),
    app: { id: appId, name: names.get(appId) ?? null },
  };
}

function renderAccountWebhook({ endpoint, app, health }: AccountWebhook, machine: Machine): object {
  return {
    ...renderWebhook(endpoint, machine),
    app: { id: app.appId, name: app.name },
    health: {
      state: health.state,
      reason: health.reason,
      ...renderLast(health),
    },
  };
}

function renderPerRequest({ app, secret, ...last }: PerRequestWebhooks, machine: Machine): object {
  return {
    app: { id: app.appId, name: app.name },
    secret_hint: hintOf(machine, { endpointId: app.appId, secret }),
    previous_secret_expires_at: shownTime(previousValidUntil(secret, machine.clock.now())),
    ...renderLast(last),
  };
}

function renderActivity({ isComplete, hours, nextAttemptAt, answeredMs, ...sums }: WebhookActivity): object {
  return {
    is_complete: isComplete,
    ...sums,
    hours: hours.map(({ startsAt, ...counts }) => ({ starts_at: shownTime(startsAt), ...counts })),
    next_attempt_at: shownTime(nextAttemptAt),
    answered_ms: answeredMs ?? null,
  };
}

function renderLast({ lastSuccessAt, lastFailureAt, waiting }: Omit<WebhookHealth, 'state' | 'reason'>): object {
  return { last_success_at: shownTime(lastSuccessAt), last_failure_at: shownTime(lastFailureAt), waiting };
}
