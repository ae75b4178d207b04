import type { App } from '../access/credential.js';
import type { Call, Files, Identity, Machine, Webhooks, Work } from '../context.js';
import { ServiceError } from '../errors.js';
import { fieldInvalid } from '../fields.js';
import { isUuid } from '../ids.js';
import type { Page, PageRequest } from '../paging.js';
import type { WebhookMessage } from '../ports/outside.js';
import { type DeliveryFilter, matchingDeliveries } from './deliveries.js';
import { type Delivery, type DeliveryAttempt, isOpen, messageIdOf } from './delivery.js';
import { type AppWebhooks, destinationOf, type SigningSecret, type WebhookEndpoint } from './endpoint.js';
import { DEFAULT_ENDPOINT } from './manage-endpoints.js';
import { viewOf } from './send-delivery.js';

/*
 * Lists the webhooks of all Apps for the people of an account. The credentials of an App see the webhooks of that App only:
 * `manage-endpoints.ts`.
 */

/** The most Apps of an account whose webhooks are listed, and the most webhooks. */
const MAX_APPS = 1_000;
const MAX_WEBHOOKS = 200;
/** How many of the newest deliveries the health of a webhook is judged by. */
const JUDGED = 50;

/** `failing`: nothing that is sent to it succeeds. `paused`: disabled. `unused`: nothing was sent to it in the last 30 days. */
export type WebhookHealthState = 'healthy' | 'failing' | 'paused' | 'unused';

export interface WebhookHealth {
  readonly state: WebhookHealthState;
  /** One sentence. */
  readonly reason: string;
  /** When the last attempt ended that succeeded, and that failed, among the newest 50 deliveries. */
  readonly lastSuccessAt?: number;
  readonly lastFailureAt?: number;
  /** How many of the newest 50 deliveries are to be sent. */
  readonly waiting: number;
}

export interface AccountWebhook {
  readonly endpoint: WebhookEndpoint;
  readonly app: App;
  readonly health: WebhookHealth;
}

/** The URLs of single generations of one App, which has a secret for them. Each is judged alone, so they have no health. */
export interface PerRequestWebhooks extends Pick<WebhookHealth, 'lastSuccessAt' | 'lastFailureAt' | 'waiting'> {
  readonly app: App;
  readonly secret: SigningSecret;
}

export interface AccountWebhooks {
  /** At most 200, each App's in the order of their creation. */
  readonly webhooks: readonly AccountWebhook[];
  /** One entry per App, for at most 200 Apps. */
  readonly perRequest: readonly PerRequestWebhooks[];
}

/** The webhooks of all Apps of an account. */
export async function listAccountWebhooks(
  context: Webhooks & Identity & Call,
  accountId: string,
): Promise<AccountWebhooks> {
  const apps = await appsWithWebhooks(context, accountId);
  const defaults = apps.flatMap(({ app, defaultSecret }) =>
    defaultSecret === undefined ? [] : [{ app, secret: defaultSecret }],
  );
  const [webhooks, perRequest] = await Promise.all([
    Promise.all(
      endpointsOf(apps)
        .slice(0, MAX_WEBHOOKS)
        .map((one) => withHealth(context, one)),
    ),
    Promise.all(
      defaults.slice(0, MAX_WEBHOOKS).map(async (one) => {
        const newest = await newestOf(context, one.app.appId);
        return { ...one, ...lastOf(newest) };
      }),
    ),
  ]);
  return { webhooks, perRequest };
}

/** Throws NOT_FOUND alike for an unknown id, a malformed one and a webhook of another account. */
export async function getAccountWebhook(
  context: Webhooks & Identity & Call,
  accountId: string,
  webhookId: string,
): Promise<AccountWebhook> {
  const id = webhookId.toLowerCase();
  const all = endpointsOf(await appsWithWebhooks(context, accountId));
  const found = all.find(({ endpoint }) => endpoint.endpointId === id);
  if (found === undefined) throw new ServiceError('NOT_FOUND', 'There is no such webhook.');
  return withHealth(context, found);
}

