import type { Modality, ReferenceRole } from '../../../core/generation/generation.js';
import { formatFault } from '../../../core/media/format-fault.js';
import { canTakeTarget } from './check-targets.js';
import {
  distinctInputs,
  GraphWalk,
  numberIn,
  sameInput,
  sideOf,
  wordsOf,
  type TracedInput,
  type TracedNumber,
} from './graph-walk.js';
import { knownKindOf, knownPrefixOf, saveNodeFault } from './save-nodes.js';
import {
  isPlaceholder,
  linkOf,
  missingLink,
  nameOfNode,
  placeholdersIn,
  type Link,
  type Workflow,
  type WorkflowNode,
} from './workflow.js';

/** The inputs that one number of a client goes to, and the number that all of them have. */
export interface TracedNumbers {
  readonly at: readonly TracedNumber[];
  /** Undefined where placeholders stand for it. */
  readonly value: number | undefined;
}

/** What of a workflow is delivered. */
export interface TracedOutput {
  readonly node: WorkflowNode;
  /** The input that names its files, for a node that is only taken for one that saves. */
  readonly prefix?: string;
}

export interface TracedReference {
  readonly role: ReferenceRole;
  readonly at: TracedInput<string>;
}

/** What was found of a workflow by following its links, and what could not be known. */
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
  /** What a person has to look at, each as a sentence without its full stop; it names the nodes. */
  readonly checks: readonly string[];
}

const SCALES =
  /upscal|upsampl|(?:image|latent).*scale|scale.*(?:image|latent)|resiz|(?:image|latent).*(?:crop|pad)|crop(?!guides)|outpaint|stitch|grid|imageconca|imageconca|concan|composite|collage|contact.?sheet|rotate|seedvr|supir/i;
const CHANGES_COUNT = /batch|repeat|grid|stitch|sheet|list|concan|select|duplicate/i;
const CHANGES_FRAMES =
  /rife|film|interpol|gimm|vfi|batch|repeat|frame|trim|loop|pingpong|extend|concan|skip|slice|reverse|speed/i;
const FRAME_NAMES = [
  'length',
  'num_frames',
  'frames',
  'video_frames',
  'frame_count',
  'frames_number',
  'num_video_frames',
];
const COUNT_NAMES = ['n', 'num_images', 'num_outputs', 'number_of_images', 'batch_size'];
const SECOND_NAMES = ['duration', 'duration_seconds', 'seconds', 'length_seconds'];
const STEP_NAMES = ['steps', 'num_inference_steps', 'num_steps', 'inference_steps', 'sampling_steps'];
const GUIDANCE_NAMES = ['guidance', 'guidance_scale', 'embedded_guidance_scale'];
const CFG_NAMES = ['cfg', 'cfg_scale', 'guidance_scale', 'guidance'];
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
const FILE_LOADERS: ReadonlySet<string> = new Set(['LoadImage', 'LoadImageMask']);
const EMPTY_LATENT = /empty|tovideo|imgtovid|img2vid|i2v|video.*(?:embed|encode|latent)/i;
const WRITES_TEXT =
  /caption|florence|tagger|wd14|joy|ollama|gemini|gpt|llm|chat|generate.*(?:prompt|text)|(?:prompt|text).*(?:generat|enhanc|expand)|enhancer|wildcard/i;
const IS_PICTURE = /^(?:images?|pixels|input_image|any\w*|source|value)$/i;
/** Nodes that make something else of a picture. */
const USES_PICTURE =
  /tovideo|imgtovid|img2vid|i2v|encode|latent|sampler|vision|adapter|control|embed|detail|pulid|instantid|talk|avatar/i;
const BEGINS_VIDEO = /tovideo|imgtovid|img2vid|i2v|vaeencode|latent/i;
const MAX_LISTED = 8;

/** Follows the links from the saved files back to the samplers, and from these to what goes in. Undefined where nothing is saved. */
export function traceWorkflow(workflow: Workflow): TracedWorkflow | undefined {
  const walk = new GraphWalk(workflow);
  const savers = saversOf(walk);
  const modality = savers.some(({ kind }) => kind === 'video') ? 'video' : 'image';
  const chosen = lastOf(
    walk,
    savers.filter(({ kind }) => kind === modality),
  );
  return chosen === undefined ? undefined : new Tracing(walk, modality, chosen, savers).traced();
}

