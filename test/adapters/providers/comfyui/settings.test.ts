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

/** The target of a parameter: an input of a node. */
const to = (node: string, input: string, more: JsonObject = {}): Json => [{ node, input, ...more }];
const SIZES: JsonObject = { width: to('1', 'width'), height: to('1', 'height') };

function withInputs(inputs: JsonObject, more: JsonObject = {}): JsonObject {
  return { workflow: 'still.json', inputs: { prompt: PROMPT, ...inputs }, ...more };
}

/** Settings of a workflow that has no place for the prompt. */
function promptless(workflow: string, outputs?: Json): JsonObject {
  return { workflow, inputs: { prompt: [] }, ...(outputs === undefined ? {} : { outputs }) };
}

function withNode(workflow: JsonObject, id: string, classType: string, inputs: JsonObject): JsonObject {
  return { ...workflow, [id]: { class_type: classType, inputs } };
}

const saving = (classType: string, inputs: JsonObject): JsonObject =>
  withNode(STILL, '4', classType, { images: ['1', 0], ...inputs });

const FILES = {
  ...WORKFLOWS,
  'editor.json': { last_node_id: 9, nodes: [], links: [] },
  'list.json': '[1]',
  'broken.json': '{"1": {',
  'empty.json': '{}',
  'classless.json': '{"1": {"inputs": {}}}',
  'dangling.json': withNode({}, '4', 'SaveImage', { images: ['77', 0], filename_prefix: 'x' }),
  'saveless.json': withNode({}, '2', 'PrimitiveStringMultiline', { value: '' }),
  'webm.json': saving('SaveWEBM', { filename_prefix: 'x' }),
  'hevc.json': saving('VHS_VideoCombine', { filename_prefix: 'x', format: 'video/h265-mp4' }),
  'preview.json': saving('VHS_VideoCombine', { filename_prefix: 'x', format: 'video/h264-mp4', save_output: false }),
  'foreign.json': saving('Image Save', { output_path: 'x', start: 'y' }),
  'places.json': withNode(STILL, '12', 'Reader', { file_path: '/etc/passwd', image_url: 'x', text: 'x' }),
};

const NOT_SET = 'names a file or a place, which clients may not set.';

