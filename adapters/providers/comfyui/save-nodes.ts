import type { Modality } from '../../../core/generation/generation.js';
import type { Json } from '../../../core/json.js';
import { formatFault } from '../../../core/media/image-header.js';
import { nameOfNode, type Workflow, type WorkflowNode } from './workflow.js';

/** A node that writes files, each named by a prefix that one of its inputs gives. */
export interface SaveNode {
  readonly node: string;
  /** The name of that input. */
  readonly prefix: string;
  /**
   * The end of a first file's name after its prefix, where it is known before: such a file can be found though the server
   * has forgotten the task.
   */
  readonly suffix?: (count: number) => string;
}

interface SaveClass {
  readonly kind: Modality;
  readonly prefix: string;
  readonly extension?: string;
  /** Why its files cannot be delivered, as the end of a sentence. */
  readonly fault?: (node: WorkflowNode) => string | undefined;
}

/** The nodes of ComfyUI, and of its most used package for videos, that save pictures and videos. */
const SAVE_CLASSES: ReadonlyMap<string, SaveClass> = new Map<string, SaveClass>([
  ['SaveImage', { kind: 'image', prefix: 'filename_prefix', extension: 'png' }],
  ['SaveAnimatedWEBP', { kind: 'image', prefix: 'filename_prefix', extension: 'webp' }],
  ['SaveAnimatedPNG', { kind: 'image', prefix: 'filename_prefix', extension: 'png' }],
  [
    'SaveVideo',
    {
      kind: 'video',
      prefix: 'filename_prefix',
      extension: 'mp4',
      fault: ({ inputs }) => videoFault(inputs['format'], inputs['codec']),
    },
  ],
  ['VHS_VideoCombine', { kind: 'video', prefix: 'filename_prefix', fault: combineFault }],
]);

/** Classes that save what no output can be, with what that is. */
const OTHER_SAVE_CLASSES: ReadonlyMap<string, string> = new Map([
  ['SaveWEBM', 'WebM'],
  ['SaveAudio', 'audio'],
  ['SaveAudioMP3', 'audio'],
  ['SaveAudioOpus', 'audio'],
  ['SaveGLB', 'a 3D model'],
  ['SaveSVGNode', 'SVG'],
  ['SaveLatent', 'a latent'],
]);

/** The advice, as the end of a sentence. */
export const INSTEAD = 'save images by a SaveImage node, or videos by a SaveVideo node';

/** The nodes that are known to save pictures and videos, in the order of the workflow. */
export function knownSaveNodes(workflow: Workflow): readonly SaveNode[] {
  return [...workflow.values()].flatMap((node) => {
    const known = SAVE_CLASSES.get(node.classType);
    return known === undefined ? [] : [saveNodeOf(node, known.prefix)];
  });
}

/** A node that saves with this prefix input, by default the one that its class is known for. */
export function saveNodeOf(node: WorkflowNode, prefix: string): SaveNode {
  const { extension } = SAVE_CLASSES.get(node.classType) ?? {};
  if (extension === undefined) return { node: node.id, prefix };
  return { node: node.id, prefix, suffix: (count) => `_${String(count).padStart(5, '0')}_.${extension}` };
}

/** The type that a node saves, if it is known. */
export function knownKindOf({ classType }: WorkflowNode): Modality | undefined {
  return SAVE_CLASSES.get(classType)?.kind;
}

export function knownPrefixOf({ classType }: WorkflowNode): string | undefined {
  return SAVE_CLASSES.get(classType)?.prefix;
}

/** Why the files of a node cannot be delivered, as one sentence. */
export function saveNodeFault(node: WorkflowNode): string | undefined {
  const other = OTHER_SAVE_CLASSES.get(node.classType);
  if (other !== undefined) return `The ${nameOfNode(node)} saves ${other}, which cannot be delivered; ${INSTEAD}.`;
  const fault = SAVE_CLASSES.get(node.classType)?.fault?.(node);
  return fault === undefined ? undefined : `The ${nameOfNode(node)}: ${fault}`;
}

function videoFault(...formats: readonly (Json | undefined)[]): string | undefined {
  for (const format of formats) {
    const fault = typeof format === 'string' ? formatFault(format, 'video') : undefined;
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function combineFault({ inputs: { format, save_output: saves } }: WorkflowNode): string | undefined {
  return saves === false ? 'save_output is off, so it saves nothing.' : videoFault(format);
}
