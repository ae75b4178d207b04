import type { ReferenceRole } from '../../../core/generation/generation.js';
import { sameInput } from './graph-walk.js';
import { listed, shownTexts, shownValue, type TracedReference, type TracedWorkflow, type Tracing } from './traced.js';
import { nameOfNode, type WorkflowNode } from './workflow.js';

/** The most files that a request may have. */
const MAX_REFERENCES = 8;
const FILE_LOADERS: ReadonlySet<string> = new Set(['LoadImage', 'LoadImageMask']);
const IS_PICTURE = /^(?:images?|pixels|input|input_image|any\w*|source|value)$/i;
/** Nodes that make something else of a picture. */
const USES_PICTURE =
  /tovideo|imgtovid|img2vid|i2v|encode|latent|sampler|vision|adapter|control|embed|detail|pulid|instantid|talk|avatar/i;
const BEGINS_VIDEO = /tovideo|imgtovid|img2vid|i2v|vaeencode|latent/i;

interface PictureUse {
  readonly input: string;
  readonly user: WorkflowNode;
}

export function findReferences(t: Tracing): readonly TracedReference[] {
  const found = t.behind.flatMap((node): readonly TracedReference[] => {
    const value = node.inputs['image'];
    if (!FILE_LOADERS.has(node.classType) || typeof value !== 'string') return [];
    return [{ role: roleOf(t, node), at: { node, input: 'image', value } }];
  });
  const taken = found.slice(0, MAX_REFERENCES);
  for (const [index, { role, at }] of taken.entries()) {
    const ofRole = taken.filter((one) => one.role === role);
    const place = taken.slice(0, index + 1).filter((one) => one.role === role).length;
    const as = ofRole.length > 1 ? `${role}, as number ${place} of ${ofRole.length}` : role;
    t.check(
      `whether clients give the file of ${nameOfNode(at.node)}, as ${as}; if not, remove its line and the role in limits, and every task uses ${shownValue(at.value)}`,
    );
  }
  if (found.length > taken.length)
    t.check(
      `a task takes ${MAX_REFERENCES} files at most; ${listed(found.slice(MAX_REFERENCES).map(({ at }) => at.node))} keep those of the workflow`,
    );
  return taken;
}

function roleOf(t: Tracing, node: WorkflowNode): ReferenceRole {
  if (t.modality === 'image') return 'reference_image';
  const uses = usesOf(t, node);
  if (uses.some(({ input }) => /^(?:end|last)/i.test(input))) return 'end_frame';
  const isStart = ({ input, user }: PictureUse) =>
    /^(?:start|first|init)/i.test(input) || (IS_PICTURE.test(input) && BEGINS_VIDEO.test(user.classType));
  return uses.length === 0 || uses.some(isStart) ? 'start_frame' : 'reference_image';
}

/** The inputs that a picture goes to in the end, also by way of nodes that change it. */
function usesOf(t: Tracing, node: WorkflowNode): readonly PictureUse[] {
  const uses: PictureUse[] = [];
  const seen = new Set([node]);
  for (const source of seen)
    for (const user of t.walk.usersOf(source))
      for (const { input, link } of t.walk.linksOf(user)) {
        if (t.walk.nodeAt(link) !== source) continue;
        const passes = IS_PICTURE.test(input) && !USES_PICTURE.test(user.classType) && t.walk.usersOf(user).length > 0;
        if (passes) seen.add(user);
        else uses.push({ input, user });
      }
  return uses;
}

// ---- what stays as it is

export function checkRest(
  t: Tracing,
  { prompt, negativePrompt }: Pick<TracedWorkflow, 'prompt' | 'negativePrompt'>,
  references: readonly TracedReference[],
): void {
  const used = [...prompt, ...negativePrompt];
  const texts = t.walk.allTexts(t.behind).filter((text) => used.every((one) => !sameInput(one, text)));
  if (texts.length > 0) t.check(`these texts stay as they are: ${shownTexts(texts)}`);
  const loaders = t.behind.filter(
    (node) => /Load(?:Image|Video|Audio)/i.test(node.classType) && references.every(({ at }) => at.node !== node),
  );
  if (loaders.length > 0) t.check(`every task uses the same file of ${listed(loaders)}, as clients cannot give it`);
  const off = [...t.walk.workflow.values()].filter(({ isOff }) => isOff);
  if (off.length > 0)
    t.check(
      `${listed(off)} ${off.length === 1 ? 'is' : 'are'} muted or bypassed in the file, which a server does not know`,
    );
}
