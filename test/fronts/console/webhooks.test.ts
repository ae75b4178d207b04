import { expect } from 'chai';
import { createApp, suspendAccount } from '../../../core/access/manage.js';
import { type Delivery, isOpen } from '../../../core/webhooks/delivery.js';
import type { WebhookEndpoint } from '../../../core/webhooks/endpoint.js';
import { healthOf } from '../../../core/webhooks/account-webhooks.js';
import { createEndpoint, rotateSecret, updateEndpoint } from '../../../core/webhooks/manage-endpoints.js';
import { delivery } from '../../contracts/delivery-store.contract.js';
import { aGeneration, uuidAt } from '../../fixtures/stored-records.js';
import { OAuthHarness } from '../oauth/oauth-harness.js';
import { clientOf, type ConsoleAnswer, type ConsoleClient, stranger } from './console-harness.js';

// Goal: only the people of an account see the webhooks of its Apps and the messages that were sent to them.
// Method: a whole service over HTTP in this process, with deliveries that are inserted into its store.

const UNKNOWN = uuidAt(999_999);

interface Shown {
  readonly delivery_id: string;
  readonly webhook_id: string;
  readonly app: { readonly id: string; readonly name: string | null };
  readonly attempts: readonly { readonly status?: number; readonly body?: string }[];
}

interface ShownWebhook {
  readonly webhook_id: string;
  readonly secret_hint: string;
  readonly app: { readonly name: string };
  readonly health: { readonly state: string; readonly reason: string; readonly waiting: number };
}

