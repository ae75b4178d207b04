import { formatFault } from '../../../core/media/image-header.js';
import { canTakeTarget } from './check-targets.js';
import { distinctInputs, GraphWalk, isCondition, sameInput, sideOf, type TracedInput } from './graph-walk.js';
import { knownKindOf, knownPrefixOf, saveNodeFault } from './save-nodes.js';
import { checkRest, findReferences } from './trace-files.js';
import { offeredCount, offeredDuration, offeredGuidance, offeredSeed, offeredSteps } from './trace-numbers.js';
import { lastScaleOf, latentOf, offeredSize, scaledAfter } from './trace-size.js';
import {
  listed,
  type Maker,
  type Saver,
  seedNames,
  shownTexts,
  STEP_NAMES,
  type TracedWorkflow,
  type Tracing,
} from './traced.js';
import {
  isPlaceholder,
  missingLink,
  nameOfNode,
  placeholdersIn,
  type Workflow,
  type WorkflowNode,
} from './workflow.js';

const WRITES_TEXT =
  /caption|florence|tagger|wd14|joy|ollama|gemini|gpt|llm|chat|generate.*(?:prompt|text)|(?:prompt|text).*(?:generat|enhanc|expand)|enhancer|wildcard/i;

/** Inputs that take words, also of nodes that only pass them on or join them. */
const TAKES_WORDS =
  /text|prompt|string|value|any|passthrough|caption|tags|words|concat|join|^(?:input|source)_?[a-d\d]?$/i;

/** Follows the links from the saved files back to the samplers, and from these to what goes in. Undefined where nothing is saved. */
export function traceWorkflow(workflow: Workflow): TracedWorkflow | undefined {
  const walk = new GraphWalk(workflow);
  const savers = saversOf(walk);
  const modality = savers.some(({ kind }) => kind === 'video') ? 'video' : 'image';
  const chosen = lastOf(
    walk,
    savers.filter(({ kind }) => kind === modality),
  );
  if (chosen === undefined) return undefined;
  const checks: string[] = [];
  const behind = walk.behind([chosen.node]);
  return traced(
    { walk, modality, output: chosen, savers, behind, check: (sentence) => void checks.push(sentence) },
    checks,
  );
}

function traced(t: Tracing, checks: readonly string[]): TracedWorkflow {
  const makers = findMakers(t);
  const main = mainOf(t, makers);
  checkOutputs(t);
  const words = findWords(t, makers, main);
  const latent = main === undefined ? lastScaleOf(t) : latentOf(t, main);
  const scaled = scaledAfter(t, latent?.node ?? main?.node);
  const size = offeredSize(t, latent, main, scaled);
  const count = t.modality === 'image' ? offeredCount(t, latent, main) : undefined;
  const duration = t.modality === 'video' ? offeredDuration(t, latent, main) : {};
  const [steps, guidance, seed] = [offeredSteps(t, makers), offeredGuidance(t, makers, main), offeredSeed(t, makers)];
  const references = findReferences(t);
  checkRest(t, words, references);
  const { kind: _, ...output } = t.output;
  return {
    modality: t.modality,
    output,
    namesOutput: t.savers.length > 1 || output.prefix !== undefined || hasOtherKnownSaves(t),
    ...words,
    ...(size === undefined ? {} : { size }),
    ...(count?.offered === undefined ? {} : { count: count.offered }),
    batch: count?.batch ?? 1,
    ...duration,
    ...(steps === undefined ? {} : { steps }),
    ...(guidance === undefined ? {} : { guidance }),
    ...(seed === undefined ? {} : { seed }),
    references,
    checks,
  };
}

// ---- what is delivered

/** Nodes of known classes that save something; where there is none, those that look so. */
function saversOf(walk: GraphWalk): readonly Saver[] {
  const nodes = [...walk.workflow.values()].filter(
    (node) => !node.isOff && saves(walk, node) && missingLink(walk.workflow, [node.id]) === undefined,
  );
  const known = nodes.flatMap((node): readonly Saver[] => {
    const [kind, prefix] = [knownKindOf(node), knownPrefixOf(node)];
    const isSound =
      prefix !== undefined && typeof node.inputs[prefix] === 'string' && saveNodeFault(node) === undefined;
    return kind !== undefined && isSound ? [{ node, kind }] : [];
  });
  return known.length > 0 ? known : nodes.flatMap((node) => guessedSaver(walk, node) ?? []);
}

function saves(walk: GraphWalk, node: WorkflowNode): boolean {
  return walk.linksOf(node).length > 0 && node.inputs['save_output'] !== false;
}

