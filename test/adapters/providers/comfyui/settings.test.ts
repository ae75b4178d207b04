/*
 * Goal: settings that cannot work with their workflow are refused in one sentence, when a catalog is checked.
 * Method: the driver's own check, with one mistake at a time in settings and workflows that are right otherwise.
 */
import { expect } from 'chai';
import type { SettingsPlace } from '../../../../adapters/driver.js';
import { comfyUiDriver } from '../../../../adapters/providers/comfyui/comfyui-driver.js';
import { loadConfig } from '../../../../apps/config/load-config.js';
import type { Modality } from '../../../../core/generation/generation.js';
import type { Json, JsonObject } from '../../../../core/json.js';
import { SENDS_NOTHING } from '../../../fixtures/settings-place.js';
import { EDIT, folderWith, PROMPT, STILL, STILL_SETTINGS, VIDEO, VIDEO_SETTINGS, WORKFLOWS } from './workflows.js';

const SIZES: JsonObject = { width: [{ node: '1', input: 'width' }], height: [{ node: '1', input: 'height' }] };

function withInputs(inputs: JsonObject, more: JsonObject = {}): JsonObject {
  return { workflow: 'still.json', inputs: { prompt: PROMPT, ...inputs }, ...more };
}

function withNode(workflow: JsonObject, id: string, classType: string, inputs: JsonObject): JsonObject {
  return { ...workflow, [id]: { class_type: classType, inputs } };
}

const SAVE_LINKED: Json = ['1', 0];

const FILES = {
  ...WORKFLOWS,
  'editor.json': { last_node_id: 9, nodes: [], links: [] },
  'list.json': '[1]',
  'broken.json': '{"1": {',
  'empty.json': '{}',
  'classless.json': '{"1": {"inputs": {}}}',
  'dangling.json': withNode({}, '4', 'SaveImage', { images: ['77', 0], filename_prefix: 'x' }),
  'saveless.json': withNode({}, '2', 'PrimitiveStringMultiline', { value: '' }),
  'webm.json': withNode(STILL, '4', 'SaveWEBM', { images: SAVE_LINKED, filename_prefix: 'x' }),
  'hevc.json': withNode(STILL, '4', 'VHS_VideoCombine', {
    images: SAVE_LINKED,
    filename_prefix: 'x',
    format: 'video/h265-mp4',
  }),
  'preview.json': withNode(STILL, '4', 'VHS_VideoCombine', {
    images: SAVE_LINKED,
    filename_prefix: 'x',
    format: 'video/h264-mp4',
    save_output: false,
  }),
  'foreign.json': withNode(STILL, '4', 'Image Save', { images: SAVE_LINKED, output_path: 'x', start: 'y' }),
  'places.json': withNode(STILL, '12', 'Reader', { file_path: '/etc/passwd', image_url: 'x', text: 'x' }),
};

interface Refused {
  readonly of: string;
  readonly settings: JsonObject;
  readonly modality?: Modality;
  readonly fault: string;
}

