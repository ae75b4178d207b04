import { REFERENCE_ROLES, type ReferenceRole } from '../../../core/generation/generation.js';
import { PlanInvalid } from './plan-invalid.js';
import { type ComfyUiSettings, isSize, MAX_NAME, type Target } from './settings-schema.js';
import { nameOfNode, typeOfInput, type Workflow, type WorkflowNode } from './workflow.js';

/** Inputs that name files, folders and addresses: nothing that a client sends gets there. */
const PLACE = /(?:^|_)(?:prefix|paths?|dirs?|directory|folders?|files?|filenames?|urls?|uri)(?:_|$)/i;
const LOADER = /^(?:VHS_)?Load/;

/** The requirements for the input of a target in the workflow; `file`: a text that names an uploaded file. */
type Wanted = 'text' | 'number' | 'value' | 'file';

const WANTED: Readonly<Record<Wanted, string>> = {
  text: 'a text',
  number: 'a number',
  value: 'a value',
  file: 'a text',
};

/** Throws `PlanInvalid` unless each target is an input with a value of its own, which fits what goes there. */
export function checkTargets(inputs: ComfyUiSettings['inputs'], workflow: Workflow): void {
  const taken = new Set<string>();
  for (const { at, wanted, target } of targetsOf(inputs)) {
    const node = nodeAt(at, target.node, workflow);
    checkTarget(at, wanted, target, node);
    const place = `${target.input} of ${nameOfNode(node)}`;
    if (taken.has(place)) throw new PlanInvalid(`${at}: the input ${place} is there twice.`);
    taken.add(place);
  }
}

/** Whether an input of a workflow can be a target for what is wanted there. */
export function canTakeTarget(
  wanted: Wanted,
  { node, input }: { readonly node: WorkflowNode; readonly input: string },
): boolean {
  if (node.id.length > MAX_NAME || input.length > MAX_NAME || node.id === '' || input === '') return false;
  try {
    checkTarget('', wanted, { node: node.id, input }, node);
    return true;
  } catch (error) {
    if (error instanceof PlanInvalid) return false;
    throw error;
  }
}

export function isRole(name: string): name is ReferenceRole {
  return REFERENCE_ROLES.some((role) => role === name);
}

/** Throws `PlanInvalid`. */
export function nodeAt(at: string, id: string, workflow: Workflow): WorkflowNode {
  const node = workflow.get(id);
  if (node === undefined) throw new PlanInvalid(`${at} names node ${id}, which the workflow does not have.`);
  return node;
}

interface PlacedTarget {
  readonly at: string;
  readonly wanted: Wanted;
  readonly target: Target;
}

function targetsOf(inputs: ComfyUiSettings['inputs']): readonly PlacedTarget[] {
  return Object.entries(inputs).flatMap(([name, mapping]) => {
    const at = `inputs.${name}`;
    if (!isSize(mapping)) return placed(at, wantedOf(name), mapping);
    return [...placed(`${at}.width`, 'number', mapping.width), ...placed(`${at}.height`, 'number', mapping.height)];
  });
}

function placed(at: string, wanted: Wanted, targets: readonly Target[]): readonly PlacedTarget[] {
  return targets.map((target) => ({ at, wanted, target }));
}

function wantedOf(name: string): Wanted {
  if (isRole(name)) return 'file';
  return name === 'prompt' || name === 'negative_prompt' ? 'text' : 'value';
}

function checkTarget(at: string, wanted: Wanted, target: Target, node: WorkflowNode): void {
  const input = `the input ${target.input} of ${nameOfNode(node)}`;
  const value = Object.hasOwn(node.inputs, target.input) ? node.inputs[target.input] : undefined;
  if (value === undefined) throw new PlanInvalid(`${at}: the ${nameOfNode(node)} has no input ${target.input}.`);
  const type = typeOfInput(value);
  const fits =
    type === 'any' || (wanted === 'value' ? type !== 'object' : type === (wanted === 'file' ? 'text' : wanted));
  if (!fits) throw new PlanInvalid(`${at}: ${input} must have ${WANTED[wanted]} of its own in the workflow.`);
  const { times, plus, minimum, maximum, max_length: maxLength, may_load: mayLoad } = target;
  if (type !== 'number' && type !== 'any' && [times, plus, minimum, maximum].some((one) => one !== undefined))
    throw new PlanInvalid(`${at}: ${input} is not a number, so it has no times, plus, minimum and maximum.`);
  if (typeof value !== 'string' && (maxLength !== undefined || mayLoad !== undefined))
    throw new PlanInvalid(`${at}: ${input} is not a text, so it has no max_length and no may_load.`);
  if (minimum !== undefined && maximum !== undefined && minimum > maximum)
    throw new PlanInvalid(`${at}: ${input} has a minimum above its maximum.`);
  if (typeof value === 'string' && wanted !== 'file' && (PLACE.test(target.input) || LOADER.test(node.classType)))
    throw new PlanInvalid(`${at}: ${input} names a file or a place, which clients may not set.`);
}
