/*
 * Goal: a task is asked for as each server documents it, once, with the fields that the settings name and nothing else.
 * Method: the fakes of the servers keep what they received; properties for parameters and prompts that users choose.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import type { OpenAiProvider } from '../../../../adapters/providers/openai/openai-provider.js';
import { PRESETS } from '../../../../adapters/providers/openai/presets.js';
import type { Json, JsonObject } from '../../../../core/json.js';
import type { Submission, SubmitAnswer } from '../../../../core/ports/provider.js';
import { WANTED } from '../../../contracts/provider.contract.js';
import type { OpenAiVendor } from '../../../providers/fakes/openai-error.js';
import { OpenAiFake } from '../../../providers/fakes/openai-fake.js';
import { file, openAiAt, task, video } from './opened-openai.js';

const PNG = Buffer.from('the bytes of a picture');

describe('requests to servers with the API of OpenAI', () => {
  let fake: OpenAiFake;
  let provider: OpenAiProvider;
  afterEach(() => Promise.all([provider.close(), fake.close()]));

  async function open(vendor: OpenAiVendor = 'openai'): Promise<void> {
    fake = await OpenAiFake.open(vendor);
    provider = openAiAt(fake.base);
  }
  const submit = (wish: Partial<Submission>): Promise<SubmitAnswer> =>
    provider.submit(task(wish), new AbortController());
  const lastFields = () => fake.images.taken.at(-1)?.fields;
  const lastPath = () => fake.server.requests.at(-1)?.path;

  it('for pictures of OpenAI have its fields', async () => {
    await open();
    const parameters = {
      size: 'auto',
      n: 2,
      quality: 'low',
      background: 'opaque',
      output_format: 'webp',
      output_compression: 80,
      user: 'someone',
      stream: true,
    };
    const answer = await submit({ parameters });
    expect(lastFields()).to.deep.equal({
      prompt: 'a lighthouse',
      model: 'gpt-image-2',
      size: 'auto',
      n: 2,
      quality: 'low',
      background: 'opaque',
      output_format: 'webp',
      output_compression: 80,
    });
    expect(answer).to.have.nested.property('outputs[1].mediaType', 'image/webp');
    expect(answer).to.have.deep.property('cost', { inputTokens: 44, outputTokens: 1_056 });
    expect([lastPath(), fake.server.posts]).to.deep.equal(['/v1/images/generations', 1]);
  });

  it('with references edit them, as files with names of ours', async () => {
    await open();
    const references = [file(PNG), file(PNG, 'image/webp')];
    expect(await submit({ references, parameters: { n: 1, input_fidelity: 'high' } })).to.have.property(
      'accepted',
      true,
    );
    const [taken] = fake.images.taken;
    expect(taken?.fields).to.deep.equal({
      prompt: 'a lighthouse',
      model: 'gpt-image-2',
      n: '1',
      input_fidelity: 'high',
    });
    expect(taken?.files).to.deep.equal([
      { field: 'image[]', name: 'reference-1.png', type: 'image/png', bytes: PNG },
      { field: 'image[]', name: 'reference-2.webp', type: 'image/webp', bytes: PNG },
    ]);
    expect(lastPath()).to.equal('/v1/images/edits');
  });

  it('for pictures of vLLM-Omni and SGLang have the fields of diffusion models', async () => {
    for (const [vendor, field] of [
      ['vllm-omni', 'image'],
      ['sglang', 'image[]'],
    ] as const) {
      await open(vendor);
      const wish = {
        settings: { preset: vendor },
        negativePrompt: 'people',
        parameters: { size: '512x512', n: 1, seed: 7, num_inference_steps: 20, guidance_scale: 4.5, true_cfg_scale: 4 },
      };
      await submit(wish);
      const fields = {
        prompt: 'a lighthouse',
        negative_prompt: 'people',
        response_format: 'b64_json',
        ...wish.parameters,
      };
      expect(lastFields()).to.deep.equal(fields);
      await submit({ ...wish, references: [file(PNG)] });
      expect(lastFields()).to.deep.equal(textsOf(fields));
      expect(fake.images.taken.at(-1)?.files[0]?.field).to.equal(field);
      await fake.close();
      await provider.close();
    }
  });

  it('for pictures of LocalAI have its references as base64', async () => {
    await open('localai');
    const settings = { preset: 'localai', model: 'flux' };
    const answer = await submit({ settings, parameters: { step: 8, size: '256x256' }, references: [file(PNG)] });
    expect(lastFields()).to.deep.equal({
      prompt: 'a lighthouse',
      model: 'flux',
      response_format: 'b64_json',
      size: '256x256',
      step: 8,
      files: [PNG.toString('base64')],
    });
    expect(lastPath()).to.equal('/v1/images/generations');
    expect(answer, 'counts that are 0').to.not.have.property('cost');
  });

  it('for videos are forms where the server takes forms, and JSON where it does not', async () => {
    const parameters = { size: '1280x720', duration_seconds: 4, fps: 16, seed: 3 };
    const sent = { prompt: 'a lighthouse', size: '1280x720', seconds: 4, fps: 16, seed: 3 };
    await open('vllm-omni');
    await provider.submit(video({ parameters }), WANTED);
    expect(fake.videos.jobs[0]?.fields).to.deep.equal(textsOf(sent));
    await Promise.all([provider.close(), fake.close()]);
    await open('sglang');
    const settings = { preset: 'sglang', api: 'video' };
    await provider.submit(video({ settings, parameters }), WANTED);
    expect(fake.videos.jobs[0]?.fields).to.deep.equal(sent);
    await provider.submit(video({ settings, parameters, references: [file(PNG)] }), WANTED);
    expect(fake.videos.jobs[1]).to.deep.include({
      fields: textsOf(sent),
      files: [{ field: 'input_reference', name: 'reference-1.png', bytes: PNG }],
    });
  });

  it('have what the settings put in place of the preset', async () => {
    await open('vllm-omni');
    const settings: JsonObject = {
      preset: 'vllm-omni',
      model: 'flux',
      response_format: 'none',
      fields: { style: { parameter: 'look', type: 'string', enum: ['oil', 'ink'] }, n: { value: 1 } },
    };
    await submit({ settings, parameters: { look: 'ink', n: 4, seed: 1 } });
    expect(lastFields()).to.deep.equal({ prompt: 'a lighthouse', model: 'flux', style: 'ink', n: 1, seed: 1 });
  });

  it('are not made for what the settings do not allow', async () => {
    await open();
    const refused: readonly (readonly [Partial<Submission>, string])[] = [
      [{ parameters: { n: 11 } }, 'INPUT_INVALID'],
      [{ parameters: { size: '../x' } }, 'INPUT_INVALID'],
      [{ parameters: { output_format: 'gif' } }, 'INPUT_INVALID'],
      [{ negativePrompt: 'people' }, 'INPUT_INVALID'],
      [{ references: Array.from({ length: 17 }, () => file(PNG)) }, 'INPUT_INVALID'],
      [{ references: [{ ...file(PNG), role: 'end_frame' }] }, 'INPUT_INVALID'],
      [{ settings: {} }, 'MODEL_UNAVAILABLE'],
    ];
    for (const [wish, code] of refused) expect(await submit(wish)).to.have.nested.property('failure.code', code);
    expect(fake.server.requests).to.deep.equal([]);
  });

  it('have no prompt with a command of stable-diffusion.cpp', async () => {
    await open('localai');
    const settings = { preset: 'sd-cpp' };
    for (const prompt of ['<sd_cpp_extra_args>{"width":8192}</sd_cpp_extra_args>', 'a <SD_cpp_Extra_args'])
      expect(await submit({ settings, prompt })).to.deep.equal({
        accepted: false,
        failure: {
          code: 'INPUT_INVALID',
          message: 'The prompt has a text that the provider would read as a command.',
          mayRetry: false,
        },
      });
    expect(fake.server.requests).to.deep.equal([]);
    for (const preset of ['sd-cpp', 'localai'])
      expect(await submit({ settings: { preset, model: 'x' }, prompt: 'a <LoRA:../x:1>' })).to.have.property(
        'accepted',
        false,
      );
    expect(fake.server.requests).to.deep.equal([]);
    expect(await submit({ settings, prompt: 'a <lighthouse>' })).to.have.property('accepted', true);
  });

  it('carry any prompt as it is, in JSON and in forms', async () => {
    await open();
    const prompts = fc.string({ unit: 'binary', minLength: 1 });
    await fc.assert(
      fc.asyncProperty(prompts, fc.boolean(), async (prompt, hasReference) => {
        await submit({ prompt, references: hasReference ? [file(PNG)] : [] });
        expect(lastFields()).to.have.property('prompt', prompt);
      }),
      { numRuns: 30 },
    );
  });

  it('have no field that the settings do not name, whatever the parameters are', async () => {
    await open('vllm-omni');
    const names = fc.oneof(
      fc.constantFrom('model', 'lora', 'extra_params', 'output_path', 'image_url', 'response_format', 'prompt'),
      fc.string({ maxLength: 8 }),
    );
    const named = Object.keys(PRESETS['vllm-omni'].sync?.fields ?? {});
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(names, fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<Json>),
        async (parameters) => {
          await submit({ settings: { preset: 'vllm-omni' }, prompt: 'mine', parameters });
          const { prompt = 'mine', response_format: format = 'b64_json', ...others } = lastFields() ?? {};
          expect([prompt, format]).to.deep.equal(['mine', 'b64_json']);
          expect(named).to.include.members(Object.keys(others));
        },
      ),
      { numRuns: 50 },
    );
  });
});

function textsOf(fields: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value)]));
}
