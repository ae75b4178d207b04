import { expect } from 'chai';
import fc from 'fast-check';
import { HttpError } from '../../../../adapters/http/http-error.js';
import { predictionFailure } from '../../../../adapters/providers/replicate/prediction-failure.js';
import { replicateDriver } from '../../../../adapters/providers/replicate/replicate-driver.js';
import { TASK_ERRORS } from '../../../../core/generation/generation.js';
import { hintsOf, type Submission } from '../../../../core/ports/provider.js';
import { reportsUntilOver, submitted, WANTED } from '../../../contracts/provider.contract.js';
import { breakingOff } from '../../../fixtures/byte-streams.js';
import { jsonFault } from '../../../providers/fakes/faults.js';
import { ReplicateFake } from '../../../providers/fakes/replicate-fake.js';
import {
  expectChecked,
  expectRefused,
  failureOf,
  referenceOf,
  settingsFaultOf,
  vendorForEach,
} from '../vendor-subject.js';
import { replicateAt, SETTINGS, task } from './opened-replicate.js';

/*
 * Goal: provider_settings that cannot work are refused in one sentence when the catalog is read, and a connection check
 * reports what is wrong.
 * Method: settings with one mistake each; a real server, and addresses without one.
 */

const fault = settingsFaultOf(replicateDriver);
const { model: MODEL, ...OTHERS } = SETTINGS;
const VERSION = 'a1'.repeat(32);

describe('settings of a model at Replicate', () => {
  it('are taken with a model, its version or a deployment', () => {
    for (const place of [{ model: MODEL! }, { model: MODEL!, version: VERSION }, { deployment: 'acme/studio' }])
      expect(fault({ ...OTHERS, ...place })).to.equal(undefined);
  });

  it('are refused in one sentence', () => {
    const text = { parameter: 'style', type: 'string', max_length: 100 } as const;
    const noModel = /^model must be an owner and a name with a slash between them, such as [\w/-]+\.$/;
    expectRefused(fault, [
      [OTHERS, 'Either model or deployment must be given.'],
      [{ ...OTHERS, deployment: 'acme/studio', version: VERSION }, /^A deployment has its own version/],
    ]);
    expectRefused(
      (settings) => fault({ ...SETTINGS, ...settings }),
      [
        [{ deployment: 'acme/studio' }, 'Either model or deployment must be given.'],
        [{ model: 'flux' }, noModel],
        [{ model: '../account' }, noModel],
        [{ version: 'latest' }, 'version must be the 64 digits of a version, of 0 to 9 and a to f.'],
        [{ output: { media_type: 'image/gif' } }, /^"image\/gif" cannot be delivered/],
        [
          { output: { media_type: 'image/png', at: 'images' } },
          /^output\.at must be a JSON Pointer, which begins with a slash, such as [\w/]+\.$/,
        ],
        [{ webhook: 'https://elsewhere.example' }, /webhook/],
        [{ fields: { prompt: { value: 'x' } } }, 'The field prompt of the input is given twice.'],
        [{ fields: { image_url: text } }, /^fields\.image_url needs an enum, values or a value: users must not/],
        [{ fields: { lora_weights: text } }, /^fields\.lora_weights needs an enum, values or a value: users must not/],
        [{ prompt_field: 'url' }, /^prompt_field must not be url: users must not write/],
        [{ fields: { style: { parameter: 'style' } } }, /^fields\.style needs values, a size, or a type/],
      ],
    );
  });
});

