/*
 * Goal: users never write into a field that is the operator's, however its name is written, and all other fields can be theirs.
 * Method: names of fields of real servers and models, each with every kind of rule.
 */
import { expect } from 'chai';
import {
  isOfOperator,
  operatorFieldsFault,
  promptFieldFault,
} from '../../../../adapters/providers/shared/operator-fields.js';
import type { FieldRule } from '../../../../adapters/providers/shared/request-fields.js';

const OF_OPERATOR = [
  'path output_path model_paths lora_path loraPath filepath file file_name filename input-file url image_url',
  'image_urls imageUrl image.url imageURL IMAGE_URL baseurl uri hf_uri host hostname callback callback_id',
  'webhook webhook_events_filter webhookUrl extra extra_args extra_lora extraBody diffusers_kwargs',
  'attention_backend_override device model model_name base_model modelId repo repo_id tar weights',
  'replicate_weights lora loras hf_lora lora_name checkpoint ckpt embedding embeddings safetensors image',
  'images image[] ref_images mask mask_image video source_video audio start_frame api_key apiKey apikey token',
  'hf_api_token civitai_token secret password credentials',
].flatMap((names) => names.split(' '));

const OF_USERS = [
  'prompt text caption negative_prompt negativePrompt image_prompt video_prompt prompt_2 style',
  'style_preference aspect_ratio image_size output_format video_length sampler_name go_fast scheduler quality',
  'background seed language target ghost profile tokenizer remodel',
].flatMap((names) => names.split(' '));

const FREE: readonly FieldRule[] = [
  { parameter: 'x', type: 'string', max_length: 100 },
  { parameter: 'x', type: 'string', pattern: '[a-z]+' },
];
const CHOSEN: readonly FieldRule[] = [
  { value: 'mine' },
  { parameter: 'x', type: 'string', enum: ['mine'] },
  { parameter: 'x', values: { a: 'mine' } },
  { parameter: 'x', type: 'integer', minimum: 1, maximum: 4 },
  { parameter: 'x', type: 'boolean' },
];

describe('fields that are the operator’s', () => {
  it('take no text of users, by a parameter or as a prompt', () => {
    const why = 'users must not write into a field for places, addresses, files, keys or options.';
    for (const name of OF_OPERATOR) {
      for (const rule of FREE)
        expect(operatorFieldsFault({ style: FREE[0]!, [name]: rule }), name).to.equal(
          `fields.${name} needs an enum, values or a value: ${why}`,
        );
      expect(operatorFieldsFault({ [name]: FREE[0]! }, 'reference_fields')).to.match(/^reference_fields\./);
      expect(promptFieldFault('prompt_field', name), name).to.equal(`prompt_field must not be ${name}: ${why}`);
    }
  });

  it('take what the operator lists, numbers and truth values', () => {
    for (const name of OF_OPERATOR)
      for (const rule of CHOSEN) expect(operatorFieldsFault({ [name]: rule }), name).to.equal(undefined);
  });

  it('are none that only sounds like one', () => {
    for (const name of OF_USERS) {
      for (const rule of FREE) expect(operatorFieldsFault({ [name]: rule }), name).to.equal(undefined);
      expect(promptFieldFault('prompt_field', name), name).to.equal(undefined);
    }
    expect(promptFieldFault('negative_prompt_field', undefined)).to.equal(undefined);
  });

  it('include what is below places and options, but not what is below a model or a mask', () => {
    expect(isOfOperator('extra_args', 'text')).to.equal(true);
    expect(isOfOperator('webhook', 'text')).to.equal(true);
    expect(isOfOperator('model_inputs', 'prompt')).to.equal(false);
    expect(isOfOperator('mask', 'text')).to.equal(false);
  });
});
