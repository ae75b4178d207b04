import { createHash } from 'node:crypto';
import type { ReferenceRole } from '../../../core/generation/generation.js';
import type { Json, JsonObject } from '../../../core/json.js';
import type { Submission } from '../../../core/ports/provider.js';
import { ParameterInvalid } from '../shared/request-fields.js';
import { TaskRefused } from '../shared/task-refused.js';
import type { Plan } from './plan.js';
import { PlanInvalid } from './plan-invalid.js';
import { isSize, type Target } from './settings-schema.js';

type Task = Pick<Submission, 'prompt' | 'negativePrompt' | 'parameters' | 'token'>;

/** The names of uploaded files, in the order of the references of their role. */
export type UploadedNames = Readonly<Record<ReferenceRole, readonly string[]>>;

/**
 * The graph of one task, in the form that the server takes. Texts, numbers and names go into the inputs that the plan
 * names, and nothing else changes but the prefixes of saved files. Throws `ParameterInvalid` for a value that does not
 * fit, `TaskRefused` for a text that names a file of the server, and `PlanInvalid` where the task has something that the plan has no place for.
 */
export function filledWorkflow(plan: Plan, task: Task, uploaded: UploadedNames): JsonObject {
  const graph = graphOf(plan);
  const set = (targets: readonly Target[], value: Json, name: string) => {
    for (const target of targets) graph.set(target, fitted(target, value, graph.valueOf(target), name));
  };
  set(plan.prompt, task.prompt, 'prompt');
  if (task.negativePrompt !== undefined) {
    if (plan.negativePrompt === undefined) throw new PlanInvalid('inputs has no place for the negative prompt.');
    set(plan.negativePrompt, task.negativePrompt, 'negative_prompt');
  }
  for (const [name, value] of Object.entries(task.parameters)) setParameter(plan, name, value, set);
  const seeds = plan.parameters.get('seed');
  if (seeds !== undefined && !isSize(seeds) && !Object.hasOwn(task.parameters, 'seed'))
    for (const target of seeds) graph.set(target, seedOf(task.token, target));
  for (const [role, slots] of Object.entries(plan.references))
    for (const [index, slot] of slots.entries()) graph.set(slot, uploaded[role as ReferenceRole][index] ?? '');
  for (const [index, { node, prefix }] of plan.outputs.entries())
    graph.set({ node, input: prefix }, `${folderOf(task.token)}/${index + 1}`);
  for (const [index, { node, prefix }] of plan.otherSaves.entries())
    graph.set({ node, input: prefix }, `${folderOf(task.token)}/other/${index + 1}`);
  return graph.nodes;
}

/** Where the files of one task are, in the output folder of the server: those that are delivered begin with a number. */
export function folderOf(token: string): string {
  return `darkroom/${token}`;
}

type SetValue = (targets: readonly Target[], value: Json, name: string) => void;

function setParameter(plan: Plan, name: string, value: Json, set: SetValue): void {
  const mapping = plan.parameters.get(name);
  if (mapping === undefined) throw new PlanInvalid(`inputs has no place for the parameter ${name}.`);
  if (!isSize(mapping)) return set(mapping, value, name);
  const [, width, height] = (typeof value === 'string' ? /^([1-9]\d{0,4})x([1-9]\d{0,4})$/.exec(value) : null) ?? [];
  if (width === undefined || height === undefined) throw new ParameterInvalid(name);
  set(mapping.width, Number(width), name);
  set(mapping.height, Number(height), name);
}

function graphOf({ workflow }: Plan) {
  const inputs = new Map([...workflow.values()].map(({ id, inputs: own }) => [id, { ...own }]));
  const inputsOf = (node: string): JsonObject => {
    const found = inputs.get(node);
    if (found === undefined) throw new PlanInvalid(`The workflow has no node ${node}.`);
    return found;
  };
  return {
    nodes: Object.fromEntries(
      [...workflow.values()].map(({ id, classType }) => [id, { class_type: classType, inputs: inputsOf(id) }]),
    ) satisfies JsonObject,
    valueOf: ({ node, input }: Target): Json | undefined => inputsOf(node)[input],
    set: ({ node, input }: Target, value: Json): void => {
      inputsOf(node)[input] = value;
    },
  };
}

/** ComfyUI loads the embedding that is named behind the first; nodes of other packages load the LoRA behind the second. */
const LOADS = /embedding:|<\s*lora\s*:/i;

/** A value of the type that the workflow has there: no list can become a link, and no object anything else. */
function fitted(target: Target, value: Json, present: Json | undefined, name: string): Json {
  if (typeof value !== typeof present || typeof value === 'object') throw new ParameterInvalid(name);
  if (typeof value === 'string' && value.length > (target.max_length ?? Infinity)) throw new ParameterInvalid(name);
  if (typeof value === 'string' && target.may_load !== true && LOADS.test(value))
    throw new TaskRefused('A text must not contain "embedding:" or "<lora:": this provider would load a file.');
  if (typeof value !== 'number') return value;
  const { times = 1, plus = 0, minimum = -Infinity, maximum = Infinity } = target;
  const sent = withoutRounding(value * times + plus);
  if (!Number.isFinite(sent) || Math.abs(sent) > Number.MAX_SAFE_INTEGER || sent < minimum || sent > maximum)
    throw new ParameterInvalid(name);
  return sent;
}

/** 0.1 × 30 is 3, and not a little more. */
function withoutRounding(value: number): number {
  const whole = Math.round(value);
  return Math.abs(value - whole) < 1e-9 ? whole : value;
}

/** The same token gives the same seed, and another one another: so a task without a seed is not a copy of the last. */
function seedOf(token: string, { minimum = 0, maximum = 2 ** 48 - 1 }: Target): number {
  const drawn = createHash('sha256').update(token).digest().readUIntBE(0, 6);
  const [least, most] = [Math.ceil(minimum), Math.floor(maximum)];
  return least + (drawn % Math.max(1, most - least + 1));
}
