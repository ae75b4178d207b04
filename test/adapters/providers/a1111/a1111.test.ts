import { expect } from 'chai';
import fc from 'fast-check';
import { gzipSync } from 'node:zlib';
import { a1111Driver } from '../../../../adapters/providers/a1111/a1111-driver.js';
import type { A1111Provider } from '../../../../adapters/providers/a1111/a1111-provider.js';
import { optionsFault } from '../../../../apps/config/option-schema.js';
import type { Json, JsonObject } from '../../../../core/json.js';
import type { ProviderCapabilities, Submission } from '../../../../core/ports/provider.js';
import { type OpenedProvider, providerContract, WANTED } from '../../../contracts/provider.contract.js';
import {
  type OpenedRemoteProvider,
  type RefusalCase,
  remoteProviderContract,
} from '../../../contracts/remote-provider.contract.js';
import { breakingOff, collected } from '../../../fixtures/byte-streams.js';
import { image } from '../../../fixtures/images.js';
import { IMAGE_PLACE } from '../../../fixtures/settings-place.js';
import { A1111Fake, type A1111Vendor } from '../../../providers/fakes/a1111-fake.js';
import { type FakeAnswer, FakeServer } from '../../../providers/fakes/fake-server.js';
import { closeAnswers, outputsOf, recordingLog, referenceOf } from '../vendor-subject.js';
import { a1111At, SETTINGS, task } from './opened-a1111.js';

/*
 * Goal: settings that a server would ignore, or that would let users set fields reserved for the operator, are refused
 * in one sentence when the catalog is read, and a connection check reports what the server lacks.
 * Method: settings with one mistake each; the lists of a fake of each kind of server.
 */

const fault = (settings: JsonObject) => a1111Driver.settingsFault?.(settings, IMAGE_PLACE);

describe('settings of a model of Stable Diffusion web UI', () => {
  it('are those of the tests, and may be none', () => {
    expect(fault(SETTINGS)).to.equal(undefined);
    expect(fault({})).to.equal(undefined);
    expect(optionsFault(a1111Driver.options)).to.equal(undefined);
  });

  const wrong: readonly (readonly [JsonObject, string])[] = [
    [{ alwayson_scripts: {} }, 'unknown field "alwayson_scripts".'],
    [{ references: 'mask' }, 'references must be one of init_images.'],
    [
      { override_settings: { samples_format: 'webp' } },
      'override_settings.samples_format has no effect on an answer; set the format in the options of the server.',
    ],
    [
      { fields: { steps: { parameter: 'steps', type: 'integer', minimum: 1, maximum: 500 } } },
      'fields.steps must not allow 500: it is a number of type integer from 1 to 150.',
    ],
    [
      { fields: { size: { parameter: 'size', values: { wide: '1024x500' } } } },
      'fields.size must not allow "1024x500": a size is WIDTHxHEIGHT, two multiples of 8 from 64 to 4096.',
    ],
    [
      { fields: { sampler_name: { parameter: 'sampler', type: 'string', max_length: 20 } } },
      'fields.sampler_name needs an enum.',
    ],
    [{ fields: { tiling: { value: 1 } } }, 'fields.tiling must not allow 1: it is of type boolean.'],
  ];
  for (const [settings, sentence] of wrong) {
    it(`are refused with ${JSON.stringify(settings)}`, () => {
      expect(fault(settings)).to.equal(sentence);
    });
  }

  it('set no field of scripts, files, options or the number of pictures', () => {
    const others = [
      'script_name',
      'alwayson_scripts',
      'override_settings',
      'infotext',
      'styles',
      'init_images',
      'mask',
    ];
    for (const name of [
      ...others,
      'prompt',
      'n_iter',
      'batch_size',
      'save_images',
      'force_task_id',
      'refiner_checkpoint',
    ])
      expect(fault({ fields: { [name]: { value: 'x' } } }), name).to.match(
        /^fields\.\w+ is no field that settings can set/,
      );
  });

  it('are none for videos', () => {
    expect(a1111Driver.settingsFault?.({}, { ...IMAGE_PLACE, modality: 'video' })).to.equal(
      'The web UI of Stable Diffusion makes pictures only.',
    );
  });
});

