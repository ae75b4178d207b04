import { createFalClient, type FalClient } from '@fal-ai/client';
import { expect } from 'chai';
import fc from 'fast-check';
import { billedCost } from '../../../../adapters/providers/fal/billed-units.js';
import { falDriver } from '../../../../adapters/providers/fal/fal-driver.js';
import { requestFailure } from '../../../../adapters/providers/fal/request-failure.js';
import { TASK_ERRORS } from '../../../../core/generation/generation.js';
import type { JsonObject } from '../../../../core/json.js';
import type { Submission } from '../../../../core/ports/provider.js';
import { reportsUntilOver, submitted, WANTED } from '../../../contracts/provider.contract.js';
import { FalFake } from '../../../providers/fakes/fal-fake.js';
import { jsonFault } from '../../../providers/fakes/faults.js';
import {
  CAPABILITIES,
  expectChecked,
  expectRefused,
  failureOf,
  failuresOf,
  halfOf,
  proveContracts,
  QUEUED,
  referenceOf,
  refusalsOf,
  settingsFaultOf,
  vendorForEach,
  vendorSubject,
} from '../vendor-subject.js';
import { falAt, SETTINGS, task } from './opened-fal.js';

/*
 * Goal: the fake of fal answers as fal's own client expects it, so that tests with the fake do not depend on our own
 * idea of its format.
 * Method: the official client submits, follows, reads and cancels requests; its calls to fal's hosts are sent to the fake.
 */

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

/*
 * Goal: provider_settings that cannot work are refused in one sentence when the catalog is read, and a connection check
 * reports what is wrong.
 * Method: settings with one mistake each; a real server, and addresses without one.
 */

const fault = settingsFaultOf(falDriver);
const faultWith = (settings: JsonObject) => fault({ ...SETTINGS, ...settings });

describe('settings of a model at fal', () => {
  it('are taken with the id of a model, a workflow included', () => {
    for (const endpoint of ['fal-ai/kling-video/v2.5-turbo/pro/image-to-video', 'workflows/acme/portrait'])
      expect(faultWith({ endpoint })).to.equal(undefined);
    expect(fault(SETTINGS)).to.equal(undefined);
  });

  it('are refused in one sentence', () => {
    const at = '/images/*/url';
    const text = { parameter: 'style', type: 'string', max_length: 100 } as const;
    const noId = /^endpoint must be the id of a model without an address before it, such as [\w/-]+\.$/;
    const twice = (field: string) => `The field ${field} of the input is given twice.`;
    expectRefused(faultWith, [
      [{ endpoint: 'flux' }, noId],
      [{ endpoint: 'fal-ai/flux/../admin' }, noId],
      [{ endpoint: 'https://fal.run/fal-ai/flux' }, noId],
      [{ endpoint: 'fal-ai/flux/requests/1' }, /^endpoint must be the id of a model/],
      [{ endpoint: 'workflows/acme' }, 'endpoint must name an owner and a model.'],
      [{ output: { media_type: 'image/png' } }, /output\.at/],
      [{ output: { media_type: 'image/gif', at } }, /^"image\/gif" cannot be delivered/],
      [{ output: { media_type: 'video/mp4', at } }, /^"video\/mp4" cannot be delivered/],
      [{ fields: { output_format: { value: 'gif' } } }, /^"gif" cannot be delivered/],
      [{ fields: { sync_mode: { value: true } } }, /^fields must not have sync_mode/],
      [{ fields: { image_url: { value: 'x' } } }, twice('image_url')],
      [{ mask: { field: 'image_urls', form: 'white' } }, twice('image_urls')],
      [{ mask: { field: 'mask_url', form: 'white' }, fields: { mask_url: { value: 'x' } } }, twice('mask_url')],
      [
        { mask: { form: 'black' } },
        'mask.field must name the field that takes the mask whose black areas are made anew.',
      ],
      [{ mask: { field: 'mask_url' } }, 'mask.form is required.'],
      [{ mask: { field: 'mask_url', form: 'grey' } }, /^mask\.form must be one of/],
      [{ mask: { field: 'mask url', form: 'white' } }, /^mask\.field /],
      [
        { references: { start_frame: { field: 'image_url' } }, mask: { form: 'alpha' } },
        'mask belongs to a reference_image; references must name the field for it.',
      ],
      [{ fields: { lora_path: text } }, /^fields\.lora_path needs an enum, values or a value: users must not/],
      [{ negative_prompt_field: 'webhookUrl' }, /^negative_prompt_field must not be webhookUrl: users/],
      [{ webhook: 'https://elsewhere.example' }, /webhook/],
      [{ unit_cost: { currency: 'USD' } }, 'unit_cost.amount is required.'],
      ...['-1', '', '1e-3', '1.', '1000000', '0.0000000000001', '1,5', 1e-7, -1, 1e21].map(
        (amount): [JsonObject, string] => [
          { unit_cost: { amount, currency: 'USD' } },
          'unit_cost.amount must be a decimal below a million with up to 12 digits behind the point, such as "0.003".',
        ],
      ),
      [
        { unit_cost: { amount: '1', currency: 'usd' } },
        'unit_cost.currency must be three capital letters, such as USD.',
      ],
    ]);
  });
});