function guessedSaver(walk: GraphWalk, node: WorkflowNode): Saver | undefined {
  const prefix = 'filename_prefix';
  const isUsed = walk.usersOf(node).length > 0;
  if (isUsed || typeof node.inputs[prefix] !== 'string' || saveNodeFault(node) !== undefined) return undefined;
  const inputs = walk.linksOf(node).map(({ input }) => input);
  if (/audio|latent|model|mesh|text|svg|3d|glb|gif|webm/i.test(node.classType)) return undefined;
  const isVideo =
    /video|mp4/i.test(node.classType) ||
    [...inputs, ...Object.keys(node.inputs)].some((input) => /^(?:video|frames|fps|frame_rate)/i.test(input));
  const { format } = node.inputs;
  if (isVideo && typeof format === 'string' && formatFault(format, 'video') !== undefined) return undefined;
  return { node, prefix, kind: isVideo ? 'video' : 'image' };
}

/** The one that the longest way leads to; of several such, the last in the file. */
function lastOf(walk: GraphWalk, savers: readonly Saver[]): Saver | undefined {
  const depths = walk.depths();
  const depthOf = ({ node }: Saver) => depths.get(node) ?? 0;
  return savers.reduce<Saver | undefined>(
    (last, saver) => (last === undefined || depthOf(saver) >= depthOf(last) ? saver : last),
    undefined,
  );
}

// ---- what makes the pictures

/** The samplers behind the output, the nearest first; where there are none, the nearest node that takes words. */
function findMakers(t: Tracing): readonly Maker[] {
  const samplers = t.behind.flatMap((node) => samplerOf(t, node) ?? []);
  if (samplers.length > 0) return samplers;
  const node =
    t.behind.find((one) => t.walk.textsAt(one, 'positive').length > 0 && seedNames(one).length > 0) ??
    t.behind.find((one) => t.walk.textsAt(one, 'positive').length > 0);
  return node === undefined ? [] : [{ node, guider: node, positive: undefined, negative: undefined }];
}

function samplerOf(t: Tracing, node: WorkflowNode): Maker | undefined {
  const inputs = Object.keys(node.inputs);
  const guider = t.walk.linked(node, 'guider') ?? node;
  const isSampling =
    guider !== node ||
    inputs.includes('sampler_name') ||
    inputs.includes('sampler') ||
    (STEP_NAMES.some((name) => inputs.includes(name)) && seedNames(node).length > 0);
  if (!isSampling) return undefined;
  const links = t.walk.linksOf(guider);
  const of = (side: 'positive' | 'negative') => links.find(({ input }) => sideOf(input) === side)?.link;
  const neutral = [
    /^(?:conditioning|cond\d?|positive\w*)$/i,
    /^(?!image|clip|audio|vision)\w*embeds$/i,
    /^(?:prompt|text|\w*pipe)$/i,
  ]
    .map((name) => links.find(({ input }) => name.test(input))?.link)
    .find((link) => link !== undefined);
  const positive = of('positive') ?? neutral;
  const hasLatent = t.walk.linksOf(node).some(({ input }) => /latent|samples|image/i.test(input));
  return positive === undefined && !hasLatent ? undefined : { node, guider, positive, negative: of('negative') };
}

/** The one that no other sampler comes before: it starts from noise. */
function mainOf(t: Tracing, makers: readonly Maker[]): Maker | undefined {
  const nodes = new Set(makers.map(({ node }) => node));
  const roots = makers.filter(({ node }) => t.walk.behind([node]).every((one) => one === node || !nodes.has(one)));
  if (roots.length > 1)
    t.check(
      `${listed(roots.map(({ node }) => node))} start independently of each other; the words and the size are those of ${nameOfNode(roots[0]!.node)}`,
    );
  return roots[0] ?? makers.at(-1);
}

// ---- outputs

function checkOutputs(t: Tracing): void {
  const { node, prefix } = t.output;
  const others = t.savers.filter((saver) => saver.node !== node);
  const places = Object.keys(node.inputs).filter((input) => /(?:^|_)(?:path|folder|dir|subfolder)$/.test(input));
  const emptied = places.length === 0 ? '' : `, and empty its ${places.join(' and ')}`;
  const about =
    prefix === undefined ? '' : `; its class is not known, so try whether it saves below ${prefix}${emptied}`;
  t.check(
    others.length === 0
      ? `delivered is what ${nameOfNode(node)} saves${about}`
      : `delivered is what ${nameOfNode(node)} saves, the last in the graph${about}; ${listed(others.map((one) => one.node))} ${others.length === 1 ? 'saves' : 'save'} too: add it to outputs, or name it there instead, and raise max_outputs in limits`,
  );
  const idle = [...t.walk.workflow.values()].filter(
    (one) => knownKindOf(one) !== undefined && t.savers.every((saver) => saver.node !== one),
  );
  if (idle.length > 0)
    t.check(
      `${listed(idle)} ${idle.length === 1 ? 'saves' : 'save'} nothing that can be delivered, as it stands in the file`,
    );
}

