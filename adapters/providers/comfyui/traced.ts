import type { Modality, ReferenceRole } from '../../../core/generation/generation.js';
import { type GraphWalk, type TracedInput, type TracedNumber, wordsOf } from './graph-walk.js';
import { type Link, nameOfNode, type WorkflowNode } from './workflow.js';

/** The inputs that one number of a client goes to, and the number that all of them have. */
export interface TracedNumbers {
  readonly at: readonly TracedNumber[];
  /** Undefined if placeholders replace it. */
  readonly value: number | undefined;
}

/** The part of a workflow that is delivered. */
export interface TracedOutput {
  readonly node: WorkflowNode;
  /** The input that names its files, for a node that is only taken for one that saves. */
  readonly prefix?: string;
}

export interface TracedReference {
  readonly role: ReferenceRole;
  readonly at: TracedInput<string>;
}

/** The findings about a workflow from following its links, and the open questions. */
export interface TracedWorkflow {
  readonly modality: Modality;
  readonly output: TracedOutput;
  /** Whether other nodes save as well, so that the output must be named. */
  readonly namesOutput: boolean;
  readonly prompt: readonly TracedInput<string>[];
  readonly negativePrompt: readonly TracedInput<string>[];
  readonly size?:
    | { readonly width: TracedNumber; readonly height: TracedNumber }
    | { readonly text: TracedInput<string> };
  readonly count?: TracedNumbers;
  /** How many files one task saves, where no parameter says it. */
  readonly batch: number;
  readonly frames?: TracedNumbers & { readonly perSecond: number };
  readonly seconds?: TracedNumbers;
  readonly steps?: TracedNumbers;
  readonly guidance?: TracedNumbers;
  readonly seed?: TracedNumbers;
  readonly references: readonly TracedReference[];
  /** The points that a person has to check, each as a sentence without its full stop; it names the nodes. */
  readonly checks: readonly string[];
}

/** A node that saves files which can be delivered. */
export interface Saver extends TracedOutput {
  readonly kind: Modality;
}

/** The inputs of a sampler, or of another node that makes pictures from words. */
export interface Maker {
  readonly node: WorkflowNode;
  /** The node with its conditions. */
  readonly guider: WorkflowNode;
  readonly positive: Link | undefined;
  readonly negative: Link | undefined;
}

/** The node that gives what a sampler starts from its size. */
export interface Latent {
  readonly node: WorkflowNode;
  /** Undefined if it is computed. */
  readonly width: TracedNumber | undefined;
  readonly height: TracedNumber | undefined;
}

/** The inputs of the parts of a trace. */
export interface Tracing {
  readonly walk: GraphWalk;
  readonly modality: Modality;
  readonly output: Saver;
  readonly savers: readonly Saver[];
  /** All nodes that the output is made from, with itself, the nearest first. */
  readonly behind: readonly WorkflowNode[];
  /** Notes what a person has to look at: a sentence without its full stop. */
  check(sentence: string): void;
}

export const STEP_NAMES = ['steps', 'num_inference_steps', 'num_steps', 'inference_steps', 'sampling_steps'];
const SEED_NOT = [
  'mode',
  'behavior',
  'delta',
  'offset',
  'increment',
  'variation',
  'var',
  'sub',
  'strength',
  'control',
  'resize',
  'after',
];
const MAX_LISTED = 8;
/** In UTF-16 units. */
const MAX_SHOWN_TEXT = 40;

/** The inputs of a node that are seeds, whatever they are called. */
export function seedNames({ inputs }: WorkflowNode): readonly string[] {
  return Object.keys(inputs).filter((name) => {
    const words = wordsOf(name);
    return (
      words.some((word) => /^(?:noise|rand|random)?seed\d*$/.test(word)) &&
      !words.some((word) => SEED_NOT.includes(word))
    );
  });
}

export function listed(nodes: readonly WorkflowNode[]): string {
  return shortened(nodes.map(nameOfNode));
}

export function shownInputs(inputs: readonly TracedInput[]): string {
  return shortened(
    inputs.map(({ node, input, value }) => `${nameOfNode(node)}.${input}${value === undefined ? '' : ` = ${value}`}`),
  );
}

export function shownTexts(texts: readonly TracedInput<string>[]): string {
  return shortened(texts.map(({ node, input, value }) => `${nameOfNode(node)}.${input} = ${shownValue(value)}`));
}

function shortened(shown: readonly string[]): string {
  return shown.length > MAX_LISTED
    ? `${shown.slice(0, MAX_LISTED).join(', ')} and ${shown.length - MAX_LISTED} more`
    : shown.join(', ');
}

/** The beginning of a text, on one line. */
export function shownValue(text: string): string {
  return JSON.stringify(text.length > MAX_SHOWN_TEXT ? `${text.slice(0, MAX_SHOWN_TEXT)}...` : text);
}

export function first<From, To>(list: readonly From[], find: (one: From) => To | undefined): To | undefined {
  for (const one of list) {
    const found = find(one);
    if (found !== undefined) return found;
  }
  return undefined;
}
