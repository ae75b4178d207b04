import { expect } from 'chai';
import fc from 'fast-check';
import { parse } from 'yaml';
import { parseBounded } from '../../../adapters/model-import/bounded-json.js';
import { heldRequests } from '../../../adapters/model-import/held-requests.js';
import { picturesInWords } from '../../../adapters/model-import/pictures.js';
import { product } from '../../../adapters/model-import/prices.js';
import {
  ImportRefused,
  type ImportOptions,
  type Proposal,
  type RecordedModel,
} from '../../../adapters/model-import/proposal.js';
import { keyOf, proposeModel } from '../../../adapters/model-import/propose-model.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { forAllSync } from '../../harness/for-all.js';
import { catalogFaultsOf } from './recorded.js';
import {
  ANIMATOR,
  EDITOR,
  falAnswer,
  GPT,
  OPTIONS,
  replicateAnswer,
  UPSCALER,
  URI,
  VIDEO_FILE,
} from './vendor-answers.js';

/**
 * Goal: each rule of the import does what an operator would do by hand, and says what it guessed. Method: a small answer of a
 * vendor for each rule, and the part of the entry that it is about.
 */

const PRICED: ImportOptions = { ...OPTIONS, price: '5' };
const PROMPT: JsonObject = { type: 'string' };
const PICTURE: JsonObject = { type: 'string' };

/** A model at fal with these fields. */
function atFal(
  properties: JsonObject,
  required: readonly string[] = ['prompt'],
  category = 'text-to-image',
): RecordedModel {
  const output = category.endsWith('video') ? { output: VIDEO_FILE } : {};
  const input = { type: 'object', properties, required: [...required] };
  return { vendor: 'fal', id: 'fal-ai/studio', document: falAnswer('fal-ai/studio', input, { category, ...output }) };
}

function imported(recorded: RecordedModel, options: Partial<ImportOptions> = {}): Proposal {
  return proposeModel(recorded, { ...PRICED, ...options });
}

function refusal(recorded: RecordedModel, options: Partial<ImportOptions> = {}): string {
  try {
    imported(recorded, options);
  } catch (error) {
    if (error instanceof ImportRefused) return error.message;
    throw error;
  }
  throw new Error('It was not refused.');
}

const parametersOf = ({ entry }: Proposal): JsonObject =>
  ((entry['input_schema'] ?? {}) as { properties?: JsonObject }).properties ?? {};
const settingsOf = ({ entry }: Proposal): JsonObject => entry['provider_settings'] as JsonObject;
const rulesOf = (proposal: Proposal): JsonObject => (settingsOf(proposal)['fields'] ?? {}) as JsonObject;

async function expectUsable(proposal: Proposal): Promise<void> {
  expect(catalogFaultsOf(proposal.entry)).to.deep.equal([]);
  const { count, faults } = await heldRequests(proposal);
  expect(faults).to.deep.equal([]);
  expect(count).to.be.at.least(1);
}

