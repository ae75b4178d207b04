import type { Json, JsonObject } from '../../../core/json.js';

/** One node of a workflow in API format. */
export interface WorkflowNode {
  readonly id: string;
  /** Which kind of node it is; the server has a table of them. */
  readonly classType: string;
  /** A value, or a link `[node, slot]` to an output of another node. */
  readonly inputs: JsonObject;
  /** What the author called it. */
  readonly title?: string;
}

/** A graph of nodes as ComfyUI runs it, by the ids of the nodes and in the order of the file. */
export type Workflow = ReadonlyMap<string, WorkflowNode>;

/** A link to an output of another node. */
export interface Link {
  readonly node: string;
  readonly slot: number;
}

/** A file that is no workflow in API format. The message is one sentence. */
export class WorkflowInvalid extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WorkflowInvalid';
  }
}

export const MAX_WORKFLOW_BYTES = 4 * 1024 * 1024;

const EDITOR_FORMAT =
  'The workflow is in the format of the editor; export it in API format, in ComfyUI with Workflow > Export (API).';

/** Throws `WorkflowInvalid`. */
export function parseWorkflow(text: string): Workflow {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    throw new WorkflowInvalid('The workflow is not JSON.');
  }
  if (!isObject(value)) throw new WorkflowInvalid('The workflow must be an object of nodes.');
  if (Array.isArray(value['nodes'])) throw new WorkflowInvalid(EDITOR_FORMAT);
  const entries = Object.entries(value);
  if (entries.length === 0) throw new WorkflowInvalid('The workflow has no nodes.');
  const workflow = new Map(entries.map(([id, node]) => [id, nodeOf(id, node)] as const));
  for (const { id, inputs } of workflow.values()) {
    for (const [name, input] of Object.entries(inputs)) {
      const link = linkOf(input);
      if (link !== undefined && !workflow.has(link.node))
        throw new WorkflowInvalid(`The input ${name} of node ${id} is linked to node ${link.node}, which is missing.`);
    }
  }
  return workflow;
}

/** A node as sentences name it. */
export function nameOfNode({ id, classType }: Pick<WorkflowNode, 'id' | 'classType'>): string {
  return `node ${id} (${classType})`;
}

export function linkOf(input: Json | undefined): Link | undefined {
  if (!Array.isArray(input) || input.length !== 2) return undefined;
  const [node, slot] = input;
  return typeof node === 'string' && typeof slot === 'number' ? { node, slot } : undefined;
}

/** How many nodes the given ones need, with themselves. */
export function nodesBehind(workflow: Workflow, ids: readonly string[]): number {
  const needed = new Set<string>(ids);
  for (const id of needed)
    for (const input of Object.values(workflow.get(id)?.inputs ?? {})) {
      const link = linkOf(input);
      if (link !== undefined) needed.add(link.node);
    }
  return needed.size;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function nodeOf(id: string, node: Json): WorkflowNode {
  const { class_type: classType, inputs, _meta: meta } = isObject(node) ? node : {};
  if (typeof classType !== 'string' || classType === '' || !isObject(inputs))
    throw new WorkflowInvalid(`Node ${id} of the workflow needs a class_type and inputs.`);
  const title = isObject(meta) ? meta['title'] : undefined;
  return { id, classType, inputs, ...(typeof title === 'string' ? { title } : {}) };
}