describe('a try of the connection to Stable Diffusion web UI', () => {
  const opened: { close(): Promise<unknown> }[] = [];
  afterEach(() => Promise.all(opened.splice(0).map((one) => one.close())));

  async function faultsAt(vendor: A1111Vendor, settings: readonly JsonObject[], samplesFormat = 'png') {
    const fake = await A1111Fake.open(vendor);
    const provider = a1111At(fake.url);
    opened.push(provider, fake);
    fake.samplesFormat = samplesFormat;
    const { about, faults } = await provider.check(settings, WANTED);
    expect(about).to.equal('Stable Diffusion web UI, checkpoints: 1');
    expect(fake.server.posts).to.equal(0);
    return faults;
  }
  const checkpoint = (name: string): JsonObject => ({ override_settings: { sd_model_checkpoint: name } });
  const sampler = (...names: string[]): JsonObject => ({
    fields: { sampler_name: { parameter: 'sampler', type: 'string', enum: names } },
  });

  it('finds a checkpoint by each of its names', async () => {
    const names = [
      'v1-5-pruned-emaonly.safetensors [6ce0161689]',
      'v1-5-pruned-emaonly.safetensors',
      'v1-5-pruned-emaonly',
      '6ce0161689',
      '6ce0161689b3853acaa03779ec93eafe75a02f4ced659bee03f50797806fa2fa',
    ];
    expect(await faultsAt('a1111', names.map(checkpoint))).to.deep.equal([]);
  });

  it('reports a missing checkpoint, as the server would use another one', async () => {
    expect(await faultsAt('a1111', [checkpoint('v1-5'), checkpoint('v1-5'), {}])).to.deep.equal([
      'The server has no checkpoint v1-5; it would use the one that it has loaded.',
    ]);
  });

  it('says which samplers and schedulers are missing, where the server lists them', async () => {
    const known = sampler('Euler a', 'k_dpmpp_2m');
    const both = sampler('DPM++ 2M Karras', 'DDIM');
    const schedule: JsonObject = {
      fields: { scheduler: { parameter: 's', values: { a: 'Karras', b: 'sgm_uniform' } } },
    };
    expect(await faultsAt('a1111', [known, both, schedule])).to.deep.equal([
      'The server has no sampler DDIM.',
      'The server has no scheduler sgm_uniform.',
    ]);
    expect(await faultsAt('sdnext', [known, schedule])).to.deep.equal([]);
  });

  it('reports a format that cannot be delivered, and wrong settings', async () => {
    expect(await faultsAt('forge', [{ other: 1 }], 'tiff')).to.deep.equal([
      'The option samples_format of the server: "tiff" cannot be delivered: an image is delivered as PNG, JPEG or WebP.',
      'unknown field "other".',
    ]);
  });
});

/*
 * Goal: pictures are taken from the answers of each kind of server, as many as were paid for and with their true media
 * type; answers that prove the end of a task are distinguished from those that leave it open.
 * Method: fakes of the servers, and answers written by hand where a server would have to misbehave.
 */