describe('the import of pictures', () => {
  const list = (description: string, more: JsonObject = {}) =>
    atFal({ prompt: PROMPT, image_urls: { type: 'array', items: PICTURE, description, ...more } }, [
      'prompt',
      'image_urls',
    ]);

  it('asks how many pictures a list takes where neither the schema nor its words say it', async () => {
    expect(refusal(list('Pictures to edit.'))).to.equal(
      "The schema does not say how many pictures image_urls takes: give --set references=N, as the vendor's page says it.",
    );
    const answered = imported(list('Pictures to edit.'), { set: { references: '3' } });
    expect(answered.entry['limits']).to.deep.equal({ reference_roles: ['reference_image'], max_reference_uploads: 3 });
    expect(answered.entry['required_roles']).to.deep.equal(['reference_image']);
    await expectUsable(answered);
  });

  it('takes the number from the schema before all else', () => {
    const { entry } = imported(list('Up to 3 images.', { maxItems: 2 }), { set: { references: '7' } });
    expect(entry['limits']).to.have.property('max_reference_uploads', 2);
  });

  it('offers eight of more pictures, and says so', () => {
    const { entry, guesses } = imported(list('Up to 14 images.'));
    expect(entry['limits']).to.have.property('max_reference_uploads', 8);
    expect(guesses).to.include('The model takes 14 pictures; 8 are offered, the most that a request may have.');
  });

  it('refuses a number of pictures that is none', () => {
    for (const references of ['0', 'x', '1.5', '-1', '1000'])
      expect(refusal(list('Pictures.'), { set: { references } })).to.match(/^--set references=N needs a whole number/);
  });

  const NUMBERS: readonly (readonly [string, number | undefined])[] = [
    ['Reference images. Max 30 MB per image. Up to 9 images. 12 files in all.', 9],
    ['List of 1-14 images for reference.', 14],
    ['1 to 3 reference images for the subject.', 3],
    ['Reference images (up to 30) for style.', 30],
    ['supports up to 14 images', 14],
    ['Presently, up to 10 image inputs are allowed. If over 10 images are sent, the last 10 count.', 10],
    ['If videos are provided, up to 4 images are allowed; otherwise up to 7 images.', 7],
    ['A set of images (maximum total size 10MB across all of them). JPEG or PNG.', undefined],
    ['supports multiple images', undefined],
  ];
  for (const [words, count] of NUMBERS)
    it(`reads ${count ?? 'no number'} in "${words}"`, () => {
      expect(picturesInWords(words)).to.equal(count);
    });

  it('fills several fields of a role in order, and requires as many files as the vendor needs', async () => {
    const proposal = imported(
      atFal({ model_image: PICTURE, garment_image: PICTURE }, ['model_image', 'garment_image'], 'image-to-image'),
    );
    expect(settingsOf(proposal)['references']).to.deep.equal({
      reference_image: [{ field: 'model_image' }, { field: 'garment_image' }],
    });
    expect(proposal.entry).to.deep.include({
      prompt: 'none',
      required_roles: ['reference_image', 'reference_image'],
      limits: { reference_roles: ['reference_image'], max_reference_uploads: 2 },
    });
    await expectUsable(proposal);
  });

  it('fills required lists after single pictures, and counts what a required list needs at least', async () => {
    const pictures = { type: 'array', items: PICTURE, minItems: 2, maxItems: 4 };
    const needed = ['style_images', 'image_url'];
    const proposal = imported(atFal({ style_images: pictures, image_url: PICTURE }, needed, 'image-to-image'));
    expect(settingsOf(proposal)['references']).to.deep.equal({
      reference_image: [{ field: 'image_url' }, { field: 'style_images', many: true, maximum: 4 }],
    });
    expect(proposal.entry['required_roles']).to.deep.equal(Array(3).fill('reference_image'));
    await expectUsable(proposal);
    const { minItems: _, maxItems: _most, ...unbounded } = pictures;
    const lists = { style_images: unbounded, image_urls: unbounded };
    const two = imported(atFal(lists, Object.keys(lists), 'image-to-image'), { set: { references: '2' } });
    expect(two.entry['required_roles']).to.deep.equal(Array(3).fill('reference_image'));
    await expectUsable(two);
    const many = atFal({ prompt: PROMPT, image_urls: { ...pictures, minItems: 9, maxItems: 12 } }, ['image_urls']);
    expect(refusal(many)).to.equal('fal-ai/studio needs 9 pictures, and a request has at most 8.');
  });

  it('narrows the types of uploads to those that the words of all fields name', async () => {
    const typesOf = (...words: readonly string[]) => {
      const fields = words.map(
        (description, index) => [['image', 'garment_image'][index] ?? '', { ...PICTURE, description }] as const,
      );
      const names = fields.map(([name]) => name);
      const proposal = imported(atFal({ prompt: PROMPT, ...Object.fromEntries(fields) }, ['prompt', ...names]));
      return { proposal, types: (proposal.entry['limits'] as JsonObject)['upload_media_types'] };
    };
    for (const [words, types] of [
      ['The image. Must be in PNG format.', ['image/png']],
      ['Supports .jpg/.jpeg/.png, max 10MB.', ['image/png', 'image/jpeg']],
      ['Must be jpeg, png, gif, or webp.', undefined],
      ['Must be a GIF or a BMP.', undefined],
      ['A picture, for example https://cdn.example/a.png. It must be sharp.', undefined],
      ['A picture such as cat.png must be sharp.', undefined],
      ['WebP is not supported.', undefined],
      ['A PNG looks best.', undefined],
    ] as const)
      expect(typesOf(words).types, words).to.deep.equal(types);
    const { proposal, types } = typesOf('Formats: PNG, WebP.', 'Must be a JPEG or PNG file.');
    expect(types).to.deep.equal(['image/png']);
    expect(proposal.guesses).to.include('Clients may upload image/png only, by the words of image and garment_image.');
    await expectUsable(proposal);
    expect(typesOf('Must be PNG.', 'Must be JPEG.').types, 'no type for both').to.equal(undefined);
  });

  it('makes a lone picture of a video model its first frame, and finds the last one by its name', async () => {
    const proposal = imported(ANIMATOR);
    expect(proposal.entry).to.deep.include({ required_roles: ['start_frame'] });
    expect(settingsOf(proposal)['references']).to.deep.equal({
      start_frame: { field: 'image_url' },
      end_frame: { field: 'tail_image_url' },
    });
    expect(proposal.entry['limits']).to.deep.equal({
      reference_roles: ['start_frame', 'end_frame'],
      max_upload_bytes: 5_000_000,
      negative_prompt: true,
    });
    await expectUsable(proposal);
  });

  it('drops a second kind of picture', () => {
    const style = { type: 'array', items: PICTURE, description: 'Style references.' };
    const { dropped } = imported(
      atFal({ prompt: PROMPT, image_url: PICTURE, image_urls: style }, ['prompt', 'image_url']),
    );
    expect(dropped).to.deep.equal(['image_urls: a second kind of picture, for which there is no role']);
  });

  it('reads the colour of a mask in its words, and lists a guess otherwise', async () => {
    const masked = (description: string) =>
      imported(
        atFal({ prompt: PROMPT, image_url: PICTURE, mask_url: { ...PICTURE, description } }, [
          'prompt',
          'image_url',
          'mask_url',
        ]),
      );
    const formOf = (description: string) => (settingsOf(masked(description))['mask'] as JsonObject)['form'];
    expect(formOf('Black areas are inpainted, white areas are preserved.')).to.equal('black');
    expect(formOf('White pixels will be filled.')).to.equal('white');
    expect(formOf('A picture that marks areas that should be preserved.')).to.equal('black');
    expect(formOf('The mask.')).to.equal('white');
    expect(masked('The mask.').guesses.join(' ')).to.include('taken to be white in mask_url');
    await expectUsable(masked('The mask.'));
  });

  it('requires a mask, and the picture that has it, where the vendor does', async () => {
    const fields = { prompt: PROMPT, image_url: PICTURE, mask_url: PICTURE };
    for (const needed of [['prompt', 'image_url', 'mask_url'], ['mask_url']]) {
      const proposal = imported(atFal(fields, needed));
      expect(settingsOf(proposal)['mask']).to.deep.equal({ field: 'mask_url', form: 'white', required: true });
      expect(proposal.entry['required_roles']).to.deep.equal(['reference_image']);
      await expectUsable(proposal);
    }
    const optional = imported(atFal(fields, ['prompt']));
    expect(settingsOf(optional)['mask']).to.deep.equal({ field: 'mask_url', form: 'white' });
    await expectUsable(optional);
  });

  it('draws a seed that the vendor requires, and lets clients choose one', async () => {
    const seed = { type: 'integer', minimum: 1, maximum: 4_294_967_295 };
    const bounds = { type: 'integer', minimum: 1, maximum: 2_147_483_647 };
    const required = imported(atFal({ prompt: PROMPT, seed }, ['prompt', 'seed']));
    expect(required.entry['input_schema']).to.deep.equal({ properties: { seed: bounds } });
    expect(rulesOf(required)).to.deep.equal({ seed: { parameter: 'seed', ...bounds, draw: true } });
    await expectUsable(required);
    expect(rulesOf(imported(atFal({ prompt: PROMPT, seed })))).to.deep.equal({
      seed: { parameter: 'seed', ...bounds },
    });
  });

  it('refuses a model that needs a video', () => {
    const needing = atFal({ prompt: PROMPT, video_url: PICTURE }, ['video_url'], 'video-to-video');
    expect(refusal(needing)).to.equal('fal-ai/studio needs a video, and clients upload pictures only.');
  });

  it('drops deprecated twins and addresses of the operator', () => {
    const { dropped } = imported(EDITOR);
    expect(dropped).to.include('image: deprecated');
    const { dropped: more } = imported(atFal({ prompt: PROMPT, webhook_url: PICTURE, lora_url: PICTURE }));
    expect(more).to.have.length(2);
  });
});

