import { expect } from 'chai';
import fc from 'fast-check';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { PlanInvalid } from '../../../../adapters/providers/comfyui/plan-invalid.js';
import { proposeCatalog } from '../../../../adapters/providers/comfyui/propose-model.js';
import type { Json, JsonObject } from '../../../../core/json.js';
import { ROOT } from '../../../docs/pages.js';
import { CliRun } from '../../../harness/cli-run.js';
import { EDIT, folderWith, STILL, VIDEO } from './workflows.js';
import { at, checksOf, CONTROLLED, n, proposed, STANDARD, standardWith } from './proposals.js';

/*
 * Goal: the catalog proposed for a workflow can be used, with each value where the links lead.
 * Method: workflows of the common kinds; each proposal is checked as the service checks its catalog, and one is printed by the
 * command.
 */

const EXAMPLES = join(ROOT, 'config/providers/workflows');

/** A guider replaces the sampler's own conditions; seed, steps and texts come from other nodes; no negative prompt. */
const GUIDED: JsonObject = {
  1: n('SamplerCustomAdvanced', {
    noise: ['2', 0],
    guider: ['3', 0],
    sampler: ['4', 0],
    sigmas: ['5', 0],
    latent_image: ['6', 0],
  }),
  2: n('RandomNoise', { noise_seed: ['20', 0] }),
  20: n('PrimitiveInt', { value: 11 }),
  3: n('BasicGuider', { model: ['9', 0], conditioning: ['7', 0] }),
  4: n('KSamplerSelect', { sampler_name: 'euler' }),
  5: n('BasicScheduler', { model: ['9', 0], scheduler: 'simple', steps: 20, denoise: 1 }),
  6: n('EmptySD3LatentImage', { width: ['21', 0], height: 768, batch_size: 1 }),
  21: n('PrimitiveInt', { value: 512 }),
  7: n('FluxGuidance', { conditioning: ['8', 0], guidance: 3.5 }),
  8: n('CLIPTextEncode', { text: ['22', 0], clip: ['9', 1] }),
  22: n('PrimitiveStringMultiline', { value: 'a prompt' }),
  9: n('CheckpointLoaderSimple', { ckpt_name: 'flux.safetensors' }),
  10: n('VAEDecode', { samples: ['1', 0], vae: ['9', 2] }),
  11: n('SaveImage', { images: ['10', 0], filename_prefix: 'x' }),
};

const ZEROED: JsonObject = {
  1: n('KSampler', { seed: 1, steps: 4, cfg: 1, positive: ['2', 0], negative: ['3', 0], latent_image: ['4', 0] }),
  2: n('CLIPTextEncode', { text: '', clip: ['5', 0] }),
  3: n('ConditioningZeroOut', { conditioning: ['2', 0] }),
  4: n('EmptyLatentImage', { width: 512, height: 512, batch_size: 2 }),
  5: n('CLIPLoader', { clip_name: 'x' }),
  6: n('SaveImage', { images: ['1', 0], filename_prefix: 'x' }),
};

