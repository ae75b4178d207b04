import type { Modality, ReferenceRole } from '../../../core/generation/generation.js';
import { knownKindOf, knownSaveNodes } from './save-nodes.js';
import { linkOf, type Link, type Workflow, type WorkflowNode } from './workflow.js';

/** An input with a value of its own, found where a value of clients could go. */
export interface TracedInput<Value = string | number> {
  readonly node: WorkflowNode;
  readonly input: string;
  readonly value: Value;
}

/** Numbers of a workflow that a client could choose. */
export const TRACED_NUMBERS = ['width', 'height', 'count', 'length', 'steps', 'guidance', 'seed'] as const;
export type TracedNumber = (typeof TRACED_NUMBERS)[number];

/** What was found of a workflow by following its links. */
export interface TracedWorkflow {
  readonly modality: Modality;
  /** The nodes that save it. */
  readonly outputs: readonly WorkflowNode[];
  /** Whether others save something else, so that the outputs must be named. */
  readonly hasOtherSaves: boolean;
  readonly prompt: readonly TracedInput<string>[];
  readonly negativePrompt: readonly TracedInput<string>[];
  /** Of the nodes that encode texts, those that are neither. */
  readonly otherTexts: readonly TracedInput<string>[];
  readonly numbers: Readonly<Partial<Record<TracedNumber, TracedInput<number>>>>;
  /** Of a video. */
  readonly framesPerSecond?: number;
  readonly references: readonly { readonly role: ReferenceRole; readonly at: TracedInput<string> }[];
}

const TEXTS = ['text', 'prompt', 'text_g', 'text_l', 'clip_g', 'clip_l', 't5xxl', 'string', 'value'];
const PRIMITIVES = ['value', 'seed', 'noise_seed', 'int', 'number'];

/** Follows the links from the saved files back to the samplers, and from these to what goes in. */
export function traceWorkflow(workflow: Workflow): TracedWorkflow {
  const trace = new Trace(workflow);
  const saves = knownSaveNodes(workflow).flatMap(({ node }) => workflow.get(node) ?? []);
  const modality = saves.some((node) => knownKindOf(node) === 'video') ? 'video' : 'image';
  const outputs = saves.filter((node) => knownKindOf(node) === modality);
  const behind = trace.behind(outputs);
  const sampler = behind.find(({ inputs }) => linkOf(inputs['positive']) ?? linkOf(inputs['guider']));
  const guider = trace.linked(sampler, 'guider') ?? sampler;
  const positive = linkOf(guider?.inputs['positive']) ?? linkOf(guider?.inputs['conditioning']);
  const prompt = positive === undefined ? trace.anyText(behind) : trace.texts(positive);
  const negative = trace.texts(linkOf(guider?.inputs['negative']));
  // One that is made from the positive condition has no text of its own.
  const negativePrompt = negative.some(({ node }) => prompt.some((text) => text.node === node)) ? [] : negative;
  const given = new Set([...prompt, ...negativePrompt].map(({ node }) => node));
  const framesPerSecond = first(behind, (node) => trace.number(node, 'fps') ?? trace.number(node, 'frame_rate'))?.value;
  return {
    modality,
    outputs,
    hasOtherSaves: outputs.length < saves.length,
    prompt,
    negativePrompt,
    otherTexts: behind.filter((node) => !given.has(node)).flatMap((node) => trace.encodedTexts(node)),
    numbers: sampler === undefined ? {} : numbersOf(trace, sampler, guider ?? sampler, positive),
    ...(framesPerSecond === undefined ? {} : { framesPerSecond }),
    references: behind.flatMap((node) => trace.reference(node, modality)),
  };
}

function numbersOf(
  trace: Trace,
  sampler: WorkflowNode,
  guider: WorkflowNode,
  positive: Link | undefined,
): TracedWorkflow['numbers'] {
  const noise = trace.linked(sampler, 'noise');
  const seed =
    trace.number(sampler, 'seed') ?? trace.number(sampler, 'noise_seed') ?? trace.number(noise, 'noise_seed');
  const steps = trace.number(sampler, 'steps') ?? trace.number(trace.linked(sampler, 'sigmas'), 'steps');
  const conditioning = positive === undefined ? [] : trace.behindLink(positive);
  const guidance = first(conditioning, (node) => trace.number(node, 'guidance')) ?? trace.number(guider, 'cfg');
  const latent = linkOf(sampler.inputs['latent_image']);
  const sized = (latent === undefined ? [] : trace.behindLink(latent)).find(
    (node) => trace.number(node, 'width') !== undefined && trace.number(node, 'height') !== undefined,
  );
  const found = {
    width: trace.number(sized, 'width'),
    height: trace.number(sized, 'height'),
    count: trace.number(sized, 'batch_size'),
    length: trace.number(sized, 'length'),
    steps,
    guidance,
    seed,
  };
  return Object.fromEntries(Object.entries(found).filter(([, input]) => input !== undefined));
}