describe('the import of prompts', () => {
  it('makes the prompt of a model for pictures optional if the vendor does', () => {
    const optional = atFal({ prompt: PROMPT, image_url: PICTURE }, ['image_url'], 'image-to-image');
    expect(imported(optional).entry['prompt']).to.equal('optional');
    expect(imported(atFal({ prompt: PROMPT }, [])).entry).to.not.have.property('prompt');
    expect(imported(UPSCALER).entry['prompt']).to.equal('none');
  });

  it('states in the description what the public model does not show', () => {
    const describedAs = (...model: Parameters<typeof atFal>) => imported(atFal(...model)).entry['description'];
    const pictures = { image_url: PICTURE, end_image_url: PICTURE };
    expect(imported(UPSCALER).entry['description']).to.match(
      /Takes no prompt\. Needs a file of the role reference_image\.$/,
    );
    expect(describedAs({ prompt: PROMPT, ...pictures }, ['image_url', 'end_image_url'], 'image-to-video')).to.match(
      /Needs no prompt\. Needs a file of the role start_frame and a file of the role end_frame\.$/,
    );
    expect(describedAs({ prompt: PROMPT, ...pictures }, ['prompt', 'image_url', 'end_image_url'])).to.match(
      /Needs 2 files of the role reference_image\.$/,
    );
    expect(
      describedAs({ prompt: PROMPT, image_url: PICTURE, mask_url: PICTURE }, ['prompt', 'image_url', 'mask_url']),
    ).to.match(/A reference_image must have transparent areas\.$/);
    expect(describedAs({ prompt: PROMPT })).to.equal(describedAs({ prompt: PROMPT, seed: { type: 'integer' } }));
  });

  it('finds a prompt under another name', () => {
    const proposal = imported(atFal({ text_prompt: PROMPT }, ['text_prompt']));
    expect(settingsOf(proposal)['prompt_field']).to.equal('text_prompt');
  });

  it('takes the longest prompt from the schema or its words', () => {
    expect(imported(atFal({ prompt: { ...PROMPT, maxLength: 1_500 } })).entry['max_prompt_characters']).to.equal(1_500);
    const words = imported(atFal({ prompt: { ...PROMPT, description: 'What to do. Max 800 characters.' } }));
    expect(words.entry['max_prompt_characters']).to.equal(800);
    expect(imported(atFal({ prompt: { ...PROMPT, maxLength: 20_000 } })).entry).to.not.have.property(
      'max_prompt_characters',
    );
  });
});

