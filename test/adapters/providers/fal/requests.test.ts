/*
 * Goal: a task becomes one request with what the model's settings name and nothing else, under a deadline and without
 * repetitions by fal, and it is found again by its reference alone.
 * Method: submissions to a server that answers as fal's documentation says, and what it received.
 */
import { expect } from 'chai';
import type { FalProvider } from '../../../../adapters/providers/fal/fal-provider.js';
import type { ProviderReference, Submission, SubmitAnswer } from '../../../../core/ports/provider.js';
import { reportsUntilOver, submitted, WANTED } from '../../../contracts/provider.contract.js';
import { inPieces } from '../../../fixtures/byte-streams.js';
import { FalFake } from '../../../providers/fakes/fal-fake.js';
import { falAt, SETTINGS, task } from './opened-fal.js';

describe('requests to fal', () => {
  let fake: FalFake;
  let provider: FalProvider;
  beforeEach(async () => {
    fake = await FalFake.open();
    provider = falAt(fake.base);
  });
  afterEach(async () => {
    await provider.close();
    await fake.close();
  });

  const submit = (wish: Partial<Submission>): Promise<SubmitAnswer> => provider.submit(task(wish), WANTED);

  it('have the fields of the settings, and are to begin in the time that the task has left', async () => {
    await submit({
      prompt: 'a boat',
      negativePrompt: 'people',
      parameters: { n: 2, size: '512x512', loras: 'https://elsewhere.example/x' },
    });
    const [one] = fake.queue;
    expect(one?.input).to.deep.equal({ prompt: 'a boat', num_images: 2, output_format: 'png' });
    expect(one?.headers).to.include({
      'x-fal-request-timeout': '90',
      'x-fal-no-retry': '1',
      'x-fal-object-lifecycle-preference': '{"expiration_duration_seconds":3600}',
    });
    expect(one?.headers).to.not.have.property('x-fal-store-io');
    expect(fake.server.posts).to.equal(1);
  });

  it('are treated by fal as the options say', async () => {
    const other = falAt(fake.base, { keeps_payloads: false, server_retries: true, result_expiry_seconds: 600 });
    await other.submit(task({ timeLeftMs: 1 }), WANTED);
    expect([provider.promises().keepsResultsMs, other.promises().keepsResultsMs]).to.deep.equal([3_600_000, 360_000]);
    await other.close();
    expect(fake.queue[0]?.headers).to.include({
      'x-fal-request-timeout': '2',
      'x-fal-store-io': '0',
      'x-fal-object-lifecycle-preference': '{"expiration_duration_seconds":600}',
    });
    expect(fake.queue[0]?.headers).to.not.have.property('x-fal-no-retry');
  });

  it('carry files as data URLs, whatever their size', async () => {
    const large = Buffer.alloc(3_000_001, 'pixels');
    await submit({ references: [file('reference_image', Buffer.from('small')), file('reference_image', large)] });
    await submit({ references: [file('start_frame', Buffer.from('small'))] });
    expect(fake.queue[0]?.input['image_urls']).to.deep.equal([
      'data:image/png;base64,c21hbGw=',
      `data:image/png;base64,${large.toString('base64')}`,
    ]);
    expect(fake.queue[1]?.input['image_url']).to.equal('data:image/png;base64,c21hbGw=');
  });

  it('are not made for what the settings do not allow', async () => {
    const frame = file('start_frame', Buffer.from('x'));
    const wrong: readonly (readonly [Partial<Submission>, string])[] = [
      [{ parameters: { n: 5 } }, 'INPUT_INVALID'],
      [{ references: [frame, frame] }, 'INPUT_INVALID'],
      [{ references: [file('end_frame', Buffer.from('x'))] }, 'MODEL_UNAVAILABLE'],
      [{ settings: {} }, 'MODEL_UNAVAILABLE'],
    ];
    for (const [wish, code] of wrong) expect(await submit(wish)).to.have.nested.property('failure.code', code);
    expect(fake.server.requests).to.have.length(0);
  });

  it('are found under the owner and the app of their model, also by another process', async () => {
    for (const [endpoint, app] of [
      ['fal-ai/flux/schnell', 'fal-ai/flux'],
      ['fal-ai/flux', 'fal-ai/flux'],
      ['workflows/acme/portrait', 'workflows/acme/portrait'],
    ] as const) {
      const submission = task({ settings: { ...SETTINGS, endpoint } });
      const reference = await submitted(provider, submission);
      expect(reference).to.equal(`${app}/requests/${fake.queue.at(-1)?.id}`);
      const another = falAt(fake.base);
      const last = (await reportsUntilOver(another, reference, submission)).at(-1);
      expect(last).to.have.property('state', 'succeeded');
      await another.close();
    }
  });

  it('are followed where the answer says only at the same server, for the same request', async () => {
    const id = (at: number) => `764cabcf-b745-4b3e-ae38-${String(at).padStart(12, '0')}`;
    const answers: readonly (readonly [(path: string) => string, string])[] = [
      [(path) => `${fake.base}/${path.replace('fal-ai/flux', 'fal-ai/fast-flux')}`, 'fal-ai/fast-flux'],
      [(path) => `${fake.base}/${path}/response`, 'fal-ai/flux'],
      [(path) => `https://elsewhere.example/${path}`, 'fal-ai/flux'],
      [(path) => `${fake.base.replace('127.0.0.1', 'localhost')}/${path}`, 'fal-ai/flux'],
      [() => `${fake.base}/fal-ai/flux/requests/another`, 'fal-ai/flux'],
      [() => `${fake.base}/admin/../..`, 'fal-ai/flux'],
      [() => 'not an address', 'fal-ai/flux'],
    ];
    for (const [index, [addressOf, app]] of answers.entries()) {
      fake.addressOf = addressOf;
      expect(await submitted(provider, task())).to.equal(`${app}/requests/${id(index)}`);
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
      fake.server.plan({
        type: 'status',
        status,
        headers: { 'content-type': 'application/json', 'retry-after': '9' },
        body: JSON.stringify({ detail: 'User is locked. https://10.0.0.1/leaked' }),
      });
      const answer = await submit({});
      if (answer.accepted) throw new Error('It was accepted.');
      const { because, failure } = answer;
      const found = { ...(because === undefined ? {} : { because }), code: failure.code };
      expect(found, String(status)).to.deep.equal(expected);
      expect(failure.retryAfterMs).to.equal(status === 429 ? 9_000 : undefined);
      expect(JSON.stringify(answer)).to.not.include('leaked').and.not.include('locked');
    }
    expect(fake.server.posts).to.equal(refusals.length);
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
      fake.server.plan(fault, { of: 'submit' });
      expect(await submit({}).catch((error: unknown) => error), fault.type).to.be.instanceOf(Error);
    }
    expect(fake.server.posts).to.equal(6);
  });
});

function file(role: ProviderReference['role'], bytes: Buffer): ProviderReference {
  return { role, mediaType: 'image/png', byteSize: bytes.byteLength, open: async () => inPieces(bytes) };
}