describe('the driver for fal', () => {
  it('refuses an invalid host, with the key of its option', () => {
    expect(() => falAt('https://queue.fal.run', { output_hosts: ['https://fal.media'] })).to.throw(
      /^providers\.fal\.output_hosts: https:\/\/fal\.media is no host/,
    );
  });

  it('says of a try of the connection what is wrong, each in one sentence, and makes nothing', async () => {
    const fake = await FalFake.open();
    const { base } = fake;
    const below = `${base}/other/place/below`;
    const models = [SETTINGS, SETTINGS];
    await expectChecked(fake, falAt, [
      [base, {}, models, []],
      [base, { api_key: 'id:wrong' }, models, [`The key is refused at ${base} for fal-ai/flux; check api_key.`]],
      [
        'http://127.0.0.1:1',
        {},
        models,
        ['Nothing answers at http://127.0.0.1:1 (ECONNREFUSED); check base_url, and whether the server runs.'],
      ],
      [below, {}, models, [`${below} is not the queue of fal (status 404); check base_url.`]],
    ]);
    await fake.close();
  });
});

/*
 * Goal: the outcome of a request is reported accurately: its results, or the reason for its failure. An available
 * result is not lost because of a transient error, no text by fal or a model reaches a client, and results come from
 * listed hosts only.
 * Method: requests of a server that answers as fal's documentation says, with each documented error.
 */

const PICTURE = { kind: 'image', mediaType: 'image/png' } as const;
/** The cost of a task that is billed as so many units. */
const costOf = (units: number) => ({ computeMs: 3_700, billedUnitMicros: units * 1_000_000 });
const COST = costOf(1);