describe('the catalog proposed for a ComfyUI workflow', () => {
  for (const file of readdirSync(EXAMPLES))
    it(`can be used for the example ${file}`, () => {
      const { inputs } = proposed(
        JSON.parse(readFileSync(join(EXAMPLES, file), 'utf8')) as JsonObject,
        file,
      ).provider_settings;
      expect(inputs).to.include.keys('prompt', 'negative_prompt', 'seed');
      expect(inputs['prompt']).to.deep.equal(at('6', 'text'));
      expect(inputs['negative_prompt']).to.deep.equal(at('7', 'text'));
    });

  it('follows guiders, primitives and guidance', () => {
    const { inputs } = proposed(GUIDED).provider_settings;
    expect(inputs).to.deep.equal({
      prompt: at('22', 'value'),
      size: { width: at('21', 'value'), height: at('6', 'height') },
      n: at('6', 'batch_size'),
      steps: at('5', 'steps'),
      guidance: at('7', 'guidance'),
      seed: at('20', 'value'),
    });
  });

  it('tells conditions apart that pass through one node, frames, and the first frame from the last', () => {
    const {
      provider_settings: { inputs, outputs },
      input_schema: { properties },
      required_roles: roles,
    } = proposed(CONTROLLED);
    expect(roles).to.deep.equal(['start_frame', 'end_frame']);
    expect(inputs).to.deep.equal({
      prompt: at('3', 'text'),
      negative_prompt: at('4', 'text'),
      size: { width: at('2', 'width'), height: at('2', 'height') },
      duration_seconds: [{ node: '2', input: 'length', times: 16, plus: 1 }],
      steps: at('1', 'steps'),
      guidance: at('1', 'cfg'),
      seed: at('1', 'noise_seed'),
      start_frame: at('5', 'image'),
      end_frame: at('6', 'image'),
    });
    expect(outputs).to.deep.equal([{ node: '10' }]);
    expect(properties['duration_seconds']).to.include({ default: 3, maximum: 3 });
  });

  it('has no negative prompt where the positive one is turned into it', () => {
    expect(proposed(ZEROED).provider_settings.inputs).to.not.have.property('negative_prompt');
  });

  it('can be used where there is no sampler to begin at', () => {
    for (const workflow of [STILL, VIDEO, EDIT]) proposed(workflow);
  });

  it('refuses a file that is not a workflow in API format, or saves nothing that can be delivered', () => {
    const webm = { 1: n('SaveWEBM', { images: ['1', 0], filename_prefix: 'x' }) };
    for (const [text, sentence] of [
      [
        '{"nodes":[]}',
        'The workflow is in the format of the editor; export it in API format, in ComfyUI with Workflow > Export (API).',
      ],
      ['{"1": %seed%}', 'The workflow is not JSON: see line 1, column 7.'],
      [
        JSON.stringify(webm),
        'The node 1 (SaveWEBM) saves WebM, which cannot be delivered; save images by a SaveImage node, or videos by a SaveVideo node.',
      ],
      [
        JSON.stringify({ 1: n('Note', {}) }),
        'The workflow has no node that is known to save images or videos; save images by a SaveImage node, or videos by a SaveVideo node.',
      ],
      [
        JSON.stringify({ 1: n('PreviewImage', { images: ['1', 0] }) }),
        'The workflow has no node that is known to save images or videos: the node 1 (PreviewImage) only shows them; save images by a SaveImage node, or videos by a SaveVideo node.',
      ],
      [
        JSON.stringify({ 1: n('Image Saver', { images: ['1', 0], filename: 'x' }) }),
        'The workflow has no node that is known to save images or videos: what the node 1 (Image Saver) saves, and under which names, is not known; save images by a SaveImage node, or videos by a SaveVideo node.',
      ],
      [
        JSON.stringify({ 1: n('SaveImage', { filename_prefix: 'x' }) }),
        'The node 1 (SaveImage) is linked to nothing that it could save, as after a bypassed node, so the workflow saves nothing.',
      ],
      [
        JSON.stringify({ 1: n('SaveImage', { images: ['7', 0], filename_prefix: 'x' }) }),
        'The input images of node 1 (SaveImage) is linked to node 7, which is missing.',
      ],
    ] as const)
      expect(() => proposeCatalog(text, 'x.json')).to.throw(PlanInvalid, sentence);
  });

  it('lists what it guessed at the end, by node', () => {
    const styled: JsonObject = {
      ...STANDARD,
      2: n('ConditioningConcat', { conditioning_to: ['3', 0], conditioning_from: ['4', 0] }),
      3: n('CLIPTextEncode', { text: 'a lighthouse\nby night', clip: ['8', 1] }),
      4: n('CLIPTextEncode', { text: 'w'.repeat(50), clip: ['8', 1] }),
    };
    const checks = checksOf(styled);
    expect(checks).to.include.members([
      'delivered is what node 9 (SaveImage) saves.',
      'the prompt replaces node 3 (CLIPTextEncode).text = "a lighthouse\\nby night".',
      'the negative prompt replaces node 5 (CLIPTextEncode).text = "ugly".',
      'sizes that you offer: node 6 (EmptyLatentImage).width = 512, node 6 (EmptyLatentImage).height = 768.',
      'which seeds the node takes: node 1 (KSampler).seed = 1.',
      `these texts stay as they are: node 4 (CLIPTextEncode).text = "${'w'.repeat(40)}...".`,
    ]);
    const lines = proposeCatalog(JSON.stringify(styled), 'x.json').trimEnd().split('\n');
    expect(lines.slice(-checks.length).every((line) => line.startsWith('# Check: '))).to.equal(true);
  });

  it('can be read whatever nodes and files are called', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', minLength: 1 }),
        fc.string({ unit: 'binary', minLength: 1 }),
        (name, file) => {
          const { 2: text, ...others } = ZEROED;
          const renamed = JSON.parse(
            JSON.stringify(others).replaceAll('["2",0]', JSON.stringify([`_${name}`, 0])),
          ) as JsonObject;
          const yaml = proposeCatalog(JSON.stringify({ ...renamed, [`_${name}`]: text }), file);
          const { models } = parse(yaml) as {
            models: { provider_settings: { workflow: string; inputs: { prompt: unknown } } }[];
          };
          expect(models[0]!.provider_settings.workflow).to.equal(file);
          expect(models[0]!.provider_settings.inputs.prompt).to.deep.equal(at(`_${name}`, 'text'));
        },
      ),
    );
  });

  it('is printed by the command, which writes nothing', async () => {
    const { folder, remove } = folderWith({ 'workflow.json': ZEROED });
    const ran = await new CliRun(folder, ['comfyui', 'import', 'workflow.json']).ended;
    expect(ran).to.deep.equal({ code: 0, stdout: proposeCatalog(JSON.stringify(ZEROED), 'workflow.json'), stderr: '' });
    expect(readdirSync(folder)).to.deep.equal(['workflow.json']);
    writeFileSync(join(folder, 'editor.json'), '{"nodes":[]}');
    const refused = await new CliRun(folder, ['comfyui', 'import', 'editor.json']).ended;
    expect(refused).to.include({ code: 1, stdout: '' });
    expect(refused.stderr).to.match(/^darkroom: The workflow is in the format of the editor; [^\n]+\.\n$/);
    const absent = await new CliRun(folder, ['comfyui', 'import', 'none.json']).ended;
    expect(absent).to.deep.equal({ code: 2, stdout: '', stderr: 'darkroom: none.json cannot be read (ENOENT).\n' });
    remove();
  });
});