/** A node that saves files which can be delivered. */
interface Saver extends TracedOutput {
  readonly kind: Modality;
}

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

/** What a sampler, or another node that makes pictures of words, works with. */
interface Maker {
  readonly node: WorkflowNode;
  /** The node with its conditions. */
  readonly guider: WorkflowNode;
  readonly positive: Link | undefined;
  readonly negative: Link | undefined;
}

/** The node that gives what a sampler starts from its size. */
interface Latent {
  readonly node: WorkflowNode;
  readonly width: TracedNumber;
  readonly height: TracedNumber;
}

interface PictureUse {
  readonly input: string;
  readonly user: WorkflowNode;
}

class Tracing {
  readonly #behind: readonly WorkflowNode[];
  readonly #checks: string[] = [];

  constructor(
    private readonly walk: GraphWalk,
    private readonly modality: Modality,
    private readonly output: Saver,
    private readonly savers: readonly Saver[],
  ) {
    this.#behind = walk.behind([output.node]);
  }

  traced(): TracedWorkflow {
    const makers = this.#makers();
    const main = this.#mainOf(makers);
    this.#checkOutputs();
    const words = this.#words(makers, main);
    const latent = main === undefined ? undefined : this.#latentOf(main);
    const scaled = this.#scaledAfter(latent?.node ?? main?.node);
    const size = this.#size(latent, main, scaled);
    const count = this.modality === 'image' ? this.#count(latent, main) : undefined;
    const duration = this.modality === 'video' ? this.#duration(latent, main) : {};
    const [steps, guidance, seed] = [this.#steps(makers), this.#guidance(makers, main), this.#seed(makers)];
    const references = this.#references();
    this.#checkRest(words, references);
    const { kind: _, ...output } = this.output;
    return {
      modality: this.modality,
      output,
      namesOutput: this.savers.length > 1 || output.prefix !== undefined || this.#hasOtherKnownSaves(),
      ...words,
      ...(size === undefined ? {} : { size }),
      ...(count?.offered === undefined ? {} : { count: count.offered }),
      batch: count?.batch ?? 1,
      ...duration,
      ...(steps === undefined ? {} : { steps }),
      ...(guidance === undefined ? {} : { guidance }),
      ...(seed === undefined ? {} : { seed }),
      references,
      checks: this.#checks,
    };
  }

  #check(sentence: string): void {
    this.#checks.push(sentence);
  }

  // ---- what makes the pictures

