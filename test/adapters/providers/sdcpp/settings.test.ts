/*
 * Goal: settings that sd-server would take and silently change are refused in one sentence when the catalog is read, and
 * a try of the connection says what the server does not have.
 * Method: settings with one mistake each; the capabilities of a fake.
 */
import { expect } from 'chai';
import { sdcppDriver } from '../../../../adapters/providers/sdcpp/sdcpp-driver.js';
import { optionsFault } from '../../../../apps/config/options-fault.js';
import type { JsonObject } from '../../../../core/json.js';
import { WANTED } from '../../../contracts/provider.contract.js';
import { IMAGE_PLACE } from '../../../fixtures/settings-place.js';
import { SdcppFake } from '../../../providers/fakes/sdcpp-fake.js';
import { sdcppAt, SETTINGS } from './opened-sdcpp.js';

const fault = (settings: JsonObject) => sdcppDriver.settingsFault?.(settings, IMAGE_PLACE);
const field = (name: string, rule: JsonObject) => fault({ fields: { [name]: rule } });

describe('settings of a model of sd-server', () => {
  it('are those of the example, and may be none', () => {
    expect(fault(SETTINGS)).to.equal(undefined);
    expect(fault({})).to.equal(undefined);
    expect(optionsFault(sdcppDriver.options)).to.equal(undefined);
  });

  const wrong: readonly (readonly [JsonObject, string])[] = [
    [{ size: { value: '512x512' } }, 'unknown field "size".'],
    [{ references: 'mask_image' }, 'references must be one of init_image, ref_images.'],
    [
      { fields: { 'sample_params.sample_steps': { parameter: 'steps', type: 'integer', minimum: 1, maximum: 150 } } },
      'fields.sample_params.sample_steps must not allow 150: it is a number of type integer from 1 to 100.',
    ],
    [
      { fields: { seed: { parameter: 'seed', type: 'number', minimum: 0, maximum: 1 } } },
      'fields.seed must have the type integer.',
    ],
    [
      { fields: { strength: { value: '0.5' } } },
      'fields.strength must not allow "0.5": it is a number of type number from 0 to 1.',
    ],
    [
      { fields: { output_format: { parameter: 'format', type: 'string', enum: ['png', 'gif'] } } },
      'fields.output_format must not allow "gif": it is one of png, jpeg, webp.',
    ],
    [
      { fields: { 'sample_params.scheduler': { parameter: 'scheduler', type: 'string', max_length: 20 } } },
      'fields.sample_params.scheduler needs an enum.',
    ],
    [
      { fields: { seed: { parameter: 'seed', type: 'integer', minimum: 0 } } },
      'fields.seed needs an enum, or a minimum and a maximum that is not below it.',
    ],
  ];
  for (const [settings, sentence] of wrong) {
    it(`are refused with ${JSON.stringify(settings)}`, () => {
      expect(fault(settings)).to.equal(sentence);
    });
  }

  it('have sizes that the server takes', () => {
    for (const value of ['64x64', '512x768', '1024x1024', '4096x64'])
      expect(field('size', { value })).to.equal(undefined);
    for (const value of ['512', '512x', '500x512', '32x32', '8192x64', '512X512', '0512x512x1', '-64x64'])
      expect(field('size', { value }), value).to.match(/^fields\.size must not allow /);
    expect(field('size', { parameter: 'size', type: 'string', pattern: '\\d+x\\d+' })).to.equal(
      'fields.size needs an enum.',
    );
  });

  it('name no field beyond the list: what it does not know the server takes for nothing', () => {
    for (const name of [
      'width',
      'prompt',
      'batch_count',
      'lora',
      'hires.enabled',
      'embed_image_metadata',
      'constructor',
    ])
      expect(field(name, { value: 1 }), name).to.match(
        new RegExp(`^fields\\.${name} is no field that settings can set; `),
      );
  });

  it('name LoRA files below the folder of the server', () => {
    expect(fault({ loras: [{ path: 'film/grain.safetensors', multiplier: 0.8 }] })).to.equal(undefined);
    for (const path of ['/etc/passwd', '../x', 'a/../../x', 'a\\x', ''])
      expect(fault({ loras: [{ path }] }), path).to.match(/^loras\[0\]\.path /);
  });

  it('are not of a model for videos', () => {
    expect(sdcppDriver.settingsFault?.(SETTINGS, { ...IMAGE_PLACE, modality: 'video' })).to.equal(
      'The videos of stable-diffusion.cpp are WebM, AVI or animated WebP, which are not delivered; use it for pictures.',
    );
  });
});

describe('a try of the connection to sd-server', () => {
  let fake: SdcppFake;
  before(async () => void (fake = await SdcppFake.open()));
  after(() => fake.close());

  const check = async (settings: JsonObject, base = fake.url) => {
    const provider = sdcppAt(base);
    try {
      return await provider.check([settings], WANTED);
    } finally {
      await provider.close();
    }
  };

  it('says what answers', async () => {
    expect(await check(SETTINGS)).to.deep.equal({ about: 'sd-server with zero.safetensors', faults: [] });
  });

  it('says in one sentence what of the settings the server does not have', async () => {
    const fields: JsonObject = {
      'sample_params.sample_method': { value: 'euler_b' },
      'sample_params.scheduler': { parameter: 's', type: 'string', enum: ['karras', 'none_such'] },
    };
    expect((await check({ fields, loras: [{ path: 'x.safetensors' }] })).faults).to.deep.equal([
      'The server has no euler_b for fields.sample_params.sample_method; it has euler, euler_a.',
      'The server has no none_such for fields.sample_params.scheduler; it has discrete, karras.',
      'The server has no LoRA file x.safetensors.',
    ]);
  });

  it('says that the path of base_url is wrong', async () => {
    expect((await check(SETTINGS, `${fake.url}/sdcpp`)).faults).to.deep.equal([
      `${fake.url}/sdcpp is not sd-server with its native routes (status 404); check base_url.`,
    ]);
  });
});