const REFUSED: readonly (readonly [of: string, settings: JsonObject, fault: string, modality?: Modality])[] = [
  ['no workflow', { inputs: { prompt: PROMPT } }, 'workflow is required.'],
  [
    'no prompt',
    { workflow: 'still.json', inputs: {} },
    'inputs has no prompt; give it targets, or set prompt of the model to none.',
  ],
  ['an unknown key', withInputs({}, { graph: {} }), 'unknown field "graph".'],
  [
    'a misspelt key, which is named too',
    { workflow: 'still.json', input: { prompt: PROMPT } },
    'inputs is required; unknown field "input".',
  ],
  ['a missing file', withInputs({}, { workflow: 'none.json' }), 'There is no file none.json in FOLDER.'],
  ['a folder', withInputs({}, { workflow: '.' }), 'The file . in FOLDER cannot be read.'],
  [
    'the format of the editor',
    withInputs({}, { workflow: 'editor.json' }),
    'editor.json: The workflow is in the format of the editor; export it in API format, in ComfyUI with Workflow > Export (API).',
  ],
  ['a list', promptless('list.json'), 'list.json: The workflow must be an object of nodes.'],
  ['broken JSON', promptless('broken.json'), 'broken.json: The workflow is not JSON: see line 1, column 8.'],
  ['no nodes', promptless('empty.json'), 'empty.json: The workflow has no nodes.'],
  [
    'a node without a class',
    promptless('classless.json'),
    'classless.json: Node 1 of the workflow needs a class_type and inputs.',
  ],
  [
    'a link to nothing',
    promptless('dangling.json'),
    'dangling.json: The input images of node 4 (SaveImage) is linked to node 77, which is missing.',
  ],
  [
    'a node that is not there',
    withInputs({ seed: to('99', 'seed') }),
    'inputs.seed names node 99, which the workflow does not have.',
  ],
  [
    'an input that is not there',
    withInputs({ seed: to('1', 'seed') }),
    'inputs.seed: the node 1 (EmptyImage) has no input seed.',
  ],
  [
    'an input that is linked',
    withInputs({ picture: to('4', 'images') }),
    'inputs.picture: the input images of node 4 (SaveImage) must have a value of its own in the workflow.',
  ],
  [
    'a prompt for a number',
    withInputs({ prompt: to('1', 'width') }),
    'inputs.prompt: the input width of node 1 (EmptyImage) must have a text of its own in the workflow.',
  ],
  [
    'a size for a text',
    withInputs({ size: { ...SIZES, height: to('2', 'value') } }),
    'inputs.size.height: the input value of node 2 (PrimitiveStringMultiline) must have a number of its own in the workflow.',
  ],
  [
    'a file for a number',
    withInputs({ reference_image: to('1', 'width') }),
    'inputs.reference_image: the input width of node 1 (EmptyImage) must have a text of its own in the workflow.',
  ],
  [
    'one input twice',
    withInputs({ n: to('1', 'width'), size: SIZES }),
    'inputs.size.width: the input width of node 1 (EmptyImage) is there twice.',
  ],
  [
    'a sum with a text',
    withInputs({ prompt: to('2', 'value', { times: 2 }) }),
    'inputs.prompt: the input value of node 2 (PrimitiveStringMultiline) is not a number, so it has no times, plus, minimum and maximum.',
  ],
  ...[{ max_length: 3 }, { may_load: true }].map(
    (more) =>
      [
        `a number with ${JSON.stringify(more)}`,
        withInputs({ n: to('1', 'batch_size', more) }),
        'inputs.n: the input batch_size of node 1 (EmptyImage) is not a text, so it has no max_length and no may_load.',
      ] as const,
  ),
  [
    'bounds that exclude each other',
    withInputs({ n: to('1', 'batch_size', { minimum: 3, maximum: 2 }) }),
    'inputs.n: the input batch_size of node 1 (EmptyImage) has a minimum above its maximum.',
  ],
  [
    'a prefix that clients set',
    withInputs({ name: to('4', 'filename_prefix') }),
    `inputs.name: the input filename_prefix of node 4 (SaveImage) ${NOT_SET}`,
  ],
  [
    'a file of the server that clients choose',
    withInputs({ picture: to('8', 'image') }, { workflow: 'edit.json' }),
    `inputs.picture: the input image of node 8 (LoadImage) ${NOT_SET}`,
  ],
  ...['file_path', 'image_url'].map(
    (input) =>
      [
        `a prompt for ${input}`,
        { workflow: 'places.json', inputs: { prompt: to('12', input) } },
        `inputs.prompt: the input ${input} of node 12 (Reader) ${NOT_SET}`,
      ] as const,
  ),
  [
    'no node that saves',
    promptless('saveless.json'),
    'The workflow has no node that is known to save images or videos; name the ones it has in outputs.',
  ],
  [
    'WebM',
    promptless('webm.json'),
    'The node 4 (SaveWEBM) saves WebM, which cannot be delivered; save images by a SaveImage node, or videos by a SaveVideo node.',
  ],
  [
    'a codec that is not delivered',
    promptless('hevc.json'),
    'The node 4 (VHS_VideoCombine): "video/h265-mp4" cannot be delivered: a video is delivered as MP4 with H.264, AV1 or VP9.',
    'video',
  ],
  [
    'a preview of a video',
    promptless('preview.json'),
    'The node 4 (VHS_VideoCombine): save_output is off, so it saves nothing.',
    'video',
  ],
  [
    'pictures of a model for videos',
    STILL_SETTINGS,
    'The node 4 (SaveImage) saves images, and the model makes videos; name the nodes to deliver in outputs.',
    'video',
  ],
  [
    'an output that is not there',
    withInputs({}, { outputs: [{ node: '99' }] }),
    'outputs names node 99, which the workflow does not have.',
  ],
  [
    'an output of an unknown class without its prefix',
    promptless('foreign.json', [{ node: '4' }]),
    'outputs: the node 4 (Image Save) needs a prefix, its input that begins the names of its files.',
  ],
  [
    'a prefix that the output does not have',
    promptless('foreign.json', [{ node: '4', prefix: 'images' }]),
    'outputs: the node 4 (Image Save) has no input images with a text.',
  ],
];

const SECONDS = to('1', 'batch_size', { times: 8, plus: 1 });
const TAKEN: readonly (readonly [of: string, settings: JsonObject, modality?: Modality])[] = [
  ['pictures', STILL_SETTINGS],
  ['a video', VIDEO_SETTINGS, 'video'],
  ['a prompt that may load files of the server', withInputs({ prompt: [{ ...PROMPT[0]!, may_load: true }] })],
  ['a value that goes nowhere', withInputs({ format: [] })],
  ['a node of another class with its prefix', promptless('foreign.json', [{ node: '4', prefix: 'start' }])],
  ['seconds as frames', withInputs({ duration_seconds: SECONDS }, { workflow: 'video.json' }), 'video'],
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

  for (const [of, settings, fault, modality] of REFUSED)
    it(`are refused with ${of}`, () => expect(faultOf(settings, modality)).to.equal(fault));

  for (const [of, settings, modality] of TAKEN)
    it(`are taken with ${of}`, () => expect(faultOf(settings, modality)).to.equal(undefined));

  it('are refused without a place for a parameter of the model, unless the place is nowhere on purpose', () => {
    const lacking = withInputs({ format: [] });
    expect(faultOf(lacking, 'image', {}, { parameters: ['format'] })).to.equal(undefined);
    expect(faultOf(lacking, 'image', {}, { parameters: ['format', 'steps'] })).to.equal(
      'inputs has no place for the parameter steps; give it targets, or an empty list if it goes nowhere on purpose.',
    );
  });

  it('are taken without a place for the prompt for a model that takes none', () => {
    const without = { workflow: 'still.json', inputs: {} };
    expect(faultOf(without, 'image', {}, { promptRule: 'none' })).to.equal(undefined);
    expect(faultOf(without, 'image', {}, { promptRule: 'optional' })).to.match(/^inputs has no prompt;/);
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