const REFUSED: readonly Refused[] = [
  { of: 'no workflow', settings: { inputs: { prompt: PROMPT } }, fault: 'workflow is required.' },
  { of: 'no prompt', settings: { workflow: 'still.json', inputs: {} }, fault: 'inputs.prompt is required.' },
  { of: 'an unknown key', settings: withInputs({}, { graph: {} }), fault: 'unknown field "graph".' },
  {
    of: 'a misspelt key, which is named too',
    settings: { workflow: 'still.json', input: { prompt: PROMPT } },
    fault: 'inputs is required; unknown field "input".',
  },
  {
    of: 'a missing file',
    settings: { workflow: 'none.json', inputs: { prompt: PROMPT } },
    fault: 'There is no file none.json in FOLDER.',
  },
  {
    of: 'a folder',
    settings: { workflow: '.', inputs: { prompt: PROMPT } },
    fault: 'The file . in FOLDER cannot be read.',
  },
  {
    of: 'the format of the editor',
    settings: { workflow: 'editor.json', inputs: { prompt: PROMPT } },
    fault:
      'editor.json: The workflow is in the format of the editor; export it in API format, in ComfyUI with Workflow > Export (API).',
  },
  {
    of: 'a list',
    settings: { workflow: 'list.json', inputs: { prompt: [] } },
    fault: 'list.json: The workflow must be an object of nodes.',
  },
  {
    of: 'broken JSON',
    settings: { workflow: 'broken.json', inputs: { prompt: [] } },
    fault: 'broken.json: The workflow is not JSON: see line 1, column 8.',
  },
  {
    of: 'no nodes',
    settings: { workflow: 'empty.json', inputs: { prompt: [] } },
    fault: 'empty.json: The workflow has no nodes.',
  },
  {
    of: 'a node without a class',
    settings: { workflow: 'classless.json', inputs: { prompt: [] } },
    fault: 'classless.json: Node 1 of the workflow needs a class_type and inputs.',
  },
  {
    of: 'a link to nothing',
    settings: { workflow: 'dangling.json', inputs: { prompt: [] } },
    fault: 'dangling.json: The input images of node 4 (SaveImage) is linked to node 77, which is missing.',
  },
  {
    of: 'a node that is not there',
    settings: withInputs({ seed: [{ node: '99', input: 'seed' }] }),
    fault: 'inputs.seed names node 99, which the workflow does not have.',
  },
  {
    of: 'an input that is not there',
    settings: withInputs({ seed: [{ node: '1', input: 'seed' }] }),
    fault: 'inputs.seed: the node 1 (EmptyImage) has no input seed.',
  },
  {
    of: 'an input that is linked',
    settings: withInputs({ picture: [{ node: '4', input: 'images' }] }),
    fault: 'inputs.picture: the input images of node 4 (SaveImage) must have a value of its own in the workflow.',
  },
  {
    of: 'a prompt for a number',
    settings: { workflow: 'still.json', inputs: { prompt: [{ node: '1', input: 'width' }] } },
    fault: 'inputs.prompt: the input width of node 1 (EmptyImage) must have a text of its own in the workflow.',
  },
  {
    of: 'a size for a text',
    settings: withInputs({ size: { ...SIZES, height: [{ node: '2', input: 'value' }] } }),
    fault:
      'inputs.size.height: the input value of node 2 (PrimitiveStringMultiline) must have a number of its own in the workflow.',
  },
  {
    of: 'a file for a number',
    settings: withInputs({ reference_image: [{ node: '1', input: 'width' }] }),
    fault:
      'inputs.reference_image: the input width of node 1 (EmptyImage) must have a text of its own in the workflow.',
  },
  {
    of: 'one input twice',
    settings: withInputs({ n: [{ node: '1', input: 'width' }], size: SIZES }),
    fault: 'inputs.size.width: the input width of node 1 (EmptyImage) is there twice.',
  },
  {
    of: 'a sum with a text',
    settings: withInputs({}, { inputs: { prompt: [{ node: '2', input: 'value', times: 2 }] } }),
    fault:
      'inputs.prompt: the input value of node 2 (PrimitiveStringMultiline) is not a number, so it has no times, plus, minimum and maximum.',
  },
  {
    of: 'a length of a number',
    settings: withInputs({ n: [{ node: '1', input: 'batch_size', max_length: 3 }] }),
    fault:
      'inputs.n: the input batch_size of node 1 (EmptyImage) is not a text, so it has no max_length and no may_load.',
  },
  {
    of: 'a number that may load',
    settings: withInputs({ n: [{ node: '1', input: 'batch_size', may_load: true }] }),
    fault:
      'inputs.n: the input batch_size of node 1 (EmptyImage) is not a text, so it has no max_length and no may_load.',
  },
  {
    of: 'bounds that exclude each other',
    settings: withInputs({ n: [{ node: '1', input: 'batch_size', minimum: 3, maximum: 2 }] }),
    fault: 'inputs.n: the input batch_size of node 1 (EmptyImage) has a minimum above its maximum.',
  },
  {
    of: 'a prefix that clients set',
    settings: withInputs({ name: [{ node: '4', input: 'filename_prefix' }] }),
    fault:
      'inputs.name: the input filename_prefix of node 4 (SaveImage) names a file or a place, which clients may not set.',
  },
  {
    of: 'a file of the server that clients choose',
    settings: { workflow: 'edit.json', inputs: { prompt: PROMPT, picture: [{ node: '8', input: 'image' }] } },
    fault: 'inputs.picture: the input image of node 8 (LoadImage) names a file or a place, which clients may not set.',
  },
  ...['file_path', 'image_url'].map((input) => ({
    of: `a prompt for ${input}`,
    settings: { workflow: 'places.json', inputs: { prompt: [{ node: '12', input }] } },
    fault: `inputs.prompt: the input ${input} of node 12 (Reader) names a file or a place, which clients may not set.`,
  })),
  {
    of: 'no node that saves',
    settings: { workflow: 'saveless.json', inputs: { prompt: [] } },
    fault: 'The workflow has no node that is known to save images or videos; name the ones it has in outputs.',
  },
  {
    of: 'WebM',
    settings: { workflow: 'webm.json', inputs: { prompt: [] } },
    fault:
      'The node 4 (SaveWEBM) saves WebM, which cannot be delivered; save images by a SaveImage node, or videos by a SaveVideo node.',
  },
  {
    of: 'a codec that is not delivered',
    settings: { workflow: 'hevc.json', inputs: { prompt: [] } },
    modality: 'video',
    fault:
      'The node 4 (VHS_VideoCombine): "video/h265-mp4" cannot be delivered: a video is delivered as MP4 with H.264, AV1 or VP9.',
  },
  {
    of: 'a preview of a video',
    settings: { workflow: 'preview.json', inputs: { prompt: [] } },
    modality: 'video',
    fault: 'The node 4 (VHS_VideoCombine): save_output is off, so it saves nothing.',
  },
  {
    of: 'pictures of a model for videos',
    settings: STILL_SETTINGS,
    modality: 'video',
    fault: 'The node 4 (SaveImage) saves images, and the model makes videos; name the nodes to deliver in outputs.',
  },
  {
    of: 'an output that is not there',
    settings: withInputs({}, { outputs: [{ node: '99' }] }),
    fault: 'outputs names node 99, which the workflow does not have.',
  },
  {
    of: 'an output of an unknown class without its prefix',
    settings: { workflow: 'foreign.json', inputs: { prompt: [] }, outputs: [{ node: '4' }] },
    fault: 'outputs: the node 4 (Image Save) needs a prefix, its input that begins the names of its files.',
  },
  {
    of: 'a prefix that the output does not have',
    settings: { workflow: 'foreign.json', inputs: { prompt: [] }, outputs: [{ node: '4', prefix: 'images' }] },
    fault: 'outputs: the node 4 (Image Save) has no input images with a text.',
  },
];

