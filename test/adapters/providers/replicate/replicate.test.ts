import { expect } from 'chai';
import fc from 'fast-check';
import { HttpError } from '../../../../adapters/http/http-error.js';
import { predictionFailure } from '../../../../adapters/providers/replicate/prediction-failure.js';
import { replicateDriver } from '../../../../adapters/providers/replicate/replicate-driver.js';
import { optionsFault } from '../../../../apps/config/option-schema.js';
import { TASK_ERRORS } from '../../../../core/generation/generation.js';
import type { JsonObject } from '../../../../core/json.js';
import { hintsOf, type Submission } from '../../../../core/ports/provider.js';
import { reportsUntilOver, submitted, WANTED } from '../../../contracts/provider.contract.js';
import { breakingOff, collected } from '../../../fixtures/byte-streams.js';
import { IMAGE_PLACE } from '../../../fixtures/settings-place.js';
import { ReplicateFake } from '../../../providers/fakes/replicate-fake.js';
import { failureOf, referenceOf, vendorForEach } from '../vendor-subject.js';
import { replicateAt, SETTINGS, task } from './opened-replicate.js';

/*
 * Goal: provider_settings that cannot work are refused in one sentence when the catalog is read, and a connection check
 * reports what is wrong.
 * Method: settings with one mistake each; a real server, and addresses without one.
 */

const fault = (settings: JsonObject) => replicateDriver.settingsFault?.(settings, IMAGE_PLACE);
const text = { parameter: 'style', type: 'string', max_length: 100 } as const;

describe('settings of a model at Replicate', () => {
  it('are taken with a model, its version or a deployment', () => {
    const { model: _, ...others } = SETTINGS;
    expect(fault(SETTINGS)).to.equal(undefined);
    expect(fault({ ...SETTINGS, version: 'a1'.repeat(32) })).to.equal(undefined);
    expect(fault({ ...others, deployment: 'acme/studio' })).to.equal(undefined);
  });

  it('are refused in one sentence', () => {
    const { model: _, ...others } = SETTINGS;
    const wrong: readonly (readonly [JsonObject, RegExp])[] = [
      [others, /^Either model or deployment must be given\.$/],
      [{ ...SETTINGS, deployment: 'acme/studio' }, /^Either model or deployment must be given\.$/],
      [{ ...others, deployment: 'acme/studio', version: 'a1'.repeat(32) }, /^A deployment has its own version/],
      [
        { ...SETTINGS, model: 'flux' },
        /^model must be an owner and a name with a slash between them, such as [\w/-]+\.$/,
      ],
      [
        { ...SETTINGS, model: '../account' },
        /^model must be an owner and a name with a slash between them, such as [\w/-]+\.$/,
      ],
      [{ ...SETTINGS, version: 'latest' }, /^version must be the 64 digits of a version, of 0 to 9 and a to f\.$/],
      [{ ...SETTINGS, output: { media_type: 'image/gif' } }, /^"image\/gif" cannot be delivered/],
      [
        { ...SETTINGS, output: { media_type: 'image/png', at: 'images' } },
        /^output\.at must be a JSON Pointer, which begins with a slash, such as [\w/]+\.$/,
      ],
      [{ ...SETTINGS, webhook: 'https://elsewhere.example' }, /webhook/],
      [{ ...SETTINGS, fields: { prompt: { value: 'x' } } }, /^The field prompt of the input is given twice\.$/],
      [
        { ...SETTINGS, fields: { image_url: text } },
        /^fields\.image_url needs an enum, values or a value: users must not/,
      ],
      [
        { ...SETTINGS, fields: { lora_weights: text } },
        /^fields\.lora_weights needs an enum, values or a value: users must not/,
      ],
      [{ ...SETTINGS, prompt_field: 'url' }, /^prompt_field must not be url: users must not write/],
      [{ ...SETTINGS, fields: { style: { parameter: 'style' } } }, /^fields\.style needs values, or a type/],
    ];
    for (const [settings, sentence] of wrong) {
      expect(fault(settings), JSON.stringify(settings)).to.match(sentence);
      expect(fault(settings)).to.match(/^[^\n]+\.$/);
    }
  });
});

