/*
 * Goal: a task becomes one request with what the model's settings name and nothing else, and no answer leads to a second
 * one.
 * Method: submissions to a server that answers as Replicate's documentation says, and what it received.
 */
import { expect } from 'chai';
import type { JsonObject } from '../../../../core/json.js';
import type { ProviderReference, Submission, SubmitAnswer } from '../../../../core/ports/provider.js';
import type { ReplicateProvider } from '../../../../adapters/providers/replicate/replicate-provider.js';
import { WANTED } from '../../../contracts/provider.contract.js';
import { breakingOff, inPieces } from '../../../fixtures/byte-streams.js';
import { ReplicateFake } from '../../../providers/fakes/replicate-fake.js';
import { replicateAt, SETTINGS, task } from './opened-replicate.js';

describe('requests to Replicate', () => {
  let fake: ReplicateFake;
  let provider: ReplicateProvider;
  beforeEach(async () => {
    fake = await ReplicateFake.open();
    provider = replicateAt(fake.base);
  });
  afterEach(async () => {
    await provider.close();
    await fake.close();
  });

  const submit = (wish: Partial<Submission>): Promise<SubmitAnswer> => provider.submit(task(wish), WANTED);

  it('have the fields of the settings, and the time that the task has left', async () => {
    const answer = await submit({
      prompt: 'a boat',
      negativePrompt: 'people',
      parameters: { n: 2, size: '512x512', image: 'https://elsewhere.example/x.png' },
    });
    const [prediction] = fake.predictions;
    expect(answer).to.deep.equal({ accepted: true, reference: prediction?.id });
    expect(prediction?.input).to.deep.equal({
      prompt: 'a boat',
      negative_prompt: 'people',
      num_outputs: 2,
      output_format: 'png',
    });
    expect(prediction?.cancelAfter).to.equal('90s');
    expect(fake.server.posts).to.equal(1);
  });

  it('ask for no shorter and no longer deadline than Replicate takes', async () => {
    await submit({ timeLeftMs: 1 });
    await submit({ timeLeftMs: 10 ** 10 });
    expect(fake.predictions.map(({ cancelAfter }) => cancelAfter)).to.deep.equal(['5s', '86400s']);
  });

  it('go to the model, its version or the deployment that the settings name', async () => {
    const { model, ...others } = SETTINGS;
    const version = 'a1'.repeat(32);
    for (const settings of [
      { model: model!, ...others },
      { model: 'acme/portrait', version, ...others },
      { deployment: 'acme/studio', ...others },
    ])
      expect(await submit({ settings })).to.have.property('accepted', true);
    expect(fake.server.requests.map(({ path }) => path)).to.deep.equal([
      '/v1/models/black-forest-labs/flux-schnell/predictions',
      '/v1/predictions',
      '/v1/deployments/acme/studio/predictions',
    ]);
    expect(fake.predictions.map(({ model: taken }) => taken)).to.deep.equal([
      'black-forest-labs/flux-schnell',
      `version ${version}`,
      'acme/studio',
    ]);
  });

  it('carry small files as data URLs and larger ones by their address after an upload', async () => {
    const large = Buffer.alloc(256 * 1024 + 1, 7);
    const references = [file('reference_image', Buffer.from('small')), file('reference_image', large)];
    expect(await submit({ references })).to.have.property('accepted', true);
    expect(fake.predictions[0]?.input['input_images']).to.deep.equal([
      'data:image/png;base64,c21hbGw=',
      `${fake.base}/files/file1`,
    ]);
    expect(fake.files.get('file1')?.equals(large)).to.equal(true);
    expect(await submit({ references: [file('start_frame', Buffer.from('small'))] })).to.have.property(
      'accepted',
      true,
    );
    expect(fake.predictions[1]?.input['image']).to.equal('data:image/png;base64,c21hbGw=');
  });

  it('are not made when a file cannot be uploaded', async () => {
    const references = [file('start_frame', Buffer.alloc(300_000))];
    fake.server.plan({ type: 'lose-answer' }, { of: 'upload' });
    fake.server.plan({ type: 'status', status: 500 }, { of: 'upload' });
    for (let round = 0; round < 2; round += 1)
      expect(await submit({ references })).to.include({ accepted: false, because: 'capacity' });
    fake.server.plan({ type: 'status', status: 401 }, { of: 'upload' });
    expect(await submit({ references })).to.include({ accepted: false, because: 'not-here' });
    expect(fake.server.posts).to.equal(0);
  });

  it('are not made when a file that would be uploaded cannot be read, for which Replicate is not to blame', async () => {
    const whole = file('reference_image', Buffer.alloc(300_000));
    const cut = { ...whole, open: async () => breakingOff(Buffer.alloc(100_000)) };
    expect(await submit({ references: [whole, cut] })).to.deep.equal({
      accepted: false,
      failure: { code: 'PROVIDER_UNAVAILABLE', message: 'A reference file could not be fetched.', mayRetry: true },
    });
    expect(fake.server.posts).to.equal(0);
  });

  it('are not made for what the settings do not allow', async () => {
    const wrong: readonly (readonly [Partial<Submission>, string])[] = [
      [{ parameters: { n: 5 } }, 'INPUT_INVALID'],
      [{ parameters: { n: '1' } }, 'INPUT_INVALID'],
      [{ references: [file('end_frame', Buffer.from('x'))] }, 'MODEL_UNAVAILABLE'],
      [{ settings: {} }, 'MODEL_UNAVAILABLE'],
    ];
    for (const [wish, code] of wrong) {
      const answer = await submit(wish);
      expect(answer).to.have.nested.property('failure.code', code);
    }
    expect(fake.server.requests).to.have.length(0);
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
      fake.server.plan({
        type: 'status',
        status,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ detail: secret, ...body }),
      });
      const answer = await submit({});
      if (answer.accepted) throw new Error('It was accepted.');
      const { because, failure } = answer;
      expect({ ...(because === undefined ? {} : { because }), code: failure.code }, String(status)).to.deep.equal(
        expected,
      );
      expect(JSON.stringify(answer)).to.not.include('leaked').and.not.include('10.0.0.1');
    }
    expect(fake.server.posts).to.equal(refusals.length);
  });

  it('are refused for lack of capacity with the wait that the body or the header states', async () => {
    const waits: readonly (readonly [Readonly<Record<string, string>>, string, number | undefined])[] = [
      [{}, 'Request was throttled. Your rate limit resets in ~30s.', 30_000],
      [{}, 'Request was throttled. Expected available in 1 second.', 1_000],
      [{ 'retry-after': '7' }, 'Request was throttled. Your rate limit resets in ~30s.', 7_000],
      [{}, 'Too many requests.', undefined],
    ];
    for (const [headers, detail, retryAfterMs] of waits) {
      fake.server.plan({
        type: 'status',
        status: 429,
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ detail, status: 429 }),
      });
      const answer = await submit({});
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
      fake.server.plan(fault, { of: 'submit' });
      expect(await submit({}).catch((error: unknown) => error), fault.type).to.be.instanceOf(Error);
    }
    expect(fake.server.posts).to.equal(5);
  });
});

function file(role: ProviderReference['role'], bytes: Buffer): ProviderReference {
  return { role, mediaType: 'image/png', byteSize: bytes.byteLength, open: async () => inPieces(bytes) };
}