/** Ways through a workflow. */
class Trace {
  constructor(private readonly workflow: Workflow) {}

  /** The nodes and all that they are made from, the nearest first. */
  behind(nodes: readonly WorkflowNode[]): readonly WorkflowNode[] {
    const found = new Set(nodes);
    for (const node of found) for (const link of linksOf(node)) this.addTo(found, link);
    return [...found];
  }

  /**
   * What an output of a node is made from, with that node. A node that passes a positive and a negative condition on has one
   * output for each.
   */
  behindLink(link: Link): readonly WorkflowNode[] {
    const found = new Set<WorkflowNode>();
    const from = [link];
    for (const { node: id, slot } of from) {
      const node = this.workflow.get(id);
      if (node === undefined || found.has(node)) continue;
      found.add(node);
      const { positive, negative } = node.inputs;
      const isPassing = linkOf(positive) !== undefined && linkOf(negative) !== undefined;
      const condition = isPassing ? linkOf(slot === 1 ? negative : positive) : undefined;
      from.push(...(condition === undefined ? linksOf(node) : [condition]));
    }
    return [...found];
  }

  linked(node: WorkflowNode | undefined, input: string): WorkflowNode | undefined {
    const link = linkOf(node?.inputs[input]);
    return link === undefined ? undefined : this.workflow.get(link.node);
  }

  /** A number of a node, or of the node with a single value that it is linked to. */
  number(node: WorkflowNode | undefined, input: string): TracedInput<number> | undefined {
    if (node === undefined) return undefined;
    const value = node.inputs[input];
    if (typeof value === 'number') return { node, input, value };
    const source = this.linked(node, input);
    return source === undefined ? undefined : first(PRIMITIVES, (name) => numberIn(source, name));
  }

  /** The texts of the nearest node that has any. */
  texts(link: Link | undefined): readonly TracedInput<string>[] {
    return link === undefined ? [] : this.anyText(this.behindLink(link));
  }

  anyText(nodes: readonly WorkflowNode[]): readonly TracedInput<string>[] {
    for (const node of nodes) {
      const texts = TEXTS.flatMap((input) => textIn(node, input) ?? []);
      if (texts.length > 0) return texts;
    }
    return [];
  }

  /** The texts of a node that makes a condition of them. */
  encodedTexts(node: WorkflowNode): readonly TracedInput<string>[] {
    return /TextEncode/.test(node.classType) ? this.anyText([node]) : [];
  }

  /** The image file that a node loads, and what it seems to be for. */
  reference(node: WorkflowNode, modality: Modality): TracedWorkflow['references'] {
    const at = node.classType === 'LoadImage' ? textIn(node, 'image') : undefined;
    if (at === undefined) return [];
    if (modality === 'image') return [{ role: 'reference_image', at }];
    const uses = this.usesOf(node);
    const isLast = uses.some((use) => /^(?:end|last)/.test(use));
    return [{ role: isLast ? 'end_frame' : 'start_frame', at }];
  }

  /** The names of the inputs that a node's outputs go to, also by way of others. */
  private usesOf(node: WorkflowNode): readonly string[] {
    const users = [...this.workflow.values()].flatMap((user) =>
      Object.entries(user.inputs).flatMap(([input, value]) =>
        linkOf(value)?.node === node.id ? [{ user, input }] : [],
      ),
    );
    return users.flatMap(({ user, input }) => (input === 'image' || input === 'pixels' ? this.usesOf(user) : [input]));
  }

  private addTo(found: Set<WorkflowNode>, { node: id }: Link): void {
    const node = this.workflow.get(id);
    if (node !== undefined) found.add(node);
  }
}

function linksOf({ inputs }: WorkflowNode): readonly Link[] {
  return Object.values(inputs).flatMap((input) => linkOf(input) ?? []);
}

function textIn(node: WorkflowNode, input: string): TracedInput<string> | undefined {
  const value = node.inputs[input];
  return typeof value === 'string' ? { node, input, value } : undefined;
}

function numberIn(node: WorkflowNode, input: string): TracedInput<number> | undefined {
  const value = node.inputs[input];
  return typeof value === 'number' ? { node, input, value } : undefined;
}

function first<From, To>(list: readonly From[], find: (one: From) => To | undefined): To | undefined {
  for (const one of list) {
    const found = find(one);
    if (found !== undefined) return found;
  }
  return undefined;
}