const TAKEN: readonly { readonly of: string; readonly settings: JsonObject; readonly modality?: Modality }[] = [
  { of: 'pictures', settings: STILL_SETTINGS },
  { of: 'a video', settings: VIDEO_SETTINGS, modality: 'video' },
  {
    of: 'a prompt that may load files of the server',
    settings: { workflow: 'still.json', inputs: { prompt: [{ ...PROMPT[0]!, may_load: true }] } },
  },
  { of: 'a value that goes nowhere', settings: withInputs({ format: [] }) },
  {
    of: 'a node of another class with its prefix',
    settings: { workflow: 'foreign.json', inputs: { prompt: [] }, outputs: [{ node: '4', prefix: 'start' }] },
  },
  {
    of: 'seconds as frames',
    settings: {
      workflow: 'video.json',
      inputs: { prompt: PROMPT, duration_seconds: [{ node: '1', input: 'batch_size', times: 8, plus: 1 }] },
    },
    modality: 'video',
  },
];

describe('settings of models on ComfyUI', () => {
  const { folder, remove } = folderWith(FILES);
  after(remove);

  const faultOf = (
    settings: JsonObject,
    modality: Modality = 'image',
    options: JsonObject = {},
    sent: Partial<SettingsPlace> = {},
  ) =>
    comfyUiDriver
      .settingsFault?.(settings, { options, catalogFolder: folder, modality, ...SENDS_NOTHING, ...sent })
      ?.replace(folder, 'FOLDER');

  for (const { of, settings, modality, fault } of REFUSED)
    it(`are refused with ${of}`, () => expect(faultOf(settings, modality)).to.equal(fault));

  for (const { of, settings, modality } of TAKEN)
    it(`are taken with ${of}`, () => expect(faultOf(settings, modality)).to.equal(undefined));

  it('are refused without a place for a parameter of the model, unless the place is nowhere on purpose', () => {
    const lacking = withInputs({ format: [] });
    expect(faultOf(lacking, 'image', {}, { parameters: ['format'] })).to.equal(undefined);
    expect(faultOf(lacking, 'image', {}, { parameters: ['format', 'steps'] })).to.equal(
      'inputs has no place for the parameter steps; give it targets, or an empty list if it goes nowhere on purpose.',
    );
  });

  it('are refused without a place for a negative prompt or a file that limits let clients send', () => {
    const lacking = withInputs({ negative_prompt: [] });
    expect(faultOf(lacking, 'image', {}, { takesNegativePrompt: true })).to.equal(undefined);
    expect(faultOf(withInputs({}), 'image', {}, { takesNegativePrompt: true })).to.equal(
      'inputs has no negative_prompt; give it targets, or set negative_prompt of limits to false.',
    );
    expect(faultOf(lacking, 'image', {}, { referenceRoles: ['start_frame'] })).to.equal(
      'inputs has no start_frame; give it targets, or remove it from reference_roles of limits.',
    );
  });

  it('find their workflow in the folder of the instance, which begins in the folder of the catalog', () => {
    const nested = folderWith({ 'a.json': EDIT, 'b.json': VIDEO });
    const settings = { workflow: 'a.json', inputs: { prompt: PROMPT } };
    expect(faultOf(settings, 'image', { workflow_folder: nested.folder })).to.equal(undefined);
    expect(faultOf(settings, 'image', { workflow_folder: 'nothing/here' })).to.equal(
      'There is no file a.json in FOLDER/nothing/here.',
    );
    nested.remove();
  });
});

describe('addresses of ComfyUI servers', () => {
  const load = async (address: string) => {
    const yaml = `providers: { comfyui: { kind: comfyui, servers: ["${address}"] } }`;
    const { folder, remove } = folderWith({ 'darkroom.yaml': yaml });
    return loadConfig({ file: 'darkroom.yaml', folder, environment: {} })
      .then(({ providers }) => providers.get('comfyui')?.options['servers'])
      .finally(remove);
  };

  it('are taken with a path', async () =>
    expect(await load('http://10.0.0.5:8188/comfy')).to.deep.equal(['http://10.0.0.5:8188/comfy']));

  for (const address of ['http://127.0.0.1:8188x', 'http://127.0.0.1:99999', 'http://[::1', 'http://a b', 'ftp://a'])
    it(`are refused in the configuration as ${address}`, async () =>
      expect(await load(address).catch(String)).to.include(
        'darkroom.yaml:1: providers.comfyui.servers must list 1 to 64 http or https URLs',
      ));
});
