import { canTakeTarget } from './check-targets.js';
import { numberIn, sameInput, sideOf } from './graph-walk.js';
import { first, listed, shownInputs, type Latent, type Maker, type TracedWorkflow, type Tracing } from './traced.js';
import { nameOfNode, type WorkflowNode } from './workflow.js';

/** Nodes that change the size of a picture. */
export const SCALES =
  /upscal|upsampl|(?:image|latent).*scale|scale.*(?:image|latent)|resiz|(?:image|latent).*(?:crop|pad)|crop(?!guides)|outpaint|stitch|grid|imageconca|imageconca|concan|composite|collage|contact.?sheet|rotate|seedvr|supir/i;
const COMPUTES_SIZE = /math|expression|calculat|formula|multipl|divi(?:de|sion)|modulo|round/i;
/** Nodes that make what a sampler starts from. */
export const EMPTY_LATENT = /empty|tovideo|imgtovid|img2vid|i2v|video.*(?:embed|encode|latent)/i;

/** The nearest node that gives what a sampler starts from a size. */
export function latentOf(t: Tracing, { node }: Maker): Latent | undefined {
  const skips = (input: string) =>
    sideOf(input) !== undefined ||
    /vae|lora|script|^(?:model\w*|clip\w*|conditioning|guider|noise|sigmas|sampler|masks?|control_?net\w*|cnet\w*|image_kps)$/i.test(
      input,
    );
  for (const one of t.walk.along({ node: node.id, slot: 0 }, (input) => !skips(input))) {
    if (/mask|preprocessor|detector/i.test(one.classType)) continue;
    for (const prefix of ['', 'empty_latent_', 'image_']) {
      const [width, height] = ['width', 'height'].map((side) => t.walk.number(one, `${prefix}${side}`));
      if (width !== undefined && height !== undefined) return { node: one, width, height };
      const isComputed = ['width', 'height'].some((side) =>
        COMPUTES_SIZE.test(t.walk.linked(one, `${prefix}${side}`)?.classType ?? ''),
      );
      if (isComputed) return { node: one, width, height };
    }
  }
  return undefined;
}

/** If nothing samples, it is the last node that sets the size of pictures. */
export function lastScaleOf(t: Tracing): Latent | undefined {
  return first(t.behind, (node) => {
    const [width, height] = [numberIn(node, 'width'), numberIn(node, 'height')];
    return SCALES.test(node.classType) && width !== undefined && height !== undefined
      ? { node, width, height }
      : undefined;
  });
}

/** The nodes after `source` that scale, or that have a size of their own, as one that makes a video of a picture. */
export function scaledAfter(t: Tracing, source: WorkflowNode | undefined): readonly WorkflowNode[] {
  if (source === undefined) return [];
  const isSized = (node: WorkflowNode) =>
    (['width', 'height'] as const).every((side) => numberIn(node, side) !== undefined);
  return t.walk.between(t.output.node, source).filter((node) => SCALES.test(node.classType) || isSized(node));
}

export function offeredSize(
  t: Tracing,
  latent: Latent | undefined,
  main: Maker | undefined,
  scaled: readonly WorkflowNode[],
): TracedWorkflow['size'] {
  if (latent === undefined) {
    const text = main === undefined ? undefined : main.node.inputs['size'];
    if (main === undefined || typeof text !== 'string' || !/^[1-9]\d{1,4}x[1-9]\d{1,4}$/.test(text)) {
      t.check(
        'no size is offered, as no node with a width and a height of its own was found; what the workflow makes has the size that it gives itself',
      );
      return undefined;
    }
    t.check(`sizes: ${nameOfNode(main.node)} has ${text}; add the others that it takes`);
    return { text: { node: main.node, input: 'size', value: text } };
  }
  const { node, width, height } = latent;
  const name = nameOfNode(node);
  if (scaled.length > 0) {
    const begins = width === undefined || height === undefined ? 'a computed size' : `${width.value}x${height.value}`;
    t.check(
      `no size is offered: ${name} begins with ${begins}, and ${listed(scaled)} may change that, so pictures have another size`,
    );
    return undefined;
  }
  if (
    width === undefined ||
    height === undefined ||
    sameInput(width, height) ||
    !canTakeTarget('number', width) ||
    !canTakeTarget('number', height)
  ) {
    t.check(`no size is offered: width and height of ${name} come from one number or from a computation`);
    return undefined;
  }
  if (width.value !== undefined && height.value !== undefined && !isSide(width.value, height.value)) {
    t.check(`no size is offered: ${name} has ${width.value}x${height.value}`);
    return undefined;
  }
  const doubt = EMPTY_LATENT.test(node.classType) || node === main?.node ? '' : `, and whether ${name} keeps to them`;
  t.check(`sizes that you offer: ${shownInputs([width, height])}${doubt}`);
  return { width, height };
}

function isSide(...sides: readonly number[]): boolean {
  return sides.every((side) => Number.isInteger(side) && side > 0 && side < 100_000);
}
