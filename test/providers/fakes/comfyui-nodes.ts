/** One node of a graph as it is submitted. */
export interface GraphNode {
  readonly class_type: string;
  readonly inputs: Readonly<Record<string, unknown>>;
}

export type Graph = Readonly<Record<string, GraphNode>>;

interface NodeClass {
  readonly input: { readonly required: Readonly<Record<string, readonly unknown[]>> };
  readonly output: readonly string[];
  readonly output_node: boolean;
}

const node = (
  required: Readonly<Record<string, readonly unknown[]>>,
  output: readonly string[],
  isOutput = false,
): NodeClass => ({ input: { required }, output, output_node: isOutput });

const INT = (min: number, max: number) => ['INT', { default: min, min, max }];
const TEXT = ['STRING', { multiline: true }];

/** The classes that the fake has, as a server describes them. */
export const NODE_CLASSES: Readonly<Record<string, NodeClass>> = {
  EmptyImage: node(
    {
      width: INT(1, 16_384),
      height: INT(1, 16_384),
      batch_size: INT(1, 4_096),
      color: INT(0, 16_777_215),
    },
    ['IMAGE'],
  ),
  ImageBlur: node(
    { image: ['IMAGE', {}], blur_radius: INT(1, 31), sigma: ['FLOAT', { default: 1, min: 0.1, max: 10 }] },
    ['IMAGE'],
  ),
  LoadImage: node({ image: [['example.png'], { image_upload: true }] }, ['IMAGE', 'MASK']),
  LoadImageMask: node(
    { image: [['example.png'], { image_upload: true }], channel: [['alpha', 'red', 'green', 'blue'], {}] },
    ['MASK'],
  ),
  MaskToImage: node({ mask: ['MASK', {}] }, ['IMAGE']),
  ImageCompositeMasked: node({ destination: ['IMAGE', {}], source: ['IMAGE', {}], mask: ['MASK', {}] }, ['IMAGE']),
  PrimitiveStringMultiline: node({ value: TEXT }, ['STRING']),
  AlwaysNewText: node({ value: TEXT }, ['STRING']),
  PreviewAny: node({ source: ['*', {}] }, [], true),
  PreviewImage: node({ images: ['IMAGE'] }, [], true),
  SaveImage: node({ images: ['IMAGE', {}], filename_prefix: ['STRING', { default: 'ComfyUI' }] }, [], true),
  CreateVideo: node({ images: ['IMAGE', {}], fps: ['FLOAT', { default: 30, min: 1, max: 120 }] }, ['VIDEO']),
  SaveVideo: node(
    {
      video: ['VIDEO', {}],
      filename_prefix: ['STRING', { default: 'video/ComfyUI' }],
      format: ['COMBO', { default: 'auto', options: ['auto', 'mp4'] }],
      codec: ['COMBO', { default: 'auto', options: ['auto', 'h264'] }],
    },
    [],
    true,
  ),
  CheckpointLoaderSimple: node({ ckpt_name: [['sd15.safetensors'], {}] }, ['MODEL', 'CLIP', 'VAE']),
  CLIPTextEncode: node({ text: TEXT, clip: ['CLIP', {}] }, ['CONDITIONING']),
};

/**
 * A graph as the server keeps it once it has run: with what the `IS_CHANGED` of a class answered, which is a digest for a loaded
 * file, and NaN, which equals nothing, where a node must run each time.
 */
export function graphAfterRun(graph: Graph): Graph {
  return Object.fromEntries(
    Object.entries(graph).map(([id, one]) => {
      const changed =
        one.class_type === 'AlwaysNewText' ? NaN : one.class_type === 'LoadImage' ? 'b1946ac92492' : undefined;
      return [id, changed === undefined ? one : { ...one, is_changed: [changed] }];
    }),
  );
}

/** JSON as Python's `json` writes it: with NaN, Infinity and -Infinity. */
export function pythonJson(value: unknown): string {
  const mark = (_: string, one: unknown): unknown =>
    typeof one === 'number' && !Number.isFinite(one) ? `\0${String(one)}` : one;
  return JSON.stringify(value, mark).replaceAll(/"\\u0000(NaN|-?Infinity)"/g, '$1');
}

/** JSON as Python's `json` reads it. */
export function readPythonJson(text: string): unknown {
  const marked = text.replaceAll(/"(?:[^"\\]|\\.)*"|-?Infinity|NaN/g, (found) =>
    found.startsWith('"') ? found : `"\\u0000${found}"`,
  );
  return JSON.parse(marked, (_, one: unknown) =>
    typeof one === 'string' && /^\0(?:NaN|-?Infinity)$/.test(one) ? Number(one.slice(1)) : one,
  );
}

