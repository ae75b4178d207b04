/*
 * Goal: a check of the connection finds what a server could not run, says each in a sentence, and nothing else.
 * Method: workflows with one mistake each against classes as servers describe them; connections with one mistake each.
 */
import { expect } from 'chai';
import { graphFaults } from '../../../../adapters/providers/comfyui/check-graph.js';
import { readPlan, readSettings } from '../../../../adapters/providers/comfyui/plan.js';
import { parseWorkflow } from '../../../../adapters/providers/comfyui/workflow.js';
import type { Json, JsonObject } from '../../../../core/json.js';
import { WANTED } from '../../../contracts/provider.contract.js';
import { ComfyUiFake } from '../../../providers/fakes/comfyui-fake.js';
import { NODE_CLASSES } from '../../../providers/fakes/comfyui-nodes.js';
import { openStudio } from './opened-comfyui.js';
import { EDIT, EDIT_SETTINGS, PROMPT, STILL, STILL_SETTINGS, VIDEO, VIDEO_SETTINGS } from './workflows.js';

const CLASSES = new Map<string, JsonObject>(Object.entries(NODE_CLASSES) as unknown as [string, JsonObject][]);
CLASSES.set('Any', { input: { required: { source: ['*'], mixed: ['IMAGE,MASK'] } }, output: ['*'] });
CLASSES.set('Dynamic', {
  input: { required: { many: ['COMFY_AUTOGROW_V3', {}], file: ['COMBO', { options: ['a'], video_upload: true }] } },
  output: [],
});
CLASSES.set('Remote', { input: { required: { name: ['COMBO', { options: ['a'], remote: {} }] } }, output: [] });
CLASSES.set('Flag', { input: { required: { on: ['BOOLEAN', {}] }, optional: { more: ['INT', {}] } }, output: [] });
CLASSES.set('Strange', { input: 'x', output: 3 });

function faultsOf(workflow: JsonObject, settings: JsonObject = { workflow: 'x', inputs: { prompt: PROMPT } }) {
  return graphFaults(readPlan(readSettings(settings), parseWorkflow(JSON.stringify(workflow))), CLASSES);
}

const still = (id: string, classType: string, inputs: Readonly<Record<string, Json>>): JsonObject => ({
  ...STILL,
  [id]: { class_type: classType, inputs: { ...inputs } },
});

const FAULTY: readonly { readonly of: string; readonly workflow: JsonObject; readonly faults: readonly string[] }[] = [
  {
    of: 'a class',
    workflow: still('9', 'Unknown', {}),
    faults: ['the node 9 (Unknown) is of a class that the server does not have.'],
  },
  {
    of: 'an input',
    workflow: still('9', 'ImageBlur', { image: ['1', 0], sigma: 1 }),
    faults: ['the input blur_radius of node 9 (ImageBlur) is missing.'],
  },
  {
    of: 'a number that is a text',
    workflow: still('9', 'ImageBlur', { image: ['1', 0], blur_radius: 'three', sigma: 1 }),
    faults: ['the input blur_radius of node 9 (ImageBlur) must be of the type INT.'],
  },
  {
    of: 'a flag that is a number',
    workflow: still('9', 'Flag', { on: 1 }),
    faults: ['the input on of node 9 (Flag) must be of the type BOOLEAN.'],
  },
  {
    of: 'numbers out of bounds',
    workflow: still('9', 'ImageBlur', { image: ['1', 0], blur_radius: 0, sigma: 11 }),
    faults: [
      'the input blur_radius of node 9 (ImageBlur) is 0, below 1.',
      'the input sigma of node 9 (ImageBlur) is 11, above 10.',
    ],
  },
  {
    of: 'a link of another type',
    workflow: still('9', 'ImageBlur', { image: ['2', 0], blur_radius: 1, sigma: 1 }),
    faults: ['the input image of node 9 (ImageBlur) takes IMAGE, and is linked to STRING.'],
  },
  {
    of: 'a model',
    workflow: still('9', 'CheckpointLoaderSimple', { ckpt_name: 'flux.safetensors' }),
    faults: [
      'the input ckpt_name of node 9 (CheckpointLoaderSimple) is flux.safetensors, which the server does not have; it has sd15.safetensors.',
    ],
  },
];

describe('the check of a ComfyUI workflow', () => {
  it('has nothing against workflows that the server runs', () => {
    expect(faultsOf(STILL, STILL_SETTINGS)).to.deep.equal([]);
    expect(faultsOf(VIDEO, VIDEO_SETTINGS)).to.deep.equal([]);
    expect(faultsOf(EDIT, EDIT_SETTINGS), 'the file is uploaded').to.deep.equal([]);
  });

  for (const { of, workflow, faults } of FAULTY)
    it(`finds ${of} that is wrong or missing`, () => expect(faultsOf(workflow)).to.deep.equal(faults));

  it('has nothing against what a server may take: any type, one of several, what it fills in, lists elsewhere', () => {
    const workflow = {
      ...still('9', 'Any', { source: ['2', 0], mixed: ['1', 0] }),
      10: { class_type: 'Dynamic', inputs: { file: 'not in the list' } },
      11: { class_type: 'Remote', inputs: { name: 'not in the list' } },
      12: { class_type: 'Strange', inputs: { x: ['9', 0] } },
      13: { class_type: 'Any', inputs: { source: ['9', 0], mixed: ['9', 7] } },
    };
    expect(faultsOf(workflow)).to.deep.equal([]);
  });
});

describe('the check of ComfyUI servers', () => {
  it('says of each server what is wrong, and of a server that is right which it is', async () => {
    const studio = await openStudio();
    const [down, old, stranger] = [
      await ComfyUiFake.open(),
      await ComfyUiFake.open({ version: '0.3.10' }),
      await ComfyUiFake.open({ version: '' }),
    ];
    await down.close();
    const provider = studio.another({ servers: [studio.fake.url, down.url, old.url, stranger.url] });
    expect(await provider.check([STILL_SETTINGS], WANTED)).to.deep.equal({
      about: 'ComfyUI 0.33.0, 0.3.10',
      faults: [
        `Nothing answers at ${down.url} (ECONNREFUSED); check servers, and whether the server runs.`,
        `${old.url} is ComfyUI 0.3.10; 0.3.57 or newer is needed.`,
        `${stranger.url} is not ComfyUI; check servers.`,
      ],
    });
    await Promise.all([old.close(), stranger.close(), studio.close()]);
  });

  it('says what is wrong with settings, and that a key is refused', async () => {
    const studio = await openStudio({ key: 'right' }, { options: { api_key: 'wrong' } });
    const { faults } = await studio.provider.check([{ workflow: 'none.json', inputs: { prompt: [] } }], WANTED);
    expect(faults).to.deep.equal([
      `There is no file none.json in ${studio.folder}.`,
      `The key is refused at ${studio.fake.url}; check api_key.`,
    ]);
    await studio.close();
  });
});