describe('the import of sizes', () => {
  it('sends width and height within their bounds', async () => {
    const side = { type: 'integer', minimum: 512, maximum: 1_280, default: 768, description: 'A multiple of 64.' };
    const proposal = imported(atFal({ prompt: PROMPT, width: side, height: side }));
    expect(parametersOf(proposal)['size']).to.deep.include({ default: '768x768' });
    expect(rulesOf(proposal)['width']).to.deep.equal({
      parameter: 'size',
      size: 'width',
      minimum: 512,
      maximum: 1_280,
      multiple_of: 64,
    });
    for (const size of (parametersOf(proposal)['size'] as { enum: string[] }).enum)
      for (const pixels of size.split('x').map(Number))
        expect(pixels % 64 === 0 && pixels >= 512 && pixels <= 1_280).to.equal(true);
    await expectUsable(proposal);
  });

  it('writes a size as the text that the vendor has', async () => {
    const listed = imported(
      atFal({ prompt: PROMPT, size: { type: 'string', enum: ['auto', '1024*1024', '1280*720'], default: 'auto' } }),
    );
    expect(rulesOf(listed)['size']).to.deep.equal({
      parameter: 'size',
      values: { '1024x1024': '1024*1024', '1280x720': '1280*720' },
    });
    expect(parametersOf(listed)['size']).to.not.have.property('default');
    const free = imported(atFal({ prompt: PROMPT, size: { type: 'string', default: '1024*1024' } }));
    expect(rulesOf(free)['size']).to.include({ parameter: 'size', size: '{w}*{h}' });
    await expectUsable(listed);
    await expectUsable(free);
  });

  it('keeps ratio and resolution apart, without values that mean another field', () => {
    const proposal = imported(EDITOR);
    expect(parametersOf(proposal)['aspect_ratio']).to.deep.equal({
      type: 'string',
      enum: ['match_input_image', '1:1', '16:9'],
      default: 'match_input_image',
    });
  });
});

