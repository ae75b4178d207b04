import {
  isNumeric,
  isPlaceholder,
  linkOf,
  neededNodes,
  typeOfInput,
  type Link,
  type Workflow,
  type WorkflowNode,
} from './workflow.js';

/** An input with a value of its own, found where a value of clients could go. */
export interface TracedInput<Value = string | number | undefined> {
  readonly node: WorkflowNode;
  readonly input: string;
  readonly value: Value;
}

/** A number; undefined if it is a placeholder. */
export type TracedNumber = TracedInput<number | undefined>;

/** The condition of a sampler that something belongs to. */
export type Side = 'positive' | 'negative';

interface NamedLink {
  readonly input: string;
  readonly link: Link;
}

const TEXT_NAME =
  /^(?:text|prompt|string|value|caption|t5xxl|clip_[lg]|llama|qwen\w*|bert|mt5xl|tags|edit_instruction|instructions?|(?:text|string)_?(?:[a-d]|\d+|[gl])?|(?:(?!system)[a-z]+_)?prompts?|(?:user|main|input|edit|base|wildcard|populated)_?text|prompt_?(?:text|\d+)|text_?(?:prompt|input)|(?:pos|positive|neg|negative)(?:_?(?:prompt|text))?|(?:text|prompt)_?(?:positive|negative|pos|neg))$/i;

/** Inputs that lead away from the words: models, pictures and what is made of them. */
const OTHER_INPUT =
  /^(?:model\w*|clip|clip_?\d|vae|images?\w*|pixels|masks?\w*|\w*latents?\w*|samples|control_net\w*|style_model|clip_vision\w*|upscale_model|noise|sigmas|sampler|audio\w*|videos?\w*|ipadapter|pulid\w*|instantid|insightface|face_?analysis|seed|index|bbox\w*|sam_\w*|segs|lora\w*|width|height)$/i;

/** Nodes that pass one value on as it is. */
const PASSES = /reroute|^Primitive|^Any Switch|switch|^Get|^Set|easy (?:int|float|seed)|rerouter/i;
/** Nodes that take texts for something other than words. */
const COMPUTES = /toint|tofloat|math|compare|boolean|index|tolist|intlist|resolution|size/i;
const CONSTANT_NAMES = ['value', 'seed', 'noise_seed', 'int', 'number', 'float', 'int_value', 'float_value'];

/** The side that the name of an input says; `pos` and `neg` count as words of the name. */
export function sideOf(input: string): Side | undefined {
  const words = wordsOf(input);
  if (words.some((word) => word === 'negative' || word === 'neg' || word === 'uncond')) return 'negative';
  return words.some((word) => word === 'positive' || word === 'pos') ? 'positive' : undefined;
}

/** The words of a name, in lower case: of `noiseSeed` and `noise_seed`, `noise` and `seed`. */
export function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
}

export function sameInput(one: TracedInput, other: TracedInput): boolean {
  return one.node === other.node && one.input === other.input;
}

export function distinctInputs<Input extends TracedInput>(inputs: readonly Input[]): readonly Input[] {
  return inputs.filter((input, index) => inputs.findIndex((other) => sameInput(other, input)) === index);
}

/** Ways through a workflow. */
export class GraphWalk {
  readonly #users = new Map<WorkflowNode, Set<WorkflowNode>>();

  constructor(readonly workflow: Workflow) {
    for (const user of workflow.values())
      for (const { link } of this.linksOf(user)) {
        const source = this.nodeAt(link);
        if (source === undefined) continue;
        const users = this.#users.get(source) ?? new Set();
        this.#users.set(source, users.add(user));
      }
  }

  nodeAt(link: Link | undefined): WorkflowNode | undefined {
    return link === undefined ? undefined : this.workflow.get(link.node);
  }

  linked(node: WorkflowNode | undefined, input: string): WorkflowNode | undefined {
    return this.nodeAt(linkOf(node?.inputs[input]));
  }

  /** The links to what a node takes in; of a switch whose position is known, to what it lets through. */
  linksOf(node: WorkflowNode): readonly NamedLink[] {
    const chosen = this.#chosen(node);
    return Object.entries(node.inputs).flatMap(([input, value]) => {
      const link = linkOf(value);
      return link === undefined || (chosen !== undefined && input !== chosen) ? [] : [{ input, link }];
    });
  }