/*
 * Goal: a proposal follows switches, and says so where a size, a text or a length is computed, joined or also set
 * elsewhere.
 * Method: small graphs after the shapes of public workflows, as in `propose-graphs.test.ts`.
 */

describe('the model proposed for a graph that computes', () => {
  describe('with a switch', () => {
    const switched = (position: Json, name = 'switch', more: JsonObject = {}) =>
      standardWith(
        { 1: { steps: ['20', 0], positive: ['21', 0] } },
        {
          20: n('ComfySwitchNode', { [name]: position, on_false: ['22', 0], on_true: ['23', 0] }),
          21: n('CLIPTextEncode', { text: ['24', 0], clip: ['8', 1] }),
          22: n('PrimitiveInt', { value: 20 }),
          23: n('PrimitiveInt', { value: 4 }),
          24: n('ComfySwitchNode', { [name]: position, on_false: ['25', 0], on_true: ['26', 0] }),
          25: n('PrimitiveString', { value: 'a lighthouse' }),
          26: n('PrimitiveString', { value: 'a lighthouse, enhanced' }),
          ...more,
        },
      );

    it('follows what its position lets through, which may be linked', () => {
      for (const name of ['switch', 'boolean'])
        for (const [on, steps, prompt] of [
          [false, '22', '25'],
          [true, '23', '26'],
        ] as const)
          for (const workflow of [
            switched(on, name),
            switched(['27', 0], name, { 27: n('PrimitiveBoolean', { value: on }) }),
          ])
            expect(proposed(workflow).provider_settings.inputs).to.deep.include({
              steps: at(steps, 'value'),
              prompt: at(prompt, 'value'),
            });
    });

    it('offers no number where its position is computed', () => {
      const compared = { 27: n('Compare', { a: ['28', 0], b: 2 }), 28: n('LoadImage', { image: 'a.png' }) };
      expect(proposed(switched(['27', 0], 'switch', compared)).provider_settings.inputs).to.not.have.property('steps');
    });
  });

  it('offers no size that is computed from numbers of the workflow', () => {
    const workflow = standardWith(
      { 6: { width: ['20', 0], height: ['20', 1] } },
      {
        20: n('MathExpression|pysssss', { a: ['21', 0], expression: 'round(a / 32) * 32' }),
        21: n('GetImageSize', { image: ['22', 0] }),
        22: n('EmptyImage', { width: 720, height: 1280, batch_size: 1 }),
      },
    );
    expect(proposed(workflow).provider_settings.inputs).to.not.have.property('size');
    expect(checksOf(workflow)).to.include(
      'no size is offered: width and height of node 6 (EmptyLatentImage) come from one number or from a computation.',
    );
  });

  it('offers a number of pictures where their size is that of a file', () => {
    const workflow = standardWith(
      { 6: { width: ['20', 0], height: ['20', 1] } },
      { 20: n('GetImageSize', { image: ['21', 0] }), 21: n('LoadImage', { image: 'a.png' }) },
    );
    const { inputs } = proposed(workflow).provider_settings;
    expect(inputs)
      .to.deep.include({ n: at('6', 'batch_size') })
      .and.not.have.property('size');
  });

  it('offers the size of the last node that scales where nothing samples', () => {
    const upscaling = (more: JsonObject = {}): JsonObject => ({
      1: n('LoadImage', { image: 'a.png' }),
      2: n('ImageUpscaleWithModel', { image: ['1', 0] }),
      3: n('ImageScale', { image: ['2', 0], width: 1_080, height: 1_920, crop: 'disabled' }),
      9: n('SaveImage', { images: ['3', 0], filename_prefix: 'x' }),
      ...more,
    });
    const { inputs } = proposed(upscaling()).provider_settings;
    expect(inputs['size']).to.deep.equal({ width: at('3', 'width'), height: at('3', 'height') });
    const joined = {
      4: n('ImageConcanate', { image1: ['3', 0], image2: ['1', 0] }),
      9: n('SaveImage', { images: ['4', 0], filename_prefix: 'x' }),
    };
    expect(proposed(upscaling(joined)).provider_settings.inputs).to.not.have.property('size');
  });

  it('says which of several files of a role is which', () => {
    const workflow: JsonObject = {
      1: n('LoadImage', { image: 'target.png' }),
      2: n('LoadImage', { image: 'colours.png' }),
      3: n('ColorMatch', { image_ref: ['2', 0], image_target: ['1', 0] }),
      9: n('SaveImage', { images: ['3', 0], filename_prefix: 'x' }),
    };
    const checks = checksOf(workflow).join('\n');
    expect(checks).to.include('the file of node 2 (LoadImage), as reference_image, as number 1 of 2;');
    expect(checks).to.include('the file of node 1 (LoadImage), as reference_image, as number 2 of 2;');
  });

  it('reports that a caption is joined to the prompt, and which lengths stay', () => {
    const captioned = standardWith(
      { 2: { text: ['20', 0] } },
      {
        20: n('Textbox', { text: 'shown', passthrough: ['21', 0] }),
        21: n('JoinStrings', { string1: ['22', 0], string2: ['23', 2] }),
        22: n('Textbox', { text: 'sharp' }),
        23: n('Florence2Run', { text_input: '', task: 'caption', image: ['24', 0] }),
        24: n('LoadImage', { image: 'a.png' }),
      },
    );
    expect(checksOf(captioned)).to.include(
      'node 23 (Florence2Run) may write words of its own, or change those of the prompt.',
    );
    const directed = {
      ...CONTROLLED,
      3: n('LTXDirector', { text: 'yes', clip: ['8', 0], duration_frames: 49, duration_seconds: 3.05, start_frame: 0 }),
    };
    expect(checksOf(directed).join('\n')).to.include(
      'these stay as they are: node 3 (LTXDirector).duration_frames = 49, node 3 (LTXDirector).duration_seconds = 3.05',
    );
  });
});
