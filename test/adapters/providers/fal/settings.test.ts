/*
 * Goal: provider_settings that cannot work are refused in one sentence when the catalog is read, and a try of the
 * connection says what is wrong.
 * Method: settings with one mistake each; a real server, and addresses without one.
 */
import { expect } from 'chai';
import { falDriver } from '../../../../adapters/providers/fal/fal-driver.js';
import { optionsFault } from '../../../../apps/config/options-fault.js';
import type { JsonObject } from '../../../../core/json.js';
import { WANTED } from '../../../contracts/provider.contract.js';
import { IMAGE_PLACE } from '../../../fixtures/settings-place.js';
import { FalFake } from '../../../providers/fakes/fal-fake.js';
import { falAt, SETTINGS } from './opened-fal.js';

const fault = (settings: JsonObject) => falDriver.settingsFault?.(settings, IMAGE_PLACE);
const text = { parameter: 'style', type: 'string', max_length: 100 } as const;
const at = '/images/*/url';

describe('settings of a model at fal', () => {
  it('are taken with the id of a model, a workflow included', () => {
    expect(fault(SETTINGS)).to.equal(undefined);
    expect(fault({ ...SETTINGS, endpoint: 'workflows/acme/portrait' })).to.equal(undefined);
    expect(fault({ ...SETTINGS, endpoint: 'fal-ai/kling-video/v2.5-turbo/pro/image-to-video' })).to.equal(undefined);
  });

  it('are refused in one sentence', () => {
    const wrong: readonly (readonly [JsonObject, RegExp])[] = [
      [
        { ...SETTINGS, endpoint: 'flux' },
        /^endpoint must be the id of a model without an address before it, such as [\w/-]+\.$/,
      ],
      [
        { ...SETTINGS, endpoint: 'fal-ai/flux/../admin' },
        /^endpoint must be the id of a model without an address before it, such as [\w/-]+\.$/,
      ],
      [
        { ...SETTINGS, endpoint: 'https://fal.run/fal-ai/flux' },
        /^endpoint must be the id of a model without an address before it, such as [\w/-]+\.$/,
      ],
      [{ ...SETTINGS, endpoint: 'fal-ai/flux/requests/1' }, /^endpoint must be the id of a model/],
      [{ ...SETTINGS, endpoint: 'workflows/acme' }, /^endpoint must name an owner and a model\.$/],
      [{ ...SETTINGS, output: { media_type: 'image/png' } }, /output\.at/],
      [{ ...SETTINGS, output: { media_type: 'image/gif', at } }, /^"image\/gif" cannot be delivered/],
      [{ ...SETTINGS, output: { media_type: 'video/mp4', at } }, /^"video\/mp4" cannot be delivered/],
      [{ ...SETTINGS, fields: { output_format: { value: 'gif' } } }, /^"gif" cannot be delivered/],
      [{ ...SETTINGS, fields: { sync_mode: { value: true } } }, /^fields must not have sync_mode/],
      [{ ...SETTINGS, fields: { image_url: { value: 'x' } } }, /^The field image_url of the input is given twice\.$/],
      [
        { ...SETTINGS, mask: { field: 'image_urls', form: 'white' } },
        /^The field image_urls of the input is given twice\.$/,
      ],
      [
        { ...SETTINGS, mask: { field: 'mask_url', form: 'white' }, fields: { mask_url: { value: 'x' } } },
        /^The field mask_url of the input is given twice\.$/,
      ],
      [
        { ...SETTINGS, mask: { form: 'black' } },
        /^mask\.field must name the field that takes the mask whose black areas are made anew\.$/,
      ],
      [{ ...SETTINGS, mask: { field: 'mask_url' } }, /^mask\.form is required\.$/],
      [{ ...SETTINGS, mask: { field: 'mask_url', form: 'grey' } }, /^mask\.form must be one of/],
      [{ ...SETTINGS, mask: { field: 'mask url', form: 'white' } }, /^mask\.field /],
      [
        { ...SETTINGS, references: { start_frame: { field: 'image_url' } }, mask: { form: 'alpha' } },
        /^mask belongs to a reference_image; references must name the field for it\.$/,
      ],
      [
        { ...SETTINGS, fields: { lora_path: text } },
        /^fields\.lora_path needs an enum, values or a value: users must not/,
      ],
      [{ ...SETTINGS, negative_prompt_field: 'webhookUrl' }, /^negative_prompt_field must not be webhookUrl: users/],
      [{ ...SETTINGS, webhook: 'https://elsewhere.example' }, /webhook/],
    ];
    for (const [settings, sentence] of wrong) {
      expect(fault(settings), JSON.stringify(settings)).to.match(sentence);
      expect(fault(settings)).to.match(/^[^\n]+\.$/);
    }
  });
});

describe('the driver for fal', () => {
  it('has options that a driver may have', () => {
    expect(optionsFault(falDriver.options)).to.equal(undefined);
  });

  it('refuses a host that cannot be one, with the key of its option', async () => {
    expect(() => falAt('https://queue.fal.run', { output_hosts: ['https://fal.media'] })).to.throw(
      /^providers\.fal\.output_hosts: https:\/\/fal\.media is no host/,
    );
  });

  it('says of a try of the connection what is wrong, each in one sentence, and makes nothing', async () => {
    const fake = await FalFake.open();
    const tries: readonly (readonly [string, JsonObject, string | undefined])[] = [
      [fake.base, {}, undefined],
      [fake.base, { api_key: 'id:wrong' }, `The key is refused at ${fake.base} for fal-ai/flux; check api_key.`],
      [
        `${fake.base}/other/place/below`,
        {},
        `${fake.base}/other/place/below is not the queue of fal (status 404); check base_url.`,
      ],
      [
        'http://127.0.0.1:1',
        {},
        'Nothing answers at http://127.0.0.1:1 (ECONNREFUSED); check base_url, and whether the server runs.',
      ],
    ];
    for (const [base, options, sentence] of tries) {
      const provider = falAt(base, options);
      const { faults } = await provider.check([SETTINGS, SETTINGS], WANTED);
      expect(faults).to.deep.equal(sentence === undefined ? [] : [sentence]);
      await provider.close();
    }
    expect(fake.server.posts).to.equal(0);
    await fake.close();
  });
});