type OfApp = Pick<AppWebhooks, 'endpoints' | 'defaultSecret'> & { readonly app: App };

async function appsWithWebhooks(
  { webhookEndpoints, credentials, call }: Webhooks & Identity & Call,
  accountId: string,
): Promise<readonly OfApp[]> {
  const { items: apps } = await credentials.listApps(accountId, { limit: MAX_APPS }, call);
  const found = await Promise.all(
    apps.map(async (app) => {
      const webhooks = await webhookEndpoints.read(app.appId, call);
      return webhooks === null ? [] : [{ ...webhooks, app }];
    }),
  );
  return found.flat();
}

function endpointsOf(apps: readonly OfApp[]): readonly Omit<AccountWebhook, 'health'>[] {
  return apps.flatMap(({ app, endpoints }) => endpoints.map((endpoint) => ({ endpoint, app })));
}

async function withHealth(context: Webhooks & Call, one: Omit<AccountWebhook, 'health'>): Promise<AccountWebhook> {
  return { ...one, health: healthOf(one.endpoint, await newestOf(context, one.endpoint.endpointId)) };
}

async function newestOf({ deliveries, call }: Webhooks & Call, id: string): Promise<readonly Delivery[]> {
  return (await deliveries.list({ of: 'endpoint', id }, { limit: JUDGED }, call)).items;
}

/** Judges an endpoint by its newest deliveries. */
export function healthOf(endpoint: WebhookEndpoint, newest: readonly Delivery[]): WebhookHealth {
  const [last] = attemptsOf(newest);
  const failed = attemptsOf(newest).find(({ result }) => result === 'failed');
  return { ...judged(endpoint, last, failed), ...lastOf(newest) };
}

/** The attempts of these deliveries, the last one first. */
function attemptsOf(newest: readonly Delivery[]): readonly DeliveryAttempt[] {
  return newest.flatMap((delivery) => delivery.attempts).toSorted((a, b) => endOf(b) - endOf(a));
}

function lastOf(newest: readonly Delivery[]): Omit<WebhookHealth, 'state' | 'reason'> {
  const attempts = attemptsOf(newest);
  const succeeded = attempts.find(({ result }) => result === 'delivered');
  const failed = attempts.find(({ result }) => result === 'failed');
  return {
    ...(succeeded === undefined ? {} : { lastSuccessAt: endOf(succeeded) }),
    ...(failed === undefined ? {} : { lastFailureAt: endOf(failed) }),
    waiting: newest.filter(isOpen).length,
  };
}

function endOf({ startedAt, durationMs }: DeliveryAttempt): number {
  return startedAt + durationMs;
}

const DISABLED_REASONS: Readonly<Record<NonNullable<WebhookEndpoint['disabled']>['because'], string>> = {
  client: 'It was disabled in the console or over the API.',
  gone: 'It was disabled because its address answered 410 Gone.',
  failing: 'It was disabled because nothing that was sent to it succeeded for five days.',
};

function judged(
  { disabled, failingSince }: WebhookEndpoint,
  newest: DeliveryAttempt | undefined,
  failed: DeliveryAttempt | undefined,
): Pick<WebhookHealth, 'state' | 'reason'> {
  if (disabled !== undefined) return { state: 'paused', reason: DISABLED_REASONS[disabled.because] };
  if (failingSince !== undefined) return { state: 'failing', reason: failureOf(failed) };
  if (newest === undefined) return { state: 'unused', reason: 'Nothing was sent to it in the last 30 days.' };
  // An endpoint that is enabled again starts with a clean record.
  const isAccepted = newest.result === 'delivered';
  return {
    state: 'healthy',
    reason: isAccepted ? 'The last message was accepted.' : 'Nothing failed since it was enabled.',
  };
}

const FAULT_REASONS: Readonly<Record<NonNullable<DeliveryAttempt['fault']>, string>> = {
  address: 'Nothing can be sent to it: its address must not be called.',
  connection: 'The last attempt found no connection.',
  timeout: 'The last attempt got no answer in time.',
  answer: 'The last answer was not HTTP.',
};