function hasOtherKnownSaves(t: Tracing): boolean {
  return [...t.walk.workflow.values()].some((node) => knownKindOf(node) !== undefined && node !== t.output.node);
}

// ---- words

const NO_TEXT =
  'no text was found, so the model takes no prompt; where there is one, name its node and its input in inputs.prompt, and remove prompt: none';

function findWords(
  t: Tracing,
  makers: readonly Maker[],
  main: Maker | undefined,
): Pick<TracedWorkflow, 'prompt' | 'negativePrompt'> {
  if (main === undefined) {
    t.check(NO_TEXT);
    return { prompt: [], negativePrompt: [] };
  }
  const of = (maker: Maker, side: 'positive' | 'negative') => usable(textsOf(t, maker, side));
  const found = of(main, 'positive');
  const own = found.length > 0 ? found : namedWords(t);
  const prompt = shared(
    own,
    makers.map((maker) => of(maker, 'positive')),
  );
  // A condition that is made from the positive one has no text itself.
  const isOwn = (text: TracedInput) => prompt.every((other) => !sameInput(other, text));
  const negative = of(main, 'negative');
  const beside = found.length > 0 ? [] : own.flatMap(({ node }) => usable(t.walk.textsAt(node, 'negative', true)));
  const negativeOwn = (negative.length > 0 ? negative : beside).filter(isOwn);
  const negativePrompt = shared(
    negativeOwn,
    makers.map((maker) => of(maker, 'negative')),
  ).filter(isOwn);
  t.check(prompt.length === 0 ? NO_TEXT : `the prompt replaces ${shownTexts(prompt)}${around(prompt)}`);
  if (negativePrompt.length > 0)
    t.check(`the negative prompt replaces ${shownTexts(negativePrompt)}${around(negativePrompt)}`);
  const writers = wayOf(t, main).filter((node) => WRITES_TEXT.test(node.classType));
  if (writers.length > 0) t.check(`${listed(writers)} may write words of its own, or change those of the prompt`);
  return { prompt, negativePrompt };
}

/** If no path from the sampler leads to words, they are those of the nearest input that is called a prompt. */
function namedWords(t: Tracing): readonly TracedInput<string>[] {
  // Other nodes have prompts as well: for what they cut out, for example.
  const isNamed = ({ node, input }: TracedInput) =>
    /prompt/i.test(input) && sideOf(input) !== 'negative' && isCondition(node);
  const named = t.walk.allTexts(t.behind).find(isNamed);
  return named === undefined ? [] : usable([named]);
}

/** The inputs of the main sampler, and those of others that have the same words. */
function shared(
  own: readonly TracedInput<string>[],
  all: readonly (readonly TracedInput<string>[])[],
): readonly TracedInput<string>[] {
  const values = new Set(own.map(({ value }) => value));
  return distinctInputs([...own, ...all.flat().filter(({ value }) => values.has(value))]);
}

function textsOf(
  t: Tracing,
  { node, positive, negative }: Maker,
  side: 'positive' | 'negative',
): readonly TracedInput<string>[] {
  const link = side === 'positive' ? positive : negative;
  if (link !== undefined) return t.walk.words(link, side).texts;
  if (side === 'positive') return positive === undefined ? t.walk.textsAt(node, side) : [];
  // Words for both sides may come by one way; only the names of inputs tell them apart then.
  const way = positive === undefined ? [node] : [node, ...t.walk.words(positive, 'positive').way];
  return way.map((one) => t.walk.textsAt(one, 'negative', true)).find((texts) => texts.length > 0) ?? [];
}

function wayOf(t: Tracing, { positive, node }: Maker): readonly WorkflowNode[] {
  const way = positive === undefined ? [node] : t.walk.words(positive, 'positive').way;
  return distinctNodes(
    way.flatMap((one) => [one, ...t.walk.along({ node: one.id, slot: 0 }, (input) => TAKES_WORDS.test(input))]),
  );
}

function usable(texts: readonly TracedInput<string>[]): readonly TracedInput<string>[] {
  return texts.filter((text) => canTakeTarget('text', text));
}

function distinctNodes(nodes: readonly WorkflowNode[]): readonly WorkflowNode[] {
  return [...new Set(nodes)];
}

/** The part of a text that is lost when a placeholder stands for the prompt. */
function around(texts: readonly TracedInput<string>[]): string {
  const partial = texts.flatMap(({ value }) => (isPlaceholder(value) ? [] : placeholdersIn(value)));
  return partial.length === 0 ? '' : `, with the words around ${[...new Set(partial)].join(', ')}`;
}
