import { ApiError } from './errors.js';
import type {
  CreatedWebhook,
  CreateWebhookRequest,
  ListWebhookDeliveriesQuery,
  ReplayedWebhookDeliveries,
  ReplayWebhookDeliveriesRequest,
  UpdateWebhookRequest,
  Webhook,
  WebhookDelivery,
  WebhookDeliveryList,
  WebhookList,
  WebhookSecret,
} from './generated/api.js';
import { eachPage, queryText } from './pages.js';
import type { RequestOptions, Transport } from './transport.js';

/** Names the App's addresses of single generations in place of a webhook's id. */
export const DEFAULT_WEBHOOK = 'default';

/** The webhooks of the App, for a key with the scope `webhooks:manage`. `verifyWebhook` checks what they are sent. */
export class Webhooks {
  constructor(private readonly transport: Transport) {}

  /**
   * Adds an address; its secret is shown this once. Sent once only: after a `ConnectionError`, look with `list` whether it is
   * there, and give it a new secret.
   */
  async create(request: CreateWebhookRequest, { signal }: RequestOptions = {}): Promise<CreatedWebhook> {
    return (await this.transport.post<CreatedWebhook>('/webhooks', request, { signal, maxTries: 1 })).data;
  }

  async list(options: RequestOptions = {}): Promise<Webhook[]> {
    return (await this.transport.get<WebhookList>('/webhooks', options)).data.webhooks;
  }

  async get(webhookId: string, options: RequestOptions = {}): Promise<Webhook> {
    return (await this.transport.get<Webhook>(pathOf(webhookId), options)).data;
  }

  /** Changes only the given fields. */
  async update(webhookId: string, change: UpdateWebhookRequest, { signal }: RequestOptions = {}): Promise<Webhook> {
    return (await this.transport.call<Webhook>({ method: 'PATCH', path: pathOf(webhookId), body: change }, { signal }))
      .data;
  }

  /** Succeeds if the webhook is unknown or already deleted. */
  async delete(webhookId: string, { signal }: RequestOptions = {}): Promise<void> {
    try {
      await this.transport.call({ method: 'DELETE', path: pathOf(webhookId) }, { signal });
    } catch (error) {
      // The response to an earlier try may have been lost.
      if (!(error instanceof ApiError && error.code === 'NOT_FOUND')) throw error;
    }
  }

  /**
   * A new secret for a webhook, or for `DEFAULT_WEBHOOK`; the previous one remains valid for another day. Sent only
   * once, because a second rotation would end the previous secret immediately.
   */
  async rotateSecret(webhookId: string, { signal }: RequestOptions = {}): Promise<WebhookSecret> {
    const path = `${pathOf(webhookId)}/secret`;
    return (await this.transport.post<WebhookSecret>(path, undefined, { signal, maxTries: 1 })).data;
  }

  /**
   * Sends a signed test message, once, and returns its delivery. Sent only once, because each try is another message.
   */
  async test(webhookId: string, { signal }: RequestOptions = {}): Promise<WebhookDelivery> {
    const path = `${pathOf(webhookId)}/test`;
    return (await this.transport.post<WebhookDelivery>(path, undefined, { signal, maxTries: 1 })).data;
  }

  /**
   * The messages sent to a webhook, newest first. Fetches pages as they are needed; `limit` is the size of a page.
   */
  async *deliveries(
    webhookId: string,
    query: ListWebhookDeliveriesQuery = {},
    options: RequestOptions = {},
  ): AsyncGenerator<WebhookDelivery> {
    const pages = eachPage(query, (page: ListWebhookDeliveriesQuery) => this.listDeliveries(webhookId, page, options));
    for await (const { deliveries } of pages) yield* deliveries;
  }

  /** One page of `deliveries`. */
  async listDeliveries(
    webhookId: string,
    query: ListWebhookDeliveriesQuery = {},
    options: RequestOptions = {},
  ): Promise<WebhookDeliveryList> {
    const path = `${pathOf(webhookId)}/deliveries${queryText(query)}`;
    return (await this.transport.get<WebhookDeliveryList>(path, options)).data;
  }

  /** Sends one delivery again. */
  async replay(webhookId: string, deliveryId: string, { signal }: RequestOptions = {}): Promise<WebhookDelivery> {
    const path = `${pathOf(webhookId)}/deliveries/${encodeURIComponent(deliveryId)}/replay`;
    return (await this.transport.post<WebhookDelivery>(path, undefined, { signal })).data;
  }

  /** Sends the deliveries of a period again, and returns their number. */
  async replayAll(
    webhookId: string,
    range: ReplayWebhookDeliveriesRequest,
    { signal }: RequestOptions = {},
  ): Promise<number> {
    const send = async (request: ReplayWebhookDeliveriesRequest): Promise<ReplayedWebhookDeliveries> =>
      (await this.transport.post<ReplayedWebhookDeliveries>(`${pathOf(webhookId)}/replay`, request, { signal })).data;
    let replayed = 0;
    for await (const page of eachPage(range, send)) replayed += page.replayed;
    return replayed;
  }
}

function pathOf(webhookId: string): string {
  return `/webhooks/${encodeURIComponent(webhookId)}`;
}