describe('the import of lengths', () => {
  const video = (field: string, schema: JsonObject, more: JsonObject = {}) =>
    atFal({ prompt: PROMPT, [field]: schema, ...more }, ['prompt'], 'text-to-video');

  it("sends the vendor's form of whole seconds", async () => {
    const proposal = imported(video('duration', { type: 'string', enum: ['auto', '4s', '8s'], default: 'auto' }));
    expect(parametersOf(proposal)['duration_seconds']).to.deep.equal({ type: 'integer', enum: [4, 8], default: 4 });
    expect(rulesOf(proposal)['duration']).to.deep.equal({
      parameter: 'duration_seconds',
      values: { 4: '4s', 8: '8s' },
    });
    expect(proposal.guesses.join(' ')).to.include('Without a length 4 seconds are made');
    await expectUsable(proposal);
  });

  it('counts frames at the rate that it fixes', async () => {
    const proposal = imported(ANIMATOR);
    expect(parametersOf(proposal)['duration_seconds']).to.deep.equal({
      type: 'integer',
      minimum: 1,
      maximum: 10,
      default: 5,
    });
    expect(rulesOf(proposal)).to.deep.include({
      num_frames: { parameter: 'duration_seconds', type: 'integer', times: 16, plus: 1, minimum: 17, maximum: 161 },
      frames_per_second: { value: 16 },
    });
    await expectUsable(proposal);
  });

  it('rounds frames to the groups that the words name', async () => {
    const frames = { type: 'integer', minimum: 49, maximum: 129, default: 61, description: 'must be 4k+1' };
    const proposal = imported(video('num_frames', frames, { fps: { type: 'integer', default: 15 } }));
    const { values } = rulesOf(proposal)['num_frames'] as { values: Record<string, number> };
    expect(Object.values(values).every((count) => count % 4 === 1 && count >= 49 && count <= 129)).to.equal(true);
    await expectUsable(proposal);
  });
});

describe('the import of what only the operator decides', () => {
  it('puts filters on and fixes their levels, and says where the vendor has them off', () => {
    const proposal = imported(EDITOR);
    expect(rulesOf(proposal)).to.deep.include({
      disable_safety_checker: { value: false },
      safety_tolerance: { value: 2 },
    });
    expect(proposal.guesses).to.include(
      "The safety filter of disable_safety_checker is put on; it is off by the vendor's default.",
    );
  });

  it('keeps unsafe content off', () => {
    const flag = { type: 'boolean', default: true };
    const proposal = imported(atFal({ prompt: PROMPT, enable_nsfw: flag, nsfw_filter: flag, allow_nsfw: flag }));
    expect(rulesOf(proposal)).to.deep.equal({
      enable_nsfw: { value: false },
      nsfw_filter: { value: true },
      allow_nsfw: { value: false },
    });
  });

  it('keeps formats that can be delivered, under the names of media types', () => {
    const proposal = imported(EDITOR);
    expect(parametersOf(proposal)['output_format']).to.deep.equal({
      type: 'string',
      enum: ['webp', 'jpeg', 'png'],
      default: 'webp',
    });
    expect(rulesOf(proposal)['output_format']).to.deep.equal({
      parameter: 'output_format',
      values: { webp: 'webp', jpeg: 'jpg', png: 'png' },
    });
    expect(settingsOf(proposal)['output']).to.deep.equal({ media_type: 'image/webp' });
  });

  it('sends an empty list where the vendor requires one', () => {
    const proposal = imported(ANIMATOR);
    expect(rulesOf(proposal)['loras']).to.deep.equal({ value: [] });
    expect(proposal.guesses).to.include('loras is required; [] is sent with every request.');
  });

  it('sends constants of any JSON that fit, and refuses others', async () => {
    const loras = { type: 'array', items: { type: 'object' } };
    const proposal = imported(atFal({ prompt: PROMPT, loras, steps: { type: 'integer', minimum: 1, maximum: 9 } }), {
      set: { loras: '[{"path":"a"}]', steps: '7' },
    });
    expect(rulesOf(proposal)).to.deep.equal({ loras: { value: [{ path: 'a' }] }, steps: { value: 7 } });
    await expectUsable(proposal);
    const model = atFal({ prompt: PROMPT, steps: { type: 'integer', minimum: 1, maximum: 9 } });
    expect(refusal(model, { set: { steps: '10' } })).to.equal(
      '--set steps=10 is not a value that the schema of fal-ai/studio takes.',
    );
    expect(refusal(model, { set: { other: '1' } })).to.equal('fal-ai/studio has no field other, which --set names.');
    expect(refusal(model, { set: { prompt: 'x' } })).to.equal('--set cannot fix prompt: clients write it.');
  });

  it('offers a listed number of outputs', async () => {
    const proposal = imported(atFal({ prompt: PROMPT, num_images: { type: 'integer', enum: [1, 2, 4], default: 1 } }));
    expect(parametersOf(proposal)['n']).to.deep.equal({ type: 'integer', enum: [1, 2, 4], default: 1 });
    await expectUsable(proposal);
  });

  it('counts outputs by one field, in the form of the vendor, and fixes further ones at one', async () => {
    const batch = { type: 'integer', minimum: 1, maximum: 8, default: 4 };
    const num_images = { type: 'string', enum: ['1', '2', '4'], default: '2' };
    const proposal = imported(atFal({ prompt: PROMPT, num_images, batch_size: batch }), { all: true });
    expect(parametersOf(proposal)).to.deep.equal({ n: { type: 'integer', enum: [1, 2, 4], default: 2 } });
    expect(rulesOf(proposal)).to.deep.equal({
      num_images: { parameter: 'n', values: { 1: '1', 2: '2', 4: '4' } },
      batch_size: { value: 1 },
    });
    expect(proposal.entry).to.have.nested.property('price.count_parameter', 'n');
    await expectUsable(proposal);
    const { dropped } = imported(atFal({ prompt: PROMPT, num_images: { type: 'integer', maximum: 0 } }));
    expect(dropped).to.deep.equal(['num_images: no number of outputs is within its bounds']);
  });

  it('states that one result is charged if no field has the number of results', () => {
    const sentence = 'The output is a list, and no field says how long it is; one result is delivered and charged.';
    expect(imported(atFal({ prompt: PROMPT })).guesses).to.include(sentence);
    expect(imported(atFal({ prompt: PROMPT, max_images: { type: 'integer' } })).guesses).not.to.include(sentence);
  });

  it('asks for a value that the vendor requires and no rule knows', () => {
    expect(refusal(atFal({ prompt: PROMPT, voice_path: PROMPT }, ['prompt', 'voice_path']))).to.equal(
      'fal-ai/studio needs a value for voice_path (no rule knows it): give --set voice_path=… if one is right for all requests.',
    );
  });

  it('asks nobody to write a secret into a catalog', () => {
    for (const name of ['api_key', 'openai_api_key', 'access_token'])
      expect(refusal(atFal({ prompt: PROMPT, [name]: { type: 'string' } }, ['prompt', name]))).to.equal(
        `fal-ai/studio needs ${name}: a catalog is no place for a secret.`,
      );
  });

  it('offers the rest only with --all, never free text for places', async () => {
    const model = atFal({
      prompt: PROMPT,
      steps: { type: 'integer', minimum: 1, maximum: 9 },
      style: { type: 'string', enum: ['plain', 'models/plain.png', 'vector_drawing', 'fine'] },
      caption: PROMPT,
      base_path: PROMPT,
    });
    expect(parametersOf(imported(model))).to.deep.equal({});
    const all = imported(model, { all: true });
    expect(Object.keys(parametersOf(all))).to.deep.equal(['steps', 'style', 'caption']);
    expect(parametersOf(all)['style']).to.deep.include({ enum: ['plain', 'fine'] });
    await expectUsable(all);
  });
});