describe('the driver for Replicate', () => {
  it('has options that a driver may have', () => {
    expect(optionsFault(replicateDriver.options)).to.equal(undefined);
  });

  it('says of a try of the connection what is wrong, each in one sentence', async () => {
    const fake = await ReplicateFake.open();
    const unknown = { ...SETTINGS, model: 'acme/gone' };
    const version = { ...SETTINGS, model: 'acme/portrait', version: 'b2'.repeat(32) };
    const tries = [
      { base: fake.base, options: {}, settings: [SETTINGS, SETTINGS], faults: [] },
      {
        base: fake.base,
        options: {},
        settings: [unknown, version],
        faults: [
          'The model acme/gone does not exist, or this key may not use it.',
          'The version b2b2b2b2 of acme/portrait does not exist, or this key may not use it.',
        ],
      },
      {
        base: fake.base,
        options: { api_key: 'r8_wrong' },
        settings: [],
        faults: [`The key is refused at ${fake.base}; check api_key.`],
      },
      {
        base: `${fake.server.url}/other`,
        options: {},
        settings: [],
        faults: [`${fake.server.url}/other is not the API of Replicate (status 404); check base_url.`],
      },
      {
        base: 'http://127.0.0.1:1',
        options: {},
        settings: [],
        faults: ['Nothing answers at http://127.0.0.1:1 (ECONNREFUSED); check base_url, and whether the server runs.'],
      },
      {
        base: fake.base.replace('http:', 'https:'),
        options: {},
        settings: [],
        faults: [
          /^https:\/\/127\.0\.0\.1:\d+\/v1 does not speak TLS \(ERR_SSL_\w+\); check base_url, or write http:\/\/ there\.$/,
        ],
      },
    ];
    for (const { base, options, settings, faults } of tries) {
      const provider = replicateAt(base, options);
      const found = await provider.check(settings, WANTED);
      expect(found.faults).to.have.length(faults.length);
      for (const [index, sentence] of faults.entries()) {
        if (typeof sentence === 'string') expect(found.faults[index]).to.equal(sentence);
        else expect(found.faults[index]).to.match(sentence);
      }
      await provider.close();
    }
    expect(fake.server.posts).to.equal(0);
    await fake.close();
  });
});

/*
 * Goal: the state of a prediction is reported accurately: its outputs, the reason for its failure and its cost. No text
 * by Replicate or a model reaches a client, and results come from listed hosts only.
 * Method: predictions of a server that answers as Replicate's documentation says, and the errors that models are known to
 * end with.
 */

const PICTURE = { kind: 'image', mediaType: 'image/png' } as const;
const COST = { computeMs: 2_457 };