describe('answers of Stable Diffusion web UI', () => {
  const opened: { close(): Promise<unknown> }[] = [];
  afterEach(() => Promise.all(opened.splice(0).map((one) => one.close())));
  afterEach(closeAnswers);

  async function openVendor(vendor: A1111Vendor = 'a1111'): Promise<{ fake: A1111Fake; provider: A1111Provider }> {
    const fake = await A1111Fake.open(vendor);
    const provider = a1111At(fake.url);
    opened.push(provider, fake);
    return { fake, provider };
  }
  /** A server that answers each submission so. */
  async function answering(answer: FakeAnswer): Promise<A1111Provider> {
    const server = await FakeServer.open([{ method: 'POST', path: '/sdapi/v1/txt2img', handle: () => answer }]);
    const provider = a1111At(server.url);
    opened.push(provider, server);
    return provider;
  }
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const isOpen = (work: Promise<unknown>) =>
    work.then(
      () => false,
      (error: unknown) => error instanceof Error,
    );

  it('have pictures in the format that the options of the server choose', async () => {
    const { fake, provider } = await openVendor();
    for (const [format, mediaType] of [
      ['png', 'image/png'],
      ['jpg', 'image/jpeg'],
      ['webp', 'image/webp'],
      // It cannot be delivered, and core finds that it is not a PNG.
      ['tiff', 'image/png'],
    ] as const) {
      fake.samplesFormat = format;
      const [output] = await outputsOf(provider.submit(task(), WANTED));
      expect(output?.mediaType, format).to.equal(mediaType);
      expect((await collected(output!.bytes)).byteLength).to.be.greaterThan(START_BYTES);
    }
  });

  it('have no more pictures than were paid for, in their order, and none that is empty', async () => {
    const { provider } = await openVendor('forge');
    expect(await outputsOf(provider.submit(task({ prompt: 'more', outputCount: 2 }), WANTED))).to.have.length(2);
    const images = [base64('the first picture'), '', base64('the second picture'), base64('another one')];
    const own = await answering({ json: { images, parameters: {}, info: '{}' } });
    const texts = [];
    for (const { bytes } of await outputsOf(own.submit(task({ outputCount: 2 }), WANTED)))
      texts.push(Buffer.from(await collected(bytes)).toString());
    expect(texts).to.deep.equal(['the first picture', 'the second picture']);
  });

  it('are read where they are compressed, also when all pictures are of one colour', async () => {
    const text = JSON.stringify({ images: [base64('\0'.repeat(3_000_000))], parameters: {}, info: '{}' });
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    const provider = await answering({ headers, body: gzipSync(text) });
    const [output] = await outputsOf(provider.submit(task(), WANTED));
    expect((await collected(output!.bytes)).byteLength).to.equal(3_000_000);
  });

  const invalid: Record<string, FakeAnswer> = {
    'no list': { json: { info: '{}' } },
    'none of its pictures sent': { json: { images: null, parameters: {}, info: '{}' } },
    'a picture that is none': { json: { images: [{ url: '/x' }], parameters: {}, info: '{}' } },
    'invalid base64': { json: { images: ['*'], parameters: {}, info: '{}' } },
    'numbers that have no end': { json: { images: [], info: Array(1024 * 1024).fill(1) } },
  };
  for (const [what, answer] of Object.entries(invalid)) {
    it(`of unknown outcome are those with ${what}`, async () => {
      expect(await isOpen((await answering(answer)).submit(task(), WANTED))).to.equal(true);
    });
  }

  it('that report an exception end the task', async () => {
    for (const vendor of ['a1111', 'forge', 'sdnext'] as const) {
      const answer = await (await openVendor(vendor)).provider.submit(task({ prompt: 'nan' }), WANTED);
      expect(answer).to.deep.equal({
        accepted: false,
        failure: { code: 'INTERNAL_ERROR', message: 'The provider had an internal error.', mayRetry: true },
      });
    }
  });

  it('of 5xx that may be those of a proxy leave the task open', async () => {
    const bodies = [
      {},
      'text',
      { detail: 'Upstream timeout' },
      { error: 'x', message: 'y' },
      { error: { message: 'x' }, detail: '', body: '' },
    ];
    for (const json of bodies)
      expect(await isOpen((await answering({ status: 500, json })).submit(task(), WANTED))).to.equal(true);
    const report = { error: 'OutOfMemoryError', detail: '', body: '', errors: 'CUDA out of memory.' };
    for (const status of [502, 503, 504])
      expect(await isOpen((await answering({ status, json: report })).submit(task(), WANTED))).to.equal(true);
  });

  it('are never interrupted: that would stop the task of somebody else', async () => {
    const { fake, provider } = await openVendor();
    const planned = fake.server.plan({ type: 'hang' }, { of: 'submit' });
    const abort = new AbortController();
    const work = isOpen(provider.submit(task(), abort));
    await planned.met;
    abort.abort();
    expect(await work).to.equal(true);
    await planned.left;
    await provider.cancel();
    await fake.server.settled();
    expect(fake.server.requests.map(({ path }) => path)).to.deep.equal(['/sdapi/v1/txt2img']);
  });
});

