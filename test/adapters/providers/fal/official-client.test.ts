/*
 * Goal: the fake of fal answers as fal's own client expects it, so that what is proved with the fake is not proved with a
 * shape of ours.
 * Method: the official client submits, follows, reads and cancels requests; its calls to fal's hosts are sent to the fake.
 */
import { createFalClient, type FalClient } from '@fal-ai/client';
import { expect } from 'chai';
import { FalFake } from '../../../providers/fakes/fal-fake.js';

const MODEL = 'fal-ai/flux/schnell';

describe('the official client at the fake of fal', () => {
  let fake: FalFake;
  let client: FalClient;
  beforeEach(async () => {
    fake = await FalFake.open();
    client = createFalClient({
      credentials: fake.key,
      retry: { maxRetries: 0 },
      requestMiddleware: async (request) => ({
        ...request,
        url: request.url.replace('https://queue.fal.run', fake.base),
      }),
    });
  });
  afterEach(() => fake.close());

  const submit = (prompt: string) => client.queue.submit(MODEL, { input: { prompt } });

  it('submits a request, follows it and reads its result', async () => {
    const { request_id: requestId, status } = await submit('a lighthouse');
    expect(status).to.equal('IN_QUEUE');
    const seen = new Set<string>();
    for (let state = ''; state !== 'COMPLETED'; seen.add(state))
      ({ status: state } = await client.queue.status(MODEL, { requestId }));
    expect([...seen]).to.deep.equal(['IN_PROGRESS', 'COMPLETED']);
    const { data } = await client.queue.result(MODEL, { requestId });
    const [image] = (data as { readonly images: readonly { readonly url: string }[] }).images;
    const picture = await fetch(image?.url ?? '');
    expect(picture.headers.get('content-type')).to.equal('image/png');
  });

  it('awaits a request of a workflow', async () => {
    const { data } = await client.subscribe('workflows/acme/portrait', { input: { prompt: 'x' }, pollInterval: 1 });
    expect(data).to.have.property('images');
  });

  it('cancels a waiting request, and reads why one has failed', async () => {
    const { request_id: requestId } = await submit('queued');
    await client.queue.cancel(MODEL, { requestId });
    const { request_id: failing } = await submit('withheld');
    await client.queue.subscribeToStatus(MODEL, { requestId: failing, mode: 'polling', pollInterval: 1 });
    const error = await client.queue.result(MODEL, { requestId: failing }).catch((thrown: unknown) => thrown);
    expect(error).to.have.property('name', 'ValidationError');
    expect(error).to.have.nested.property('body.detail[0].type', 'content_policy_violation');
  });

  it('takes refusals for such', async () => {
    const refused = (work: Promise<unknown>) =>
      work.then(() => 0).catch((error: { readonly status: number }) => error.status);
    expect(await refused(client.queue.submit('fal-ai/gone', { input: {} }))).to.equal(404);
    fake.server.plan({ type: 'status', status: 401, headers: { 'content-type': 'application/json' }, body: '{}' });
    expect(await refused(submit('x'))).to.equal(401);
  });
});
