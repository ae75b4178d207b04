import type { Json, JsonObject } from '../../../core/json.js';
import { type ExactJson, JsonUnreadable, readExactJson } from './exact-json.js';

/** One node of a workflow in API format. */
export interface WorkflowNode {
  readonly id: string;
  /** The class of the node; the server has a table of them. */
  readonly classType: string;
  /** A value, or a link `[node, slot]` to an output of another node. */
  readonly inputs: JsonObject;
  /** The JSON text of each input, as the file has it. */
  readonly sources: ReadonlyMap<string, string>;
  /** The title that the author gave it. */
  readonly title?: string;
  /** Whether the author has muted or bypassed it, where the file says so. */
  readonly isOff: boolean;
}

/** A graph of nodes as ComfyUI runs it, by the ids of the nodes and in the order of the file. */
export type Workflow = ReadonlyMap<string, WorkflowNode>;

/** A link to an output of another node. */
export interface Link {
  readonly node: string;
  readonly slot: number;
}

/** A file that is not a workflow in API format. The message is one sentence. */
export class WorkflowInvalid extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WorkflowInvalid';
  }
}

export const MAX_WORKFLOW_BYTES = 4 * 1024 * 1024;

const EDITOR_FORMAT =
  'The workflow is in the format of the editor; export it in API format, in ComfyUI with Workflow > Export (API).';

/** How deep in a file a graph is looked for: requests to other services have it below `input.workflow`, for example. */
const MAX_WRAPPERS = 4;

/** Modes of a node in the editor: never run, and passed over. */
const OFF_MODES: readonly (Json | undefined)[] = [2, 4];