describe('results of fal', () => {
  const vendor = vendorForEach({ openFake: () => FalFake.open(), providerAt: falAt, task });

  it('cost the units that fal bills, and the money that these cost the operator', async () => {
    const unitCost = { ...SETTINGS, unit_cost: { amount: '0.0000033', currency: 'USD' } };
    const costs: readonly (readonly [billed: string, unitMicros: number, moneyMicros: number])[] = [
      ['0', 0, 0],
      ['1', 1_000_000, 4],
      ['3.008', 3_008_000, 10],
      [' 2.50 ', 2_500_000, 9],
      ['0.26214400000000003', 262_144, 1],
      ['1.9999995', 2_000_000, 7],
      ['999999999.9999994', 999_999_999_999_999, 3_300_000_000],
    ];
    for (const [billed, billedUnitMicros, micros] of costs) {
      const plain = await vendor.reportOf({ ends: 'result', billed });
      expect(plain, billed).to.have.deep.property('cost', { computeMs: 3_700, billedUnitMicros });
      const priced = await vendor.reportOf({ ends: 'result', billed }, unitCost);
      const cost = { computeMs: 3_700, billedUnitMicros, money: { micros, currency: 'USD' } };
      expect(priced, billed).to.have.deep.property('cost', cost);
    }
    const dear = { ...SETTINGS, unit_cost: { amount: 999_999.5, currency: 'USD' } };
    const report = await vendor.reportOf({ ends: 'result', billed: '1000' }, dear);
    expect(report).to.have.deep.property('cost', costOf(1_000));
  });

  it('cost what fal says of a failed request as well', async () => {
    const headers = { 'x-fal-billable-units': '0.5' };
    const body = { detail: [{ loc: ['body'], msg: 'x', type: 'image_too_small' }] };
    const report = await vendor.reportOf({ ends: 'error', status: 422, body, headers });
    expect(report).to.have.deep.property('cost', costOf(0.5));
  });

  it('cost no units where the header has none that can be read', async () => {
    const unitCost = { ...SETTINGS, unit_cost: { amount: '1', currency: 'USD' } };
    for (const billed of [
      '',
      '-1',
      '+1',
      '1e3',
      '1e-5',
      'NaN',
      'Infinity',
      '0x10',
      '1,5',
      '1, 1',
      '.5',
      '1.',
      '1000000000',
    ])
      expect(await vendor.reportOf({ ends: 'result', billed }, unitCost), billed).to.deep.equal({
        state: 'succeeded',
        outputs: [PICTURE],
        cost: { computeMs: 3_700 },
      });
    const text = fc.oneof(fc.string({ unit: 'grapheme-ascii', maxLength: 60 }), fc.double().map(String));
    fc.assert(
      fc.property(text, (value) => {
        const { billedUnitMicros = 0, money } = billedCost(() => value, {
          amount: '123456.123456789012',
          currency: 'EUR',
        });
        for (const micros of [billedUnitMicros, money?.micros ?? 0])
          expect(Number.isSafeInteger(micros) && micros >= 0, value).to.equal(true);
      }),
    );
  });

  it('are the files that the settings point to', async () => {
    expect(await vendor.reportOf({ ends: 'result', files: 3 })).to.deep.equal({
      state: 'succeeded',
      outputs: [PICTURE, PICTURE, PICTURE],
      cost: costOf(3),
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
    for (const index of [1, 2])
      expect(picture.equals(await vendor.output(reference, index)), `output ${index}`).to.equal(true);
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
    const reportOf = (...has_nsfw_concepts: boolean[]) =>
      vendor.reportOf({ ends: 'result', result: { images, has_nsfw_concepts } });
    expect(await reportOf(true, false, true)).to.deep.equal({ state: 'succeeded', outputs: [PICTURE], cost: COST });
    await vendor.output(`fal-ai/flux/requests/${vendor.fake.queue[0]?.id}`);
    expect(vendor.server.requests.at(-1)?.path).to.equal('/files/b/b.png');
    const none = await reportOf(true, true, true);
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
      expect(report, JSON.stringify(body)).to.have.property('failure').that.includes({ code, mayRetry });
      expect(report).to.have.deep.property('cost', { computeMs: 3_700 });
      expect(JSON.stringify(report)).to.not.include('leaked');
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
    const { reference } = await vendor.ended();
    for (const [status, body] of [
      [401, { detail: 'Authentication is required' }],
      [429, { detail: 'Too many requests' }],
      [500, { detail: 'Internal Server Error' }],
      [404, { detail: 'Not Found' }],
      [302, {}],
      [202, { images: [] }],
    ] as const) {
      // The queue itself answers 404 for a request that it does not know.
      for (const path of status === 404 ? [/requests\/[^/]+$/] : [/requests\/[^/]+$/, /\/status$/]) {
        vendor.server.plan(jsonFault(status, body), { path });
        expect(await failureOf(vendor.poll(reference)), `${status} ${path.source}`).to.be.instanceOf(Error);
      }
    }
    vendor.server.plan(jsonFault(200, { status: 'LOST' }), { of: 'poll' });
    expect(await vendor.poll(reference)).to.deep.equal({ state: 'running', unknownStatus: 'LOST' });
    expect(await vendor.poll(reference)).to.have.property('state', 'succeeded');
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

  it('are empty for a reference that is not a path of a request, and no call is made', async () => {
    for (const reference of ['no-such-task', 'fal-ai/flux/requests/../../admin', 'a/b/requests/c?x=1', 'a/b/requests/'])
      expect(await vendor.poll(reference), reference).to.deep.equal({ state: 'unknown' });
    expect(vendor.server.requests).to.have.length(0);
    expect(await vendor.poll('fal-ai/flux/requests/gone')).to.deep.equal({ state: 'unknown' });
  });

  it('are no longer made after a cancel in the queue, which is repeated until it arrives', async () => {
    const waiting = await submitted(vendor.provider, task({ prompt: 'queued' }));
    vendor.server.plan({ type: 'status', status: 503 }, { of: 'cancel' });
    expect(await failureOf(vendor.provider.cancel(waiting, SETTINGS, WANTED))).to.be.instanceOf(Error);
    await vendor.provider.cancel(waiting, SETTINGS, WANTED);
    expect(await vendor.poll(waiting)).to.deep.include({ state: 'cancelled', outputs: [] });
  });

  it('are fetched without the key', async () => {
    await vendor.output((await vendor.ended()).reference);
    const fetched = vendor.server.requests.filter(({ of }) => of.includes('output'));
    expect(fetched.map(({ headers }) => headers.authorization)).to.deep.equal([undefined]);
  });
});

/*
 * Goal: a task becomes one request with what the model's settings name and nothing else, under a deadline and without
 * repetitions by fal, and it is found again by its reference alone.
 * Method: submissions to a server that answers as fal's documentation says, and what it received.
 */

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
    expect(vendor.server.posts).to.equal(1);
  });

  it('are treated by fal as the options say', async () => {
    const other = falAt(vendor.fake.base, { keeps_payloads: false, server_retries: true, result_expiry_seconds: 600 });
    await other.submit(task({ timeLeftMs: 1 }), WANTED);
    expect([vendor.provider, other].map((one) => one.capabilities(SETTINGS).keepsResultsMs)).to.deep.equal([
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
    for (const [wish, code] of wrong) expect(await vendor.refusedUnsent(wish)).to.equal(code);
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
    const id = (position: number) => `764cabcf-b745-4b3e-ae38-${String(position).padStart(12, '0')}`;
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

  it('have an unknown outcome after an answer that names no request', async () => {
    for (const body of [{ request_id: '../../x' }, { status: 'IN_QUEUE' }]) {
      vendor.server.plan({ ...jsonFault(200, body), isHandled: true }, { of: 'submit' });
      expect(await failureOf(vendor.submit())).to.be.instanceOf(Error);
    }
    expect(vendor.server.posts).to.equal(2);
  });
});

/*
 * Goal: the provider for fal keeps the contracts of providers, whatever its server answers.
 * Method: the shared contracts against a server that answers as fal's documentation says.
 */

const KEY = 'contractid:contractsecret';

proveContracts({
  name: 'fal',
  ...vendorSubject({
    openFake: () => FalFake.open(KEY),
    providerAt: falAt,
    tasksOf: (fake) => fake.queue.length,
    task,
    key: KEY,
    queued: QUEUED,
  }),
  supports: {
    capabilities: { ...CAPABILITIES, cancels: 'queued', keepsResultsMs: 3_600_000, maxMaskedReferences: 1 },
    cost: true,
    checksKey: true,
    readsErrors: true,
    followsRedirects: true,
  },
  refusals: refusalsOf([
    ['too many requests', 429, { detail: 'Reached concurrent requests limit' }, 'PROVIDER_UNAVAILABLE', 'capacity'],
    ['a wrong key', 401, { detail: 'Authentication is required to access it.' }, 'PROVIDER_REJECTED', 'not-here'],
    ['no credit', 403, { detail: 'User is locked. Exhausted balance.' }, 'PROVIDER_REJECTED', 'not-here'],
    ['an unknown model', 404, { detail: 'Application "gone" not found' }, 'MODEL_UNAVAILABLE', 'not-here'],
    [
      'an input that does not fit',
      422,
      { detail: [{ loc: ['body', 'prompt'], msg: 'field required by the model', type: 'missing' }] },
      'INPUT_INVALID',
    ],
    ['anything else', 400, { detail: 'The server did not like it' }, 'PROVIDER_REJECTED'],
  ]),
  failures: failuresOf(task, [['withheld', 'CONTENT_REJECTED_INPUT', 'the prompt is refused']]),
  partial: halfOf(task),
});