/** More than the start of a file. */
const START_BYTES = 12;

/*
 * Goal: servers, which would take options, scripts and files from a request, are sent what the settings allow and
 * nothing else; an impossible task is refused before it is sent.
 * Method: the bodies of requests as a fake receives them; fast-check for parameters and prompts of any kind.
 */

/** The fields of every request, whatever the task is. */
const ALWAYS = [
  'prompt',
  'negative_prompt',
  'batch_size',
  'n_iter',
  'send_images',
  'save_images',
  'do_not_save_samples',
  'do_not_save_grid',
  'override_settings',
  'force_task_id',
  'cfg_scale',
];

const PARAMETERS = ['size', 'seed', 'steps', 'sampler'];

describe('requests to Stable Diffusion web UI', () => {
  let fake: A1111Fake;
  let provider: A1111Provider;
  beforeEach(async () => {
    fake = await A1111Fake.open();
    provider = a1111At(fake.url);
  });
  afterEach(async () => {
    await provider.close();
    await fake.close();
  });

  /** The outputs are not read, so the abort frees them. */
  const submit = async (wish: Partial<Submission>) => {
    const abort = new AbortController();
    return provider.submit(task(wish), abort).finally(() => abort.abort());
  };
  const sent = async (wish: Partial<Submission> = {}): Promise<Readonly<Record<string, unknown>>> => {
    expect(await submit(wish)).to.have.property('accepted', true);
    return fake.taken.at(-1)?.fields ?? {};
  };
  const refused = async (wish: Partial<Submission>) => {
    const answer = await submit(wish);
    if (answer.accepted) throw new Error('It was accepted.');
    expect(fake.server.requests, 'requests').to.have.length(0);
    return answer.failure;
  };

  it('have the fields of the settings, the prompts, as many pictures as were paid for, and an id of ours', async () => {
    const parameters = { size: '512x768', seed: 7, steps: 30, sampler: 'dpm', width: 4_096, n: 9, other: 'x' };
    expect(await sent({ parameters, negativePrompt: 'fog', outputCount: 3 })).to.deep.equal({
      prompt: 'a lighthouse',
      negative_prompt: 'fog',
      width: 512,
      height: 768,
      seed: 7,
      steps: 30,
      sampler_name: 'DPM++ 2M',
      cfg_scale: 7,
      batch_size: 1,
      n_iter: 3,
      send_images: true,
      save_images: false,
      do_not_save_samples: true,
      do_not_save_grid: true,
      override_settings: { sd_model_checkpoint: 'v1-5-pruned-emaonly' },
      force_task_id: 'darkroom-7b7d9d2c-40be-4d28-b0f8-0f6c2c8a5a10',
    });
    expect(fake.taken[0]?.route).to.equal('txt2img');
  });

  it('have no id where the settings say so, and the options that the operator gives', async () => {
    const overrides = { CLIP_stop_at_last_layers: 2, forge_additional_modules: ['ae.safetensors'] };
    const fields = await sent({ settings: { force_task_id: false, override_settings: overrides } });
    expect(fields).to.not.have.property('force_task_id');
    expect(fields['override_settings']).to.deep.equal(overrides);
  });

  it('go to img2img with a reference as base64, whatever pieces it comes in', async () => {
    const picture = await image('png');
    const { init_images: images } = await sent({ references: [referenceOf(picture)] });
    expect(images).to.deep.equal([Buffer.from(picture).toString('base64')]);
    expect(fake.taken[0]?.route).to.equal('img2img');
  });

  it('are refused for a reference that is not a picture, or cannot be read completely', async () => {
    expect(await submit({ references: [referenceOf(Buffer.from('no picture'))] })).to.have.nested.property(
      'failure.code',
      'INPUT_INVALID',
    );
    const picture = await image('png');
    const cut = { ...referenceOf(picture), open: async () => breakingOff(picture.subarray(0, 30)) };
    expect(await submit({ references: [cut] })).to.deep.equal({
      accepted: false,
      failure: { code: 'PROVIDER_UNAVAILABLE', message: 'A reference file could not be fetched.', mayRetry: true },
    });
    expect(fake.taken).to.have.length(0);
  });

  it('are not made with references that the model does not take', async () => {
    const picture = referenceOf(await image('png'));
    const { message } = await refused({ references: [picture, picture] });
    expect(message).to.equal('This model takes one reference file.');
    const settings = { fields: {} };
    expect((await refused({ settings, references: [picture] })).message).to.equal(
      'This model takes no reference files.',
    );
  });

  it('are not made for videos, with wrong settings, for values outside of a rule, or for too many pictures', async () => {
    expect((await refused({ operation: 'video_generation' })).code).to.equal('MODEL_UNAVAILABLE');
    expect((await refused({ settings: { script_name: 'x' } })).code).to.equal('MODEL_UNAVAILABLE');
    expect((await refused({ parameters: { sampler: 'k_lms' } })).code).to.equal('INPUT_INVALID');
    expect((await refused({ parameters: { size: '8192x8192' } })).code).to.equal('INPUT_INVALID');
    expect((await refused({ outputCount: 101 })).code).to.equal('INPUT_INVALID');
  });

  it('have no prompt that names a network to load', async () => {
    const commands = [
      '<lora:film:1>',
      'a <LORA:x:0.5> b',
      '<hypernet:y>',
      '<style:z>',
      '<<lora:x:1>lora:y:1>',
      '<lora:a\nb>',
    ];
    for (const text of commands) {
      expect((await refused({ prompt: text })).code, text).to.equal('INPUT_INVALID');
      expect((await refused({ negativePrompt: text })).code, text).to.equal('INPUT_INVALID');
    }
  });

  it('have every other prompt as it is', async () => {
    const network = /<(\w+):([^>]+)>/u;
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }), async (prompt) => {
        const answer = await submit({ prompt: `:${prompt}` });
        if (answer.accepted) expect(fake.taken.at(-1)?.fields['prompt']).to.equal(`:${prompt}`);
        else expect(prompt).to.match(/<[^<>:]+:[^>]+>/);
        if (network.test(prompt)) expect(answer.accepted).to.equal(false);
      }),
      { numRuns: 60 },
    );
    for (const prompt of ['I <3: this', 'a (house:1.2), [dawn:dusk:0.5] AND fog', '3 < 4 : 5'])
      expect((await sent({ prompt }))['prompt']).to.equal(prompt);
  });

  it('have no field that the settings do not name, whatever the parameters are', async () => {
    const named = ['width', 'height', 'seed', 'steps', 'sampler_name'];
    const options = 'script_name script_args alwayson_scripts override_settings infotext styles __proto__'.split(' ');
    const files = ['init_images', 'mask', 'refiner_checkpoint', 'hr_checkpoint_name'];
    const names = fc.constantFrom(...options, ...files, 'prompt', 'n_iter', 'force_task_id', ...PARAMETERS);
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(names, fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>),
        async (parameters) => {
          const answer = await submit({ parameters });
          if (!answer.accepted) return void expect(answer.failure.code).to.equal('INPUT_INVALID');
          const { fields = {} } = fake.taken.at(-1) ?? {};
          expect([...ALWAYS, ...named]).to.include.members(Object.keys(fields));
          expect(fields['override_settings']).to.deep.equal(SETTINGS['override_settings']);
          expect(fields['prompt']).to.equal('a lighthouse');
        },
      ),
      { numRuns: 60 },
    );
  });
});

