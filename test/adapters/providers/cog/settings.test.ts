/*
 * Goal: provider_settings and options that cannot work are refused in one sentence, and a try of the connection says how the
 * container is.
 * Method: settings with one mistake each; a server that answers as a real container was measured to.
 */
import { expect } from 'chai';
import { cogDriver } from '../../../../adapters/providers/cog/cog-driver.js';
import { optionsFault } from '../../../../apps/config/options-fault.js';
import type { JsonObject } from '../../../../core/json.js';
import { WANTED } from '../../../contracts/provider.contract.js';
import { IMAGE_PLACE } from '../../../fixtures/settings-place.js';
import { CogFake } from '../../../providers/fakes/cog-fake.js';
import { cogAt, SETTINGS } from './opened-cog.js';

const fault = (settings: JsonObject) => cogDriver.settingsFault?.(settings, IMAGE_PLACE);

describe('settings of a model in a container of Cog', () => {
  it('are refused in one sentence', () => {
    expect(fault(SETTINGS)).to.equal(undefined);
    const wrong: readonly (readonly [JsonObject, RegExp])[] = [
      [{ fields: {} }, /output/],
      [{ ...SETTINGS, output: { media_type: 'video/webm' } }, /^"video\/webm" cannot be delivered/],
      [{ ...SETTINGS, fields: { image: { value: 'x' } } }, /^The field image of the input is given twice\.$/],
      [{ ...SETTINGS, prompt_field: 'weights' }, /^prompt_field must not be weights: users must not write/],
      [{ ...SETTINGS, webhook: 'https://elsewhere.example' }, /webhook/],
    ];
    for (const [settings, sentence] of wrong) {
      expect(fault(settings), JSON.stringify(settings)).to.match(sentence);
      expect(fault(settings)).to.match(/^[^\n]+\.$/);
    }
  });
});

describe('the driver for containers of Cog', () => {
  it('has options that a driver may have', () => {
    expect(optionsFault(cogDriver.options)).to.equal(undefined);
  });

  it('says how the container is', async () => {
    const fake = await CogFake.open();
    const provider = cogAt(fake.base);
    const states: readonly (readonly [object, readonly string[]])[] = [
      [{ status: 'READY' }, []],
      [{ status: 'BUSY' }, []],
      [{ status: 'STARTING' }, ['The model is still being set up.']],
      [{ status: 'SETUP_FAILED' }, ['The setup of the model has failed; see the log of the container.']],
      [{ status: 'UNHEALTHY' }, ['The model is not healthy, and takes no tasks until its container is started again.']],
      [{ state: 'up' }, [`${fake.base} is no container of Cog; check base_url.`]],
    ];
    for (const [health, faults] of states) {
      fake.health = health;
      expect((await provider.check([], WANTED)).faults, JSON.stringify(health)).to.deep.equal(faults);
    }
    expect(fake.server.posts).to.equal(0);
    await provider.close();
    await fake.close();
  });
});
