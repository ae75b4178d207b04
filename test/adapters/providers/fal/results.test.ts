/*
 * Goal: what became of a request is told as it is: its results, or why it failed. A result that is there is not given up
 * for an error on the way, nothing that fal or a model wrote reaches a client, and results come from listed hosts only.
 * Method: requests of a server that answers as fal's documentation says, with each documented error.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import { requestFailure } from '../../../../adapters/providers/fal/request-failure.js';
import { TASK_ERRORS } from '../../../../core/generation/generation.js';
import { reportsUntilOver, submitted, WANTED } from '../../../contracts/provider.contract.js';
import { collected } from '../../../fixtures/byte-streams.js';
import { FalFake } from '../../../providers/fakes/fal-fake.js';
import { failureOf, vendorForEach } from '../opened-vendor.js';
import { falAt, SETTINGS, task } from './opened-fal.js';

const PICTURE = { kind: 'image', mediaType: 'image/png' } as const;
const COST = { computeMs: 3_700 };
const JSON_TYPE = { 'content-type': 'application/json' };

describe('results of fal', () => {
  const vendor = vendorForEach({ openFake: () => FalFake.open(), providerAt: falAt, task });

  it('are the files that the settings point to', async () => {
    expect(await vendor.reportOf({ ends: 'result', files: 3 })).to.deep.equal({
      state: 'succeeded',
      outputs: [PICTURE, PICTURE, PICTURE],
      cost: COST,
    });
    const video = { ...SETTINGS, output: { media_type: 'video/mp4', at: '/video/url' } };
    const result = { video: { url: 'https://v3b.fal.media/files/b/koala/clip.mp4', content_type: 'video/mp4' } };
    expect(await vendor.reportOf({ ends: 'result', result }, video)).to.deep.equal({
      state: 'succeeded',
      outputs: [{ kind: 'video', mediaType: 'video/mp4' }],
      cost: COST,
    });
  });

  it('may be data URLs, which are read as they come', async () => {
    const picture = Buffer.alloc(3 * 1024 * 1024, 'PNG');
    const url = `data:image/png;base64,${picture.toString('base64')}`;
    const images = [null, { url: `${vendor.fake.base}/files/b/a.png` }, { url: { url } }, { url }];
    const report = await vendor.reportOf({ ends: 'result', result: { images } });
    expect(report).to.deep.equal({ state: 'succeeded', outputs: [PICTURE, PICTURE, PICTURE], cost: COST });
    const reference = `fal-ai/flux/requests/${vendor.fake.queue[0]?.id}`;
    for (const index of [1, 2]) {
      const read = await collected(await vendor.provider.output(reference, index, SETTINGS, WANTED));
      expect(picture.equals(read), `output ${index}`).to.equal(true);
    }
  });

  it('are refused for a policy whose error repeats the input, of any size', async () => {
    const input = { prompt: 'x', image_urls: Array(8).fill(`data:image/png;base64,${'A'.repeat(4_000_000)}`) };
    const body = { detail: [{ loc: ['body', 'prompt'], msg: 'x', type: 'content_policy_violation', input }] };
    const report = await vendor.reportOf({ ends: 'error', status: 422, body });
    expect(report).to.have.nested.property('failure.code', 'CONTENT_REJECTED_INPUT');
    const inSuccess = await vendor.reportOf({ ends: 'result', result: body });
    expect(inSuccess).to.have.nested.property('failure.code', 'CONTENT_REJECTED_INPUT');
  });

  it('leave out what a filter has blackened', async () => {
    const images = ['a', 'b', 'c'].map((name) => ({ url: `${vendor.fake.base}/files/b/${name}.png` }));
    const report = await vendor.reportOf({
      ends: 'result',
      result: { images, has_nsfw_concepts: [true, false, true] },
    });
    expect(report).to.deep.equal({ state: 'succeeded', outputs: [PICTURE], cost: COST });
    const reference = `fal-ai/flux/requests/${vendor.fake.queue[0]?.id}`;
    for await (const piece of await vendor.provider.output(reference, 0, SETTINGS, WANTED)) void piece;
    expect(vendor.fake.server.requests.at(-1)?.path).to.equal('/files/b/b.png');
    const none = await vendor.reportOf({ ends: 'result', result: { images, has_nsfw_concepts: [true, true, true] } });
    expect(none).to.have.nested.property('failure.code', 'CONTENT_REJECTED_OUTPUT');
  });

  it('fail once where nothing can be fetched: no files, other hosts, addresses within the network', async () => {
    for (const urls of [
      [],
      ['a sentence'],
      ['data:image/gif;base64,AAAA'],
      ['data:image/png,AAAA'],
      ['https://elsewhere.example/0.png'],
      ['http://v3.fal.media/0.png'],
      ['https://evilfal.media/0.png'],
      ['https://169.254.169.254/latest/meta-data'],
      [`${vendor.fake.base}/files/x.gif`],
    ]) {
      const report = await vendor.reportOf({ ends: 'result', result: { images: urls.map((url) => ({ url })) } });
      expect(report, JSON.stringify(urls)).to.have.nested.property('failure.code', 'INTERNAL_ERROR');
      expect(report).to.have.nested.property('failure.mayRetry', false);
    }
  });

  it('fail for the reason that the error is named after', async () => {
    const model = (type: string) => ({ detail: [{ loc: ['body', 'prompt'], msg: 'leaked', type, input: 'leaked' }] });
    const platform = (type: string) => ({ detail: 'leaked', error_type: type });
    const reasons: readonly (readonly [number, object, string, boolean])[] = [
      [422, model('content_policy_violation'), 'CONTENT_REJECTED_INPUT', false],
      [422, model('image_too_small'), 'INPUT_INVALID', false],
      [422, model('value_error'), 'INPUT_INVALID', false],
      [422, model('no_media_generated'), 'PROVIDER_REJECTED', false],
      [400, model('downstream_service_error'), 'PROVIDER_REJECTED', false],
      [500, model('internal_server_error'), 'INTERNAL_ERROR', true],
      [504, model('generation_timeout'), 'PROVIDER_TIMEOUT', true],
      [500, model('downstream_service_unavailable'), 'PROVIDER_UNAVAILABLE', true],
      [504, platform('startup_timeout'), 'PROVIDER_UNAVAILABLE', true],
      [504, platform('request_timeout'), 'PROVIDER_TIMEOUT', true],
      [503, platform('runner_scheduling_failure'), 'PROVIDER_UNAVAILABLE', true],
      [503, platform('runner_disconnected'), 'INTERNAL_ERROR', true],
      [500, platform('runner_server_error'), 'INTERNAL_ERROR', true],
      [500, platform('something_new'), 'INTERNAL_ERROR', true],
      [400, platform('bad_request'), 'PROVIDER_REJECTED', false],
    ];
    for (const [status, body, code, mayRetry] of reasons) {
      const report = await vendor.reportOf({ ends: 'error', status, body });
      if (report?.state !== 'failed') throw new Error('It did not fail.');
      expect(report.failure, JSON.stringify(body)).to.include({ code, mayRetry });
      expect(report.cost).to.deep.equal(COST);
      expect(report.failure.message).to.not.include('leaked');
    }
  });

  it('are believed to fail for good where the answer says so', async () => {
    const body = { detail: [{ loc: ['body'], msg: 'x', type: 'internal_server_error' }] };
    const headers = { 'x-fal-retryable': 'false' };
    const report = await vendor.reportOf({ ends: 'error', status: 500, body, headers });
    expect(report).to.have.deep.nested.property('failure.mayRetry', false);
    const named = await vendor.reportOf({
      ends: 'error',
      status: 503,
      body: {},
      headers: { 'x-fal-error-type': 'runner_disconnected', 'x-fal-needs-retry': '1' },
    });
    expect(named).to.have.deep.nested.property('failure.mayRetry', true);
  });

  it('are not given up for an error that is not of the request', async () => {
    const submission = task();
    const reference = await submitted(vendor.provider, submission);
    await reportsUntilOver(vendor.provider, reference, submission);
    for (const [status, body] of [
      [401, '{"detail":"Authentication is required"}'],
      [429, '{"detail":"Too many requests"}'],
      [500, '{"detail":"Internal Server Error"}'],
      [404, '{"detail":"Not Found"}'],
      [302, '{}'],
      [202, '{"images":[]}'],
    ] as const) {
      vendor.fake.server.plan({ type: 'status', status, headers: JSON_TYPE, body }, { path: /requests\/[^/]+$/ });
      const thrown = await failureOf(vendor.provider.poll(reference, SETTINGS, WANTED));
      expect(thrown, String(status)).to.be.instanceOf(Error);
    }
    for (const status of [200, 404, 502]) {
      vendor.fake.server.plan({ type: 'html', status, isHandled: false }, { of: 'poll' });
      expect(await failureOf(vendor.provider.poll(reference, SETTINGS, WANTED)), String(status)).to.be.instanceOf(
        Error,
      );
    }
    vendor.fake.server.plan(
      { type: 'status', status: 200, headers: JSON_TYPE, body: '{"status":"LOST"}' },
      { of: 'poll' },
    );
    const lost = await vendor.provider.poll(reference, SETTINGS, WANTED);
    expect(lost).to.deep.equal({ state: 'running', unknownStatus: 'LOST' });
    expect(await vendor.provider.poll(reference, SETTINGS, WANTED)).to.have.property('state', 'succeeded');
  });

  it('tell clients nothing of an error, whatever it is', () => {
    const sentences = new Set<string>(Object.values(TASK_ERRORS).map(({ message }) => message));
    fc.assert(
      fc.property(fc.integer({ min: 400, max: 599 }), fc.string({ minLength: 4 }), (status, type) => {
        const { message } = requestFailure({ status, type });
        expect(sentences.has(message) || message.startsWith('The provider ')).to.equal(true);
        expect(message).to.not.include(type);
      }),
    );
  });

  it('are none for a reference that is no path of a request, and nothing is asked', async () => {
    for (const reference of ['no-such-task', 'fal-ai/flux/requests/../../admin', 'a/b/requests/c?x=1', 'a/b/requests/'])
      expect(await vendor.provider.poll(reference, SETTINGS, WANTED), reference).to.deep.equal({ state: 'unknown' });
    expect(vendor.fake.server.requests).to.have.length(0);
    expect(await vendor.provider.poll('fal-ai/flux/requests/gone', SETTINGS, WANTED)).to.deep.equal({
      state: 'unknown',
    });
  });

  it('are no longer made after a cancel in the queue, which is repeated until it arrives', async () => {
    const waiting = await submitted(vendor.provider, task({ prompt: 'queued' }));
    vendor.fake.server.plan({ type: 'status', status: 503 }, { of: 'cancel' });
    expect(await failureOf(vendor.provider.cancel(waiting, SETTINGS, WANTED))).to.be.instanceOf(Error);
    await vendor.provider.cancel(waiting, SETTINGS, WANTED);
    expect(await vendor.provider.poll(waiting, SETTINGS, WANTED)).to.deep.include({ state: 'cancelled', outputs: [] });
  });

  it('are fetched without the key', async () => {
    const submission = task();
    const reference = await submitted(vendor.provider, submission);
    await reportsUntilOver(vendor.provider, reference, submission);
    for await (const piece of await vendor.provider.output(reference, 0, SETTINGS, WANTED)) void piece;
    const fetched = vendor.fake.server.requests.filter(({ of }) => of.includes('output'));
    expect(fetched.map(({ headers }) => headers.authorization)).to.deep.equal([undefined]);
  });
});
