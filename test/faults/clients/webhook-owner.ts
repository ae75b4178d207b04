import type { JsonObject } from '../../../core/json.js';
import { asObject, textOf } from '../../history/values.js';
import type { Conduct, KnownEndpoint, LoggedDelivery } from '../../history/recorded/history.js';
import type { ReceiverName, Receivers } from '../receivers/receivers.js';
import type { ClientPool } from './client-pool.js';

const SECRET_PREFIX = 'whsec_';
const API = '/api/v1/developer';
const ENDS = ['generation.succeeded', 'generation.failed', 'generation.cancelled'] as const;
/** The states of a delivery that is not finished. */
const OPEN = ['pending', 'retrying'];

export interface WantedEndpoint {
  readonly name: string;
  readonly at: ReceiverName;
  /** Absent means every end. */
  readonly events?: readonly string[];
  readonly conduct: Conduct;
}

export interface WebhookAccess {
  /** The party whose App it is. */
  readonly by: string;
  readonly secret: string;
  readonly url: string;
}

/** Manages the webhooks of one App over REST. It sends requests while nothing fails, and throws when one is refused. */
export class WebhookOwner {
  readonly endpoints: KnownEndpoint[] = [];

  constructor(
    private readonly access: WebhookAccess,
    private readonly receivers: Receivers,
    private readonly pool: Pick<ClientPool, 'now' | 'keep'>,
  ) {}

  async make({ name, at, events, conduct }: WantedEndpoint): Promise<void> {
    const body = { url: this.receivers.urlOf(at, name), ...(events === undefined ? {} : { events: [...events] }) };
    const { webhook_id: webhookId, secret } = await this.ask('POST', '/webhooks', body);
    this.know({ name, at, events: events ?? ENDS, conduct }, textOf(webhookId), textOf(secret));
  }

  /** Creates what creates with `Darkroom-Webhook-Url` need. Returns the address that such creates must name. */
  async makeDefault(wanted: Omit<WantedEndpoint, 'events'>): Promise<string> {
    const { secret } = await this.ask('POST', '/webhooks/default/secret');
    this.know({ ...wanted, events: ENDS }, 'default', textOf(secret));
    return this.receivers.urlOf(wanted.at, wanted.name);
  }

  /** The reason why each endpoint is disabled, by its name. */
  async disabledBecause(): Promise<Record<string, string | undefined>> {
    const found: Record<string, string | undefined> = {};
    for (const { name, webhookId } of this.endpoints) {
      const because =
        webhookId === 'default' ? undefined : (await this.ask('GET', `/webhooks/${webhookId}`))['disabled_because'];
      found[name] = because === undefined ? undefined : textOf(because);
    }
    return found;
  }

  /** All deliveries to its endpoints, from their logs. */
  async deliveries(): Promise<LoggedDelivery[]> {
    const found: LoggedDelivery[] = [];
    for (const { name, webhookId } of this.endpoints)
      for await (const delivery of this.log(webhookId))
        found.push({
          endpoint: name,
          generationId: textOf(delivery['generation_id']),
          event: textOf(delivery['event']),
          state: textOf(delivery['state']),
        });
    return found;
  }

  async hasOpenDeliveries(): Promise<boolean> {
    return (await this.deliveries()).some(({ state }) => OPEN.includes(state));
  }

  private know({ name, at, conduct, events = ENDS }: WantedEndpoint, webhookId: string, secret: string): void {
    this.receivers.receiver(at).expect(name, secret, conduct);
    this.pool.keep({ name: `the secret of ${name}`, text: secret.slice(SECRET_PREFIX.length) });
    this.endpoints.push({ name, webhookId, by: this.access.by, events, madeAt: this.pool.now(), conduct });
  }

  private async *log(webhookId: string): AsyncGenerator<JsonObject> {
    let cursor: string | undefined;
    do {
      const query = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page = await this.ask('GET', `/webhooks/${webhookId}/deliveries?limit=100${query}`);
      yield* (page['deliveries'] as JsonObject[]).map(asObject);
      cursor = page['next_cursor'] as string | undefined;
    } while (typeof cursor === 'string');
  }

  private async ask(method: string, path: string, body?: JsonObject): Promise<JsonObject> {
    const response = await fetch(this.access.url + API + path, {
      method,
      headers: {
        Authorization: `Bearer ${this.access.secret}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { data, message } = (await response.json()) as { data?: JsonObject; message?: string };
    if (response.status >= 300 || data === undefined)
      throw new Error(`${method} ${path} was answered ${response.status}: ${message}`);
    return data;
  }
}
