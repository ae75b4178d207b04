import { expect } from 'chai';
import fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import { graphFaults } from '../../../../adapters/providers/comfyui/check-graph.js';
import { JsonUnreadable, readExactJson } from '../../../../adapters/providers/comfyui/exact-json.js';
import { filledWorkflow, type UploadedNames } from '../../../../adapters/providers/comfyui/fill-workflow.js';
import { PlanInvalid } from '../../../../adapters/providers/comfyui/plan-invalid.js';
import { type Plan, readPlan, readSettings } from '../../../../adapters/providers/comfyui/plan.js';
import {
  isPlaceholder,
  MAX_WORKFLOW_BYTES,
  missingLink,
  parseWorkflow,
  WorkflowInvalid,
} from '../../../../adapters/providers/comfyui/workflow.js';
import { ParameterInvalid } from '../../../../adapters/providers/shared/request-fields.js';
import { TaskRefused } from '../../../../adapters/providers/shared/task-refused.js';
import type { Json, JsonObject } from '../../../../core/json.js';
import { WANTED } from '../../../contracts/provider.contract.js';
import { ComfyUiFake } from '../../../providers/fakes/comfyui-fake.js';
import { NODE_CLASSES } from '../../../providers/fakes/comfyui-nodes.js';
import { openStudio } from './opened-comfyui.js';
import { EDIT, EDIT_SETTINGS, PROMPT, STILL, STILL_SETTINGS, VIDEO, VIDEO_SETTINGS } from './workflows.js';

/*
 * Goal: the graph of a file is found wherever files store it, and anything else is refused with one sentence.
 * Method: files as other programs write them: requests of other services, notes beside nodes, formats of the editor.
 */

const EDITOR = { last_node_id: 3, nodes: [{ id: 1, type: 'KSampler' }], links: [] };

describe('the graph of a workflow file', () => {
  for (const [of, file] of [
    ['alone', STILL],
    ['in a request of a serverless worker', { input: { workflow: STILL, images: [] } }],
    ['in a request to ComfyUI', { prompt: STILL, client_id: 'a', extra_data: { extra_pnginfo: { workflow: EDITOR } } }],
    ['beside what the editor needs', { workflow: EDITOR, graph: STILL }],
    ['with notes and settings', { _comment: 'by hand', version: 2, options: { sizes: [] }, ...STILL }],
    ['in a list', { items: [{ workflow: STILL }] }],
  ] as const)
    it(`is found ${of}`, () => {
      expect([...parseWorkflow(JSON.stringify(file)).keys()]).to.deep.equal(Object.keys(STILL));
    });

  for (const [of, file, sentence] of [
    ['the format of the editor', EDITOR, /^The workflow is in the format of the editor; export it in API format, /],
    ['the format of the editor within a request', { workflow: EDITOR }, /format of the editor; export it/],
    ['the format of the editor with an old graph', { ...EDITOR, extra: { prompt: STILL } }, /format of the editor/],
    ['two graphs', { first: STILL, second: EDIT }, /^The file has several workflows, at first, second; /],
    [
      'a node without a class',
      { ...STILL, 9: { inputs: {} } },
      /^Node 9 of the workflow needs a class_type and inputs\.$/,
    ],
    ['a graph that is too deep', { a: { b: { c: { d: { e: STILL } } } } }, /^The workflow has no nodes\.$/],
    ['no nodes', { a: 1 }, /^The workflow has no nodes\.$/],
    ['a list', [STILL], /^The workflow must be an object of nodes\.$/],
  ] as const)
    it(`is refused for ${of}`, () => {
      expect(() => parseWorkflow(JSON.stringify(file))).to.throw(WorkflowInvalid, sentence);
    });

  it('has its nodes in the order of the file', () => {
    const node = '{"class_type": "A", "inputs": {}}';
    expect([...parseWorkflow(`{"57:3": ${node}, "9": ${node}, "2": ${node}}`).keys()]).to.deep.equal([
      '57:3',
      '9',
      '2',
    ]);
  });

  it('may have a link to nothing where nothing that is delivered needs it', () => {
    const lost = { class_type: 'SaveImage', inputs: { images: ['77', 0], filename_prefix: 'x' } };
    const workflow = parseWorkflow(JSON.stringify({ ...STILL, 9: lost }));
    expect(missingLink(workflow, ['4'])).to.equal(undefined);
    expect(missingLink(workflow, ['9'])).to.equal(
      'The input images of node 9 (SaveImage) is linked to node 77, which is missing.',
    );
  });

  it('may have millions of characters in one string', () => {
    const image = 'a'.repeat(MAX_WORKFLOW_BYTES - 1_000);
    const loader = { class_type: 'LoadImageBase64', inputs: { image } };
    expect(parseWorkflow(JSON.stringify({ 1: loader })).get('1')!.inputs['image']).to.equal(image);
  });

  it('has placeholders where programs put values', () => {
    for (const text of ['{{ seed }}', ...'%seed% {{seed}} ${seed} {seed} <seed> $seed __seed__ [SEED]'.split(' ')])
      expect(isPlaceholder(text), text).to.equal(true);
    for (const text of ['', '100%', '5% of %d', 'a %prompt% b', '{a|b}', '<lora:x:1>', 'euler', '%date:yyyy%'])
      expect(isPlaceholder(text), text).to.equal(false);
  });
});

