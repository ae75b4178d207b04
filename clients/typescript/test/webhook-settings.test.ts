// Goal: webhooks are managed by the client, and what the started service sends is what `verifyWebhook` accepts.
// Method: the compiled program, allowed to call this machine, and a receiver here.
import { expect } from 'chai';
import { SCOPES } from '../../../core/access/credential.js';
import { WebhookReceiver } from '../../../test/harness/webhook-receiver.js';
import { LiveService } from '../../../test/service/live-service.js';
import { ApiError, Darkroom, DEFAULT_WEBHOOK, verifyWebhook, type WebhookDelivery } from '../src/index.js';

const REQUEST = {
  model_key: 'sandbox-test',
  operation: 'image_generation',
  prompt: 'a lighthouse',
  parameters: { size: '128x128' },
} as const;

describe('webhooks by the TypeScript client', () => {
  let service: LiveService;
  let receiver: WebhookReceiver;
  let darkroom: Darkroom;
  let url: string;

  before(async () => {
    service = await LiveService.start({ config: { webhooks: { allowed_hosts: ['127.0.0.1'] } } });
  });
  after(() => service.remove());
  beforeEach(async () => {
    receiver = new WebhookReceiver();
    url = await receiver.open();
    darkroom = new Darkroom({ baseUrl: service.url, apiKey: (await service.tenant(100, SCOPES)).secret });
  });
  afterEach(() => receiver.close());

  const untilState = async (webhookId: string, state: WebhookDelivery['state']): Promise<WebhookDelivery> => {
    for (;;)
      for await (const delivery of darkroom.webhooks.deliveries(webhookId))
        if (delivery.state === state) return delivery;
  };

  it('receive one message about an end, which the library accepts', async () => {
    const { webhook_id: id, secret } = await darkroom.webhooks.create({ url: `${url}/hook`, description: 'orders' });
    const { generation_id: generationId } = await darkroom.createGeneration(REQUEST);
    const { path, headers, body } = await receiver.next(1);
    expect(path).to.equal('/hook');
    const event = (await verifyWebhook(body, headers, secret)) as { type: string; data: Record<string, unknown> };
    expect(event.type).to.equal('generation.succeeded');
    expect(event.data).to.include({ generation_id: generationId, status: 'succeeded' });
    const task = await darkroom.generation(generationId);
    expect(Object.keys(event.data).sort()).to.deep.equal(Object.keys(task).sort());
    const delivery = await untilState(id, 'delivered');
    expect(delivery.attempts.map(({ result, status }) => [result, status])).to.deep.equal([['delivered', 204]]);
    expect(receiver.received).to.have.length(1);
  });

  it('receive a message again when their receiver failed, and on request', async () => {
    receiver.statuses = [503];
    const { webhook_id: id, secret } = await darkroom.webhooks.create({ url });
    await darkroom.createGeneration(REQUEST);
    const first = await receiver.next(1);
    const delivery = await untilState(id, 'retrying');
    await darkroom.webhooks.replay(id, delivery.delivery_id);
    const second = await receiver.next(2);
    expect(second.headers['webhook-id']).to.equal(first.headers['webhook-id']);
    await untilState(id, 'delivered');
    const rotated = await darkroom.webhooks.rotateSecret(id);
    expect(await darkroom.webhooks.replayAll(id, { created_after: '2020-01-01T00:00:00Z' })).to.equal(0);
    const delivered = { created_after: '2020-01-01T00:00:00Z', state: 'delivered' } as const;
    expect(await darkroom.webhooks.replayAll(id, delivered)).to.equal(1);
    const third = await receiver.next(3);
    for (const known of [secret, rotated.secret]) await verifyWebhook(third.body, third.headers, known);
  });

  it('are changed, disabled and deleted', async () => {
    const { webhook_id: id } = await darkroom.webhooks.create({ url });
    expect((await darkroom.webhooks.update(id, { enabled: false })).disabled_because).to.equal('client');
    expect((await darkroom.webhooks.list()).map(({ webhook_id: one, status }) => [one, status])).to.deep.equal([
      [id, 'disabled'],
    ]);
    expect((await darkroom.webhooks.update(id, { enabled: true, description: 'x' })).status).to.equal('enabled');
    for (let times = 0; times < 2; times += 1) await darkroom.webhooks.delete(id);
    const gone: unknown = await darkroom.webhooks.get(id).catch((error: unknown) => error);
    expect(gone).to.be.instanceOf(ApiError).and.to.include({ code: 'NOT_FOUND' });
  });

  it('are needed by no generation that names an address of its own', async () => {
    const webhookUrl = `${url}/one`;
    const early: unknown = await darkroom.createGeneration(REQUEST, { webhookUrl }).catch((error: unknown) => error);
    expect(early).to.include({ code: 'CONFLICT' });
    const { secret } = await darkroom.webhooks.rotateSecret(DEFAULT_WEBHOOK);
    await darkroom.createGeneration(REQUEST, { webhookUrl });
    const { path, headers, body } = await receiver.next(1);
    expect(path).to.equal('/one');
    await verifyWebhook(body, headers, secret);
    expect((await untilState(DEFAULT_WEBHOOK, 'delivered')).url).to.equal(webhookUrl);
  });

  it('are refused an address of this machine that the operator does not allow', async () => {
    const refusal: unknown = await darkroom.webhooks
      .create({ url: 'http://127.0.0.2/' })
      .catch((error: unknown) => error);
    expect(refusal).to.be.instanceOf(ApiError).and.to.include({ status: 422, code: 'FIELD_INVALID' });
  });
});