describe('the webhooks of an account on its page', () => {
  let service: OAuthHarness;
  let ada: ConsoleClient;
  let eve: ConsoleClient;
  let studio: { accountId: string; appId: string };
  let shop: { accountId: string; appId: string };
  let hook: WebhookEndpoint;

  beforeEach(async () => {
    service = await OAuthHarness.open();
    const { context } = service.harness;
    const { accountId } = service.person;
    ada = await clientOf(service, service.person);
    eve = await clientOf(service, await stranger(service));
    studio = await createApp(context, { accountId, name: 'studio' });
    shop = await createApp(context, { accountId, name: 'shop' });
    ({ endpoint: hook } = await createEndpoint(context, studio, { url: 'https://receiver.example/studio' }));
  });
  afterEach(() => service.close());

  const insert = async (n: number, values: Partial<Delivery> = {}): Promise<Delivery> => {
    const { accountId, appId } = studio;
    const { lease: _lease, url: _url, ...stored } = delivery(n, { accountId, appId, endpointId: hook.endpointId });
    const { nextAttemptAt = 70, ...ended } = {
      ...stored,
      createdAt: n,
      dueAt: 9e15,
      generationId: uuidAt(5_000 + n),
      ...values,
    };
    const record = isOpen(ended) ? { ...ended, nextAttemptAt } : ended;
    await service.harness.context.deliveries.insert(record);
    return record;
  };
  const dataOf = ({ data, status, message }: ConsoleAnswer): Record<string, unknown> => {
    expect(status, message).to.equal(200);
    return data;
  };
  const deliveriesOf = async (query = '', of = ada): Promise<readonly Shown[]> =>
    dataOf(await of.get(`/deliveries${query}`))['deliveries'] as readonly Shown[];
  const idsOf = async (query: string, of = ada): Promise<readonly string[]> =>
    (await deliveriesOf(query, of)).map((one) => one.delivery_id);

  it('are listed over all Apps, with a hint of the secret and their health', async () => {
    await createEndpoint(service.harness.context, shop, { url: 'https://receiver.example/shop' });
    await insert(1);
    const webhooks = dataOf(await ada.get('/webhooks'))['webhooks'] as readonly ShownWebhook[];
    expect(webhooks.map(({ app, health }) => [app.name, health.state])).to.deep.equal([
      ['studio', 'healthy'],
      ['shop', 'unused'],
    ]);
    expect(webhooks[0]?.secret_hint).to.match(/^whsec_[\w+/]{3}…[\w+/]{3}=$/);
    expect(webhooks[0]?.health).to.include({ waiting: 1, last_success_at: null });
    expect(dataOf(await ada.get(`/webhooks/${hook.endpointId}`))['webhook']).to.deep.equal(webhooks[0]);
    expect(dataOf(await eve.get('/webhooks'))['webhooks']).to.deep.equal([]);
    for (const [client, id] of [
      [eve, hook.endpointId],
      [ada, UNKNOWN],
      [ada, 'x'],
    ] as const)
      expect(await client.get(`/webhooks/${id}`)).to.include({ status: 404, message: 'There is no such webhook.' });
  });

  it('are listed apart where single generations name them, for Apps with a secret for that', async () => {
    const { context } = service.harness;
    expect(dataOf(await ada.get('/webhooks'))['per_request']).to.deep.equal([]);
    await rotateSecret(context, shop, 'default');
    await insert(1, { appId: shop.appId, endpointId: shop.appId, url: 'https://receiver.example/one', attempts: [] });
    const [first, ...more] = dataOf(await ada.get('/webhooks'))['per_request'] as readonly Record<string, unknown>[];
    expect(more).to.deep.equal([]);
    expect(first?.['secret_hint']).to.match(/^whsec_[\w+/]{3}…[\w+/]{3}=$/);
    expect(first).to.deep.include({
      app: { id: shop.appId, name: 'shop' },
      previous_secret_expires_at: null,
      last_success_at: null,
      last_failure_at: null,
      waiting: 1,
    });
    expect(dataOf(await eve.get('/webhooks'))['per_request']).to.deep.equal([]);
  });

  it('list their deliveries newest first, over all Apps, in pages', async () => {
    const url = 'https://receiver.example/one';
    await insert(1);
    await insert(2, { appId: shop.appId, endpointId: shop.appId, url });
    await insert(3, { accountId: uuidAt(77) });
    const [first, second, ...more] = await deliveriesOf();
    expect(more).to.deep.equal([]);
    expect(first).to.deep.include({
      delivery_id: uuidAt(2),
      webhook_id: 'default',
      url,
      app: { id: shop.appId, name: 'shop' },
    });
    expect(second).to.deep.include({
      delivery_id: uuidAt(1),
      webhook_id: hook.endpointId,
      app: { id: studio.appId, name: 'studio' },
    });
    const page = dataOf(await ada.get('/deliveries?limit=1'));
    expect(await idsOf(`?limit=1&cursor=${page['next_cursor'] as string}`)).to.deep.equal([uuidAt(1)]);
    expect(await ada.get(`/deliveries?state=pending&cursor=${page['next_cursor'] as string}`)).to.include({
      status: 422,
    });
  });

  it('filter their deliveries by webhook, App, state, event, generation and time', async () => {
    await insert(1, { event: 'generation.failed' });
    await insert(2, { appId: shop.appId, endpointId: shop.appId, state: 'exhausted' });
    await insert(3);
    const at = (n: number) => new Date(n).toISOString();
    const expected: Readonly<Record<string, readonly number[]>> = {
      [`?webhook_id=${hook.endpointId}`]: [3, 1],
      [`?app_id=${shop.appId}`]: [2],
      [`?app_id=${shop.appId}&webhook_id=default`]: [2],
      [`?app_id=${shop.appId}&webhook_id=${hook.endpointId}`]: [],
      '?state=exhausted': [2],
      '?event=generation.failed': [1],
      [`?generation_id=${uuidAt(5_003)}`]: [3],
      [`?generation_id=${uuidAt(5_003)}&app_id=${shop.appId}`]: [],
      [`?created_after=${at(2)}`]: [3, 2],
      [`?created_after=${at(1)}&created_before=${at(3)}&state=retrying`]: [1],
    };
    for (const [query, ids] of Object.entries(expected))
      expect(await idsOf(query), query).to.deep.equal(ids.map((n) => uuidAt(n)));
    for (const query of ['?state=x', '?event=x', '?generation_id=x', '?webhook_id=x', '?webhook_id=default', '?x=1'])
      expect(await ada.get(`/deliveries${query}`), query).to.include({ status: 422, code: 'FIELD_INVALID' });
    for (const appId of [UNKNOWN, 'x'])
      expect(await ada.get(`/deliveries?app_id=${appId}`), appId).to.include({ status: 404, code: 'NOT_FOUND' });
  });

  it('count what came of their deliveries in the last 48 hours', async () => {
    const now = service.harness.clock.now();
    const state = 'delivered';
    await insert(1, { state, createdAt: now });
    await insert(2, { state: 'exhausted', createdAt: now });
    await insert(3, { createdAt: now - 3 * 3_600_000, nextAttemptAt: now + 5_000 });
    await insert(4, { state, createdAt: now - 49 * 3_600_000 });
    await insert(5, { state, createdAt: now + 2 * 3_600_000 });
    await insert(6, { state, createdAt: now, appId: shop.appId, endpointId: shop.appId });
    const { hours, ...sums } = dataOf(await ada.get(`/webhooks/${hook.endpointId}/activity`)) as {
      hours: readonly { starts_at: string; delivered: number; failed: number }[];
    };
    expect(hours).to.have.length(48);
    const startsAt = new Date(Math.floor(now / 3_600_000) * 3_600_000).toISOString();
    expect(hours.at(-1)).to.deep.equal({ starts_at: startsAt, delivered: 1, failed: 1 });
    expect(sums).to.deep.equal({
      is_complete: true,
      delivered: 1,
      failed: 1,
      waiting: 1,
      cancelled: 0,
      next_attempt_at: new Date(now + 5_000).toISOString(),
      answered_ms: { median: 12, p95: 12 },
    });
    const perRequest = `/webhooks/default/activity?app_id=${shop.appId}`;
    expect(dataOf(await ada.get(perRequest))).to.include({ delivered: 1, next_attempt_at: null });
    expect(dataOf(await eve.get(`/webhooks/${hook.endpointId}/activity`))).to.include({ delivered: 0, waiting: 0 });
    expect(await eve.get(perRequest)).to.include({ status: 404, message: 'There is no such App.' });
    for (const path of ['default/activity', 'x/activity', `${hook.endpointId}/activity?x=1`])
      expect(await ada.get(`/webhooks/${path}`), path).to.include({ status: 422, code: 'FIELD_INVALID' });
  });

  it('do not reveal to another account that they exist', async () => {
    for (let n = 1; n <= 120; n += 1) await insert(n);
    for (const query of ['', `?webhook_id=${hook.endpointId}`, `?generation_id=${uuidAt(5_001)}`])
      expect(dataOf(await eve.get(`/deliveries${query === '' ? '?' : `${query}&`}limit=1`)), query).to.deep.equal({
        deliveries: [],
      });
    const missing = { status: 404, message: 'There is no such delivery.' };
    for (const id of [uuidAt(1), UNKNOWN, 'x']) {
      expect(await eve.get(`/deliveries/${id}`), id).to.include(missing);
      expect(await eve.post(`/deliveries/${id}/resend`), id).to.include(missing);
    }
    expect(await eve.get(`/deliveries?app_id=${studio.appId}`)).to.include({ status: 404 });
  });

  it('show one delivery with its attempts, and the request as it would be sent now', async () => {
    const { context } = service.harness;
    const generation = aGeneration(9, { ...studio, status: 'succeeded', completedAt: 5 });
    await context.generations.insert(generation);
    const attempts = [
      {
        event: 'generation.succeeded' as const,
        startedAt: 5,
        durationMs: 12,
        result: 'failed' as const,
        status: 503,
        body: { bytes: 4, text: 'busy' },
      },
    ];
    await insert(1, { generationId: generation.generationId, attempts });
    const shown = dataOf(await ada.get(`/deliveries/${uuidAt(1)}`));
    expect((shown['delivery'] as Shown).attempts).to.deep.include({
      ...(shown['delivery'] as Shown).attempts[0],
      status: 503,
      body: 'busy',
    });
    const { url, body } = shown['request'] as { url: string; body: { type: string; data: { generation_id: string } } };
    expect([url, body.type, body.data.generation_id]).to.deep.equal([
      hook.url,
      'generation.succeeded',
      generation.generationId,
    ]);
    await insert(2);
    expect(dataOf(await ada.get(`/deliveries/${uuidAt(2)}`))['request']).to.equal(null);
  });

  it('send a delivery again, unless the webhook is disabled', async () => {
    const { context } = service.harness;
    await insert(1, { state: 'exhausted' });
    const { delivery: again } = dataOf(await ada.post(`/deliveries/${uuidAt(1)}/resend`));
    expect(again).to.include({ delivery_id: uuidAt(1), attempts_made: 0 });
    await updateEndpoint(context, studio, hook.endpointId, { enabled: false });
    expect(await ada.post(`/deliveries/${uuidAt(1)}/resend`)).to.include({ status: 409, code: 'CONFLICT' });
    await suspendAccount(context, studio.accountId);
    for (const path of ['/webhooks', '/deliveries']) expect(await ada.get(path), path).to.include({ status: 401 });
  });
});