/*
 * Goal: values from clients reach the inputs that the settings name and no others, with the type of the original value.
 * Method: arbitrary texts, numbers and JSON; each graph is compared with the workflow, input by input.
 */

const TOKEN = '0199f0d2-8e60-4b21-9f0e-c2a4d8e6b170';
const NOTHING: UploadedNames = { reference_image: [], start_frame: [], end_frame: [] };

const planOf = (workflow: JsonObject, settings: JsonObject): Plan =>
  readPlan(readSettings(settings), parseWorkflow(JSON.stringify(workflow)));
const still = planOf(STILL, STILL_SETTINGS);

function filled(
  plan: Plan,
  task: { prompt?: string; negativePrompt?: string; parameters?: JsonObject } = {},
  names = NOTHING,
) {
  return JSON.parse(filledWorkflow(plan, { prompt: 'x', parameters: {}, token: TOKEN, ...task }, names)) as JsonObject;
}

/** The inputs that differ from the workflow, by node and name. */
function changes(workflow: JsonObject, graph: JsonObject): Readonly<Record<string, Json>> {
  expect(Object.keys(graph)).to.have.members(Object.keys(workflow));
  const changed: Record<string, Json> = {};
  for (const [id, node] of Object.entries(graph) as [string, { class_type: Json; inputs: JsonObject }][]) {
    const before = workflow[id] as unknown as typeof node;
    expect(node.class_type).to.equal(before.class_type);
    expect(Object.keys(node.inputs)).to.deep.equal(Object.keys(before.inputs));
    for (const [input, value] of Object.entries(node.inputs))
      if (JSON.stringify(value) !== JSON.stringify(before.inputs[input])) changed[`${id}.${input}`] = value;
  }
  return changed;
}