  /** The samplers behind the output, the nearest first; where there are none, the nearest node that takes words. */
  #makers(): readonly Maker[] {
    const samplers = this.#behind.flatMap((node) => this.#samplerOf(node) ?? []);
    if (samplers.length > 0) return samplers;
    const node =
      this.#behind.find((one) => this.walk.textsAt(one, 'positive').length > 0 && seedNames(one).length > 0) ??
      this.#behind.find((one) => this.walk.textsAt(one, 'positive').length > 0);
    return node === undefined ? [] : [{ node, guider: node, positive: undefined, negative: undefined }];
  }

  #samplerOf(node: WorkflowNode): Maker | undefined {
    const inputs = Object.keys(node.inputs);
    const guider = this.walk.linked(node, 'guider') ?? node;
    const isSampling =
      guider !== node ||
      inputs.includes('sampler_name') ||
      inputs.includes('sampler') ||
      (STEP_NAMES.some((name) => inputs.includes(name)) && seedNames(node).length > 0);
    if (!isSampling) return undefined;
    const links = this.walk.linksOf(guider);
    const of = (side: 'positive' | 'negative') => links.find(({ input }) => sideOf(input) === side)?.link;
    const neutral = [
      /^(?:conditioning|cond\d?|positive\w*)$/i,
      /^(?!image|clip|audio|vision)\w*embeds$/i,
      /^(?:prompt|text|\w*pipe)$/i,
    ]
      .map((name) => links.find(({ input }) => name.test(input))?.link)
      .find((link) => link !== undefined);
    const positive = of('positive') ?? neutral;
    const hasLatent = this.walk.linksOf(node).some(({ input }) => /latent|samples|image/i.test(input));
    return positive === undefined && !hasLatent ? undefined : { node, guider, positive, negative: of('negative') };
  }

  /** The one that no other sampler comes before: it starts from noise. */
  #mainOf(makers: readonly Maker[]): Maker | undefined {
    const nodes = new Set(makers.map(({ node }) => node));
    const roots = makers.filter(({ node }) => this.walk.behind([node]).every((one) => one === node || !nodes.has(one)));
    if (roots.length > 1)
      this.#check(
        `${listed(roots.map(({ node }) => node))} start independently of each other; the words and the size are those of ${nameOfNode(roots[0]!.node)}`,
      );
    return roots[0] ?? makers.at(-1);
  }

  // ---- outputs

  #checkOutputs(): void {
    const { node, prefix } = this.output;
    const others = this.savers.filter((saver) => saver.node !== node);
    const about = prefix === undefined ? '' : `; its class is not known, so try whether it saves below ${prefix}`;
    this.#check(
      others.length === 0
        ? `delivered is what ${nameOfNode(node)} saves${about}`
        : `delivered is what ${nameOfNode(node)} saves, the last in the graph${about}; ${listed(others.map((one) => one.node))} ${others.length === 1 ? 'saves' : 'save'} too: add it to outputs, or name it there instead, and raise max_outputs in limits`,
    );
    const idle = [...this.walk.workflow.values()].filter(
      (one) => knownKindOf(one) !== undefined && this.savers.every((saver) => saver.node !== one),
    );
    if (idle.length > 0)
      this.#check(
        `${listed(idle)} ${idle.length === 1 ? 'saves' : 'save'} nothing that can be delivered, as it stands in the file`,
      );
  }

  #hasOtherKnownSaves(): boolean {
    return [...this.walk.workflow.values()].some(
      (node) => knownKindOf(node) !== undefined && node !== this.output.node,
    );
  }

  // ---- words

  #words(makers: readonly Maker[], main: Maker | undefined): Pick<TracedWorkflow, 'prompt' | 'negativePrompt'> {
    if (main === undefined) {
      this.#check('no text was found; name in inputs.prompt the node and the input that the prompt goes to');
      return { prompt: [], negativePrompt: [] };
    }
    const of = (maker: Maker, side: 'positive' | 'negative') => usable(this.#textsOf(maker, side));
    const found = of(main, 'positive');
    const own = found.length > 0 ? found : this.#namedWords();
    const prompt = this.#shared(
      own,
      makers.map((maker) => of(maker, 'positive')),
    );
    // One that is made from the positive condition has no text of its own.
    const isOwn = (text: TracedInput) => prompt.every((other) => !sameInput(other, text));
    const negative = of(main, 'negative');
    const beside = found.length > 0 ? [] : own.flatMap(({ node }) => usable(this.walk.textsAt(node, 'negative', true)));
    const negativeOwn = (negative.length > 0 ? negative : beside).filter(isOwn);
    const negativePrompt = this.#shared(
      negativeOwn,
      makers.map((maker) => of(maker, 'negative')),
    ).filter(isOwn);
    this.#check(
      prompt.length === 0
        ? 'no text was found; name in inputs.prompt the node and the input that the prompt goes to'
        : `the prompt replaces ${shownTexts(prompt)}${around(prompt)}`,
    );
    if (negativePrompt.length > 0)
      this.#check(`the negative prompt replaces ${shownTexts(negativePrompt)}${around(negativePrompt)}`);
    const writers = this.#wayOf(main).filter((node) => WRITES_TEXT.test(node.classType));
    if (writers.length > 0) this.#check(`${listed(writers)} may write words of its own, or change those of the prompt`);
    return { prompt, negativePrompt };
  }

  /** Where no way from the sampler leads to words: those of the nearest input that is called a prompt. */
  #namedWords(): readonly TracedInput<string>[] {
    const isNamed = ({ input }: TracedInput) => /prompt/i.test(input) && sideOf(input) !== 'negative';
    const named = this.walk.allTexts(this.#behind).find(isNamed);
    return named === undefined ? [] : usable([named]);
  }

  /** The inputs of the main sampler, and those of others that have the same words. */
  #shared(
    own: readonly TracedInput<string>[],
    all: readonly (readonly TracedInput<string>[])[],
  ): readonly TracedInput<string>[] {
    const values = new Set(own.map(({ value }) => value));
    return distinctInputs([...own, ...all.flat().filter(({ value }) => values.has(value))]);
  }

  #textsOf({ node, positive, negative }: Maker, side: 'positive' | 'negative'): readonly TracedInput<string>[] {
    const link = side === 'positive' ? positive : negative;
    if (link !== undefined) return this.walk.words(link, side).texts;
    if (side === 'positive') return positive === undefined ? this.walk.textsAt(node, side) : [];
    // Words for both sides may come by one way; only the names of inputs tell them apart then.
    const way = positive === undefined ? [node] : [node, ...this.walk.words(positive, 'positive').way];
    return way.map((one) => this.walk.textsAt(one, 'negative', true)).find((texts) => texts.length > 0) ?? [];
  }

  #wayOf({ positive, node }: Maker): readonly WorkflowNode[] {
    const way = positive === undefined ? [node] : this.walk.words(positive, 'positive').way;
    return distinctNodes(
      way.flatMap((one) => [
        one,
        ...this.walk.along({ node: one.id, slot: 0 }, (input) => /text|prompt|string|value|any/i.test(input)),
      ]),
    );
  }

  // ---- size

  /** The nearest node that gives what a sampler starts from a size. */
  #latentOf({ node }: Maker): Latent | undefined {
    const skips = (input: string) =>
      sideOf(input) !== undefined ||
      /^(?:model\w*|clip\w*|vae|conditioning|guider|noise|sigmas|sampler|masks?|control_net|image_kps)$/i.test(input);
    for (const one of this.walk.along({ node: node.id, slot: 0 }, (input) => !skips(input))) {
      if (/mask|preprocessor|detector/i.test(one.classType)) continue;
      for (const prefix of ['', 'empty_latent_', 'image_']) {
        const [width, height] = ['width', 'height'].map((side) => this.walk.number(one, `${prefix}${side}`));
        if (width !== undefined && height !== undefined) return { node: one, width, height };
      }
    }
    return undefined;
  }

  #scaledAfter(source: WorkflowNode | undefined): readonly WorkflowNode[] {
    if (source === undefined) return [];
    return this.walk.between(this.output.node, source).filter((node) => SCALES.test(node.classType));
  }

  #size(latent: Latent | undefined, main: Maker | undefined, scaled: readonly WorkflowNode[]): TracedWorkflow['size'] {
    if (latent === undefined) {
      const text = main === undefined ? undefined : main.node.inputs['size'];
      if (main === undefined || typeof text !== 'string' || !/^[1-9]\d{1,4}x[1-9]\d{1,4}$/.test(text)) {
        this.#check(
          'no size is offered, as no node with a width and a height of its own was found; what the workflow makes has the size that it gives itself',
        );
        return undefined;
      }
      this.#check(`sizes: ${nameOfNode(main.node)} has ${text}; add the others that it takes`);
      return { text: { node: main.node, input: 'size', value: text } };
    }
    const { node, width, height } = latent;
    const name = nameOfNode(node);
    if (scaled.length > 0) {
      this.#check(
        `no size is offered: ${name} begins with ${width.value}x${height.value}, and ${listed(scaled)} may change that, so pictures have another size`,
      );
      return undefined;
    }
    if (sameInput(width, height) || !canTakeTarget('number', width) || !canTakeTarget('number', height)) {
      this.#check(`no size is offered: width and height of ${name} come from one number or from a computation`);
      return undefined;
    }
    if (width.value !== undefined && height.value !== undefined && !isSide(width.value, height.value)) {
      this.#check(`no size is offered: ${name} has ${width.value}x${height.value}`);
      return undefined;
    }
    const doubt = EMPTY_LATENT.test(node.classType) || node === main?.node ? '' : `, and whether ${name} keeps to them`;
    this.#check(`sizes that you offer: ${shownInputs([width, height])}${doubt}`);
    return { width, height };
  }

  // ---- how many, how long

  #count(
    latent: Latent | undefined,
    main: Maker | undefined,
  ): { readonly offered?: TracedNumbers; readonly batch: number } | undefined {
    // All frames of a moving picture are one file.
    if (/Animated/.test(this.output.node.classType)) return undefined;
    const sources = [latent?.node, main?.node].filter((node) => node !== undefined);
    const found = first(sources, (node) => first(COUNT_NAMES, (name) => this.walk.number(node, name)));
    if (found === undefined) return undefined;
    const batch = Math.max(1, Math.round(found.value ?? 1));
    const changing = this.walk
      .between(this.output.node, latent?.node ?? found.node)
      .filter((node) => CHANGES_COUNT.test(node.classType));
    if (changing.length > 0 || !canTakeTarget('value', found)) {
      const by = changing.length === 0 ? '' : `, and ${listed(changing)} may change how many are saved`;
      this.#check(
        `no number of pictures is offered: ${nameOfNode(found.node)} makes ${batch} at once${by}; max_outputs in limits must be what is saved`,
      );
      return { batch };
    }
    this.#check(`how many pictures at once fit into the memory of the servers: ${shownInputs([found])}`);
    return { offered: { at: [found], value: found.value === undefined ? undefined : batch }, batch };
  }

  #duration(latent: Latent | undefined, main: Maker | undefined): Pick<TracedWorkflow, 'frames' | 'seconds'> {
    if (main === undefined) return {};
    const direct = first(SECOND_NAMES, (name) => numberIn(main.node, name));
    if (direct !== undefined && main.positive === undefined) {
      if (typeof main.node.inputs[direct.input] === 'number' && canTakeTarget('value', direct)) {
        this.#check(`how long videos may be: ${shownInputs([direct])}; add the others that the node takes`);
        return { seconds: { at: [direct], value: direct.value } };
      }
    }
    const perSecond = first(
      this.#behind,
      (node) => this.walk.number(node, 'fps') ?? this.walk.number(node, 'frame_rate'),
    );
    const starts = [latent?.node, main.node].filter((node) => node !== undefined);
    const frames =
      first(starts, (node) => first(FRAME_NAMES, (name) => this.walk.number(node, name))) ??
      first(this.#latentNodes(main), (node) => first(FRAME_NAMES, (name) => this.walk.number(node, name))) ??
      first(starts, (node) => this.walk.number(node, 'batch_size'));
    const [rate, length] = [perSecond?.value, frames?.value];
    const isBatch = frames?.input === 'batch_size' && (length ?? 1) <= 1;
    if (frames === undefined || isBatch || rate === undefined || rate <= 0 || length === undefined || length < 1) {
      this.#check(
        `no duration is offered: ${frames === undefined || isBatch ? 'no number of frames was found' : `${shownInputs([frames])} with an unknown number of frames per second`}; every video is as long as in the file`,
      );
      return {};
    }
    const changing = this.walk
      .between(this.output.node, frames.node)
      .filter(
        (node) =>
          node !== this.output.node &&
          (CHANGES_FRAMES.test(node.classType) || SCALES.test(node.classType)) &&
          CHANGES_FRAMES.test(node.classType),
      );
    const isLooped = this.output.node.inputs['pingpong'] === true;
    if (changing.length > 0 || isLooped || !canTakeTarget('number', frames)) {
      this.#check(
        `no duration is offered: ${shownInputs([frames])} at ${rate} frames per second, and ${listed(isLooped ? [this.output.node] : changing)} may change how many frames are saved`,
      );
      return {};
    }
    this.#check(
      `how long videos may be, and whether the model wants one frame more: ${shownInputs([frames])} at ${rate} frames per second of ${nameOfNode(perSecond!.node)}`,
    );
    return { frames: { at: [frames], value: length, perSecond: rate } };
  }

  #latentNodes({ node }: Maker): readonly WorkflowNode[] {
    return this.walk.along(
      { node: node.id, slot: 0 },
      (input) => sideOf(input) === undefined && !/^(?:model|clip|vae)$/i.test(input),
    );
  }

  // ---- steps, guidance, seed

  #steps(makers: readonly Maker[]): TracedNumbers | undefined {
    const found = makers.flatMap(({ node }) => {
      const sigmas = linkOf(node.inputs['sigmas']);
      const nodes = [
        node,
        ...(sigmas === undefined ? [] : this.walk.along(sigmas, (input) => /sigmas|scheduler/i.test(input))),
      ];
      return first(nodes, (one) => first(STEP_NAMES, (name) => this.walk.number(one, name))) ?? [];
    });
    const split = makers.filter(({ node }) => this.#isSplit(node)).map(({ node }) => node);
    if (split.length > 0) {
      this.#check(
        `steps are not offered: ${listed(split)} ${split.length === 1 ? 'makes' : 'make'} only a part of the steps, from or to a fixed one`,
      );
      return undefined;
    }
    return this.#same('steps', found, 'whether clients should choose steps, as they do not pay for them');
  }

  #isSplit(node: WorkflowNode): boolean {
    const [from, to, steps] = [
      first(['start_at_step', 'start_step'], (name) => this.walk.number(node, name)?.value),
      first(['end_at_step', 'end_step', 'last_step'], (name) => this.walk.number(node, name)?.value),
      first(STEP_NAMES, (name) => this.walk.number(node, name)?.value),
    ];
    if ((from ?? 0) > 0 || (to !== undefined && to > 0 && to < (steps ?? Infinity) && to < 1_000)) return true;
    const sigmas = linkOf(node.inputs['sigmas']);
    return (
      sigmas !== undefined &&
      this.walk.along(sigmas, (input) => /sigmas/i.test(input)).some(({ classType }) => /split/i.test(classType))
    );
  }

  #guidance(makers: readonly Maker[], main: Maker | undefined): TracedNumbers | undefined {
    const embedded = (maker: Maker) => {
      const nodes = maker.positive === undefined ? [] : this.walk.words(maker.positive, 'positive').way;
      return first(nodes, (node) => first(GUIDANCE_NAMES, (name) => this.walk.number(node, name)));
    };
    const classic = ({ node, guider }: Maker) =>
      first([guider, node], (one) => first(CFG_NAMES, (name) => this.walk.number(one, name)));
    const isEmbedded = main !== undefined && embedded(main) !== undefined;
    const found = makers.flatMap((maker) => (isEmbedded ? embedded(maker) : classic(maker)) ?? []);
    return this.#same('guidance', found, 'whether clients should choose guidance');
  }

  /** All inputs of one number, if they have the same value: one number of a client may then go to all of them. */
  #same(name: string, found: readonly TracedNumber[], question: string): TracedNumbers | undefined {
    const at = distinctInputs(found).filter((input) => canTakeTarget('value', input));
    const [one] = at;
    if (one === undefined) return undefined;
    if (at.some(({ value }) => value !== one.value)) {
      this.#check(`${name} is not offered, as it differs: ${shownInputs(at)}`);
      return undefined;
    }
    this.#check(`${question}: ${shownInputs(at)}`);
    return { at, value: one.value };
  }

  #seed(makers: readonly Maker[]): TracedNumbers | undefined {
    const found = makers.flatMap(({ node }) => {
      const own = seedNames(node).flatMap((name) => this.walk.number(node, name) ?? []);
      const noise = this.walk.linked(node, 'noise');
      return own.length > 0 || noise === undefined
        ? own
        : seedNames(noise).flatMap((name) => this.walk.number(noise, name) ?? []);
    });
    const all = this.#behind.flatMap((node) => seedNames(node).flatMap((name) => this.walk.number(node, name) ?? []));
    const at = distinctInputs(found.length > 0 ? found : all).filter((input) => canTakeTarget('value', input));
    const others = distinctInputs(all).filter((input) => at.every((one) => !sameInput(one, input)));
    if (at.length === 0)
      this.#check(
        'no seed was found, so equal tasks may give equal files; name its node in inputs.seed and input_schema if there is one',
      );
    else
      this.#check(
        `which seeds the ${at.length === 1 ? 'node takes' : 'nodes take; all get the same one'}: ${shownInputs(at)}${others.length === 0 ? '' : `; these stay as they are: ${shownInputs(others)}`}`,
      );
    return at.length === 0 ? undefined : { at, value: at[0]?.value };
  }

  // ---- files

  #references(): readonly TracedReference[] {
    const found = this.#behind.flatMap((node): readonly TracedReference[] => {
      const value = node.inputs['image'];
      if (!FILE_LOADERS.has(node.classType) || typeof value !== 'string') return [];
      return [{ role: this.#roleOf(node), at: { node, input: 'image', value } }];
    });
    const taken = found.slice(0, MAX_REFERENCES);
    for (const { role, at } of taken)
      this.#check(
        `whether clients give the file of ${nameOfNode(at.node)}, as ${role}; if not, remove its line and the role in limits, and every task uses ${shownValue(at.value)}`,
      );
    if (found.length > taken.length)
      this.#check(
        `a task takes ${MAX_REFERENCES} files at most; ${listed(found.slice(MAX_REFERENCES).map(({ at }) => at.node))} keep those of the workflow`,
      );
    return taken;
  }

  #roleOf(node: WorkflowNode): ReferenceRole {
    if (this.modality === 'image') return 'reference_image';
    const uses = this.#usesOf(node);
    if (uses.some(({ input }) => /^(?:end|last)/i.test(input))) return 'end_frame';
    const isStart = ({ input, user }: PictureUse) =>
      /^(?:start|first|init)/i.test(input) || (IS_PICTURE.test(input) && BEGINS_VIDEO.test(user.classType));
    return uses.length === 0 || uses.some(isStart) ? 'start_frame' : 'reference_image';
  }

  /** The inputs that a picture goes to in the end, also by way of nodes that change it. */
  #usesOf(node: WorkflowNode): readonly PictureUse[] {
    const uses: PictureUse[] = [];
    const seen = new Set([node]);
    for (const source of seen)
      for (const user of this.walk.usersOf(source))
        for (const { input, link } of this.walk.linksOf(user)) {
          if (this.walk.nodeAt(link) !== source) continue;
          const passes =
            IS_PICTURE.test(input) && !USES_PICTURE.test(user.classType) && this.walk.usersOf(user).length > 0;
          if (passes) seen.add(user);
          else uses.push({ input, user });
        }
    return uses;
  }

  // ---- what stays as it is

  #checkRest(
    { prompt, negativePrompt }: Pick<TracedWorkflow, 'prompt' | 'negativePrompt'>,
    references: readonly TracedReference[],
  ): void {
    const used = [...prompt, ...negativePrompt];
    const texts = this.walk.allTexts(this.#behind).filter((text) => used.every((one) => !sameInput(one, text)));
    if (texts.length > 0) this.#check(`these texts stay as they are: ${shownTexts(texts)}`);
    const loaders = this.#behind.filter(
      (node) => /Load(?:Image|Video|Audio)/i.test(node.classType) && references.every(({ at }) => at.node !== node),
    );
    if (loaders.length > 0)
      this.#check(`every task uses the same file of ${listed(loaders)}, as clients cannot give it`);
    const off = [...this.walk.workflow.values()].filter(({ isOff }) => isOff);
    if (off.length > 0)
      this.#check(
        `${listed(off)} ${off.length === 1 ? 'is' : 'are'} muted or bypassed in the file, which a server does not know`,
      );
  }
}

