import { expect } from 'chai';
import { proposeModel } from '../../../adapters/model-import/propose-model.js';
import { ImportRefused } from '../../../adapters/model-import/proposal.js';
import { OPTIONS, PAINTER } from './vendor-answers.js';

/**
 * Goal: an answer of fal becomes the entry that an operator would write. Method: small answers after the shapes of fal's
 * API, and the whole entry or the part in question compared.
 */
describe('the import of models at fal', () => {
  it('proposes exact sizes, a count, a seed and formats for a text-to-image model', () => {
    const { entry, guesses, dropped } = proposeModel(PAINTER, OPTIONS);
    expect(entry).to.deep.equal({
      model_key: 'painter-one',
      display_name: 'Painter One',
      description: 'Paints quickly.',
      input_schema: {
        properties: {
          output_format: { type: 'string', enum: ['jpeg', 'png'], default: 'jpeg' },
          size: {
            type: 'string',
            enum: ['1024x1024', '1024x768', '768x1024', '1024x576', '576x1024', '1280x720', '720x1280', '512x512'],
            default: '1024x768',
          },
          n: { type: 'integer', minimum: 1, maximum: 4, default: 1 },
          seed: { type: 'integer', minimum: 0, maximum: 2_147_483_647 },
        },
      },
      price: {
        unit: 'megapixel',
        credits_per_unit: 0.39,
        round_up: true,
        pixels_per_megapixel: 1_048_576,
        count_parameter: 'n',
        size_parameter: 'size',
      },
      provider: 'fal',
      provider_settings: {
        endpoint: 'fal-ai/painter/one',
        fields: {
          enable_safety_checker: { value: true },
          output_format: { parameter: 'output_format', type: 'string', enum: ['jpeg', 'png'] },
          image_size: { parameter: 'size', size: 'object', maximum: 14_142 },
          num_images: { parameter: 'n', type: 'integer', minimum: 1, maximum: 4 },
          seed: { parameter: 'seed', type: 'integer', minimum: 0, maximum: 2_147_483_647 },
        },
        output: { media_type: 'image/jpeg', at: '/images/*/url', withheld_at: '/has_nsfw_concepts/*' },
        unit_cost: { amount: '0.003', currency: 'USD' },
      },
    });
    expect(guesses).to.deep.equal([
      'The sizes are common ones within the bounds of image_size; the vendor takes others too.',
      'A picture of 1024x1024 counts as one megapixel, and larger ones are rounded up to whole megapixels.',
    ]);
    expect(dropped).to.deep.equal([
      'sync_mode: results are fetched by address',
      'num_inference_steps: not offered without --all',
    ]);
  });

  it('refuses to invent a price and says per what it must be given', () => {
    const { price: _, ...unpriced } = PAINTER;
    expect(() => proposeModel(unpriced, OPTIONS)).to.throw(
      ImportRefused,
      'fal states no price for fal-ai/painter/one in its answer: give --price with the credits per image.',
    );
    const { entry } = proposeModel(unpriced, { ...OPTIONS, price: '2.5' });
    expect(entry['price']).to.deep.equal({ credits_per_unit: 2.5, count_parameter: 'n', size_parameter: 'size' });
  });
});