describe('the import of prices', () => {
  const perUnit = (unit: string, unitPrice = '0.04'): Json | undefined => {
    const size = { type: 'string', enum: ['1024x1024', '512x512'], default: '512x512' };
    const recorded = { ...atFal({ prompt: PROMPT, size }), price: { unit, unitPrice, currency: 'USD' } };
    return proposeModel(recorded, OPTIONS).entry['price'];
  };

  it('fills in what the vendor counts beforehand', () => {
    expect(perUnit('images')).to.deep.equal({ credits_per_unit: 5.2, size_parameter: 'size' });
    expect(perUnit('megapixels')).to.deep.equal({
      unit: 'megapixel',
      credits_per_unit: 5.2,
      round_up: true,
      pixels_per_megapixel: 1_048_576,
      size_parameter: 'size',
    });
  });

  it('counts the megapixels of a video by the rate of its frames', async () => {
    const size = { type: 'string', enum: ['1280x720', '720x1280'], default: '1280x720' };
    const frames = { type: 'integer', minimum: 17, maximum: 161, default: 121 };
    const model = atFal(
      { prompt: PROMPT, video_size: size, num_frames: frames, fps: { type: 'integer', default: 24 } },
      ['prompt'],
      'text-to-video',
    );
    const proposal = proposeModel(
      { ...model, price: { unit: 'megapixels', unitPrice: '0.002', currency: 'USD' } },
      OPTIONS,
    );
    expect(proposal.entry['price']).to.deep.equal({
      unit: 'megapixel',
      credits_per_unit: 0.26,
      round_up: true,
      frames_per_second: 24,
      size_parameter: 'size',
      duration_parameter: 'duration_seconds',
    });
    await expectUsable(proposal);
  });

  it('hints at no factor for what the number of units follows already', () => {
    const size = { type: 'string', enum: ['1280x720', '720x1280'], description: 'A larger size costs more.' };
    const num_frames = { type: 'integer', minimum: 17, maximum: 161, default: 121, description: 'Each frame costs.' };
    const duration = { type: 'string', enum: ['5', '10'], description: '10 s costs 2x more.' };
    const hintsAt = (unit: string, fields: JsonObject) => {
      const model = atFal({ prompt: PROMPT, ...fields }, ['prompt'], 'text-to-video');
      return proposeModel({ ...model, price: { unit, unitPrice: '0.1', currency: 'USD' } }, OPTIONS).hints;
    };
    expect(
      hintsAt('megapixels', { video_size: size, num_frames, fps: { type: 'integer', default: 24 } }),
    ).to.deep.equal([]);
    expect(hintsAt('seconds', { duration })).to.deep.equal([]);
    const quality = { type: 'string', enum: ['low', 'high'] };
    const model = { ...atFal({ prompt: PROMPT, quality }), price: { unit: 'images', unitPrice: '1', currency: 'USD' } };
    expect(proposeModel(model, OPTIONS).guesses.at(-1)).to.equal(
      "The price is one for all values of quality: compare the vendor's page, and set the factors below the price where it differs.",
    );
    expect(hintsAt('videos', { duration })).to.deep.equal([
      'multipliers:',
      '  # The vendor says of duration_seconds: 10 s costs 2x more.',
      '  - { parameter: duration_seconds, values: { "5": 1, "10": 1 } }',
    ]);
  });

  for (const unit of ['units', 'compute seconds', 'tokens', 'seconds', 'generations', 'constructor'])
    it(`asks for a price of a picture that is charged by ${unit}`, () => {
      expect(() => perUnit(unit)).to.throw(
        ImportRefused,
        `fal charges fal-ai/studio by ${unit}, whose number per task is not known beforehand: give --price with the credits per image.`,
      );
    });

  it('asks for --price if the price is in another currency or is not a number', () => {
    const priced = (price: NonNullable<RecordedModel['price']>) =>
      refusal({ ...atFal({ prompt: PROMPT }), price }, { price: undefined as never });
    expect(priced({ unit: 'images', unitPrice: '1', currency: 'EUR' })).to.include('is in EUR: give --price');
    for (const unitPrice of ['', '-1', '1e3', 'NaN', '0'])
      expect(priced({ unit: 'images', unitPrice, currency: 'USD' })).to.include('is no usable number: give --price');
  });

  it('computes credits exactly, rounded up at six places', () => {
    expect(product('0.003', '100', '1.3')).to.equal('0.39');
    expect(product('0.1', '0.2')).to.equal('0.02');
    expect(product('0.0000001', '1')).to.equal('0.000001');
    expect(product('0.0000011', '1')).to.equal('0.000002');
    expect(product('0', '100')).to.equal(undefined);
    forAllSync(
      200,
      [fc.integer({ min: 1, max: 10 ** 9 }), fc.integer({ min: 1, max: 10 ** 6 })],
      (micro, thousandths) => {
        const [one, other] = [(micro / 1e6).toFixed(6), (thousandths / 1e3).toFixed(3)];
        const exact = BigInt(micro) * BigInt(thousandths);
        const expected = (exact + 999n) / 1_000n;
        expect(BigInt(Math.round(Number(product(one, other)) * 1e6))).to.equal(expected);
      },
    );
  });

  it('refuses a --price that is not a decimal above 0', () => {
    for (const price of ['0', '-1', '1e3', '', '1.2345678', 'five'])
      expect(refusal(EDITOR, { price })).to.equal('--price must be a decimal number above 0 with at most 6 places.');
  });

  it('writes factors that can be taken over as they are', () => {
    const { entry, hints } = imported(ANIMATOR);
    const price = { ...(entry['price'] as JsonObject), ...(parse(hints.join('\n')) as JsonObject) };
    expect(price).to.have.nested.property('multipliers[1].values.true', 1);
    expect(catalogFaultsOf({ ...entry, price })).to.deep.equal([]);
  });

  it('hints at factors for what may change the price, with the words of the vendor', () => {
    expect(imported(ANIMATOR).hints).to.deep.equal([
      'multipliers:',
      '  # The vendor says of resolution: 720p costs 2x more.',
      '  - { parameter: resolution, values: { "480p": 1, "720p": 1 } }',
      '  - { parameter: generate_audio, values: { "false": 1, "true": 1 } }',
    ]);
  });
});

