/*
 * Goal: a proposal follows switches, and says so where a size, a text or a length is computed, joined or said elsewhere too.
 * Method: small graphs after the shapes of public workflows, as in `propose-graphs.test.ts`.
 */
import { expect } from 'chai';
import type { Json, JsonObject } from '../../../../core/json.js';
import { at, checksOf, CONTROLLED, n, proposed, standardWith } from './proposals.js';

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

  it('says that a caption is joined to the prompt, and which lengths stay', () => {
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