describe('the graph of a ComfyUI task', () => {
  it('has any prompt as it is, in its input alone', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1 }), (prompt) => {
        const { '4.filename_prefix': prefix, '1.color': color, ...others } = changes(STILL, filled(still, { prompt }));
        expect(others).to.deep.equal({ '2.value': prompt });
        expect(prefix).to.equal(`darkroom/${TOKEN}/1`);
        expect(color).to.be.a('number');
      }),
    );
  });

  it('has no text of a client that names a file of the server, but where the settings let it', () => {
    const texts = ['embedding:film', 'a b\nembedding:film:1.2', '(Embedding:x)', '<lora:film:1>', 'a < LoRA :x>'];
    const parameter = planOf(STILL, { workflow: 'x', inputs: { prompt: [], style: PROMPT } });
    const allowed = planOf(STILL, { workflow: 'x', inputs: { prompt: [{ ...PROMPT[0]!, may_load: true }] } });
    for (const text of texts) {
      expect(() => filled(still, { prompt: text }), text).to.throw(TaskRefused, /^A text must not contain [^\n]+\.$/);
      expect(() => filled(parameter, { parameters: { style: text } }), text).to.throw(TaskRefused);
      expect(changes(STILL, filled(allowed, { prompt: text }))['2.value']).to.equal(text);
    }
    for (const text of ['an embedding of brass', 'lora: a name', '<3', 'embedding : x'])
      expect(changes(STILL, filled(still, { prompt: text }))['2.value']).to.equal(text);
  });

  it('takes numbers for numbers and texts for texts, and no list, object or null for anything', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const attempt = () => changes(STILL, filled(still, { parameters: { n: value as Json, seed: 1 } }));
        if (typeof value !== 'number' || Math.abs(value) > Number.MAX_SAFE_INTEGER)
          expect(attempt).to.throw(ParameterInvalid);
        else expect(attempt()['1.batch_size'] ?? 1).to.be.closeTo(value, 1e-9);
      }),
    );
  });

  it('takes apart a size, and refuses what is none', () => {
    expect(changes(STILL, filled(still, { parameters: { size: '640x480', seed: 255 } }))).to.deep.equal({
      '1.width': 640,
      '1.height': 480,
      '2.value': 'x',
      '4.filename_prefix': `darkroom/${TOKEN}/1`,
    });
    for (const size of ['640', '640x', 'x480', '640x480x2', '0x5', '-1x5', '1e3x5', '640 x 480', '999999x1', 640])
      expect(() => filled(still, { parameters: { size } }), String(size)).to.throw(ParameterInvalid);
  });

  it('turns seconds into frames, and holds the result to the bounds', () => {
    const target = { node: '1', input: 'batch_size', times: 0.1, plus: 1, minimum: 2, maximum: 4 };
    const plan = planOf(STILL, { workflow: 'x', inputs: { prompt: PROMPT, seconds: [target] } });
    const framesFor = (seconds: number) => changes(STILL, filled(plan, { parameters: { seconds } }))['1.batch_size'];
    expect([framesFor(10), framesFor(30)]).to.deep.equal([2, 4]);
    for (const seconds of [9, 31]) expect(() => framesFor(seconds)).to.throw(ParameterInvalid);
  });

  it('holds texts to their length', () => {
    const plan = planOf(STILL, { workflow: 'x', inputs: { prompt: [{ ...PROMPT[0]!, max_length: 3 }] } });
    expect(() => filled(plan, { prompt: 'four' })).to.throw(ParameterInvalid, 'The parameter prompt ');
    expect(changes(STILL, filled(plan, { prompt: 'two' }))['2.value']).to.equal('two');
  });

  it('has a seed of its own unless the task has one, the same for the same task', () => {
    const colorOf = (task: Parameters<typeof filled>[1]) =>
      (filled(still, task)['1'] as { inputs: JsonObject }).inputs['color'];
    expect(colorOf({ parameters: { seed: 5 } })).to.equal(5);
    expect(colorOf({})).to.equal(colorOf({})).and.to.be.within(0, 16_777_215);
    fc.assert(
      fc.property(
        fc.uuid(),
        fc.integer({ min: 0, max: 1_000 }),
        fc.integer({ min: 0, max: 1_000 }),
        (token, minimum, more) => {
          const target = { node: '1', input: 'color', minimum, maximum: minimum + more };
          const plan = planOf(STILL, { workflow: 'x', inputs: { prompt: PROMPT, seed: [target] } });
          const graph = JSON.parse(filledWorkflow(plan, { prompt: 'x', parameters: {}, token }, NOTHING)) as JsonObject;
          expect((graph['1'] as { inputs: JsonObject }).inputs['color']).to.be.within(minimum, minimum + more);
        },
      ),
    );
  });

  it('has a drawn seed that fits the schema of the model, its other parameters and every target', () => {
    const targets = [
      { node: '1', input: 'color', times: 0.5, plus: 10, maximum: 400 },
      { node: '1', input: 'batch_size', minimum: 100 },
    ];
    const plan = planOf(STILL, { workflow: 'x', inputs: { prompt: PROMPT, seed: targets } });
    const inputSchema: JsonObject = {
      type: 'object',
      additionalProperties: false,
      properties: { seed: { type: 'integer', minimum: 0, maximum: 5_000, multipleOf: 5 } },
    };
    const drawn = Array.from({ length: 30 }, () => {
      const task = { prompt: 'x', parameters: {}, token: randomUUID(), inputSchema };
      const { inputs } = (JSON.parse(filledWorkflow(plan, task, NOTHING)) as JsonObject)['1'] as { inputs: JsonObject };
      expect(Number(inputs['batch_size']) % 10).to.equal(0);
      expect(inputs['color']).to.equal(Number(inputs['batch_size']) / 2 + 10);
      return Number(inputs['batch_size']);
    });
    expect(Math.min(...drawn)).to.be.at.least(100);
    expect(Math.max(...drawn)).to.be.at.most(780);
    expect(new Set(drawn).size).to.be.at.least(15);
  });

  it('is not made where no seed fits the schema and the targets', () => {
    const target = { node: '1', input: 'color', minimum: 10, maximum: 20 };
    const plan = planOf(STILL, { workflow: 'x', inputs: { prompt: PROMPT, seed: [target] } });
    const inputSchema = { type: 'object', properties: { seed: { type: 'integer', maximum: 9 } } };
    expect(() => filledWorkflow(plan, { prompt: 'x', parameters: {}, token: TOKEN, inputSchema }, NOTHING)).to.throw(
      PlanInvalid,
      'inputs.seed: no whole number fits',
    );
  });

  it('has the characters of the file for everything that no value replaces', () => {
    const file = `{"2": {"class_type": "KSampler", "inputs": {"seed": 18446744073709551615, "cfg": 7.50, "denoise": NaN,
      "least": -Infinity, "text": "\\u00e9", "link": [ "5", 0 ], "steps": 20, "list": [12345678901234567890] } },
      "5": {"class_type": "SaveImage", "inputs": {"images": ["2", 0], "filename_prefix": "x"}}}`;
    const plan = readPlan(
      readSettings({
        workflow: 'x',
        inputs: { prompt: [{ node: '2', input: 'text' }], steps: [{ node: '2', input: 'steps' }] },
      }),
      parseWorkflow(file),
    );
    const text = filledWorkflow(plan, { prompt: 'y', parameters: { steps: 9 }, token: TOKEN }, NOTHING);
    expect(text).to.equal(
      `{"2":{"class_type":"KSampler","inputs":{"seed":18446744073709551615,"cfg":7.50,"denoise":NaN,"least":-Infinity,"text":"y","link":[ "5", 0 ],"steps":9,"list":[12345678901234567890]}},"5":{"class_type":"SaveImage","inputs":{"images":["2", 0],"filename_prefix":"darkroom/${TOKEN}/1"}}}`,
    );
  });

  it('has numbers in place of placeholders and of numbers in quotes', () => {
    const workflow: JsonObject = {
      1: {
        class_type: 'KSampler',
        inputs: { seed: '%seed%', steps: '20', cfg: '{{ cfg }}', sampler: 'euler', text: '' },
      },
      2: { class_type: 'SaveImage', inputs: { images: ['1', 0], filename_prefix: 'x' } },
    };
    const to = (input: string) => [{ node: '1', input }];
    const inputs = { prompt: to('text'), seed: to('seed'), steps: to('steps'), cfg: to('cfg'), sampler: to('sampler') };
    const plan = planOf(workflow, { workflow: 'x', inputs });
    const graph = filled(plan, { parameters: { seed: 5, steps: 9, cfg: 2.5 } });
    expect((graph['1'] as { inputs: JsonObject }).inputs).to.deep.include({ seed: 5, steps: '9', cfg: 2.5 });
    expect(() => filled(plan, { parameters: { sampler: 1 } })).to.throw(ParameterInvalid);
    expect(() =>
      planOf(workflow, { workflow: 'x', inputs: { prompt: [], size: { width: to('sampler'), height: to('seed') } } }),
    ).to.throw(PlanInvalid);
  });

  it('has the names of uploaded files where the settings say', () => {
    const plan = planOf(EDIT, EDIT_SETTINGS);
    const graph = filled(plan, {}, { ...NOTHING, reference_image: ['darkroom/a.png'] });
    expect(changes(EDIT, graph)['8.image']).to.equal('darkroom/a.png');
  });

  it('is not made of a task with more than the settings have a place for', () => {
    expect(() => filled(still, { negativePrompt: 'rain' })).to.throw(PlanInvalid, 'the negative prompt');
    expect(() => filled(still, { parameters: { style: 'oil' } })).to.throw(PlanInvalid, 'the parameter style');
    const plan = planOf(STILL, { workflow: 'x', inputs: { prompt: PROMPT, style: [], negative_prompt: [] } });
    expect(() => filled(plan, { parameters: { style: 'oil' }, negativePrompt: 'rain' })).to.not.throw();
  });

  it('leaves the workflow as it is', () => {
    const before = JSON.stringify([...still.workflow]);
    filled(still, { prompt: 'another', parameters: { n: 4 } });
    expect(JSON.stringify([...still.workflow])).to.equal(before);
  });

  it('gives every node that saves a prefix of its own, the ones that are delivered first', () => {
    const workflow = {
      ...STILL,
      7: { class_type: 'SaveImage', inputs: { images: ['1', 0], filename_prefix: 'second' } },
    };
    const plan = planOf(workflow, { workflow: 'x', inputs: { prompt: PROMPT }, outputs: [{ node: '7' }] });
    const changed = changes(workflow, filled(plan));
    expect(changed).to.include({
      '7.filename_prefix': `darkroom/${TOKEN}/1`,
      '4.filename_prefix': `darkroom/${TOKEN}/other/1`,
    });
  });
});