describe('the driver for Replicate', () => {
  it('says of a try of the connection what is wrong, each in one sentence', async () => {
    const fake = await ReplicateFake.open();
    const { base, url } = fake;
    const unknown = { ...SETTINGS, model: 'acme/gone' };
    const version = { ...SETTINGS, model: 'acme/portrait', version: 'b2'.repeat(32) };
    const nobody = 'http://127.0.0.1:1';
    await expectChecked(fake, replicateAt, [
      [base, {}, [SETTINGS, SETTINGS], []],
      [
        base,
        {},
        [unknown, version],
        [
          'The model acme/gone does not exist, or this key may not use it.',
          'The version b2b2b2b2 of acme/portrait does not exist, or this key may not use it.',
        ],
      ],
      [base, { api_key: 'r8_wrong' }, [], [`The key is refused at ${base}; check api_key.`]],
      [`${url}/other`, {}, [], [`${url}/other is not the API of Replicate (status 404); check base_url.`]],
      [nobody, {}, [], [`Nothing answers at ${nobody} (ECONNREFUSED); check base_url, and whether the server runs.`]],
      [
        base.replace('http:', 'https:'),
        {},
        [],
        [
          /^https:\/\/127\.0\.0\.1:\d+\/v1 does not speak TLS \(ERR_SSL_\w+\); check base_url, or write http:\/\/ there\.$/,
        ],
      ],
    ]);
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
      await vendor.reportOf({ ends: 'succeeded', output: `${vendor.server.url}/results/x/out.webp?v=1` }),
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
      const read = await vendor.output(vendor.fake.predictions.at(-1)?.id ?? '', index);
      expect(picture.equals(read)).to.equal(true);
    }
  });

  it('are polled again after the time that a limit of the rate names in its text', async () => {
    const reference = await submitted(vendor.provider, task());
    const detail = 'Request was throttled. Your rate limit resets in ~30s.';
    vendor.server.plan(jsonFault(429, { detail }), { of: 'poll' });
    expect(hintsOf(await failureOf(vendor.poll(reference)))).to.deep.equal({ retryAfterMs: 30_000 });
  });

  it('have their files where the settings say', async () => {
    const output = { media_type: 'video/mp4', at: '/clips/*/video' };
    const clip = { video: `${vendor.server.url}/results/x/clip` };
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
      { image: `${vendor.server.url}/results/x.png` },
      ['https://elsewhere.example/out-0.png'],
      ['http://replicate.delivery/out-0.png'],
      ['https://evilreplicate.delivery/out-0.png'],
      ['https://user:password@replicate.delivery/out-0.png'],
      ['https://169.254.169.254/latest/meta-data'],
      [`${vendor.server.url}/results/x.gif`],
    ]) {
      const report = await vendor.reportOf({ ends: 'succeeded', output });
      expect(report, JSON.stringify(output)).to.have.nested.property('failure.code', 'INTERNAL_ERROR');
      expect(report).to.have.nested.property('failure.mayRetry', false);
    }
  });

  it('leave out files that cannot be fetched or delivered, and deliver the others', async () => {
    const at = (name: string) => `${vendor.server.url}/results/a/${name}`;
    const output = ['https://elsewhere.example/0.png', at('0.json'), at('0.GIF'), at('1.png'), null, at('log.txt')];
    expect(await vendor.reportOf({ ends: 'succeeded', output })).to.have.deep.property('outputs', [PICTURE]);
    await vendor.output(vendor.fake.predictions[0]!.id);
    expect(vendor.server.requests.at(-1)?.path).to.equal('/results/a/1.png');
  });

  it('name files at the hosts of Replicate', async () => {
    for (const [file, mediaType] of [
      ['https://replicate.delivery/xezq/a/out-0.jpg', 'image/jpeg'],
      ['https://pbxt.replicate.delivery/a/out-0.png', 'image/png'],
    ] as const) {
      const report = await vendor.reportOf({ ends: 'succeeded', output: [file] });
      expect(report).to.have.deep.property('outputs', [{ kind: 'image', mediaType }]);
    }
  });

  it('are gone an hour after they have ended', async () => {
    const { reference } = await vendor.ended();
    vendor.fake.predictions[0]!.isRemoved = true;
    expect(await vendor.poll(reference)).to.have.nested.property('failure.mayRetry', false);
  });

  it('end by the deadline as timed out before they began, and as cancelled after', async () => {
    const reference = await submitted(vendor.provider, task({ prompt: 'endless' }));
    vendor.fake.predictions[0]!.status = 'aborted';
    expect(await vendor.poll(reference)).to.have.nested.property('failure.code', 'PROVIDER_TIMEOUT');
    vendor.fake.predictions[0]!.status = 'canceled';
    expect(await vendor.poll(reference)).to.deep.equal({ state: 'cancelled', outputs: [], cost: COST });
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
      expect(report, error).to.have.property('failure').that.includes({ code, mayRetry });
      expect(report).to.have.deep.property('cost', COST);
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
    for (const body of [{ id: other, status: 'succeeded' }, [], { id: reference, status: 7 }]) {
      vendor.server.plan(jsonFault(200, body), { of: 'poll' });
      expect(await failureOf(vendor.poll(reference)), JSON.stringify(body)).to.be.instanceOf(Error);
    }
    expect(await vendor.poll(reference)).to.have.property('state', 'running');
  });

  it('are asked to stop again when the answer is lost or an error, and not when they have ended', async () => {
    const reference = await submitted(vendor.provider, task({ prompt: 'endless' }));
    for (const trouble of [{ type: 'status', status: 503 }, { type: 'lose-answer' }] as const) {
      vendor.server.plan(trouble, { of: 'cancel' });
      expect(await failureOf(vendor.provider.cancel(reference, SETTINGS, WANTED))).to.be.instanceOf(Error);
    }
    vendor.server.plan({ type: 'status', status: 422 }, { of: 'cancel' });
    await vendor.provider.cancel(reference, SETTINGS, WANTED);
  });

  it('have results that are not fetched within the network, though their host is listed', async () => {
    const { port } = vendor.server;
    const listing = replicateAt(vendor.fake.base, { output_hosts: [`localhost:${port}`] });
    vendor.fake.ending = { ends: 'succeeded', output: [`https://localhost:${port}/results/x/out-0.png`] };
    const submission = task();
    const reference = await submitted(listing, submission);
    expect((await reportsUntilOver(listing, reference, submission)).at(-1)).to.have.property('state', 'succeeded');
    const error = await failureOf(listing.output(reference, 0, SETTINGS, WANTED));
    expect(error).to.be.instanceOf(HttpError).with.property('kind', 'refused-address');
    expect(vendor.server.requests.filter(({ of }) => of.includes('output'))).to.have.length(0);
    await listing.close();
  });

  it('have results that are fetched without the key', async () => {
    await vendor.output((await vendor.ended()).reference);
    const fetched = vendor.server.requests.filter(({ of }) => of.includes('output'));
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
    expect(vendor.server.posts).to.equal(1);
  });

  it('ask for no shorter and no longer deadline than Replicate takes', async () => {
    await vendor.submit({ timeLeftMs: 1 });
    await vendor.submit({ timeLeftMs: 10 ** 10 });
    expect(vendor.fake.predictions.map(({ cancelAfter }) => cancelAfter)).to.deep.equal(['5s', '86400s']);
  });

  it('go to the model, its version or the deployment that the settings name', async () => {
    for (const place of [
      { model: MODEL! },
      { model: 'acme/portrait', version: VERSION },
      { deployment: 'acme/studio' },
    ])
      expect(await vendor.submit({ settings: { ...OTHERS, ...place } })).to.have.property('accepted', true);
    expect(vendor.server.requests.map(({ path }) => path)).to.deep.equal([
      '/v1/models/black-forest-labs/flux-schnell/predictions',
      '/v1/predictions',
      '/v1/deployments/acme/studio/predictions',
    ]);
    expect(vendor.fake.predictions.map(({ model }) => model)).to.deep.equal([
      MODEL,
      `version ${VERSION}`,
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
    const first = await vendor.submit({ references: [referenceOf(Buffer.from('small'), 'start_frame')] });
    expect(first).to.have.property('accepted', true);
    expect(vendor.fake.predictions[1]?.input['image']).to.equal('data:image/png;base64,c21hbGw=');
  });

  it('are not made when a file cannot be uploaded', async () => {
    const references = [referenceOf(Buffer.alloc(300_000), 'start_frame')];
    vendor.server.plan({ type: 'lose-answer' }, { of: 'upload' });
    vendor.server.plan({ type: 'status', status: 500 }, { of: 'upload' });
    for (let round = 0; round < 2; round += 1)
      expect(await vendor.submit({ references })).to.include({ accepted: false, because: 'capacity' });
    vendor.server.plan({ type: 'status', status: 401 }, { of: 'upload' });
    expect(await vendor.submit({ references })).to.include({ accepted: false, because: 'not-here' });
    expect(vendor.server.posts).to.equal(0);
  });

  it('are not made when a file that would be uploaded cannot be read, for which Replicate is not to blame', async () => {
    const whole = referenceOf(Buffer.alloc(300_000));
    const cut = { ...whole, open: async () => breakingOff(Buffer.alloc(100_000)) };
    expect(await vendor.submit({ references: [whole, cut] })).to.deep.equal({
      accepted: false,
      failure: { code: 'PROVIDER_UNAVAILABLE', message: 'A reference file could not be fetched.', mayRetry: true },
    });
    expect(vendor.server.posts).to.equal(0);
  });

  it('are not made for what the settings do not allow', async () => {
    const wrong: readonly (readonly [Partial<Submission>, string])[] = [
      [{ parameters: { n: 5 } }, 'INPUT_INVALID'],
      [{ parameters: { n: '1' } }, 'INPUT_INVALID'],
      [{ references: [referenceOf(Buffer.from('x'), 'end_frame')] }, 'MODEL_UNAVAILABLE'],
      [{ settings: {} }, 'MODEL_UNAVAILABLE'],
    ];
    for (const [wish, code] of wrong) expect(await vendor.refusedUnsent(wish)).to.equal(code);
  });

  it('are refused for lack of capacity with the wait of the header before that of the body, if there is one', async () => {
    for (const [headers, detail, retryAfterMs] of [
      [{ 'retry-after': '7' }, 'Request was throttled. Your rate limit resets in ~30s.', 7_000],
      [{}, 'Too many requests.', undefined],
    ] as const) {
      vendor.server.plan(jsonFault(429, { detail, status: 429 }, headers));
      const answer = await vendor.submit();
      expect(answer).to.include({ accepted: false, because: 'capacity' });
      expect('failure' in answer ? answer.failure.retryAfterMs : -1).to.equal(retryAfterMs);
    }
  });

  it('have an unknown outcome after an answer whose id is none', async () => {
    vendor.server.plan({ ...jsonFault(201, { id: '../x', status: 'starting' }), isHandled: true }, { of: 'submit' });
    expect(await failureOf(vendor.submit())).to.be.instanceOf(Error);
    expect(vendor.server.posts).to.equal(1);
  });
});