function failureOf(failed: DeliveryAttempt | undefined): string {
  if (failed?.fault !== undefined) return FAULT_REASONS[failed.fault];
  if (failed?.status !== undefined) return `The last failed attempt was answered with status ${failed.status}.`;
  return 'The last attempts failed.';
}

/** A filter for the deliveries of an account. */
export interface AccountDeliveryFilter extends DeliveryFilter {
  readonly appId?: string | undefined;
  /** The id of an endpoint, which may have been deleted, or with an App `DEFAULT_ENDPOINT`. */
  readonly webhookId?: string | undefined;
}

/**
 * Lists the deliveries of all Apps of an account in the last 30 days, newest first. Pages are bounded as those of
 * `listDeliveries` are. Throws FIELD_INVALID, and NOT_FOUND for an App of another account.
 */
export async function listAccountDeliveries(
  context: Webhooks & Identity & Call,
  accountId: string,
  { appId, webhookId, ...filter }: AccountDeliveryFilter,
  page: PageRequest,
): Promise<Page<Delivery>> {
  const app = appId === undefined ? undefined : await ownApp(context, accountId, appId);
  const endpoint = webhookId === undefined ? undefined : endpointIdOf(webhookId, app);
  if (endpoint !== undefined && !(await isOfAccount(context, accountId, endpoint))) return { items: [] };
  return matchingDeliveries(context, { endpoint, app, account: accountId }, filter, page);
}

async function ownApp({ credentials, call }: Identity & Call, accountId: string, asked: string): Promise<string> {
  const appId = asked.toLowerCase();
  const app = isUuid(appId) ? await credentials.readApp(appId, call) : null;
  if (app?.accountId !== accountId) throw new ServiceError('NOT_FOUND', 'There is no such App.');
  return appId;
}

function endpointIdOf(webhookId: string, appId: string | undefined): string {
  if (isUuid(webhookId)) return webhookId.toLowerCase();
  if (webhookId !== DEFAULT_ENDPOINT) throw fieldInvalid('/webhook_id', 'webhook_id must be a UUID, or default.');
  if (appId === undefined)
    throw fieldInvalid('/webhook_id', 'webhook_id can be default only with app_id, as every App has its own.');
  return appId;
}

/** All deliveries of an endpoint are of one account. Without this check, a cursor would tell that there are some. */
async function isOfAccount({ deliveries, call }: Webhooks & Call, accountId: string, id: string): Promise<boolean> {
  const { items } = await deliveries.list({ of: 'endpoint', id }, { limit: 1 }, call);
  return items[0]?.accountId === accountId;
}

/** Throws NOT_FOUND alike for an unknown id, a malformed one and a delivery of another account. */
export async function getAccountDelivery(
  { deliveries, call }: Webhooks & Call,
  accountId: string,
  deliveryId: string,
): Promise<Delivery> {
  const delivery = isUuid(deliveryId) ? await deliveries.read(deliveryId.toLowerCase(), call) : null;
  if (delivery?.accountId !== accountId) throw new ServiceError('NOT_FOUND', 'There is no such delivery.');
  return delivery;
}

/** A message as it would be sent now, without its signature. */
export interface ShownMessage extends Omit<WebhookMessage, 'keys' | 'url'> {
  /** Absent once the endpoint was deleted. */
  readonly url?: string;
}

/** Undefined once the generation was deleted: there is nothing to send any more. */
export async function messageOfDelivery(
  context: Work & Files & Webhooks & Machine & Call,
  delivery: Delivery,
): Promise<ShownMessage | undefined> {
  const view = await viewOf(context, delivery);
  if (view === undefined) return undefined;
  const { event, occurredAt } = delivery;
  const webhooks = await context.webhookEndpoints.read(delivery.appId, context.call);
  const url = destinationOf(webhooks, delivery)?.url;
  return { messageId: messageIdOf(context, delivery), event, occurredAt, view, ...(url === undefined ? {} : { url }) };
}