/*
 * Goal: a connection check finds everything that a server could not run, reports each fault in a sentence, and nothing
 * else.
 * Method: workflows with one mistake each against classes as servers describe them; connections with one mistake each.
 */

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

const stillWith = (id: string, classType: string, inputs: Readonly<Record<string, Json>>): JsonObject => ({
  ...STILL,
  [id]: { class_type: classType, inputs: { ...inputs } },
});

/** A still with one more node, whose faults are named after it. */
const FAULTY: readonly (readonly [of: string, classType: string, inputs: JsonObject, ...faults: string[]])[] = [
  ['a class', 'Unknown', {}, 'the node 9 (Unknown) is of a class that the server does not have.'],
  ['an input', 'ImageBlur', { image: ['1', 0], sigma: 1 }, 'the input blur_radius of node 9 (ImageBlur) is missing.'],
  [
    'a number that is a text',
    'ImageBlur',
    { image: ['1', 0], blur_radius: 'three', sigma: 1 },
    'the input blur_radius of node 9 (ImageBlur) must be of the type INT.',
  ],
  ['a flag that is a number', 'Flag', { on: 1 }, 'the input on of node 9 (Flag) must be of the type BOOLEAN.'],
  [
    'numbers out of bounds',
    'ImageBlur',
    { image: ['1', 0], blur_radius: 0, sigma: 11 },
    'the input blur_radius of node 9 (ImageBlur) is 0, below 1.',
    'the input sigma of node 9 (ImageBlur) is 11, above 10.',
  ],
  [
    'a link of another type',
    'ImageBlur',
    { image: ['2', 0], blur_radius: 1, sigma: 1 },
    'the input image of node 9 (ImageBlur) takes IMAGE, and is linked to STRING.',
  ],
  [
    'a model',
    'CheckpointLoaderSimple',
    { ckpt_name: 'flux.safetensors' },
    'the input ckpt_name of node 9 (CheckpointLoaderSimple) is flux.safetensors, which the server does not have; it has sd15.safetensors.',
  ],
];