describe('the health of a webhook', () => {
  const endpoint: WebhookEndpoint = {
    endpointId: uuidAt(1),
    url: 'https://receiver.example/hook',
    events: ['generation.succeeded'],
    secret: { number: 1, madeAt: 0 },
    createdAt: 0,
    updatedAt: 0,
  };
  const tried = (...attempts: Delivery['attempts']): Delivery => delivery(1, { state: 'delivered', attempts });
  const ok = { event: 'generation.succeeded', startedAt: 10, durationMs: 2, result: 'delivered', status: 200 } as const;
  const bad = { ...ok, startedAt: 20, result: 'failed', status: 503 } as const;
  const late = {
    event: 'generation.succeeded',
    startedAt: 30,
    durationMs: 5,
    result: 'failed',
    fault: 'timeout',
  } as const;

  it('follows from the last deliveries', () => {
    expect(healthOf(endpoint, [])).to.include({ state: 'unused', waiting: 0 });
    expect(healthOf(endpoint, [tried(ok)])).to.deep.include({ state: 'healthy', lastSuccessAt: 12 });
    expect(healthOf(endpoint, [tried(bad)])).to.include({
      state: 'healthy',
      reason: 'Nothing failed since it was enabled.',
    });
    expect(healthOf({ ...endpoint, failingSince: 15 }, [tried(ok, bad)])).to.deep.include({
      state: 'failing',
      reason: 'The last failed attempt was answered with status 503.',
      lastSuccessAt: 12,
      lastFailureAt: 22,
    });
    expect(healthOf({ ...endpoint, failingSince: 15 }, [tried(late), tried(bad)])).to.include({
      reason: 'The last attempt got no answer in time.',
      lastFailureAt: 35,
    });
    expect(healthOf(endpoint, [delivery(1), delivery(2)])).to.include({ waiting: 2 });
  });

  it('is paused while it is disabled, with the reason', () => {
    for (const [because, words] of [
      ['client', 'over the API'],
      ['gone', '410'],
      ['failing', 'five days'],
    ] as const) {
      const health = healthOf({ ...endpoint, disabled: { at: 1, because }, failingSince: 1 }, [tried(bad)]);
      expect(health.state).to.equal('paused');
      expect(health.reason).to.include(words);
    }
  });
});
