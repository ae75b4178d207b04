/*
 * Goal: what clients send gets to the inputs that the settings name and nowhere else, as a value of the type that is there.
 * Method: arbitrary texts, numbers and JSON; each graph is compared with the workflow, input by input.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import { filledWorkflow, type UploadedNames } from '../../../../adapters/providers/comfyui/fill-workflow.js';
import { PlanInvalid } from '../../../../adapters/providers/comfyui/plan-invalid.js';
import { type Plan, readPlan, readSettings } from '../../../../adapters/providers/comfyui/plan.js';
import { parseWorkflow } from '../../../../adapters/providers/comfyui/workflow.js';
import { ParameterInvalid } from '../../../../adapters/providers/shared/request-fields.js';
import { TaskRefused } from '../../../../adapters/providers/shared/task-refused.js';
import type { Json, JsonObject } from '../../../../core/json.js';
import { EDIT, EDIT_SETTINGS, PROMPT, STILL, STILL_SETTINGS } from './workflows.js';

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