/*
 * Goal: the provider for Stable Diffusion web UI and its kin keeps the provider contract, and bears whatever a server does.
 * Method: the shared contracts, against a fake of each kind of server, which asks for a user name and a password.
 */

const KEY = 'studio:word-of-the-contract';
const PROMISES: ProviderCapabilities = {
  answersWithOutputs: true,
  isAskedBy: 'nothing',
  takesTokenOnce: false,
  settleMs: 60_000,
  cancels: 'nothing',
  maxMaskedReferences: 1,
  isPaid: false,
};

const TASKS = {
  quick: (token: string) => task({ token }),
  endless: (token: string) => task({ token }),
};
const closers = new WeakMap<OpenedProvider, () => Promise<unknown>>();
const close = async (opened: OpenedProvider) => void (await closers.get(opened)?.());

async function open(vendor: A1111Vendor): Promise<OpenedRemoteProvider> {
  const fake = await A1111Fake.open(vendor, KEY);
  const { log, logged } = recordingLog();
  const made: { close(): Promise<void> }[] = [fake];
  const connected = (url = fake.url, key = KEY) => {
    const provider = a1111At(url, { api_key: key, connect_timeout_seconds: 1 }, log);
    made.push(provider);
    return provider;
  };
  const opened: OpenedRemoteProvider = {
    ...TASKS,
    provider: connected(),
    server: fake.server,
    tasks: () => fake.taken.length,
    secret: KEY,
    reopened: () => connected(),
    openedAt: (origin) => connected(origin),
    openedWithKey: (key) => connected(fake.url, `studio:${key}`),
    withReference: (token, reference) => task({ token, references: [reference] }),
    logged,
  };
  closers.set(opened, () => Promise.all(made.map((one) => one.close())));
  return opened;
}

