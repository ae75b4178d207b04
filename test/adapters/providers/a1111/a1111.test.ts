import { expect } from 'chai';
import fc from 'fast-check';
import { gzipSync } from 'node:zlib';
import { a1111Driver } from '../../../../adapters/providers/a1111/a1111-driver.js';
import type { A1111Provider } from '../../../../adapters/providers/a1111/a1111-provider.js';
import type { Json, JsonObject } from '../../../../core/json.js';
import type { Submission } from '../../../../core/ports/provider.js';
import { providerContract, WANTED } from '../../../contracts/provider.contract.js';
import { remoteProviderContract } from '../../../contracts/remote-provider.contract.js';
import { breakingOff, collected } from '../../../fixtures/byte-streams.js';
import { closedAfterEach } from '../../../fixtures/opened.js';
import { image } from '../../../fixtures/images.js';
import { IMAGE_PLACE } from '../../../fixtures/settings-place.js';
import { A1111Fake, type A1111Vendor } from '../../../providers/fakes/a1111-fake.js';
import { type FakeAnswer, FakeServer } from '../../../providers/fakes/fake-server.js';
import {
  CAPABILITIES,
  closeAnswers,
  expectRefused,
  failureOf,
  failuresOf,
  outputsOf,
  referenceOf,
  refusalsOf,
  settingsFaultOf,
  vendorForEach,
  vendorSubject,
} from '../vendor-subject.js';
import { a1111At, SETTINGS, task } from './opened-a1111.js';

/*
 * Goal: settings that a server would ignore, or that would let users set fields reserved for the operator, are refused
 * in one sentence when the catalog is read, and a connection check reports what the server lacks.
 * Method: settings with one mistake each; the lists of a fake of each kind of server.
 */

const fault = settingsFaultOf(a1111Driver);