describe('the import from each vendor', () => {
  it('reads a file that begins with a byte order mark', () => {
    expect(parseBounded('\uFEFF{"a":1}')).to.deep.equal({ a: 1 });
  });

  it('pins the version of a model at Replicate unless it is official', () => {
    const pinned = { ...EDITOR, document: { ...(EDITOR.document as JsonObject), is_official: false } };
    expect(settingsOf(imported(EDITOR))).to.not.have.property('version');
    expect(settingsOf(imported(pinned))).to.include({ model: 'studio/editor-2', version: '5c7d'.repeat(16) });
    const { is_official: _, ...unsaid } = EDITOR.document as JsonObject;
    expect(settingsOf(imported({ ...EDITOR, document: unsaid }))).to.include({ version: '5c7d'.repeat(16) });
    const alone = unsaid['latest_version'] as JsonObject;
    expect(settingsOf(imported({ ...EDITOR, document: alone }))).to.include({ version: '5c7d'.repeat(16) });
    const asked = { ...EDITOR, id: `studio/editor-2:${'5c7d'.repeat(16)}` };
    expect(settingsOf(imported(asked))).to.include({ version: '5c7d'.repeat(16) });
    expect(refusal({ ...EDITOR, id: `studio/editor-2:${'0'.repeat(64)}` })).to.match(
      /^The answer is about another version/,
    );
    expect(refusal({ ...EDITOR, id: 'studio/other' })).to.equal(
      'The answer is about studio/editor-2, not about studio/other.',
    );
  });

  it('takes the output of a container for what its words say', () => {
    const input = {
      properties: { prompt: PROMPT, num_frames: { type: 'integer', minimum: 8, maximum: 80, default: 40 } },
    };
    const video = { vendor: 'replicate' as const, id: 'a/b', document: replicateAnswer('a/b', input) };
    expect(settingsOf(imported(video))['output']).to.deep.equal({ media_type: 'video/mp4' });
    const modalityOf = (id: string, output: JsonObject = URI) => {
      const document = replicateAnswer(id, { properties: { prompt: PROMPT } }, { output });
      return settingsOf(imported({ vendor: 'replicate', id, document }))['output'];
    };
    expect(modalityOf('a/wan-2.2-t2v')).to.deep.equal({ media_type: 'video/mp4' });
    expect(modalityOf('a/wan-2.2-image')).to.deep.equal({ media_type: 'image/png' });
    const inObject = { type: 'object', properties: { logs: URI, mask: URI, files: { type: 'array', items: URI } } };
    expect(modalityOf('a/painter', inObject)).to.deep.equal({ media_type: 'image/png', at: '/files/*' });
    const text = { ...video, document: replicateAnswer('a/b', input, { output: { type: 'string' } }) };
    expect(refusal(text)).to.equal('a/b makes neither pictures nor videos: its output is not an address of a file.');
    expect(URI['format']).to.equal('uri');
  });

  it("asks OpenAI's answer when the model ends, and refuses one that has ended or soon will", async () => {
    const ending = (date: string) => ({ ...GPT, document: { ...(GPT.document as JsonObject), shutdown_date: date } });
    expect(refusal(ending('2026-11-28'))).to.equal('OpenAI ended this model on 2026-11-28.');
    expect(refusal(ending('2026-12-01'))).to.equal('OpenAI ends this model on 2026-12-01.');
    expect(imported(ending('2027-06-01')).guesses).to.include('OpenAI ends this model on 2027-06-01.');
    expect(refusal({ ...GPT, id: 'sora-9', document: { id: 'sora-9' } })).to.equal('OpenAI has ended sora-9.');
    expect(refusal({ ...GPT, id: 'gpt-9', document: { id: 'gpt-9' } })).to.include('does not make pictures');
    await expectUsable(imported(GPT));
  });

  it('makes keys of ids, without their owners', () => {
    expect(keyOf('fal-ai/flux/schnell')).to.equal('flux-schnell');
    expect(keyOf('wan/v2.6/text-to-video')).to.equal('wan-v2.6-text-to-video');
    expect(keyOf(`acme/Own_Model:${'0'.repeat(64)}`)).to.equal('own_model');
    expect(keyOf('http://127.0.0.1:5000')).to.equal('127.0.0.1-5000');
    expect(keyOf('/')).to.equal('model');
  });

  it('proposes usable entries from every own answer', async () => {
    for (const recorded of [EDITOR, ANIMATOR, UPSCALER, GPT]) {
      await expectUsable(imported(recorded));
      await expectUsable(imported(recorded, { all: true }));
    }
  });
});
