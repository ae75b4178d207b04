import { canTakeTarget } from './check-targets.js';
import { distinctInputs, numberIn, sameInput, sideOf, type TracedNumber } from './graph-walk.js';
import {
  first,
  listed,
  seedNames,
  shownInputs,
  STEP_NAMES,
  type Latent,
  type Maker,
  type TracedNumbers,
  type TracedWorkflow,
  type Tracing,
} from './traced.js';
import { EMPTY_LATENT, SCALES } from './trace-size.js';
import { linkOf, nameOfNode, type WorkflowNode } from './workflow.js';

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
const GUIDANCE_NAMES = ['guidance', 'guidance_scale', 'embedded_guidance_scale'];
const CFG_NAMES = ['cfg', 'cfg_scale', 'guidance_scale', 'guidance'];

// ---- how many, how long

export function offeredCount(
  t: Tracing,
  latent: Latent | undefined,
  main: Maker | undefined,
): { readonly offered?: TracedNumbers; readonly batch: number } | undefined {
  // All frames of a moving picture are one file.
  if (/Animated/.test(t.output.node.classType)) return undefined;
  // A node whose size is that of a file does not set a size, and is not a `latent`.
  const empty = main === undefined ? [] : latentNodes(t, main).filter(({ classType }) => EMPTY_LATENT.test(classType));
  const sources = [latent?.node, main?.node, ...empty].filter((node) => node !== undefined);
  const found = first(sources, (node) => first(COUNT_NAMES, (name) => t.walk.number(node, name)));
  if (found === undefined) return undefined;
  const batch = Math.max(1, Math.round(found.value ?? 1));
  const changing = t.walk
    .between(t.output.node, latent?.node ?? found.node)
    .filter((node) => CHANGES_COUNT.test(node.classType));
  if (changing.length > 0 || !canTakeTarget('value', found)) {
    const by = changing.length === 0 ? '' : `, and ${listed(changing)} may change how many are saved`;
    t.check(
      `no number of pictures is offered: ${nameOfNode(found.node)} makes ${batch} at once${by}; max_outputs in limits must be what is saved`,
    );
    return { batch };
  }
  t.check(`how many pictures at once fit into the memory of the servers: ${shownInputs([found])}`);
  return { offered: { at: [found], value: found.value === undefined ? undefined : batch }, batch };
}

export function offeredDuration(
  t: Tracing,
  latent: Latent | undefined,
  main: Maker | undefined,
): Pick<TracedWorkflow, 'frames' | 'seconds'> {
  if (main === undefined) return {};
  const direct = first(SECOND_NAMES, (name) => numberIn(main.node, name));
  if (direct !== undefined && main.positive === undefined) {
    if (typeof main.node.inputs[direct.input] === 'number' && canTakeTarget('value', direct)) {
      t.check(`how long videos may be: ${shownInputs([direct])}; add the others that the node takes`);
      return { seconds: { at: [direct], value: direct.value } };
    }
  }
  const perSecond = first(t.behind, (node) => t.walk.number(node, 'fps') ?? t.walk.number(node, 'frame_rate'));
  const starts = [latent?.node, main.node].filter((node) => node !== undefined);
  const frames =
    first(starts, (node) => first(FRAME_NAMES, (name) => t.walk.number(node, name))) ??
    first(latentNodes(t, main), (node) => first(FRAME_NAMES, (name) => t.walk.number(node, name))) ??
    first(starts, (node) => t.walk.number(node, 'batch_size'));
  const [rate, length] = [perSecond?.value, frames?.value];
  const isBatch = frames?.input === 'batch_size' && (length ?? 1) <= 1;
  if (frames === undefined || isBatch || rate === undefined || rate <= 0 || length === undefined || length < 1) {
    t.check(
      `no duration is offered: ${frames === undefined || isBatch ? 'no number of frames was found' : `${shownInputs([frames])} with an unknown number of frames per second`}; every video is as long as in the file`,
    );
    return {};
  }
  const changing = t.walk
    .between(t.output.node, frames.node)
    .filter(
      (node) =>
        node !== t.output.node &&
        (CHANGES_FRAMES.test(node.classType) || SCALES.test(node.classType)) &&
        CHANGES_FRAMES.test(node.classType),
    );
  const isLooped = t.output.node.inputs['pingpong'] === true;
  if (changing.length > 0 || isLooped || !canTakeTarget('number', frames)) {
    t.check(
      `no duration is offered: ${shownInputs([frames])} at ${rate} frames per second, and ${listed(isLooped ? [t.output.node] : changing)} may change how many frames are saved`,
    );
    return {};
  }
  const others = sameLengths(t, frames, length / rate);
  const rest = others.length === 0 ? '' : `; these stay as they are: ${shownInputs(others)}`;
  t.check(
    `how long videos may be, and whether the model wants one frame more: ${shownInputs([frames])} at ${rate} frames per second of ${nameOfNode(perSecond!.node)}${rest}`,
  );
  return { frames: { at: [frames], value: length, perSecond: rate } };
}

