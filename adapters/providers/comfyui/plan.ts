import type { ReferenceRole } from '../../../core/generation/generation.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { checkSettings } from '../shared/settings.js';
import { checkTargets, isRole, nodeAt } from './check-targets.js';
import { PlanInvalid } from './plan-invalid.js';
import { knownPrefixOf, knownSaveNodes, type SaveNode, saveNodeFault, saveNodeOf } from './save-nodes.js';
import { type ComfyUiSettings, isSize, SETTINGS_SCHEMA, type SizeTargets, type Target } from './settings-schema.js';
import { linkOf, nameOfNode, neededNodes, type Workflow, type WorkflowNode } from './workflow.js';

/**
 * The form of mask that a workflow takes for a file: `alpha`, its alpha channel, 1 where it is transparent; `white`,
 * one of its colours.
 */
export type MaskUse = 'alpha' | 'white';

/** How a model's tasks become a graph: checked, so that every target is an input with a value of its own. */
export interface Plan {
  readonly workflow: Workflow;
  /** Absent where the workflow takes no prompt. */
  readonly prompt?: readonly Target[];
  readonly negativePrompt?: readonly Target[];
  /** The inputs that take the names of uploaded files, one file each. */
  readonly references: Readonly<Record<ReferenceRole, readonly Target[]>>;
  /** The mask that the workflow uses for each `reference_image`. */
  readonly masks: readonly (MaskUse | undefined)[];
  readonly parameters: ReadonlyMap<string, readonly Target[] | SizeTargets>;
  /** The nodes whose files are delivered, in this order. */
  readonly outputs: readonly SaveNode[];
  /** The other nodes that are known to save files. */
  readonly otherSaves: readonly SaveNode[];
}

/** The form of the settings. Throws `PlanInvalid`. */
export function readSettings(settings: JsonObject): ComfyUiSettings {
  const checked = checkSettings(SETTINGS_SCHEMA, settings);
  if ('fault' in checked) throw new PlanInvalid(checked.fault);
  return checked.settings as unknown as ComfyUiSettings;
}

/** Throws `PlanInvalid` with the first fault. */
export function readPlan({ inputs, outputs }: ComfyUiSettings, workflow: Workflow): Plan {
  checkTargets(inputs, workflow);
  const delivered = outputs === undefined ? knownOutputs(workflow) : outputs.map((one) => outputOf(one, workflow));
  const others = knownSaveNodes(workflow).filter(({ node }) => delivered.every((output) => output.node !== node));
  const { prompt, negative_prompt: negativePrompt, ...rest } = inputs;
  return {
    workflow,
    ...(prompt === undefined ? {} : { prompt }),
    ...(negativePrompt === undefined ? {} : { negativePrompt: listOf(negativePrompt) }),
    references: {
      reference_image: listOf(inputs['reference_image']),
      start_frame: listOf(inputs['start_frame']),
      end_frame: listOf(inputs['end_frame']),
    },
    parameters: new Map(Object.entries(rest).filter(([name]) => !isRole(name))),
    masks: listOf(inputs['reference_image']).map((target) => maskUseOf(target, workflow, delivered)),
    outputs: delivered,
    otherSaves: others,
  };
}

/** The second output of nodes that load a picture is its mask. */
const MASK_SLOT = 1;

/** Undefined if the mask of a file has no effect on the outputs. */
function maskUseOf({ node: id }: Target, workflow: Workflow, outputs: readonly SaveNode[]): MaskUse | undefined {
  const needed = neededNodes(
    workflow,
    outputs.map(({ node }) => node),
  );
  const loader = needed.find((node) => node.id === id);
  if (loader?.classType === 'LoadImageMask') return ofChannel(loader.inputs['channel']);
  if (loader === undefined || !/image/i.test(loader.classType)) return undefined;
  const isMaskOf = (input: Json): boolean => {
    const link = linkOf(input);
    return link?.node === id && link.slot === MASK_SLOT;
  };
  return needed.some(({ inputs }) => Object.values(inputs).some(isMaskOf)) ? 'alpha' : undefined;
}

function ofChannel(channel: Json | undefined): MaskUse | undefined {
  if (channel === 'alpha') return 'alpha';
  return typeof channel === 'string' ? 'white' : undefined;
}

function knownOutputs(workflow: Workflow): readonly SaveNode[] {
  const known = knownSaveNodes(workflow);
  if (known.length === 0) {
    const fault = [...workflow.values()].map(saveNodeFault).find((sentence) => sentence !== undefined);
    throw new PlanInvalid(
      fault ?? 'The workflow has no node that is known to save images or videos; name the ones it has in outputs.',
    );
  }
  for (const { node } of known) refuseUndeliverable(nodeAt('outputs', node, workflow));
  return known;
}

function outputOf(
  { node: id, prefix }: { readonly node: string; readonly prefix?: string },
  workflow: Workflow,
): SaveNode {
  const node = nodeAt('outputs', id, workflow);
  refuseUndeliverable(node);
  const input = prefix ?? knownPrefixOf(node);
  if (input === undefined)
    throw new PlanInvalid(
      `outputs: the ${nameOfNode(node)} needs a prefix, its input that begins the names of its files.`,
    );
  if (typeof node.inputs[input] !== 'string')
    throw new PlanInvalid(`outputs: the ${nameOfNode(node)} has no input ${input} with a text.`);
  return saveNodeOf(node, input);
}

function refuseUndeliverable(node: WorkflowNode): void {
  const fault = saveNodeFault(node);
  if (fault !== undefined) throw new PlanInvalid(fault);
}

function listOf(mapping: readonly Target[] | SizeTargets | undefined): readonly Target[] {
  return mapping === undefined || isSize(mapping) ? [] : mapping;
}
