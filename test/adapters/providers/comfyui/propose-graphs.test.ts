/*
 * Goal: a proposal is right about graphs as people make them, or lists at its end what it could not determine, with the
 * names of the nodes.
 * Method: small graphs after the shapes of public workflows; each proposal is checked as the service checks its catalog.
 */
import { expect } from 'chai';
import type { JsonObject } from '../../../../core/json.js';
import { at, checksOf, combined, CONTROLLED, n, proposed, sampler, STANDARD, standardWith } from './proposals.js';

describe('the model proposed for a graph', () => {
  describe('of two samplers', () => {
    const advanced = (latent: string, [positive, negative]: readonly [string, string], more: JsonObject) => {
      const { seed: _, ...inputs } = sampler(latent, positive, negative)['inputs'] as JsonObject;
      return n('KSamplerAdvanced', { ...inputs, add_noise: 'enable', noise_seed: 1, ...more });
    };
    const twice: JsonObject = {
      ...STANDARD,
      1: advanced('6', ['2', '5'], { start_at_step: 0, end_at_step: 12 }),
      10: advanced('1', ['11', '12'], {
        start_at_step: 12,
        end_at_step: 10_000,
        add_noise: 'disable',
        noise_seed: 0,
      }),
      11: n('CLIPTextEncode', { text: 'a lighthouse', clip: ['13', 1] }),
      12: n('CLIPTextEncode', { text: 'ugly', clip: ['13', 1] }),
      13: n('CheckpointLoaderSimple', { ckpt_name: 'refiner.safetensors' }),
      7: n('VAEDecode', { samples: ['10', 0], vae: ['8', 2] }),
    };

    it('gives both the prompts and the seed, and offers no steps where they share them', () => {
      expect(proposed(twice).provider_settings.inputs).to.deep.equal({
        prompt: [...at('2', 'text'), ...at('11', 'text')],
        negative_prompt: [...at('5', 'text'), ...at('12', 'text')],
        size: { width: at('6', 'width'), height: at('6', 'height') },
        n: at('6', 'batch_size'),
        guidance: [...at('10', 'cfg'), ...at('1', 'cfg')],
        seed: [...at('10', 'noise_seed'), ...at('1', 'noise_seed')],
      });
      expect(checksOf(twice)).to.include(
        'steps are not offered: node 10 (KSamplerAdvanced), node 1 (KSamplerAdvanced) make only a part of the steps, from or to a fixed one.',
      );
    });

    it('leaves words of the second one that are its own, and numbers that differ', () => {
      const own = {
        ...STANDARD,
        10: sampler('1', '11', '5', { seed: 2, steps: 12 }),
        11: n('CLIPTextEncode', { text: 'sharp details', clip: ['8', 1] }),
        7: n('VAEDecode', { samples: ['10', 0], vae: ['8', 2] }),
      };
      const { inputs } = proposed(own).provider_settings;
      expect(inputs['prompt']).to.deep.equal(at('2', 'text'));
      expect(inputs).to.not.have.property('steps');
      expect(inputs['seed']).to.deep.equal([...at('10', 'seed'), ...at('1', 'seed')]);
      expect(checksOf(own)).to.include.members([
        'steps is not offered, as it differs: node 10 (KSampler).steps = 12, node 1 (KSampler).steps = 20.',
        'these texts stay as they are: node 11 (CLIPTextEncode).text = "sharp details".',
      ]);
    });

    it('gives one step count to both where they are equal and whole', () => {
      const equal = {
        ...STANDARD,
        10: sampler('1', '2', '5', { seed: 2 }),
        7: n('VAEDecode', { samples: ['10', 0], vae: ['8', 2] }),
      };
      expect(proposed(equal).provider_settings.inputs['steps']).to.deep.equal([
        ...at('10', 'steps'),
        ...at('1', 'steps'),
      ]);
    });
  });

  for (const [of, nodes] of [
    [
      'a scaled picture',
      {
        20: n('ImageUpscaleWithModel', { upscale_model: ['21', 0], image: ['7', 0] }),
        21: n('UpscaleModelLoader', { model_name: '4x.pth' }),
      },
    ],
    [
      'a scaled latent',
      { 20: n('VAEDecode', { samples: ['21', 0] }), 21: n('LatentUpscaleBy', { samples: ['1', 0], scale_by: 1.5 }) },
    ],
    [
      'a picture that becomes another one, with a size of its own',
      {
        20: n('VAEDecode', { samples: ['21', 0] }),
        21: n('PictureToPicture', { image: ['7', 0], width: 640, height: 480 }),
      },
    ],
    ['a cropped picture', { 20: n('ImageCrop', { image: ['7', 0], width: 64, height: 64 }) }],
    [
      'tiles that are scaled',
      {
        20: n('UltimateSDUpscale', {
          image: ['7', 0],
          upscale_by: 2,
          seed: 3,
          steps: 20,
          cfg: 7,
          positive: ['2', 0],
          negative: ['5', 0],
        }),
      },
    ],
  ] as const)
    it(`offers no size for ${of}, and names the nodes`, () => {
      const workflow = standardWith({ 9: { images: ['20', 0] } }, nodes);
      const { provider_settings: settings, price } = proposed(workflow);
      expect(settings.inputs).to.not.have.property('size');
      expect(price).to.not.have.property('size_parameter');
      expect(checksOf(workflow).join('\n')).to.match(
        /no size is offered: node 6 \(EmptyLatentImage\) begins with 512x768, and [^\n]*node 2[01] \(/,
      );
    });

  it('delivers what the last node saves, and names the others', () => {
    const workflow = standardWith(
      {},
      {
        10: n('ImageSharpen', { image: ['7', 0] }),
        4: n('SaveImage', { images: ['10', 0], filename_prefix: 'final' }),
      },
    );
    expect(proposed(workflow).provider_settings.outputs).to.deep.equal([{ node: '4' }]);
    expect(checksOf(workflow)[0]).to.match(
      /^delivered is what node 4 \(SaveImage\) saves, the last in the graph; node 9 \(SaveImage\) saves too: /,
    );
  });

  it('passes over nodes that save nothing: switched off, bypassed, or linked to nothing', () => {
    const workflow = standardWith(
      {},
      {
        20: combined('7', { frame_rate: 8, filename_prefix: 'v', save_output: false }),
        21: n('SaveImage', { filename_prefix: 'y' }),
        22: { ...n('SaveImage', { images: ['7', 0], filename_prefix: 'z' }), mode: 4 },
        23: n('SaveImage', { images: ['77', 0], filename_prefix: 'z' }),
      },
    );
    expect(proposed(workflow)).to.include({ modality: 'image' });
    expect(proposed(workflow).provider_settings.outputs).to.deep.equal([{ node: '9' }]);
    expect(checksOf(workflow)).to.include.members([
      'node 20 (VHS_VideoCombine), node 21 (SaveImage), node 22 (SaveImage), node 23 (SaveImage) save nothing that can be delivered, as it stands in the file.',
      'node 22 (SaveImage) is muted or bypassed in the file, which a server does not know.',
    ]);
  });

  it('takes a node for one that saves where none is known', () => {
    const workflow = { ...STANDARD, 9: n('SaveImagePlus', { images: ['7', 0], filename_prefix: 'x' }) };
    expect(proposed(workflow).provider_settings.outputs).to.deep.equal([{ node: '9', prefix: 'filename_prefix' }]);
    expect(checksOf(workflow)[0]).to.include('its class is not known, so try whether it saves below filename_prefix');
  });

  for (const batch of [1, 6, 250])
    it(`has a place for a batch of ${batch}`, () => {
      const model = proposed(standardWith({ 6: { batch_size: batch } }));
      const most = Math.min(100, Math.max(4, batch));
      expect(model.limits.max_outputs).to.equal(most);
      expect(model.input_schema.properties['n']).to.include({ default: Math.min(batch, 100), maximum: most });
    });

  it('offers no number of pictures where a batch becomes one', () => {
    const workflow = standardWith(
      { 6: { batch_size: 4 }, 9: { images: ['20', 0] } },
      { 20: n('ImageGridPlus', { images: ['7', 0] }) },
    );
    expect(proposed(workflow).provider_settings.inputs).to.not.have.property('n');
    expect(checksOf(workflow).join('\n')).to.include(
      'no number of pictures is offered: node 6 (EmptyLatentImage) makes 4 at once, and node 20 (ImageGridPlus)',
    );
  });

  for (const [of, node, outputs] of [
    [
      'a control net',
      n('ControlNetApplyAdvanced', {
        positive: ['2', 0],
        negative: ['5', 0],
        control_net: ['21', 0],
        image: ['22', 0],
        strength: 1,
      }),
      [0, 1],
    ],
    [
      'a face, with a model first',
      n('ApplyInstantID', {
        instantid: ['21', 0],
        model: ['8', 0],
        positive: ['2', 0],
        negative: ['5', 0],
        image: ['22', 0],
      }),
      [1, 2],
    ],
    [
      'regions, with the negative condition first',
      n('AttentionRegions', { negative: ['5', 0], positive: ['2', 0], model: ['8', 0] }),
      [2, 1],
    ],
    ['conditions with longer names', n('RegionalPlus', { cond_neg: ['5', 0], cond_pos: ['2', 0] }), [3, 7]],
  ] as const)
    it(`tells the conditions apart behind ${of}`, () => {
      const workflow = standardWith(
        { 1: { positive: ['20', outputs[0]], negative: ['20', outputs[1]] } },
        { 20: node, 21: n('Loader', { name: 'x' }), 22: n('LoadImage', { image: 'face.png' }) },
      );
      const { inputs } = proposed(workflow).provider_settings;
      expect(inputs['prompt']).to.deep.equal(at('2', 'text'));
      expect(inputs['negative_prompt']).to.deep.equal(at('5', 'text'));
    });

  it('tells words for both sides apart in one node, and behind one link', () => {
    const loader = n('Efficient Loader', {
      ckpt_name: 'a',
      positive: 'yes',
      negative: 'no',
      empty_latent_width: 640,
      empty_latent_height: 480,
      batch_size: 2,
    });
    const inOne = {
      ...STANDARD,
      1: n('KSampler (Efficient)', {
        seed: 1,
        steps: 20,
        cfg: 7,
        positive: ['20', 1],
        negative: ['20', 2],
        latent_image: ['20', 3],
      }),
      20: loader,
    };
    expect(proposed(inOne).provider_settings.inputs).to.deep.include({
      prompt: at('20', 'positive'),
      negative_prompt: at('20', 'negative'),
      size: { width: at('20', 'empty_latent_width'), height: at('20', 'empty_latent_height') },
    });
    const wrapped: JsonObject = {
      1: n('WanVideoSampler', { seed: 1, steps: 20, cfg: 5, image_embeds: ['3', 0], text_embeds: ['2', 0] }),
      2: n('WanVideoTextEncode', { positive_prompt: 'yes', negative_prompt: 'no', t5: ['4', 0] }),
      3: n('WanVideoEmptyEmbeds', { width: 832, height: 480, num_frames: 81 }),
      4: n('LoadWanVideoT5TextEncoder', { model_name: 't5' }),
      5: n('WanVideoDecode', { samples: ['1', 0] }),
      6: combined('5'),
    };
    expect(proposed(wrapped).provider_settings.inputs).to.deep.equal({
      prompt: at('2', 'positive_prompt'),
      negative_prompt: at('2', 'negative_prompt'),
      size: { width: at('3', 'width'), height: at('3', 'height') },
      duration_seconds: [{ node: '3', input: 'num_frames', times: 16, plus: 1 }],
      steps: at('1', 'steps'),
      guidance: at('1', 'cfg'),
      seed: at('1', 'seed'),
    });
  });

  for (const [seed, node] of [
    ['noise_seed', { noise_seed: 5 }],
    ['seed_value', { seed_value: 5 }],
    ['randomSeed', { randomSeed: 5 }],
    ['Seed', { Seed: 5 }],
    ['seed_num', { seed_num: 5, seed_mode: 3, control_after_generate: 'fixed' }],
  ] as const)
    it(`finds the seed ${seed} of a node that calls a service`, () => {
      const workflow = {
        1: n('SomeImageApi', { prompt: 'a lighthouse', negative_prompt: '', size: '1024x768', n: 2, ...node }),
        2: n('SaveImage', { images: ['1', 0], filename_prefix: 'x' }),
      };
      const model = proposed(workflow);
      expect(model.provider_settings.inputs).to.deep.equal({
        prompt: at('1', 'prompt'),
        negative_prompt: at('1', 'negative_prompt'),
        size: at('1', 'size'),
        n: at('1', 'n'),
        seed: at('1', seed),
      });
      expect(model.input_schema.properties['seed']).to.include({ maximum: 2_147_483_647 });
    });

  it('offers the length of a video of a service as it is in the file', () => {
    const model = proposed({
      1: n('SomeVideoApi', { prompt: 'waves', duration: 5, seed: 3, image: ['3', 0] }),
      2: n('SaveVideo', { video: ['1', 0], filename_prefix: 'x', format: 'mp4', codec: 'h264' }),
      3: n('LoadImage', { image: 'a.png' }),
    });
    expect(model.input_schema.properties['duration_seconds']).to.deep.equal({ type: 'integer', enum: [5], default: 5 });
    expect(
      model.provider_settings.inputs['start_frame'] ?? model.provider_settings.inputs['reference_image'],
    ).to.deep.equal(at('3', 'image'));
  });

  it('replaces placeholders, guesses their defaults, and names those that stay', () => {
    const workflow = standardWith({
      1: { seed: '%seed%', steps: '%steps%', cfg: '%scale%', sampler_name: '%sampler%' },
      2: { text: 'masterpiece, %prompt%' },
      6: { width: '%width%', height: '%height%' },
      8: { ckpt_name: '%model%' },
    });
    const model = proposed(workflow);
    expect(model.input_schema.properties).to.have.keys('size', 'n', 'steps', 'guidance', 'seed');
    expect(model.input_schema.properties['steps']).to.include({ default: 20 });
    expect(checksOf(workflow)).to.include.members([
      'the prompt replaces node 2 (CLIPTextEncode).text = "masterpiece, %prompt%", with the words around %prompt%.',
      'the default of steps, 20, is a guess: node 1 (KSampler).steps has a placeholder.',
      'nothing replaces %sampler% in node 1 (KSampler).sampler_name, %model% in node 8 (CheckpointLoaderSimple).ckpt_name: write values into the workflow file.',
    ]);
  });

  it('follows reroutes, primitives and subgraphs to the values', () => {
    const workflow: JsonObject = {
      ...standardWith({ 1: { seed: ['57:3', 0], steps: ['57:4', 0], cfg: ['57:5', 0] }, 2: { text: ['57:6', 0] } }),
      '57:3': n('Seed (rgthree)', { seed: -1 }),
      '57:4': n('Reroute', { '': ['57:7', 0] }),
      '57:5': n('PrimitiveFloat', { value: 4.5 }),
      '57:6': n('StringConcatenate', { string_a: 'masterpiece', string_b: ['57:8', 0], delimiter: ', ' }),
      '57:7': n('PrimitiveInt', { value: 12 }),
      '57:8': n('PrimitiveString', { value: 'a lighthouse' }),
    };
    expect(proposed(workflow).provider_settings.inputs).to.deep.include({
      prompt: at('57:8', 'value'),
      steps: at('57:7', 'value'),
      guidance: at('57:5', 'value'),
      seed: at('57:3', 'seed'),
    });
  });

  it('does not take a number of a computation, nor one for two sides', () => {
    const one = standardWith({ 6: { width: ['20', 0], height: ['20', 0] } }, { 20: n('PrimitiveInt', { value: 512 }) });
    expect(proposed(one).provider_settings.inputs).to.not.have.property('size');
    const computed = standardWith(
      { 1: { steps: ['20', 0] } },
      { 20: n('MathExpression', { a: ['21', 0], expression: 'a*2', value: 3 }), 21: n('PrimitiveInt', { value: 5 }) },
    );
    expect(proposed(computed).provider_settings.inputs).to.not.have.property('steps');
  });

  it('gives each input to one parameter, and files to at most as many places as a request may have', () => {
    const shared = standardWith({ 1: { seed: ['20', 0], steps: ['20', 0] } }, { 20: n('PrimitiveInt', { value: 7 }) });
    expect(Object.keys(proposed(shared).provider_settings.inputs))
      .to.include('steps')
      .and.to.not.include('seed');
    const loads = Object.fromEntries(
      Array.from({ length: 12 }, (_, index) => [`5${index}`, n('LoadImage', { image: `${index}.png` })]),
    );
    const many = {
      ...STANDARD,
      ...loads,
      30: n('Collect', Object.fromEntries(Object.keys(loads).map((id) => [`image_${id}`, [id, 0]]))),
      9: n('SaveImage', { images: ['31', 0], filename_prefix: 'x' }),
      31: n('Join', { one: ['7', 0], other: ['30', 0] }),
    };
    expect(proposed(many).limits.max_reference_uploads).to.equal(8);
    expect(checksOf(many).join('\n')).to.include('a task takes 8 files at most; node 58 (LoadImage)');
  });

  it('names files and seeds that clients cannot give', () => {
    const workflow = standardWith(
      { 2: { text: ['20', 0] } },
      {
        20: n('ImpactWildcardProcessor', { text: 'a __place__', seed: 4, image: ['21', 0] }),
        21: n('VHS_LoadVideo', { video: 'a.mp4' }),
      },
    );
    expect(checksOf(workflow)).to.include.members([
      'which seeds the node takes: node 1 (KSampler).seed = 1; these stay as they are: node 20 (ImpactWildcardProcessor).seed = 4.',
      'every task uses the same file of node 21 (VHS_LoadVideo), as clients cannot give it.',
    ]);
  });

  it('offers no duration where the number of frames changes afterwards', () => {
    const workflow: JsonObject = {
      ...CONTROLLED,
      12: n('RIFE VFI', { frames: ['9', 0], multiplier: 2 }),
      10: combined('12', { save_output: true }),
    };
    const model = proposed(workflow);
    expect(model.provider_settings.inputs).to.not.have.property('duration_seconds');
    expect(model.price).to.include({ unit: 'video' });
    expect(checksOf(workflow).join('\n')).to.include(
      'no duration is offered: node 2 (WanFirstLastFrameToVideo).length = 49 at 16 frames per second, and node 12 (RIFE VFI)',
    );
  });

  it('takes the words of a node that chooses some, and not those of one that cuts something out', () => {
    const workflow = standardWith(
      { 2: { text: ['20', 0] }, 9: { images: ['22', 0] } },
      {
        20: n('ImpactWildcardProcessor', {
          wildcard_text: 'a {red|blue} lighthouse',
          populated_text: 'a red lighthouse',
          seed: 4,
        }),
        21: n('CutOut', { prompt: 'the face', image: ['7', 0] }),
        22: n('JoinImages', { image: ['7', 0], other: ['21', 0] }),
      },
    );
    expect(proposed(workflow).provider_settings.inputs['prompt']).to.deep.equal(at('20', 'wildcard_text'));
    expect(checksOf(workflow)).to.include.members([
      'node 20 (ImpactWildcardProcessor) may write words of its own, or change those of the prompt.',
    ]);
    const wordless = standardWith(
      { 2: { text: ['23', 0] } },
      { 23: n('Caption', { image: ['7', 0] }), 21: n('CutOut', { prompt: 'x' }) },
    );
    expect(proposed(wordless)).to.have.property('prompt', 'none');
    expect(proposed(wordless).provider_settings.inputs).to.not.have.property('prompt');
  });

  it('ignores the size of a loader that does not feed the latent', () => {
    const workflow: JsonObject = {
      ...STANDARD,
      1: n('KSampler (Efficient)', {
        seed: 1,
        steps: 20,
        cfg: 7,
        positive: ['20', 1],
        negative: ['20', 2],
        latent_image: ['21', 0],
        optional_vae: ['20', 4],
      }),
      20: n('Efficient Loader', {
        positive: 'yes',
        negative: 'no',
        empty_latent_width: 640,
        empty_latent_height: 480,
        batch_size: 1,
      }),
      21: n('VAEEncode', { pixels: ['22', 0], vae: ['20', 4] }),
      22: n('ImageResize+', { width: 800, height: 600, image: ['23', 0] }),
      23: n('LoadImage', { image: 'a.png' }),
    };
    expect(proposed(workflow).provider_settings.inputs['size']).to.deep.equal({
      width: at('22', 'width'),
      height: at('22', 'height'),
    });
    expect(checksOf(workflow).join('\n')).to.include('and whether node 22 (ImageResize+) keeps to them');
  });

  it('gives all texts of an encoder behind a control net the prompt', () => {
    const workflow = standardWith(
      { 1: { positive: ['20', 0], negative: ['20', 1] } },
      {
        2: n('CLIPTextEncodeSDXL', { text_g: 'a lighthouse', text_l: 'a lighthouse by night', clip: ['8', 1] }),
        20: n('ControlNetApplyAdvanced', { positive: ['2', 0], negative: ['5', 0], image: ['21', 0] }),
        21: n('LoadImage', { image: 'a.png' }),
      },
    );
    expect(proposed(workflow).provider_settings.inputs['prompt']).to.deep.equal([
      ...at('2', 'text_g'),
      ...at('2', 'text_l'),
    ]);
  });
});
