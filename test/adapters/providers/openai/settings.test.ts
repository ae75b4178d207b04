/*
 * Goal: settings that cannot work, or that would let users reach what is the operator's, are refused at the start with one sentence.
 * Method: the driver's own check, for each mistake; every preset is put to every field that must not be reached.
 */
import { expect } from 'chai';
import { openAiDriver } from '../../../../adapters/providers/openai/openai-driver.js';
import { OpenAiProvider } from '../../../../adapters/providers/openai/openai-provider.js';
import { SETTING_NAMES, settingsFault } from '../../../../adapters/providers/openai/openai-settings.js';
import { PRESETS } from '../../../../adapters/providers/openai/presets.js';
import { fieldRulesFault } from '../../../../adapters/providers/shared/request-fields.js';
import { optionsFault } from '../../../../apps/config/options-fault.js';
import type { JsonObject } from '../../../../core/json.js';
import { plain, readPage, tablesOf } from '../../../docs/pages.js';
import { IMAGE_PLACE } from '../../../fixtures/settings-place.js';
import { openAiAt } from './opened-openai.js';

const OF_OPERATORS = [
  'output_path',
  'upscaling_model_path',
  'perf_dump_path',
  'reference_url',
  'image_url',
  'url',
  'extra_params',
  'extra_body',
  'extra_args',
  'diffusers_kwargs',
  'generator_device',
  'attention_backend_override',
  'lora',
  'lora_path',
  'input_reference',
  'image_reference',
  'audio_reference',
  'image',
  'images',
  'mask',
  'mask_image',
  'ref_images',
  'file',
  'files',
  'source_video',
];

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
          for (const errors of [undefined, 'unknown', 'final']) {
            const isPaid = paid ?? preset === 'openai';
            const isFinal = (errors ?? (preset === 'openai' ? 'unknown' : 'final')) === 'final';
            const settings: JsonObject = {
              preset,
              api,
              model: 'a-model',
              ...(paid === undefined ? {} : { paid }),
              ...(errors === undefined ? {} : { server_errors: errors }),
            };
            const expected = isPaid && isFinal ? refused : undefined;
            expect(settingsFault(settings), JSON.stringify(settings)).to.equal(expected);
          }
  });

  const faults: readonly (readonly [JsonObject, string])[] = [
    [{}, 'model is required.'],
    [{ preset: 'comfyui' }, 'preset must be one of openai, localai, vllm-omni, sglang, sd-cpp.'],
    [{ modell: 'x' }, 'unknown field "modell".'],
    [{ preset: 'localai', api: 'video' }, 'The preset localai has no api video.'],
    [{ model: 'x', cancel: 'delete' }, 'cancel must be none with api sync: there is no job to delete.'],
    [{ model: 'x', request: 'multipart' }, 'request must be json with api sync.'],
    [{ model: 'x', api: 'video', references: { as: 'json' } }, 'references.as must be multipart with api video.'],
    [
      { model: 'x', fields: { stream: { value: true } } },
      'fields.stream may not be given: the provider fills this field itself.',
    ],
    [
      { model: 'x', negative_prompt_field: 'model' },
      'negative_prompt_field may not be model: the provider fills this field itself.',
    ],
    [{ model: 'x', negative_prompt_field: 'quality' }, 'The field quality is given twice.'],
    [
      { model: 'x', fields: { size: { parameter: 'size' } } },
      'fields.size needs values, or a type, one of string, integer, number, boolean.',
    ],
    [
      { model: 'x', fields: { output_format: { value: 'gif' } } },
      'fields.output_format: "gif" cannot be delivered: an image is delivered as PNG, JPEG or WebP.',
    ],
    [
      { model: 'x', fields: { output_format: { parameter: 'f', type: 'string', max_length: 4 } } },
      'fields.output_format needs a value, values or an enum.',
    ],
    [
      { model: 'x', result_hosts: ['https://cdn.example.com/x'] },
      'result_hosts: https://cdn.example.com/x is no host; write a name, or a dot and a name for all hosts below it, and a port after a colon unless it is 443.',
    ],
  ];
  for (const [settings, sentence] of faults) {
    it(`are refused: ${sentence}`, () => {
      expect(settingsFault(settings)).to.equal(sentence);
    });
  }

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
    expect(provider.promises({ model: 'x' })).to.include({
      answersWithOutputs: true,
      isPaid: true,
      cancels: 'nothing',
    });
    expect(provider.promises({ preset: 'vllm-omni', api: 'video' })).to.include({
      answersWithOutputs: false,
      isPaid: false,
      cancels: 'running',
    });
    expect(provider.promises({ preset: 'sglang', api: 'video' })).to.include({ cancels: 'nothing' });
    expect(provider.promises({ preset: 'sglang', paid: true, server_errors: 'unknown' })).to.include({ isPaid: true });
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
  it('has options that can be used, and opens without calling a server', async () => {
    expect(optionsFault(openAiDriver.options)).to.equal(undefined);
    const provider = await openAiDriver.open({
      options: {
        base_url: 'http://127.0.0.1:9/v1',
        connect_timeout_seconds: 1,
        answer_timeout_seconds: 1,
        idle_timeout_seconds: 1,
        max_connections: 1,
        max_output_mib: 1,
      },
    } as never);
    expect(provider).to.be.instanceOf(OpenAiProvider);
    await provider.close?.();
  });
});