  #chosen({ inputs }: WorkflowNode): 'on_true' | 'on_false' | undefined {
    if (!Object.hasOwn(inputs, 'on_true') || !Object.hasOwn(inputs, 'on_false')) return undefined;
    for (const name of ['switch', 'boolean', 'condition']) {
      const value = Object.hasOwn(inputs, name) ? inputs[name] : undefined;
      const source = Object.entries(this.nodeAt(linkOf(value))?.inputs ?? {});
      const is = source.length === 1 ? source[0]?.[1] : value;
      if (typeof is === 'boolean') return is ? 'on_true' : 'on_false';
    }
    return undefined;
  }

  usersOf(node: WorkflowNode): readonly WorkflowNode[] {
    return [...(this.#users.get(node) ?? [])];
  }

  /** The nodes and all that they are made from, the nearest first. */
  behind(nodes: readonly WorkflowNode[]): readonly WorkflowNode[] {
    return neededNodes(
      this.workflow,
      nodes.map(({ id }) => id),
    );
  }

  /** The nodes behind `from` that are made from `source`, without `source`. */
  between(from: WorkflowNode, source: WorkflowNode): readonly WorkflowNode[] {
    const made = new Set([source]);
    for (const node of made) for (const user of this.usersOf(node)) made.add(user);
    return this.behind([from]).filter((node) => node !== source && made.has(node));
  }

  /** For each node, the number of nodes on the longest way that leads to it. A circle of links counts as if it were cut. */
  depths(): ReadonlyMap<WorkflowNode, number> {
    const depths = new Map<WorkflowNode, number>();
    const open = new Set<WorkflowNode>();
    const sources = (node: WorkflowNode) => this.linksOf(node).flatMap(({ link }) => this.nodeAt(link) ?? []);
    for (const start of this.workflow.values()) {
      const stack = [start];
      for (let node = stack.at(-1); node !== undefined; node = stack.at(-1)) {
        const ready = depths.has(node) || open.has(node);
        if (!ready) stack.push(...sources(node).filter((source) => !depths.has(source) && !open.has(source)));
        else if (!depths.has(node))
          depths.set(node, 1 + Math.max(0, ...sources(node).map((one) => depths.get(one) ?? 0)));
        open.add(node);
        if (ready) stack.pop();
      }
    }
    return depths;
  }

  /** The nodes behind a link, the nearest first, along inputs that `follows` takes. */
  along(link: Link, follows: (input: string, node: WorkflowNode) => boolean): readonly WorkflowNode[] {
    const found = new Set([this.nodeAt(link)].filter((node) => node !== undefined));
    for (const node of found)
      for (const { input, link: next } of this.linksOf(node)) {
        const source = follows(input, node) ? this.nodeAt(next) : undefined;
        if (source !== undefined) found.add(source);
      }
    return [...found];
  }

  /** A number of a node, or of the node with a single value that it is linked to. */
  number(node: WorkflowNode | undefined, input: string): TracedNumber | undefined {
    if (node === undefined) return undefined;
    const own = numberIn(node, input);
    if (own !== undefined) return own;
    const link = linkOf(node.inputs[input]);
    return link === undefined ? undefined : this.#constant(link, input, new Set());
  }

  #constant(link: Link, wanted: string, seen: Set<WorkflowNode>): TracedNumber | undefined {
    const source = this.nodeAt(link);
    if (source === undefined || seen.has(source)) return undefined;
    seen.add(source);
    const links = this.linksOf(source);
    const [only] = links;
    if (only !== undefined)
      return links.length === 1 && PASSES.test(source.classType) ? this.#constant(only.link, wanted, seen) : undefined;
    const numbers = Object.keys(source.inputs).flatMap((name) => numberIn(source, name) ?? []);
    const named = numbers.filter(({ input }) => input === wanted || CONSTANT_NAMES.includes(input));
    if (named.length === 1 || numbers.length === 1) return named[0] ?? numbers[0];
    return numbers.find(({ input }) => input === wanted);
  }

  /**
   * The words that a condition is made from, at the nearest node that has any, and the nodes on the way. A node with inputs for
   * both sides has its own ways for them: which of its outputs is which is not known, so only the names of its inputs count.
   */
  words(
    link: Link,
    side: Side,
  ): { readonly texts: readonly TracedInput<string>[]; readonly way: readonly WorkflowNode[] } {
    const way = new Set([this.nodeAt(link)].filter((node) => node !== undefined));
    for (const node of way) {
      // A condition that is made by emptying another one has no words itself.
      if (/Zero_?Out/i.test(node.classType)) continue;
      const texts = this.textsAt(node, side);
      if (texts.length > 0) return { texts, way: [...way] };
      for (const next of this.#waysTo(node, side)) {
        const source = this.nodeAt(next.link);
        if (source !== undefined) way.add(source);
      }
    }
    return { texts: [], way: [...way] };
  }

  /** The texts of one node for a side, also those of nodes that give it a text. `ownOnly`: only where the input names the side. */
  textsAt(node: WorkflowNode, side: Side, ownOnly = false): readonly TracedInput<string>[] {
    const names = COMPUTES.test(node.classType)
      ? []
      : Object.keys(node.inputs).filter((input) => TEXT_NAME.test(input));
    const own = names.filter((input) => sideOf(input) === side);
    const taken = own.length > 0 || ownOnly ? own : names.filter((input) => sideOf(input) === undefined);
    const texts = taken.flatMap((input) => {
      const value = node.inputs[input];
      if (typeof value === 'string') return [{ node, input, value }];
      const link = linkOf(value);
      const isText = link !== undefined && !isCondition(this.nodeAt(link));
      return (isText ? this.#textOf(link, side, new Set()) : undefined) ?? [];
    });
    return distinctInputs(texts);
  }

  #waysTo(node: WorkflowNode, side: Side): readonly NamedLink[] {
    const links = this.linksOf(node);
    const own = links.filter(({ input }) => sideOf(input) === side);
    if (own.length > 0) return own;
    return links.filter(({ input }) => sideOf(input) === undefined && !OTHER_INPUT.test(input));
  }

  /** The text that an output is: of the node itself, or of the first one that it is made from. */
  #textOf(link: Link, side: Side, seen: Set<WorkflowNode>): TracedInput<string> | undefined {
    const node = this.nodeAt(link);
    if (node === undefined || seen.has(node)) return undefined;
    seen.add(node);
    if (COMPUTES.test(node.classType)) return undefined;
    for (const next of this.#waysTo(node, side)) {
      const found = this.#textOf(next.link, side, seen);
      if (found !== undefined) return found;
    }
    const texts = Object.entries(node.inputs).flatMap(([input, value]) =>
      typeof value === 'string' && TEXT_NAME.test(input) ? [{ node, input, value }] : [],
    );
    const own = texts.filter(({ input }) => sideOf(input) === side);
    const taken = own.length > 0 ? own : texts.filter(({ input }) => sideOf(input) === undefined);
    return taken.toSorted((one, other) => other.value.length - one.value.length)[0];
  }

  /** All texts of nodes that could be words of a prompt. */
  allTexts(nodes: readonly WorkflowNode[]): readonly TracedInput<string>[] {
    return nodes.flatMap((node) =>
      Object.entries(node.inputs).flatMap(([input, value]) =>
        typeof value === 'string' && TEXT_NAME.test(input) && value.trim() !== '' && !isNumeric(value)
          ? [{ node, input, value }]
          : [],
      ),
    );
  }
}

/** Whether a node makes conditions: an input that takes one has the name of one that takes a text. */
export function isCondition(node: WorkflowNode | undefined): boolean {
  if (node === undefined) return false;
  const takes = Object.entries(node.inputs).some(
    ([input, value]) =>
      linkOf(value) !== undefined && (/^(?:clip|conditioning\w*)$/i.test(input) || sideOf(input) !== undefined),
  );
  return takes || /encode|condition/i.test(node.classType);
}

/** A number, a number in quotes, or a placeholder for one. */
export function numberIn(node: WorkflowNode, input: string): TracedNumber | undefined {
  const value = Object.hasOwn(node.inputs, input) ? node.inputs[input] : undefined;
  if (typeof value === 'number') return Number.isFinite(value) ? { node, input, value } : undefined;
  if (typeof value !== 'string' || typeOfInput(value) !== 'any') return undefined;
  return { node, input, value: isPlaceholder(value) ? undefined : Number(value) };
}
