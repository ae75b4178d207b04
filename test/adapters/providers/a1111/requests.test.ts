/*
 * Goal: servers, which would take options, scripts and files from a request, are sent what the settings allow and nothing
 * else; what cannot be made is refused before it is sent.
 * Method: the bodies of requests as a fake receives them; fast-check for parameters and prompts of any kind.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import type { A1111Provider } from '../../../../adapters/providers/a1111/a1111-provider.js';
import type { Json } from '../../../../core/json.js';
import type { Submission } from '../../../../core/ports/provider.js';
import { breakingOff } from '../../../fixtures/byte-streams.js';
import { image } from '../../../fixtures/images.js';
import { A1111Fake } from '../../../providers/fakes/a1111-fake.js';
import { referenceOf } from '../sample-task.js';
import { a1111At, SETTINGS, task } from './opened-a1111.js';

/** What a request has, whatever the task is. */
const ALWAYS = [
  'prompt',
  'negative_prompt',
  'batch_size',
  'n_iter',
  'send_images',
  'save_images',
  'do_not_save_samples',
  'do_not_save_grid',
  'override_settings',
  'force_task_id',
  'cfg_scale',
];

const PARAMETERS = ['size', 'seed', 'steps', 'sampler'];

describe('requests to Stable Diffusion web UI', () => {
  let fake: A1111Fake;
  let provider: A1111Provider;
  beforeEach(async () => {
    fake = await A1111Fake.open();
    provider = a1111At(fake.url);
  });
  afterEach(async () => {
    await provider.close();
    await fake.close();
  });

  /** The outputs are not read, so the abort frees them. */
  const submit = async (wish: Partial<Submission>) => {
    const abort = new AbortController();
    return provider.submit(task(wish), abort).finally(() => abort.abort());
  };
  const sent = async (wish: Partial<Submission> = {}): Promise<Readonly<Record<string, unknown>>> => {
    expect(await submit(wish)).to.have.property('accepted', true);
    return fake.taken.at(-1)?.fields ?? {};
  };
  const refused = async (wish: Partial<Submission>) => {
    const answer = await submit(wish);
    if (answer.accepted) throw new Error('It was accepted.');
    expect(fake.server.requests, 'requests').to.have.length(0);
    return answer.failure;
  };

  it('have the fields of the settings, the prompts, as many pictures as were paid for, and an id of ours', async () => {
    const parameters = { size: '512x768', seed: 7, steps: 30, sampler: 'dpm', width: 4_096, n: 9, other: 'x' };
    expect(await sent({ parameters, negativePrompt: 'fog', outputCount: 3 })).to.deep.equal({
      prompt: 'a lighthouse',
      negative_prompt: 'fog',
      width: 512,
      height: 768,
      seed: 7,
      steps: 30,
      sampler_name: 'DPM++ 2M',
      cfg_scale: 7,
      batch_size: 1,
      n_iter: 3,
      send_images: true,
      save_images: false,
      do_not_save_samples: true,
      do_not_save_grid: true,
      override_settings: { sd_model_checkpoint: 'v1-5-pruned-emaonly' },
      force_task_id: 'darkroom-7b7d9d2c-40be-4d28-b0f8-0f6c2c8a5a10',
    });
    expect(fake.taken[0]?.route).to.equal('txt2img');
  });

  it('have no id where the settings say so, and the options that the operator gives', async () => {
    const overrides = { CLIP_stop_at_last_layers: 2, forge_additional_modules: ['ae.safetensors'] };
    const fields = await sent({ settings: { force_task_id: false, override_settings: overrides } });
    expect(fields).to.not.have.property('force_task_id');
    expect(fields['override_settings']).to.deep.equal(overrides);
  });

  it('go to img2img with a reference as base64, whatever pieces it comes in', async () => {
    const picture = await image('png');
    const { init_images: images } = await sent({ references: [referenceOf(picture)] });
    expect(images).to.deep.equal([Buffer.from(picture).toString('base64')]);
    expect(fake.taken[0]?.route).to.equal('img2img');
  });

  it('are refused for a reference that is no picture, or cannot be read to its end', async () => {
    expect(await submit({ references: [referenceOf(Buffer.from('no picture'))] })).to.have.nested.property(
      'failure.code',
      'INPUT_INVALID',
    );
    const picture = await image('png');
    const cut = { ...referenceOf(picture), open: async () => breakingOff(picture.subarray(0, 30)) };
    expect(await submit({ references: [cut] })).to.deep.equal({
      accepted: false,
      failure: { code: 'PROVIDER_UNAVAILABLE', message: 'A reference file could not be fetched.', mayRetry: true },
    });
    expect(fake.taken).to.have.length(0);
  });

  it('are not made with references that the model does not take', async () => {
    const picture = referenceOf(await image('png'));
    const { message } = await refused({ references: [picture, picture] });
    expect(message).to.equal('This model takes one reference file.');
    const settings = { fields: {} };
    expect((await refused({ settings, references: [picture] })).message).to.equal(
      'This model takes no reference files.',
    );
  });

  it('are not made for videos, with wrong settings, for values outside of a rule, or for too many pictures', async () => {
    expect((await refused({ operation: 'video_generation' })).code).to.equal('MODEL_UNAVAILABLE');
    expect((await refused({ settings: { script_name: 'x' } })).code).to.equal('MODEL_UNAVAILABLE');
    expect((await refused({ parameters: { sampler: 'k_lms' } })).code).to.equal('INPUT_INVALID');
    expect((await refused({ parameters: { size: '8192x8192' } })).code).to.equal('INPUT_INVALID');
    expect((await refused({ outputCount: 101 })).code).to.equal('INPUT_INVALID');
  });

  it('have no prompt that names a network to load', async () => {
    const commands = [
      '<lora:film:1>',
      'a <LORA:x:0.5> b',
      '<hypernet:y>',
      '<style:z>',
      '<<lora:x:1>lora:y:1>',
      '<lora:a\nb>',
    ];
    for (const text of commands) {
      expect((await refused({ prompt: text })).code, text).to.equal('INPUT_INVALID');
      expect((await refused({ negativePrompt: text })).code, text).to.equal('INPUT_INVALID');
    }
  });

  it('have every other prompt as it is', async () => {
    const network = /<(\w+):([^>]+)>/u;
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }), async (prompt) => {
        const answer = await submit({ prompt: `:${prompt}` });
        if (answer.accepted) expect(fake.taken.at(-1)?.fields['prompt']).to.equal(`:${prompt}`);
        else expect(prompt).to.match(/<[^<>:]+:[^>]+>/);
        if (network.test(prompt)) expect(answer.accepted).to.equal(false);
      }),
      { numRuns: 60 },
    );
    for (const prompt of ['I <3: this', 'a (house:1.2), [dawn:dusk:0.5] AND fog', '3 < 4 : 5'])
      expect((await sent({ prompt }))['prompt']).to.equal(prompt);
  });

  it('have no field that the settings do not name, whatever the parameters are', async () => {
    const named = ['width', 'height', 'seed', 'steps', 'sampler_name'];
    const options = 'script_name script_args alwayson_scripts override_settings infotext styles __proto__'.split(' ');
    const files = ['init_images', 'mask', 'refiner_checkpoint', 'hr_checkpoint_name'];
    const names = fc.constantFrom(...options, ...files, 'prompt', 'n_iter', 'force_task_id', ...PARAMETERS);
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(names, fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>),
        async (parameters) => {
          const answer = await submit({ parameters });
          if (!answer.accepted) return void expect(answer.failure.code).to.equal('INPUT_INVALID');
          const { fields = {} } = fake.taken.at(-1) ?? {};
          expect([...ALWAYS, ...named]).to.include.members(Object.keys(fields));
          expect(fields['override_settings']).to.deep.equal(SETTINGS['override_settings']);
          expect(fields['prompt']).to.equal('a lighthouse');
        },
      ),
      { numRuns: 60 },
    );
  });
});
