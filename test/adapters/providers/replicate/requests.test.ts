/*
 * Goal: a task becomes one request with what the model's settings name and nothing else, and no answer leads to a second
 * one.
 * Method: submissions to a server that answers as Replicate's documentation says, and what it received.
 */
import { expect } from 'chai';
import type { JsonObject } from '../../../../core/json.js';
import type { Submission } from '../../../../core/ports/provider.js';
import { breakingOff } from '../../../fixtures/byte-streams.js';
import { ReplicateFake } from '../../../providers/fakes/replicate-fake.js';
import { vendorForEach } from '../opened-vendor.js';
import { referenceOf } from '../sample-task.js';
import { replicateAt, SETTINGS, task } from './opened-replicate.js';

describe('requests to Replicate', () => {
  const vendor = vendorForEach({ openFake: () => ReplicateFake.open(), providerAt: replicateAt, task });

  it('have the fields of the settings, and the time that the task has left', async () => {
    const answer = await vendor.submit({
      prompt: 'a boat',
      negativePrompt: 'people',
      parameters: { n: 2, size: '512x512', image: 'https://elsewhere.example/x.png' },
    });
    const [prediction] = vendor.fake.predictions;
    expect(answer).to.deep.equal({ accepted: true, reference: prediction?.id });
    expect(prediction?.input).to.deep.equal({
      prompt: 'a boat',
      negative_prompt: 'people',
      num_outputs: 2,
      output_format: 'png',
    });
    expect(prediction?.cancelAfter).to.equal('90s');
    expect(vendor.fake.server.posts).to.equal(1);
  });

  it('ask for no shorter and no longer deadline than Replicate takes', async () => {
    await vendor.submit({ timeLeftMs: 1 });
    await vendor.submit({ timeLeftMs: 10 ** 10 });
    expect(vendor.fake.predictions.map(({ cancelAfter }) => cancelAfter)).to.deep.equal(['5s', '86400s']);
  });

  it('go to the model, its version or the deployment that the settings name', async () => {
    const { model, ...others } = SETTINGS;
    const version = 'a1'.repeat(32);
    for (const settings of [
      { model: model!, ...others },
      { model: 'acme/portrait', version, ...others },
      { deployment: 'acme/studio', ...others },
    ])
      expect(await vendor.submit({ settings })).to.have.property('accepted', true);
    expect(vendor.fake.server.requests.map(({ path }) => path)).to.deep.equal([
      '/v1/models/black-forest-labs/flux-schnell/predictions',
      '/v1/predictions',
      '/v1/deployments/acme/studio/predictions',
    ]);
    expect(vendor.fake.predictions.map(({ model: taken }) => taken)).to.deep.equal([
      'black-forest-labs/flux-schnell',
      `version ${version}`,
      'acme/studio',
    ]);
  });

  it('carry small files as data URLs and larger ones by their address after an upload', async () => {
    const large = Buffer.alloc(256 * 1024 + 1, 7);
    const references = [referenceOf(Buffer.from('small')), referenceOf(large)];
    expect(await vendor.submit({ references })).to.have.property('accepted', true);
    expect(vendor.fake.predictions[0]?.input['input_images']).to.deep.equal([
      'data:image/png;base64,c21hbGw=',
      `${vendor.fake.base}/files/file1`,
    ]);
    expect(vendor.fake.files.get('file1')?.equals(large)).to.equal(true);
    expect(await vendor.submit({ references: [referenceOf(Buffer.from('small'), 'start_frame')] })).to.have.property(
      'accepted',
      true,
    );
    expect(vendor.fake.predictions[1]?.input['image']).to.equal('data:image/png;base64,c21hbGw=');
  });

  it('are not made when a file cannot be uploaded', async () => {
    const references = [referenceOf(Buffer.alloc(300_000), 'start_frame')];
    vendor.fake.server.plan({ type: 'lose-answer' }, { of: 'upload' });
    vendor.fake.server.plan({ type: 'status', status: 500 }, { of: 'upload' });
    for (let round = 0; round < 2; round += 1)
      expect(await vendor.submit({ references })).to.include({ accepted: false, because: 'capacity' });
    vendor.fake.server.plan({ type: 'status', status: 401 }, { of: 'upload' });
    expect(await vendor.submit({ references })).to.include({ accepted: false, because: 'not-here' });
    expect(vendor.fake.server.posts).to.equal(0);
  });

  it('are not made when a file that would be uploaded cannot be read, for which Replicate is not to blame', async () => {
    const whole = referenceOf(Buffer.alloc(300_000));
    const cut = { ...whole, open: async () => breakingOff(Buffer.alloc(100_000)) };
    expect(await vendor.submit({ references: [whole, cut] })).to.deep.equal({
      accepted: false,
      failure: { code: 'PROVIDER_UNAVAILABLE', message: 'A reference file could not be fetched.', mayRetry: true },
    });
    expect(vendor.fake.server.posts).to.equal(0);
  });

  it('are not made for what the settings do not allow', async () => {
    const wrong: readonly (readonly [Partial<Submission>, string])[] = [
      [{ parameters: { n: 5 } }, 'INPUT_INVALID'],
      [{ parameters: { n: '1' } }, 'INPUT_INVALID'],
      [{ references: [referenceOf(Buffer.from('x'), 'end_frame')] }, 'MODEL_UNAVAILABLE'],
      [{ settings: {} }, 'MODEL_UNAVAILABLE'],
    ];
    for (const [wish, code] of wrong) {
      const answer = await vendor.submit(wish);
      expect(answer).to.have.nested.property('failure.code', code);
    }
    expect(vendor.fake.server.requests).to.have.length(0);
  });

  it('are refused for certain with the meaning of the status, and without its text', async () => {
    const secret = 'r8_leaked https://10.0.0.1/internal';
    const refusals: readonly (readonly [number, JsonObject, object])[] = [
      [401, {}, { because: 'not-here', code: 'PROVIDER_REJECTED' }],
      [402, { title: 'Insufficient credit' }, { because: 'not-here', code: 'PROVIDER_REJECTED' }],
      [403, {}, { because: 'not-here', code: 'PROVIDER_REJECTED' }],
      [404, {}, { because: 'not-here', code: 'MODEL_UNAVAILABLE' }],
      [422, { title: 'Invalid version or not permitted' }, { because: 'not-here', code: 'MODEL_UNAVAILABLE' }],
      [422, { title: 'Input validation failed' }, { code: 'INPUT_INVALID' }],
      [400, {}, { code: 'PROVIDER_REJECTED' }],
    ];
    for (const [status, body, expected] of refusals) {
      vendor.fake.server.plan({
        type: 'status',
        status,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ detail: secret, ...body }),
      });
      const answer = await vendor.submit({});
      if (answer.accepted) throw new Error('It was accepted.');
      const { because, failure } = answer;
      expect({ ...(because === undefined ? {} : { because }), code: failure.code }, String(status)).to.deep.equal(
        expected,
      );
      expect(JSON.stringify(answer)).to.not.include('leaked').and.not.include('10.0.0.1');
    }
    expect(vendor.fake.server.posts).to.equal(refusals.length);
  });

  it('are refused for lack of capacity with the wait that the body or the header states', async () => {
    const waits: readonly (readonly [Readonly<Record<string, string>>, string, number | undefined])[] = [
      [{}, 'Request was throttled. Your rate limit resets in ~30s.', 30_000],
      [{}, 'Request was throttled. Expected available in 1 second.', 1_000],
      [{ 'retry-after': '7' }, 'Request was throttled. Your rate limit resets in ~30s.', 7_000],
      [{}, 'Too many requests.', undefined],
    ];
    for (const [headers, detail, retryAfterMs] of waits) {
      vendor.fake.server.plan({
        type: 'status',
        status: 429,
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ detail, status: 429 }),
      });
      const answer = await vendor.submit({});
      expect(answer).to.include({ accepted: false, because: 'capacity' });
      expect(answer).to.have.property('failure').that.includes({ code: 'PROVIDER_UNAVAILABLE', mayRetry: true });
      expect('failure' in answer ? answer.failure.retryAfterMs : -1).to.equal(retryAfterMs);
    }
  });

  it('have an unknown outcome after any answer that is no prediction', async () => {
    for (const fault of [
      { type: 'status', status: 500, isHandled: true },
      { type: 'status', status: 201, isHandled: true, body: '{"id":"../x","status":"starting"}' },
      { type: 'html', status: 200 },
      { type: 'truncated' },
      { type: 'lose-answer' },
    ] as const) {
      vendor.fake.server.plan(fault, { of: 'submit' });
      expect(await vendor.submit({}).catch((error: unknown) => error), fault.type).to.be.instanceOf(Error);
    }
    expect(vendor.fake.server.posts).to.equal(5);
  });
});