describe('the check of a ComfyUI workflow', () => {
  it('accepts workflows that the server runs', () => {
    expect(faultsOf(STILL, STILL_SETTINGS)).to.deep.equal([]);
    expect(faultsOf(VIDEO, VIDEO_SETTINGS)).to.deep.equal([]);
    expect(faultsOf(EDIT, EDIT_SETTINGS), 'the file is uploaded').to.deep.equal([]);
  });

  for (const [of, classType, inputs, ...faults] of FAULTY)
    it(`finds ${of} that is wrong or missing`, () =>
      expect(faultsOf(stillWith('9', classType, inputs))).to.deep.equal(faults));

  it('accepts what a server may accept: any type, one of several, filled-in inputs, lists elsewhere', () => {
    const workflow = {
      ...stillWith('9', 'Any', { source: ['2', 0], mixed: ['1', 0] }),
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

  it('reports wrong settings, and that a key is refused', async () => {
    const studio = await openStudio({ key: 'right' }, { options: { api_key: 'wrong' } });
    const { faults } = await studio.provider.check([{ workflow: 'none.json', inputs: { prompt: [] } }], WANTED);
    expect(faults).to.deep.equal([
      `There is no file none.json in ${studio.folder}.`,
      `The key is refused at ${studio.fake.url}; check api_key.`,
    ]);
    await studio.close();
  });
});

/*
 * Goal: a workflow file is read as Python reads it, and every number keeps the characters that it has in the file.
 * Method: arbitrary JSON against `JSON.parse`; numbers that JavaScript cannot hold, by their source; texts that are not JSON.
 */

describe('the reader of workflow files', () => {
  it('reads what JSON.parse reads', () => {
    fc.assert(
      fc.property(fc.json({ stringUnit: 'binary' }), fc.constantFrom('', '\uFEFF'), (text, mark) => {
        expect(readExactJson(`${mark} ${text}\n`).value).to.deep.equal(JSON.parse(text));
      }),
    );
  });

  it('keeps the characters of each number', () => {
    for (const number of ['18446744073709551615', '-9007199254740993', '0.10000000000000001', '1e400', '1.0', '-0'])
      expect(readExactJson(`{"a": ${number} }`).members!.get('a')!.source).to.equal(number);
  });

  it('reads NaN, Infinity and -Infinity outside of strings', () => {
    const { value, items } = readExactJson('[NaN, -Infinity, Infinity, "NaN"]');
    expect(value).to.deep.equal([NaN, -Infinity, Infinity, 'NaN']);
    expect(items!.map(({ source }) => source)).to.deep.equal(['NaN', '-Infinity', 'Infinity', '"NaN"']);
  });

  it('keeps the order of members, and the last of those with one name', () => {
    const { members, value } = readExactJson('{"9": 1, "2": 2, "9": 3, "__proto__": 4}');
    expect([...members!].map(([name, { source }]) => [name, source])).to.deep.equal([
      ['2', '2'],
      ['9', '3'],
      ['__proto__', '4'],
    ]);
    expect(Object.keys(value as object)).to.deep.equal(['2', '9', '__proto__']);
  });

  it('says where a text is not JSON', () => {
    for (const [text, at] of [
      ['', 'line 1, column 1'],
      ['{"a": %seed%}', 'line 1, column 7'],
      ['{\n  "a": 01}', 'line 2, column 9'],
      ['[1,]', 'line 1, column 4'],
      ['["a\nb"]', 'line 1, column 2'],
      ['"\\x"', 'line 1, column 1'],
      ['"open', 'line 1, column 1'],
      ['-NaN', 'line 1, column 1'],
      ['[1] 2', 'line 1, column 5'],
      ['['.repeat(300), 'line 1, column 202'],
    ] as const)
      expect(() => readExactJson(text), text)
        .to.throw(JsonUnreadable)
        .with.property('at', at);
  });

  it('reads a string of several megabytes', () => {
    const text = JSON.stringify({ image: `\\"${'a'.repeat(3_000_000)}` });
    expect(readExactJson(text).value).to.deep.equal(JSON.parse(text));
  });
});