describe('settings of a model of Stable Diffusion web UI', () => {
  it('are those of the tests, and may be none', () => {
    for (const settings of [SETTINGS, {}]) expect(fault(settings)).to.equal(undefined);
  });

  it('are refused in one sentence', () => {
    const field = (name: string, rule: JsonObject): JsonObject => ({ fields: { [name]: rule } });
    expectRefused(fault, [
      [{ alwayson_scripts: {} }, 'unknown field "alwayson_scripts".'],
      [{ references: 'mask' }, 'references must be one of init_images.'],
      [
        { override_settings: { samples_format: 'webp' } },
        'override_settings.samples_format has no effect on an answer; set the format in the options of the server.',
      ],
      [
        field('steps', { parameter: 'steps', type: 'integer', minimum: 1, maximum: 500 }),
        'fields.steps must not allow 500: it is a number of type integer from 1 to 150.',
      ],
      [
        field('size', { parameter: 'size', values: { wide: '1024x500' } }),
        'fields.size must not allow "1024x500": a size is WIDTHxHEIGHT, two multiples of 8 from 64 to 4096.',
      ],
      [
        field('sampler_name', { parameter: 'sampler', type: 'string', max_length: 20 }),
        'fields.sampler_name needs an enum.',
      ],
      [field('tiling', { value: 1 }), 'fields.tiling must not allow 1: it is of type boolean.'],
    ]);
  });

  it('set no field of scripts, files, options or the number of pictures', () => {
    const others = 'script_name alwayson_scripts override_settings infotext styles init_images mask prompt n_iter';
    for (const name of `${others} batch_size save_images force_task_id refiner_checkpoint`.split(' '))
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
  const kept = closedAfterEach();

  async function faultsAt(vendor: A1111Vendor, settings: readonly JsonObject[], samplesFormat = 'png') {
    const fake = kept(await A1111Fake.open(vendor));
    const provider = kept(a1111At(fake.url));
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
  const kept = closedAfterEach();
  afterEach(closeAnswers);

  async function openVendor(vendor: A1111Vendor = 'a1111'): Promise<{ fake: A1111Fake; provider: A1111Provider }> {
    const fake = kept(await A1111Fake.open(vendor));
    const provider = kept(a1111At(fake.url));
    return { fake, provider };
  }
  /** A server that answers each submission so. */
  async function answering(answer: FakeAnswer): Promise<A1111Provider> {
    const server = kept(await FakeServer.open([{ method: 'POST', path: '/sdapi/v1/txt2img', handle: () => answer }]));
    return kept(a1111At(server.url));
  }
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const isOpen = async (work: Promise<unknown>) => (await failureOf(work)) instanceof Error;

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
  const vendor = vendorForEach({ openFake: () => A1111Fake.open(), providerAt: a1111At, task });

  /** The outputs are not read, so the abort frees them. */
  const submit = async (wish: Partial<Submission>) => {
    const abort = new AbortController();
    return vendor.provider.submit(task(wish), abort).finally(() => abort.abort());
  };
  const sent = async (wish: Partial<Submission> = {}): Promise<Readonly<Record<string, unknown>>> => {
    expect(await submit(wish)).to.have.property('accepted', true);
    return vendor.fake.taken.at(-1)?.fields ?? {};
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
    expect(vendor.fake.taken[0]?.route).to.equal('txt2img');
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
    expect(vendor.fake.taken[0]?.route).to.equal('img2img');
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
    expect(vendor.fake.taken).to.have.length(0);
  });

  it('are not made with references that the model does not take', async () => {
    const picture = referenceOf(await image('png'));
    for (const [wish, message] of [
      [{ references: [picture, picture] }, 'This model takes one reference file.'],
      [{ settings: { fields: {} }, references: [picture] }, 'This model takes no reference files.'],
    ] as const)
      expect(await submit(wish)).to.have.nested.property('failure.message', message);
    expect(vendor.server.requests).to.have.length(0);
  });

  it('are not made for videos, with wrong settings, for values outside of a rule, or for too many pictures', async () => {
    for (const [wish, code] of [
      [{ operation: 'video_generation' }, 'MODEL_UNAVAILABLE'],
      [{ settings: { script_name: 'x' } }, 'MODEL_UNAVAILABLE'],
      [{ parameters: { sampler: 'k_lms' } }, 'INPUT_INVALID'],
      [{ parameters: { size: '8192x8192' } }, 'INPUT_INVALID'],
      [{ outputCount: 101 }, 'INPUT_INVALID'],
    ] as const)
      expect(await vendor.refusedUnsent(wish)).to.equal(code);
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
    for (const text of commands)
      for (const wish of [{ prompt: text }, { negativePrompt: text }])
        expect(await vendor.refusedUnsent(wish), text).to.equal('INPUT_INVALID');
  });

  it('have every other prompt as it is', async () => {
    const network = /<(\w+):([^>]+)>/u;
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }), async (prompt) => {
        const answer = await submit({ prompt: `:${prompt}` });
        if (answer.accepted) expect(vendor.fake.taken.at(-1)?.fields['prompt']).to.equal(`:${prompt}`);
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
          const { fields = {} } = vendor.fake.taken.at(-1) ?? {};
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
const subjectAt = (vendor: A1111Vendor) =>
  vendorSubject({
    openFake: () => A1111Fake.open(vendor, KEY),
    providerAt: a1111At,
    tasksOf: (fake) => fake.taken.length,
    task,
    key: KEY,
    keyOf: (word) => `studio:${word}`,
    endless: {},
  });

for (const vendor of ['a1111', 'forge', 'sdnext'] as const)
  providerContract({
    name: `a1111 at ${vendor}`,
    ...subjectAt(vendor),
    supports: { recovery: false, cancellation: false, answersWithOutputs: true },
  });

const detail = (text: string) => ({ detail: text });
remoteProviderContract({
  name: 'a1111',
  ...subjectAt('a1111'),
  supports: {
    capabilities: { ...CAPABILITIES, answersWithOutputs: true, maxMaskedReferences: 1, isPaid: false },
    cost: false,
    checksKey: true,
    readsErrors: true,
  },
  refusals: refusalsOf([
    ['a proxy that is full', 429, {}, 'PROVIDER_UNAVAILABLE', 'capacity'],
    ['another password', 401, detail('Incorrect username or password'), 'PROVIDER_REJECTED', 'not-here'],
    ['a proxy that forbids it', 403, {}, 'PROVIDER_REJECTED', 'not-here'],
    ['a sampler that SD.Next does not have', 404, detail('Sampler not found'), 'MODEL_UNAVAILABLE'],
    ['a sampler that web UI 1.10 or Forge does not have', 400, detail('Sampler not found'), 'MODEL_UNAVAILABLE'],
    ['no API on this server', 404, detail('Not Found'), 'MODEL_UNAVAILABLE', 'not-here'],
    ['no such method', 405, {}, 'MODEL_UNAVAILABLE', 'not-here'],
    [
      'a field of another type',
      422,
      { detail: [{ loc: ['body', 'steps'], msg: 'value is not a valid integer', type: 'type_error.integer' }] },
      'MODEL_UNAVAILABLE',
    ],
    ['a request that is too large for a proxy', 413, {}, 'INPUT_INVALID'],
    ['a picture that it cannot read', 500, detail('Invalid encoded image'), 'INPUT_INVALID'],
    ['a format that it does not have', 500, detail('Invalid image format'), 'MODEL_UNAVAILABLE'],
    ['anything else', 400, detail('Another thing that is wrong'), 'PROVIDER_REJECTED'],
    [
      'memory that is short',
      500,
      {
        error: 'OutOfMemoryError',
        detail: '',
        body: '',
        errors: 'CUDA out of memory. Tried to allocate 2.00 GiB /srv/webui/modules/api.py',
      },
      'INTERNAL_ERROR',
    ],
  ]),
  failures: failuresOf(task, [
    ['nan', 'INTERNAL_ERROR', 'the model gives no numbers'],
    ['nothing', 'INTERNAL_ERROR', 'nothing was made'],
  ]),
  partial: { task: (_, token) => task({ token, prompt: 'fewer', outputCount: 2 }), outputs: 1 },
});