/** Throws `WorkflowInvalid`. */
export function parseWorkflow(text: string): Workflow {
  const graph = graphIn(readText(text));
  const nodes = [...(graph.members ?? [])].filter(([, node]) => isNodeEntry(node));
  if (nodes.length === 0) throw new WorkflowInvalid('The workflow has no nodes.');
  return new Map(nodes.map(([id, node]) => [id, nodeOf(id, node)] as const));
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

/** The given nodes and all that they need. Links to nodes that the file lacks are passed over. */
export function neededNodes(workflow: Workflow, ids: readonly string[]): readonly WorkflowNode[] {
  const needed = new Set(ids);
  for (const id of needed)
    for (const input of Object.values(workflow.get(id)?.inputs ?? {})) {
      const link = linkOf(input);
      if (link !== undefined) needed.add(link.node);
    }
  return [...needed].flatMap((id) => workflow.get(id) ?? []);
}

/** The sentence about a link to a node that the file lacks, of the given nodes and all that they need. */
export function missingLink(workflow: Workflow, ids: readonly string[]): string | undefined {
  for (const node of neededNodes(workflow, ids))
    for (const [name, input] of Object.entries(node.inputs)) {
      const link = linkOf(input);
      if (link !== undefined && !workflow.has(link.node))
        return `The input ${name} of ${nameOfNode(node)} is linked to node ${link.node}, which is missing.`;
    }
  return undefined;
}

/**
 * The kind of value that an input has. `any`: a text that stands for a value of another type: a number in quotes, or a
 * placeholder such as `%seed%`, which programs replace that fill in workflows.
 */
export function typeOfInput(value: Json): 'text' | 'number' | 'boolean' | 'object' | 'any' {
  if (typeof value === 'string') return isNumeric(value) || isPlaceholder(value) ? 'any' : 'text';
  if (typeof value === 'number') return 'number';
  return typeof value === 'boolean' ? 'boolean' : 'object';
}

export function isNumeric(text: string): boolean {
  return /^-?\d{1,20}(?:\.\d{1,20})?$/.test(text);
}

/** Whether a text is one placeholder and nothing else. */
export function isPlaceholder(text: string): boolean {
  return placeholdersIn(text)[0] === text.trim();
}

const PLACEHOLDER =
  /%[a-z_][\w.-]{0,40}%|\{\{\s*[a-z_][\w.-]{0,40}\s*\}\}|\$\{[a-z_][\w.-]{0,40}\}|<<[a-z_][\w.-]{0,40}>>/gi;
/** Forms that mean something else within a text. */
const WHOLE_PLACEHOLDER =
  /^(?:\{[a-z_][\w.-]{0,40}\}|<[a-z_][\w.-]{0,40}>|\$[a-z_]\w{0,40}|__[a-z]\w{0,40}__|\[[A-Z_]{2,40}\])$/i;

export function placeholdersIn(text: string): readonly string[] {
  const trimmed = text.trim();
  return WHOLE_PLACEHOLDER.test(trimmed) ? [trimmed] : (text.match(PLACEHOLDER) ?? []);
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function readText(text: string): ExactJson {
  try {
    return readExactJson(text);
  } catch (error) {
    if (error instanceof JsonUnreadable) throw new WorkflowInvalid(`The workflow is not JSON: see ${error.at}.`);
    throw error;
  }
}

/** The one graph of a file, which may be within something else, such as the body of a request. */
function graphIn(file: ExactJson): ExactJson {
  if (file.members === undefined) throw new WorkflowInvalid('The workflow must be an object of nodes.');
  if (file.members.size === 0) throw new WorkflowInvalid('The workflow has no nodes.');
  if (isEditorFormat(file)) throw new WorkflowInvalid(EDITOR_FORMAT);
  let level: readonly (readonly [place: string, ExactJson])[] = [['', file]];
  let hasEditorFormat = false;
  for (let depth = 0; depth <= MAX_WRAPPERS && level.length > 0; depth += 1) {
    const found = level.filter(([, one]) => isGraph(one));
    const [first, second] = found;
    if (first !== undefined && second !== undefined)
      throw new WorkflowInvalid(
        `The file has several workflows, at ${found
          .map(([place]) => place)
          .slice(0, 5)
          .join(', ')}; put one into a file of its own.`,
      );
    if (first !== undefined) return first[1];
    hasEditorFormat ||= level.some(([, one]) => isEditorFormat(one));
    level = level.flatMap(([place, one]) => partsOf(place, one));
  }
  if (hasEditorFormat) throw new WorkflowInvalid(EDITOR_FORMAT);
  // The sentence of the first node that is none.
  return file;
}

function partsOf(place: string, { members, items }: ExactJson): (readonly [string, ExactJson])[] {
  const named = members === undefined ? [...(items ?? []).entries()] : [...members];
  return named.map(([name, part]) => [place === '' ? String(name) : `${place}.${name}`, part] as const);
}

/** Whether members are nodes, at least one of them a whole one. */
function isGraph({ members }: ExactJson): boolean {
  return [...(members ?? [])].some(
    ([, { value }]) => isObject(value) && typeof value['class_type'] === 'string' && isObject(value['inputs']),
  );
}

function isEditorFormat({ members }: ExactJson): boolean {
  return Array.isArray(members?.get('nodes')?.value);
}

/** Files have notes and settings beside their nodes, which a server would refuse. */
function isNodeEntry({ value }: ExactJson): boolean {
  return isObject(value) && (value['class_type'] !== undefined || value['inputs'] !== undefined);
}

function nodeOf(id: string, { value, members }: ExactJson): WorkflowNode {
  const { class_type: classType, inputs, _meta: meta } = isObject(value) ? value : {};
  if (typeof classType !== 'string' || classType === '' || !isObject(inputs))
    throw new WorkflowInvalid(`Node ${id} of the workflow needs a class_type and inputs.`);
  const title = isObject(meta) ? meta['title'] : undefined;
  const sources = [...(members?.get('inputs')?.members ?? [])].map(([name, { source }]) => [name, source] as const);
  return {
    id,
    classType,
    inputs,
    sources: new Map(sources),
    ...(typeof title === 'string' ? { title } : {}),
    isOff: OFF_MODES.includes(members?.get('mode')?.value),
  };
}
