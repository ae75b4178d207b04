import { expect } from 'chai';
import fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import { openAiDriver } from '../../../../adapters/providers/openai/openai-driver.js';
import { OpenAiProvider } from '../../../../adapters/providers/openai/openai-provider.js';
import { SETTING_NAMES, settingsFault } from '../../../../adapters/providers/openai/openai-settings.js';
import { PRESETS } from '../../../../adapters/providers/openai/presets.js';
import { fieldRulesFault } from '../../../../adapters/providers/shared/request-fields.js';
import type { PromptRule } from '../../../../core/catalog/model.js';
import type { Json, JsonObject } from '../../../../core/json.js';
import type { Submission, SubmitAnswer } from '../../../../core/ports/provider.js';
import { WANTED } from '../../../contracts/provider.contract.js';
import { plain, readPage, tablesOf } from '../../../docs/pages.js';
import { IMAGE_PLACE } from '../../../fixtures/settings-place.js';
import { OpenAiFake, type OpenAiVendor } from '../../../providers/fakes/openai-fake.js';
import { defaultsOf, expectRefused } from '../vendor-subject.js';
import { file, openAiAt, task, video } from './opened-openai.js';

/*
 * Goal: a task is requested as each server documents it, once, with the fields that the settings name and nothing else.
 * Method: the fakes of the servers keep what they received; properties for parameters and prompts that users choose.
 */

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
    const drawing = { size: 'auto', n: 2, quality: 'low', background: 'opaque' };
    const known = { ...drawing, output_format: 'webp', output_compression: 80 };
    const answer = await submit({ parameters: { ...known, user: 'someone', stream: true } });
    expect(lastFields()).to.deep.equal({ prompt: 'a lighthouse', model: 'gpt-image-2', ...known });
    expect(answer).to.have.nested.property('outputs[1].mediaType', 'image/webp');
    expect(answer).to.have.deep.property('cost', { inputTokens: 44, outputTokens: 1_056 });
    expect([lastPath(), fake.server.posts]).to.deep.equal(['/v1/images/generations', 1]);
  });

  it('with references edit them, as files with names of ours', async () => {
    await open();
    const references = [file(PNG), file(PNG, 'image/webp')];
    const parameters = { n: 1, input_fidelity: 'high' };
    expect(await submit({ references, parameters })).to.have.property('accepted', true);
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

  it('have a drawn number for a task without a value, the same for the same task', async () => {
    await open('vllm-omni');
    const seed = { parameter: 'seed', type: 'integer', minimum: 1, maximum: 1_000_000, draw: true };
    const settings: JsonObject = { preset: 'vllm-omni', model: 'flux', response_format: 'none', fields: { seed } };
    const seedOf = async (token: string) => {
      await submit({ settings, token, parameters: {} });
      return Number(lastFields()?.['seed']);
    };
    const [one, other] = [randomUUID(), randomUUID()];
    const drawn = await seedOf(one);
    expect(drawn).to.be.within(1, 1_000_000);
    expect(await seedOf(one)).to.equal(drawn);
    expect(await seedOf(other)).to.not.equal(drawn);
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

/*
 * Goal: settings that cannot work, or that would let users set fields reserved for the operator, are refused at the
 * start with one sentence.
 * Method: the driver's own check, for each mistake; every preset is tried on every field that must not be reached.
 */

const OF_OPERATORS = [
  'output_path upscaling_model_path perf_dump_path reference_url image_url url extra_params extra_body extra_args',
  'diffusers_kwargs generator_device attention_backend_override lora lora_path input_reference image_reference',
  'audio_reference image images mask mask_image ref_images file files source_video',
].flatMap((names) => names.split(' '));

describe('settings of a model on a server with the API of OpenAI', () => {
  for (const [preset, apis] of Object.entries(PRESETS)) {
    for (const api of Object.keys(apis)) {
      it(`are complete with the preset ${preset} for ${api}, and a model`, () => {
        expect(settingsFault({ preset, api, model: 'a-model' })).to.equal(undefined);
      });
    }
  }

  it('have rules that can be used in each preset', () => {
    for (const apis of Object.values(PRESETS))
      for (const { fields, reference_fields: further } of Object.values(apis)) {
        expect(fieldRulesFault(fields)).to.equal(undefined);
        expect(fieldRulesFault(further)).to.equal(undefined);
      }
  });

  it('let no parameter into a field for places, files or options of the server', () => {
    for (const at of ['fields', 'reference_fields'])
      for (const field of OF_OPERATORS) {
        const rule = { parameter: 'style', type: 'string', max_length: 100 };
        expect(settingsFault({ preset: 'sglang', [at]: { [field]: rule } }), field).to.equal(
          `${at}.${field} needs an enum, values or a value: users must not write into a field for places, addresses, files, keys or options.`,
        );
        expect(settingsFault({ preset: 'sglang', [at]: { [field]: { value: 'mine' } } }), field).to.equal(undefined);
        expect(settingsFault({ preset: 'sglang', negative_prompt_field: field }), field).to.match(
          /^negative_prompt_field must not be \w+: users must not write into/,
        );
      }
  });

  it('let no parameter into a field about the account', () => {
    for (const field of ['user', 'store', 'input']) {
      const rule = { parameter: 'x', type: 'boolean' };
      expect(settingsFault({ preset: 'sglang', fields: { [field]: rule } }), field).to.equal(
        `fields.${field} may not take a parameter: this field is about your account.`,
      );
      expect(settingsFault({ preset: 'sglang', negative_prompt_field: field }), field).to.equal(
        `negative_prompt_field may not be ${field}: this field is about your account.`,
      );
    }
  });

  it('take an error of a server for the end of a task only where nobody is paid, whatever the preset says', () => {
    const refused =
      'server_errors must be unknown where paid is true: a task that was taken before an error would be paid twice.';
    for (const [preset, apis] of Object.entries(PRESETS))
      for (const api of Object.keys(apis))
        for (const paid of [undefined, true, false])
          for (const server_errors of [undefined, 'unknown', 'final']) {
            const isPaid = paid ?? preset === 'openai';
            const isFinal = (server_errors ?? (preset === 'openai' ? 'unknown' : 'final')) === 'final';
            const given = { preset, api, model: 'a-model', paid, server_errors };
            const settings = JSON.parse(JSON.stringify(given)) as JsonObject;
            expect(settingsFault(settings), JSON.stringify(settings)).to.equal(isPaid && isFinal ? refused : undefined);
          }
  });

  it('are refused for a model without a prompt', () => {
    const faultFor = (promptRule: PromptRule) =>
      openAiDriver.settingsFault?.({ model: 'x' }, { ...IMAGE_PLACE, promptRule });
    expect(faultFor('required')).to.equal(undefined);
    expect(faultFor('none')).to.equal('This API needs a prompt: prompt must not be none for the model.');
  });

  it('are refused in one sentence', () => {
    expectRefused(settingsFault, [
      [{}, 'model is required.'],
      [{ preset: 'comfyui' }, 'preset must be one of openai, localai, vllm-omni, sglang, sd-cpp.'],
      [{ modell: 'x' }, 'unknown field "modell".'],
      [{ preset: 'localai', api: 'video' }, 'The preset localai has no api video.'],
    ]);
    expectRefused(
      (settings) => settingsFault({ model: 'x', ...settings }),
      [
        [{ cancel: 'delete' }, 'cancel must be none with api sync: there is no job to delete.'],
        [{ request: 'multipart' }, 'request must be json with api sync.'],
        [{ api: 'video', references: { as: 'json' } }, 'references.as must be multipart with api video.'],
        [
          { fields: { stream: { value: true } } },
          'fields.stream may not be given: the provider fills this field itself.',
        ],
        [
          { negative_prompt_field: 'model' },
          'negative_prompt_field may not be model: the provider fills this field itself.',
        ],
        [{ negative_prompt_field: 'quality' }, 'The field quality is given twice.'],
        [
          { fields: { size: { parameter: 'size' } } },
          'fields.size needs values, a size, or a type, one of string, integer, number, boolean.',
        ],
        [
          { fields: { output_format: { value: 'gif' } } },
          'fields.output_format: "gif" cannot be delivered: an image is delivered as PNG, JPEG or WebP.',
        ],
        [
          { fields: { output_format: { parameter: 'f', type: 'string', max_length: 4 } } },
          'fields.output_format needs a value, values or an enum.',
        ],
        [
          { result_hosts: ['https://cdn.example.com/x'] },
          'result_hosts: https://cdn.example.com/x is no host; write a name, or a dot and a name for all hosts below it, and a port after a colon unless it is 443.',
        ],
      ],
    );
  });

  it('are refused for a model that makes something else, which would be paid for and not delivered', () => {
    const faultOf = (settings: JsonObject, modality: 'image' | 'video') =>
      openAiDriver.settingsFault?.(settings, { ...IMAGE_PLACE, modality });
    expect(faultOf({ model: 'x', api: 'video' }, 'image')).to.equal(
      'api must be sync for a model of modality image, not video.',
    );
    expect(faultOf({ model: 'x' }, 'video')).to.equal('api must be video for a model of modality video, not sync.');
    expect(faultOf({ model: 'x' }, 'image')).to.equal(undefined);
    expect(faultOf({ model: 'x', api: 'video' }, 'video')).to.equal(undefined);
  });

  it('decide what is promised', async () => {
    const provider = openAiAt('http://127.0.0.1:9/v1');
    for (const [settings, capabilities] of [
      [{ model: 'x' }, { answersWithOutputs: true, isPaid: true, cancels: 'nothing' }],
      [
        { preset: 'vllm-omni', api: 'video' },
        { answersWithOutputs: false, isPaid: false, cancels: 'running' },
      ],
      [{ preset: 'sglang', api: 'video' }, { cancels: 'nothing' }],
      [{ preset: 'sglang', paid: true, server_errors: 'unknown' }, { isPaid: true }],
    ] as const)
      expect(provider.capabilities(settings)).to.include(capabilities);
    await provider.close();
  });
});

describe('docs/providers/openai.md', () => {
  const tables = tablesOf(readPage('docs/providers/openai.md'));
  const rowsUnder = (column: string) => tables.find(({ columns }) => columns[0] === column)?.rows ?? [];

  it('has every setting, and no other', () => {
    expect(rowsUnder('Key of `provider_settings`').map(([key]) => plain(key))).to.have.members([...SETTING_NAMES]);
  });

  it('has the parameters of every preset, and no other', () => {
    const shown = rowsUnder('Preset').map(([preset, api, parameters = '']) => ({
      preset: plain(preset),
      api: plain(api),
      parameters: [...parameters.matchAll(/`([a-z_0-9]+)`/g)]
        .map(([, name = '']) => name)
        .filter((name) => name !== 'seconds')
        .sort(),
    }));
    const known = Object.entries(PRESETS).flatMap(([preset, apis]) =>
      Object.entries(apis).map(([api, { fields, reference_fields: further }]) => ({
        preset,
        api,
        parameters: Object.values({ ...fields, ...further })
          .map(({ parameter = '' }) => parameter)
          .sort(),
      })),
    );
    expect(shown).to.have.deep.members(known);
  });
});

describe('the driver for servers with the API of OpenAI', () => {
  it('opens without calling a server', async () => {
    const options = { ...defaultsOf(openAiDriver.options), base_url: 'http://127.0.0.1:9/v1' };
    const provider = await openAiDriver.open({ options } as never);
    expect(provider).to.be.instanceOf(OpenAiProvider);
    await provider.close?.();
  });
});