/** Other inputs that say the same length, in frames or in seconds. */
function sameLengths(t: Tracing, frames: TracedNumber, seconds: number): readonly TracedNumber[] {
  const inputs = t.behind.flatMap((node) =>
    Object.keys(node.inputs).flatMap((name) => {
      const number = /frame|length|duration|seconds/i.test(name) ? numberIn(node, name) : undefined;
      return number === undefined || sameInput(number, frames) ? [] : [number];
    }),
  );
  return inputs.filter(
    ({ input, value = 0 }) =>
      value === frames.value || (/duration|seconds/i.test(input) && Math.abs(value - seconds) < 0.1),
  );
}

function latentNodes(t: Tracing, { node }: Maker): readonly WorkflowNode[] {
  return t.walk.along(
    { node: node.id, slot: 0 },
    (input) => sideOf(input) === undefined && !/^(?:model|clip|vae)$/i.test(input),
  );
}

// ---- steps, guidance, seed

export function offeredSteps(t: Tracing, makers: readonly Maker[]): TracedNumbers | undefined {
  const found = makers.flatMap(({ node }) => {
    const sigmas = linkOf(node.inputs['sigmas']);
    const nodes = [
      node,
      ...(sigmas === undefined ? [] : t.walk.along(sigmas, (input) => /sigmas|scheduler/i.test(input))),
    ];
    return first(nodes, (one) => first(STEP_NAMES, (name) => t.walk.number(one, name))) ?? [];
  });
  const split = makers.filter(({ node }) => isSplit(t, node)).map(({ node }) => node);
  if (split.length > 0) {
    t.check(
      `steps are not offered: ${listed(split)} ${split.length === 1 ? 'makes' : 'make'} only a part of the steps, from or to a fixed one`,
    );
    return undefined;
  }
  return same(t, 'steps', found, 'whether clients should choose steps, as they do not pay for them');
}

function isSplit(t: Tracing, node: WorkflowNode): boolean {
  const [from, to, steps] = [
    first(['start_at_step', 'start_step'], (name) => t.walk.number(node, name)?.value),
    first(['end_at_step', 'end_step', 'last_step'], (name) => t.walk.number(node, name)?.value),
    first(STEP_NAMES, (name) => t.walk.number(node, name)?.value),
  ];
  if ((from ?? 0) > 0 || (to !== undefined && to > 0 && to < (steps ?? Infinity) && to < 1_000)) return true;
  const sigmas = linkOf(node.inputs['sigmas']);
  return (
    sigmas !== undefined &&
    t.walk.along(sigmas, (input) => /sigmas/i.test(input)).some(({ classType }) => /split/i.test(classType))
  );
}

export function offeredGuidance(
  t: Tracing,
  makers: readonly Maker[],
  main: Maker | undefined,
): TracedNumbers | undefined {
  const embedded = (maker: Maker) => {
    const nodes = maker.positive === undefined ? [] : t.walk.words(maker.positive, 'positive').way;
    return first(nodes, (node) => first(GUIDANCE_NAMES, (name) => t.walk.number(node, name)));
  };
  const classic = ({ node, guider }: Maker) =>
    first([guider, node], (one) => first(CFG_NAMES, (name) => t.walk.number(one, name)));
  const isEmbedded = main !== undefined && embedded(main) !== undefined;
  const found = makers.flatMap((maker) => (isEmbedded ? embedded(maker) : classic(maker)) ?? []);
  return same(t, 'guidance', found, 'whether clients should choose guidance');
}

/** All inputs of one number, if they have the same value: one number of a client may then go to all of them. */
function same(t: Tracing, name: string, found: readonly TracedNumber[], question: string): TracedNumbers | undefined {
  const at = distinctInputs(found).filter((input) => canTakeTarget('value', input));
  const [one] = at;
  if (one === undefined) return undefined;
  if (at.some(({ value }) => value !== one.value)) {
    t.check(`${name} is not offered, as it differs: ${shownInputs(at)}`);
    return undefined;
  }
  t.check(`${question}: ${shownInputs(at)}`);
  return { at, value: one.value };
}

export function offeredSeed(t: Tracing, makers: readonly Maker[]): TracedNumbers | undefined {
  const found = makers.flatMap(({ node }) => {
    const own = seedNames(node).flatMap((name) => t.walk.number(node, name) ?? []);
    const noise = t.walk.linked(node, 'noise');
    return own.length > 0 || noise === undefined
      ? own
      : seedNames(noise).flatMap((name) => t.walk.number(noise, name) ?? []);
  });
  const all = t.behind.flatMap((node) => seedNames(node).flatMap((name) => t.walk.number(node, name) ?? []));
  const at = distinctInputs(found.length > 0 ? found : all).filter((input) => canTakeTarget('value', input));
  const others = distinctInputs(all).filter((input) => at.every((one) => !sameInput(one, input)));
  if (at.length === 0)
    t.check(
      'no seed was found, so equal tasks may give equal files; name its node in inputs.seed and input_schema if there is one',
    );
  else
    t.check(
      `which seeds the ${at.length === 1 ? 'node takes' : 'nodes take; all get the same one'}: ${shownInputs(at)}${others.length === 0 ? '' : `; these stay as they are: ${shownInputs(others)}`}`,
    );
  return at.length === 0 ? undefined : { at, value: at[0]?.value };
}