for (const vendor of ['a1111', 'forge', 'sdnext'] as const) {
  providerContract({
    name: `a1111 at ${vendor}`,
    open: () => open(vendor),
    close,
    supports: { recovery: false, cancellation: false, answersWithOutputs: true },
  });
}

remoteProviderContract({
  name: 'a1111',
  open: () => open('a1111'),
  close,
  supports: { capabilities: PROMISES, cost: false, checksKey: true, readsErrors: true },
  refusals: [
    { name: 'a proxy that is full', status: 429, body: {}, code: 'PROVIDER_UNAVAILABLE', because: 'capacity' },
    refusal(401, 'Incorrect username or password', { code: 'PROVIDER_REJECTED', because: 'not-here' }),
    { name: 'a proxy that forbids it', status: 403, body: {}, code: 'PROVIDER_REJECTED', because: 'not-here' },
    refusal(404, 'Sampler not found', { code: 'MODEL_UNAVAILABLE' }),
    {
      ...refusal(400, 'Sampler not found', { code: 'MODEL_UNAVAILABLE' }),
      name: 'a sampler that web UI 1.10 or Forge does not have',
    },
    { ...refusal(404, 'Not Found', { code: 'MODEL_UNAVAILABLE', because: 'not-here' }), name: 'no API on this server' },
    { name: 'no such method', status: 405, body: {}, code: 'MODEL_UNAVAILABLE', because: 'not-here' },
    {
      name: 'a field of another type',
      status: 422,
      body: { detail: [{ loc: ['body', 'steps'], msg: 'value is not a valid integer', type: 'type_error.integer' }] },
      code: 'MODEL_UNAVAILABLE',
    },
    { name: 'a request that is too large for a proxy', status: 413, body: {}, code: 'INPUT_INVALID' },
    refusal(500, 'Invalid encoded image', { code: 'INPUT_INVALID' }),
    refusal(500, 'Invalid image format', { code: 'MODEL_UNAVAILABLE' }),
    refusal(400, 'Another thing that is wrong', { code: 'PROVIDER_REJECTED' }),
    {
      name: 'memory that is short',
      status: 500,
      body: {
        error: 'OutOfMemoryError',
        detail: '',
        body: '',
        errors: 'CUDA out of memory. Tried to allocate 2.00 GiB /srv/webui/modules/api.py',
      },
      code: 'INTERNAL_ERROR',
    },
  ],
  failures: [
    { name: 'the model gives no numbers', task: (_, token) => task({ token, prompt: 'nan' }), code: 'INTERNAL_ERROR' },
    { name: 'nothing was made', task: (_, token) => task({ token, prompt: 'nothing' }), code: 'INTERNAL_ERROR' },
  ],
  partial: { task: (_, token) => task({ token, prompt: 'fewer', outputCount: 2 }), outputs: 1 },
});

function refusal(status: number, detail: string, is: Pick<RefusalCase, 'code' | 'because'>): RefusalCase {
  return { name: `${status} ${detail}`, status, body: { detail }, ...is };
}
