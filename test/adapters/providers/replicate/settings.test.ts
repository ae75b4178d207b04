/*
 * Goal: provider_settings that cannot work are refused in one sentence when the catalog is read, and a try of the
 * connection says what is wrong.
 * Method: settings with one mistake each; a real server, and addresses without one.
 */
import { expect } from 'chai';
import { replicateDriver } from '../../../../adapters/providers/replicate/replicate-driver.js';
import { optionsFault } from '../../../../apps/config/options-fault.js';
import type { JsonObject } from '../../../../core/json.js';
import { WANTED } from '../../../contracts/provider.contract.js';
import { IMAGE_PLACE } from '../../../fixtures/settings-place.js';
import { ReplicateFake } from '../../../providers/fakes/replicate-fake.js';
import { replicateAt, SETTINGS } from './opened-replicate.js';

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