describe('predictions of Replicate', () => {
  const vendor = vendorForEach({ openFake: () => ReplicateFake.open(), providerAt: replicateAt, task });

  it('succeed with one file or a list of files, and the time they took', async () => {
    expect(await vendor.reportOf({ ends: 'succeeded', files: 3 })).to.deep.equal({
      state: 'succeeded',
      outputs: [PICTURE, PICTURE, PICTURE],
      cost: COST,
    });
    expect(
      await vendor.reportOf({ ends: 'succeeded', output: `${vendor.fake.server.url}/results/x/out.webp?v=1` }),
    ).to.deep.equal({
      state: 'succeeded',
      outputs: [{ kind: 'image', mediaType: 'image/webp' }],
      cost: COST,
    });
  });

  it('may have their files in them as data URLs, which are read as they come', async () => {
    const picture = Buffer.alloc(2 * 1024 * 1024, 'PNG');
    const url = `data:image/png;base64,${picture.toString('base64')}`;
    for (const [output, index] of [
      [url, 0],
      [[null, url, { url }], 1],
    ] as const) {
      const report = await vendor.reportOf({ ends: 'succeeded', output });
      expect(report).to.have.deep.property(
        'outputs',
        Array.from({ length: index + 1 }, () => PICTURE),
      );
      const reference = vendor.fake.predictions.at(-1)?.id ?? '';
      const read = await collected(await vendor.provider.output(reference, index, SETTINGS, WANTED));
      expect(picture.equals(read)).to.equal(true);
    }
  });

  it('are polled again after the time that a limit of the rate names in its text', async () => {
    const reference = await submitted(vendor.provider, task());
    const body = JSON.stringify({ detail: 'Request was throttled. Your rate limit resets in ~30s.', status: 429 });
    vendor.fake.server.plan({ type: 'status', status: 429, body }, { of: 'poll' });
    const error = await failureOf(vendor.provider.poll(reference, SETTINGS, WANTED));
    expect(hintsOf(error)).to.deep.equal({ retryAfterMs: 30_000 });
  });

  it('have their files where the settings say', async () => {
    const output = { media_type: 'video/mp4', at: '/clips/*/video' };
    const clip = { video: `${vendor.fake.server.url}/results/x/clip` };
    const report = await vendor.reportOf(
      { ends: 'succeeded', output: { clips: [clip, clip] } },
      { ...SETTINGS, output },
    );
    expect(report).to.have.property('outputs').that.has.length(2);
    expect(report).to.have.deep.nested.property('outputs[0]', { kind: 'video', mediaType: 'video/mp4' });
  });

  it('fail once where nothing can be fetched: no files, other hosts, addresses within the network', async () => {
    for (const output of [
      [],
      'a sentence',
      { image: `${vendor.fake.server.url}/results/x.png` },
      ['https://elsewhere.example/out-0.png'],
      ['http://replicate.delivery/out-0.png'],
      ['https://evilreplicate.delivery/out-0.png'],
      ['https://user:password@replicate.delivery/out-0.png'],
      ['https://169.254.169.254/latest/meta-data'],
      [`${vendor.fake.server.url}/results/x.gif`],
    ]) {
      const report = await vendor.reportOf({ ends: 'succeeded', output });
      expect(report, JSON.stringify(output)).to.have.nested.property('failure.code', 'INTERNAL_ERROR');
      expect(report).to.have.nested.property('failure.mayRetry', false);
    }
  });

  it('leave out files that cannot be fetched or delivered, and deliver the others', async () => {
    const at = (name: string) => `${vendor.fake.server.url}/results/a/${name}`;
    const output = ['https://elsewhere.example/0.png', at('0.json'), at('0.GIF'), at('1.png'), null, at('log.txt')];
    expect(await vendor.reportOf({ ends: 'succeeded', output })).to.have.deep.property('outputs', [PICTURE]);
    const { id } = vendor.fake.predictions[0]!;
    for await (const piece of await vendor.provider.output(id, 0, SETTINGS, WANTED)) void piece;
    expect(vendor.fake.server.requests.at(-1)?.path).to.equal('/results/a/1.png');
  });

  it('name files at the hosts of Replicate', async () => {
    const report = await vendor.reportOf({
      ends: 'succeeded',
      output: ['https://replicate.delivery/xezq/a/out-0.jpg'],
    });
    expect(report).to.have.deep.property('outputs', [{ kind: 'image', mediaType: 'image/jpeg' }]);
    const other = await vendor.reportOf({ ends: 'succeeded', output: ['https://pbxt.replicate.delivery/a/out-0.png'] });
    expect(other).to.have.deep.property('outputs', [PICTURE]);
  });

  it('are gone an hour after they have ended', async () => {
    const submission = task();
    const reference = await submitted(vendor.provider, submission);
    await reportsUntilOver(vendor.provider, reference, submission);
    vendor.fake.predictions[0]!.isRemoved = true;
    const report = await vendor.provider.poll(reference, SETTINGS, WANTED);
    expect(report).to.have.nested.property('failure.mayRetry', false);
  });

  it('end by the deadline as timed out before they began, and as cancelled after', async () => {
    const reference = await submitted(vendor.provider, task({ prompt: 'endless' }));
    vendor.fake.predictions[0]!.status = 'aborted';
    expect(await vendor.provider.poll(reference, SETTINGS, WANTED)).to.have.nested.property(
      'failure.code',
      'PROVIDER_TIMEOUT',
    );
    vendor.fake.predictions[0]!.status = 'canceled';
    expect(await vendor.provider.poll(reference, SETTINGS, WANTED)).to.deep.equal({
      state: 'cancelled',
      outputs: [],
      cost: COST,
    });
  });

  it('fail for the reason that their code or sentence has', async () => {
    const reasons: readonly (readonly [string, string, boolean])[] = [
      [
        'The input or output was flagged as sensitive. Please try again with different inputs. (E005)',
        'CONTENT_REJECTED_INPUT',
        false,
      ],
      ['NSFW content detected. Try running it again, or try a different prompt.', 'CONTENT_REJECTED_OUTPUT', false],
      ['Service is temporarily unavailable. Please try again later. (E004)', 'PROVIDER_UNAVAILABLE', true],
      ['Timeout starting prediction (E6716)', 'PROVIDER_UNAVAILABLE', true],
      ['Director: unexpected error handling prediction (E9243)', 'INTERNAL_ERROR', true],
      ['Prediction interrupted; please retry (code: PA)', 'INTERNAL_ERROR', true],
      ['Model ran out of memory (E1001)', 'INTERNAL_ERROR', false],
      ["'NoneType' object has no attribute 'shape'", 'INTERNAL_ERROR', false],
    ];
    for (const [error, code, mayRetry] of reasons) {
      const report = await vendor.reportOf({ ends: 'failed', error });
      if (report?.state !== 'failed') throw new Error('It did not fail.');
      expect(report.failure, error).to.include({ code, mayRetry });
      expect(report.cost).to.deep.equal(COST);
    }
  });

  it('tell clients nothing of an error, whatever it is', () => {
    const sentences = new Set<string>(Object.values(TASK_ERRORS).map(({ message }) => message));
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.jsonValue(), fc.constant('(E005)'), fc.constant('x (E9999)')), (error) => {
        const { message } = predictionFailure(error);
        expect(sentences.has(message) || message.startsWith('The provider ')).to.equal(true);
        if (typeof error === 'string' && error.length > 3) expect(message).to.not.include(error);
      }),
    );
  });

  it('are not mistaken for another, and not believed in any other form', async () => {
    const reference = await submitted(vendor.provider, task());
    const other = await submitted(vendor.provider, task());
    const { server } = vendor.fake;
    for (const body of [`{"id":"${other}","status":"succeeded"}`, '[]', `{"id":"${reference}","status":7}`]) {
      server.plan(
        { type: 'status', status: 200, headers: { 'content-type': 'application/json' }, body },
        { of: 'poll' },
      );
      expect(await failureOf(vendor.provider.poll(reference, SETTINGS, WANTED)), body).to.be.instanceOf(Error);
    }
    for (const status of [401, 404, 429, 500]) {
      server.plan({ type: 'html', status, isHandled: false }, { of: 'poll' });
      expect(await failureOf(vendor.provider.poll(reference, SETTINGS, WANTED)), String(status)).to.be.instanceOf(
        Error,
      );
    }
    expect(await vendor.provider.poll(reference, SETTINGS, WANTED)).to.have.property('state', 'running');
  });

  it('are asked to stop again when the answer is lost or an error, and not when they have ended', async () => {
    const reference = await submitted(vendor.provider, task({ prompt: 'endless' }));
    vendor.fake.server.plan({ type: 'status', status: 503 }, { of: 'cancel' });
    expect(await failureOf(vendor.provider.cancel(reference, SETTINGS, WANTED))).to.be.instanceOf(Error);
    vendor.fake.server.plan({ type: 'lose-answer' }, { of: 'cancel' });
    expect(await failureOf(vendor.provider.cancel(reference, SETTINGS, WANTED))).to.be.instanceOf(Error);
    vendor.fake.server.plan({ type: 'status', status: 422 }, { of: 'cancel' });
    await vendor.provider.cancel(reference, SETTINGS, WANTED);
  });

  it('have results that are not fetched within the network, though their host is listed', async () => {
    const { port } = vendor.fake.server;
    const listing = replicateAt(vendor.fake.base, { output_hosts: [`localhost:${port}`] });
    vendor.fake.ending = { ends: 'succeeded', output: [`https://localhost:${port}/results/x/out-0.png`] };
    const submission = task();
    const reference = await submitted(listing, submission);
    expect((await reportsUntilOver(listing, reference, submission)).at(-1)).to.have.property('state', 'succeeded');
    const error = await failureOf(listing.output(reference, 0, SETTINGS, WANTED));
    expect(error).to.be.instanceOf(HttpError).with.property('kind', 'refused-address');
    expect(vendor.fake.server.requests.filter(({ of }) => of.includes('output'))).to.have.length(0);
    await listing.close();
  });

  it('have results that are fetched without the key', async () => {
    const submission = task();
    const reference = await submitted(vendor.provider, submission);
    await reportsUntilOver(vendor.provider, reference, submission);
    for await (const piece of await vendor.provider.output(reference, 0, SETTINGS, WANTED)) void piece;
    const fetched = vendor.fake.server.requests.filter(({ of }) => of.includes('output'));
    expect(fetched.map(({ headers }) => headers.authorization)).to.deep.equal([undefined]);
  });
});

/*
 * Goal: a task becomes one request with what the model's settings name and nothing else, and no answer leads to a second
 * one.
 * Method: submissions to a server that answers as Replicate's documentation says, and what it received.
 */

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

  it('have an unknown outcome after any answer that is not a prediction', async () => {
    for (const trouble of [
      { type: 'status', status: 500, isHandled: true },
      { type: 'status', status: 201, isHandled: true, body: '{"id":"../x","status":"starting"}' },
      { type: 'html', status: 200 },
      { type: 'truncated' },
      { type: 'lose-answer' },
    ] as const) {
      vendor.fake.server.plan(trouble, { of: 'submit' });
      expect(await vendor.submit({}).catch((error: unknown) => error), trouble.type).to.be.instanceOf(Error);
    }
    expect(vendor.fake.server.posts).to.equal(5);
  });
});
