/*
 * Goal: a task becomes one request with what the model's settings name and nothing else, under a deadline and without
 * repetitions by fal, and it is found again by its reference alone.
 * Method: submissions to a server that answers as fal's documentation says, and what it received.
 */
import { expect } from 'chai';
import type { Submission } from '../../../../core/ports/provider.js';
import { reportsUntilOver, submitted, WANTED } from '../../../contracts/provider.contract.js';
import { FalFake } from '../../../providers/fakes/fal-fake.js';
import { vendorForEach } from '../opened-vendor.js';
import { referenceOf } from '../sample-task.js';
import { falAt, SETTINGS, task } from './opened-fal.js';

describe('requests to fal', () => {
  const vendor = vendorForEach({ openFake: () => FalFake.open(), providerAt: falAt, task });

  it('have the fields of the settings, and are to begin in the time that the task has left', async () => {
    await vendor.submit({
      prompt: 'a boat',
      negativePrompt: 'people',
      parameters: { n: 2, size: '512x512', loras: 'https://elsewhere.example/x' },
    });
    const [one] = vendor.fake.queue;
    expect(one?.input).to.deep.equal({ prompt: 'a boat', num_images: 2, output_format: 'png' });
    expect(one?.headers).to.include({
      'x-fal-request-timeout': '90',
      'x-fal-no-retry': '1',
      'x-fal-object-lifecycle-preference': '{"expiration_duration_seconds":3600}',
    });
    expect(one?.headers).to.not.have.property('x-fal-store-io');
    expect(vendor.fake.server.posts).to.equal(1);
  });

  it('are treated by fal as the options say', async () => {
    const other = falAt(vendor.fake.base, { keeps_payloads: false, server_retries: true, result_expiry_seconds: 600 });
    await other.submit(task({ timeLeftMs: 1 }), WANTED);
    expect([vendor.provider, other].map((one) => one.promises(SETTINGS).keepsResultsMs)).to.deep.equal([
      3_600_000, 360_000,
    ]);
    await other.close();
    expect(vendor.fake.queue[0]?.headers).to.include({
      'x-fal-request-timeout': '2',
      'x-fal-store-io': '0',
      'x-fal-object-lifecycle-preference': '{"expiration_duration_seconds":600}',
    });
    expect(vendor.fake.queue[0]?.headers).to.not.have.property('x-fal-no-retry');
  });

  it('carry files as data URLs, whatever their size', async () => {
    const large = Buffer.alloc(3_000_001, 'pixels');
    await vendor.submit({ references: [referenceOf(Buffer.from('small')), referenceOf(large)] });
    await vendor.submit({ references: [referenceOf(Buffer.from('small'), 'start_frame')] });
    expect(vendor.fake.queue[0]?.input['image_urls']).to.deep.equal([
      'data:image/png;base64,c21hbGw=',
      `data:image/png;base64,${large.toString('base64')}`,
    ]);
    expect(vendor.fake.queue[1]?.input['image_url']).to.equal('data:image/png;base64,c21hbGw=');
  });

  it('are not made for what the settings do not allow', async () => {
    const frame = referenceOf(Buffer.from('x'), 'start_frame');
    const wrong: readonly (readonly [Partial<Submission>, string])[] = [
      [{ parameters: { n: 5 } }, 'INPUT_INVALID'],
      [{ references: [frame, frame] }, 'INPUT_INVALID'],
      [{ references: [referenceOf(Buffer.from('x'), 'end_frame')] }, 'MODEL_UNAVAILABLE'],
      [{ settings: {} }, 'MODEL_UNAVAILABLE'],
    ];
    for (const [wish, code] of wrong) expect(await vendor.submit(wish)).to.have.nested.property('failure.code', code);
    expect(vendor.fake.server.requests).to.have.length(0);
  });

  it('are found under the owner and the app of their model, also by another process', async () => {
    for (const [endpoint, app] of [
      ['fal-ai/flux/schnell', 'fal-ai/flux'],
      ['fal-ai/flux', 'fal-ai/flux'],
      ['workflows/acme/portrait', 'workflows/acme/portrait'],
    ] as const) {
      const submission = task({ settings: { ...SETTINGS, endpoint } });
      const reference = await submitted(vendor.provider, submission);
      expect(reference).to.equal(`${app}/requests/${vendor.fake.queue.at(-1)?.id}`);
      const another = falAt(vendor.fake.base);
      const last = (await reportsUntilOver(another, reference, submission)).at(-1);
      expect(last).to.have.property('state', 'succeeded');
      await another.close();
    }
  });

  it('are followed where the answer says only at the same server, for the same request', async () => {
    const id = (at: number) => `764cabcf-b745-4b3e-ae38-${String(at).padStart(12, '0')}`;
    const answers: readonly (readonly [(path: string) => string, string])[] = [
      [(path) => `${vendor.fake.base}/${path.replace('fal-ai/flux', 'fal-ai/fast-flux')}`, 'fal-ai/fast-flux'],
      [(path) => `${vendor.fake.base}/${path}/response`, 'fal-ai/flux'],
      [(path) => `https://elsewhere.example/${path}`, 'fal-ai/flux'],
      [(path) => `${vendor.fake.base.replace('127.0.0.1', 'localhost')}/${path}`, 'fal-ai/flux'],
      [() => `${vendor.fake.base}/fal-ai/flux/requests/another`, 'fal-ai/flux'],
      [() => `${vendor.fake.base}/admin/../..`, 'fal-ai/flux'],
      [() => 'not an address', 'fal-ai/flux'],
    ];
    for (const [index, [addressOf, app]] of answers.entries()) {
      vendor.fake.addressOf = addressOf;
      expect(await submitted(vendor.provider, task())).to.equal(`${app}/requests/${id(index)}`);
    }
  });

  it('are refused for certain with the meaning of the status, and without its text', async () => {
    const refusals: readonly (readonly [number, object])[] = [
      [401, { because: 'not-here', code: 'PROVIDER_REJECTED' }],
      [403, { because: 'not-here', code: 'PROVIDER_REJECTED' }],
      [404, { because: 'not-here', code: 'MODEL_UNAVAILABLE' }],
      [422, { code: 'INPUT_INVALID' }],
      [400, { code: 'PROVIDER_REJECTED' }],
      [429, { because: 'capacity', code: 'PROVIDER_UNAVAILABLE' }],
    ];
    for (const [status, expected] of refusals) {
      vendor.fake.server.plan({
        type: 'status',
        status,
        headers: { 'content-type': 'application/json', 'retry-after': '9' },
        body: JSON.stringify({ detail: 'User is locked. https://10.0.0.1/leaked' }),
      });
      const answer = await vendor.submit({});
      if (answer.accepted) throw new Error('It was accepted.');
      const { because, failure } = answer;
      const found = { ...(because === undefined ? {} : { because }), code: failure.code };
      expect(found, String(status)).to.deep.equal(expected);
      expect(failure.retryAfterMs).to.equal(status === 429 ? 9_000 : undefined);
      expect(JSON.stringify(answer)).to.not.include('leaked').and.not.include('locked');
    }
    expect(vendor.fake.server.posts).to.equal(refusals.length);
  });

  it('have an unknown outcome after any answer that names no request', async () => {
    const json = { 'content-type': 'application/json' };
    for (const fault of [
      { type: 'status', status: 500, isHandled: true },
      { type: 'status', status: 200, isHandled: true, headers: json, body: '{"request_id":"../../x"}' },
      { type: 'status', status: 200, isHandled: true, headers: json, body: '{"status":"IN_QUEUE"}' },
      { type: 'html', status: 200 },
      { type: 'truncated' },
      { type: 'lose-answer' },
    ] as const) {
      vendor.fake.server.plan(fault, { of: 'submit' });
      expect(await vendor.submit({}).catch((error: unknown) => error), fault.type).to.be.instanceOf(Error);
    }
    expect(vendor.fake.server.posts).to.equal(6);
  });
});
