/*
 * Goal: settings that a server would ignore, or that would let users reach what is the operator's, are refused in one sentence when
 * the catalog is read, and a try of the connection says what the server does not have.
 * Method: settings with one mistake each; the lists of fakes of each kind of server.
 */
import { expect } from 'chai';
import { a1111Driver } from '../../../../adapters/providers/a1111/a1111-driver.js';
import { optionsFault } from '../../../../apps/config/options-fault.js';
import type { JsonObject } from '../../../../core/json.js';
import { WANTED } from '../../../contracts/provider.contract.js';
import { IMAGE_PLACE } from '../../../fixtures/settings-place.js';
import { A1111Fake, type A1111Vendor } from '../../../providers/fakes/a1111-fake.js';
import { a1111At, SETTINGS } from './opened-a1111.js';

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

  it('says that a checkpoint is missing, as the server would use another one', async () => {
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

  it('says that the server writes a format that cannot be delivered, and what is wrong with settings', async () => {
    expect(await faultsAt('forge', [{ other: 1 }], 'tiff')).to.deep.equal([
      'The option samples_format of the server: "tiff" cannot be delivered: an image is delivered as PNG, JPEG or WebP.',
      'unknown field "other".',
    ]);
  });
});