/** As many files as a request may have. */
const MAX_REFERENCES = 8;

/** The inputs of a node that are seeds, whatever they are called. */
function seedNames({ inputs }: WorkflowNode): readonly string[] {
  return Object.keys(inputs).filter((name) => {
    const words = wordsOf(name);
    return (
      words.some((word) => /^(?:noise|rand|random)?seed\d*$/.test(word)) &&
      !words.some((word) => SEED_NOT.includes(word))
    );
  });
}

function usable(texts: readonly TracedInput<string>[]): readonly TracedInput<string>[] {
  return texts.filter((text) => canTakeTarget('text', text));
}

function isSide(...sides: readonly number[]): boolean {
  return sides.every((side) => Number.isInteger(side) && side > 0 && side < 100_000);
}

function distinctNodes(nodes: readonly WorkflowNode[]): readonly WorkflowNode[] {
  return [...new Set(nodes)];
}

function listed(nodes: readonly WorkflowNode[]): string {
  return shortened(nodes.map(nameOfNode));
}

function shownInputs(inputs: readonly TracedInput[]): string {
  return shortened(
    inputs.map(({ node, input, value }) => `${nameOfNode(node)}.${input}${value === undefined ? '' : ` = ${value}`}`),
  );
}

function shownTexts(texts: readonly TracedInput<string>[]): string {
  return shortened(texts.map(({ node, input, value }) => `${nameOfNode(node)}.${input} = ${shownValue(value)}`));
}

function shortened(shown: readonly string[]): string {
  return shown.length > MAX_LISTED
    ? `${shown.slice(0, MAX_LISTED).join(', ')} and ${shown.length - MAX_LISTED} more`
    : shown.join(', ');
}

/** The beginning of a text, on one line. */
function shownValue(text: string): string {
  return JSON.stringify(text.length > MAX_SHOWN_TEXT ? `${text.slice(0, MAX_SHOWN_TEXT)}...` : text);
}

/** In UTF-16 units. */
const MAX_SHOWN_TEXT = 40;

/** What is lost of a text in which a placeholder stands for the prompt. */
function around(texts: readonly TracedInput<string>[]): string {
  const partial = texts.flatMap(({ value }) => (isPlaceholder(value) ? [] : placeholdersIn(value)));
  return partial.length === 0 ? '' : `, with the words around ${[...new Set(partial)].join(', ')}`;
}

function first<From, To>(list: readonly From[], find: (one: From) => To | undefined): To | undefined {
  for (const one of list) {
    const found = find(one);
    if (found !== undefined) return found;
  }
  return undefined;
}