interface NodeFault {
  readonly type: string;
  readonly message: string;
  readonly details: string;
  readonly extra_info: Readonly<Record<string, unknown>>;
}

/** The server's answer to a graph that it rejects; undefined for one that it accepts. */
export function graphRefusal(
  graph: Graph,
  targets: readonly string[] | undefined,
  hasInputFile: (name: string) => boolean,
): object | undefined {
  for (const [id, { class_type: name }] of Object.entries(graph))
    if (NODE_CLASSES[name] === undefined)
      return refusal('invalid_prompt', `Cannot execute because node ${name} does not exist.`, `Node ID '#${id}'`);
  const outputs = outputsOf(graph, targets);
  if (outputs.length === 0) return refusal('prompt_no_outputs', 'Prompt has no outputs', '');
  const faults = new Map<string, readonly NodeFault[]>();
  const good = outputs.filter((output) => {
    const needed = neededBy(graph, output).map((id) => [id, faultsOf(graph, id, hasInputFile)] as const);
    const bad = needed.filter(([, found]) => found.length > 0);
    for (const [id, found] of bad) faults.set(id, found);
    return bad.length === 0;
  });
  if (good.length > 0) return undefined;
  const errors = [...faults].map(([id, found]) => [
    id,
    { errors: found, dependent_outputs: outputs, class_type: graph[id]?.class_type },
  ]);
  return {
    ...refusal('prompt_outputs_failed_validation', 'Prompt outputs failed validation', ''),
    node_errors: Object.fromEntries(errors),
  };
}

export function refusal(type: string, message: string, details: string) {
  return { error: { type, message, details, extra_info: {} }, node_errors: {} };
}

/** The output nodes that are run. */
export function outputsOf(graph: Graph, targets: readonly string[] | undefined): readonly string[] {
  return Object.keys(graph).filter(
    (id) => NODE_CLASSES[graph[id]?.class_type ?? '']?.output_node === true && (targets?.includes(id) ?? true),
  );
}

/** A node and all that it is made from, the first first. */
export function neededBy(graph: Graph, id: string): readonly string[] {
  const behind = linksOf(graph[id]).flatMap((other) => neededBy(graph, other));
  return [...new Set([...behind, id])];
}

function linksOf(of: GraphNode | undefined): readonly string[] {
  return Object.values(of?.inputs ?? {}).flatMap((input) =>
    Array.isArray(input) && input.length === 2 ? [String(input[0])] : [],
  );
}

function faultsOf(graph: Graph, id: string, hasInputFile: (name: string) => boolean): readonly NodeFault[] {
  const { class_type: name, inputs } = graph[id] ?? { class_type: '', inputs: {} };
  const rules = Object.entries(NODE_CLASSES[name]?.input.required ?? {});
  return rules.flatMap(([input, [type, options]]) => {
    const found = faultOf(inputs[input], type, options ?? {}, hasInputFile);
    return found === undefined ? [] : [{ ...found, extra_info: { input_name: input, received_value: inputs[input] } }];
  });
}

interface Rule {
  readonly min?: number;
  readonly max?: number;
  readonly options?: readonly unknown[];
  readonly image_upload?: boolean;
}

function faultOf(
  value: unknown,
  type: unknown,
  { min = -Infinity, max = Infinity, options, image_upload: isUpload = false }: Rule,
  hasInputFile: (name: string) => boolean,
): Omit<NodeFault, 'extra_info'> | undefined {
  if (value === undefined) return { type: 'required_input_missing', message: 'Required input is missing', details: '' };
  if (Array.isArray(value)) return undefined;
  if (isUpload && !hasInputFile(shown(value)))
    return {
      type: 'custom_validation_failed',
      message: 'Custom validation failed for node',
      details: `image - Invalid image file: ${shown(value)}`,
    };
  const choices = Array.isArray(type) && !isUpload ? type : options;
  if (choices !== undefined && !choices.includes(value))
    return { type: 'value_not_in_list', message: 'Value not in list', details: `'${shown(value)}' not in a list` };
  if (type !== 'INT' && type !== 'FLOAT') return undefined;
  const number = Number(value);
  if (Number.isNaN(number))
    return { type: 'invalid_input_type', message: 'Failed to convert an input value', details: '/root/ComfyUI/x' };
  if (number > max) return { type: 'value_bigger_than_max', message: `Value ${number} bigger than max`, details: '' };
  if (number < min) return { type: 'value_smaller_than_min', message: `Value ${number} smaller than min`, details: '' };
  return undefined;
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
