/*
 * Goal: the graph of a file is found wherever files have it, and what is not a graph is refused with one sentence.
 * Method: files as other programs write them: requests of other services, notes beside nodes, formats of the editor.
 */
import { expect } from 'chai';
import {
  isPlaceholder,
  MAX_WORKFLOW_BYTES,
  missingLink,
  parseWorkflow,
  WorkflowInvalid,
} from '../../../../adapters/providers/comfyui/workflow.js';
import { EDIT, STILL } from './workflows.js';

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
    for (const text of [
      '%seed%',
      '{{seed}}',
      '{{ seed }}',
      '${seed}',
      '{seed}',
      '<seed>',
      '$seed',
      '__seed__',
      '[SEED]',
    ])
      expect(isPlaceholder(text), text).to.equal(true);
    for (const text of ['', '100%', '5% of %d', 'a %prompt% b', '{a|b}', '<lora:x:1>', 'euler', '%date:yyyy%'])
      expect(isPlaceholder(text), text).to.equal(false);
  });
});
