import type { ReferenceRole } from '../../../core/generation/generation.js';
import type { Json } from '../../../core/json.js';
import type { Submission } from '../../../core/ports/provider.js';
import { boundsBefore, drawnSeed } from '../shared/drawn-seed.js';
import { ParameterInvalid, scaled, sidesOf } from '../shared/request-fields.js';
import { TaskRefused } from '../shared/task-refused.js';
import { PlanInvalid } from './plan-invalid.js';
import type { Plan } from './plan.js';
import { isSize, type Target } from './settings-schema.js';
import { isNumeric, typeOfInput } from './workflow.js';

type Task = Pick<Submission, 'prompt' | 'negativePrompt' | 'parameters' | 'token' | 'inputSchema'>;

/** The names of uploaded files, in the order of the references of their role. */
export type UploadedNames = Readonly<Record<ReferenceRole, readonly string[]>>;

/**
 * The graph of one task as JSON text, in the form that the server takes. Texts, numbers and names go into the inputs that the
 * plan names. Nothing else changes but the prefixes of saved files: all other inputs have the characters of the file, so that
 * no digit of a number is lost. Throws `ParameterInvalid` for a value that does not fit, `TaskRefused` for a text that names
 * a file of the server, and `PlanInvalid` where the task has something that the plan has no place for.
 */
export function filledWorkflow(plan: Plan, task: Task, uploaded: UploadedNames): string {
  const graph = graphOf(plan);
  const set = (targets: readonly Target[], value: Json, name: string) => {
    for (const target of targets) graph.set(target, fitted(target, value, graph.valueOf(target), name));
  };
  // Without a prompt, the texts of the workflow stay.
  if (task.prompt !== '') {
    if (plan.prompt === undefined) throw new PlanInvalid('inputs has no place for the prompt.');
    set(plan.prompt, task.prompt, 'prompt');
  }
  if (task.negativePrompt !== undefined) {
    if (plan.negativePrompt === undefined) throw new PlanInvalid('inputs has no place for the negative prompt.');
    set(plan.negativePrompt, task.negativePrompt, 'negative_prompt');
  }
  for (const [name, value] of Object.entries(task.parameters)) setParameter(plan, name, value, set);
  if (!Object.hasOwn(task.parameters, 'seed')) drawSeed(plan, task, set);
  for (const [role, slots] of Object.entries(plan.references))
    for (const [index, slot] of slots.entries()) graph.set(slot, uploaded[role as ReferenceRole][index] ?? '');
  for (const [index, { node, prefix }] of plan.outputs.entries())
    graph.set({ node, input: prefix }, `${folderOf(task.token)}/${index + 1}`);
  for (const [index, { node, prefix }] of plan.otherSaves.entries())
    graph.set({ node, input: prefix }, `${folderOf(task.token)}/other/${index + 1}`);
  return graph.text();
}

/**
 * The place of the files of one task, in the output folder of the server: those that are delivered begin with a number.
 */
export function folderOf(token: string): string {
  return `darkroom/${token}`;
}

type SetValue = (targets: readonly Target[], value: Json, name: string) => void;

function setParameter(plan: Plan, name: string, value: Json, set: SetValue): void {
  const mapping = plan.parameters.get(name);
  if (mapping === undefined) throw new PlanInvalid(`inputs has no place for the parameter ${name}.`);
  if (!isSize(mapping)) return set(mapping, value, name);
  const sides = sidesOf(value);
  if (sides === undefined) throw new ParameterInvalid(name);
  set(mapping.width, sides.width, name);
  set(mapping.height, sides.height, name);
}

/** A task without a seed gets one, so that it is not a copy of the last. */
function drawSeed(plan: Plan, task: Task, set: SetValue): void {
  const targets = plan.parameters.get('seed');
  if (targets === undefined || isSize(targets) || targets.length === 0) return;
  const isUsable = (seed: number) => targets.every((target) => Number.isInteger(numberFor(target, seed)));
  const seed = drawnSeed(task, boundsBefore(targets), isUsable);
  if (seed === undefined)
    throw new PlanInvalid(
      'inputs.seed: no whole number fits the schema of the parameter and the bounds of the targets.',
    );
  set(targets, seed, 'seed');
}

function graphOf({ workflow }: Plan) {
  const texts = new Map([...workflow.values()].map(({ id, sources }) => [id, new Map(sources)]));
  const textsOf = (node: string): Map<string, string> => {
    const found = texts.get(node);
    if (found === undefined) throw new PlanInvalid(`The workflow has no node ${node}.`);
    return found;
  };
  return {
    valueOf: ({ node, input }: Target): Json | undefined => workflow.get(node)?.inputs[input],
    set: ({ node, input }: Target, value: Json): void => void textsOf(node).set(input, JSON.stringify(value)),
    text: (): string =>
      objectText(
        [...workflow.values()].map(({ id, classType }) => [
          id,
          `{"class_type":${JSON.stringify(classType)},"inputs":${objectText([...textsOf(id)])}}`,
        ]),
      ),
  };
}

function objectText(members: readonly (readonly [name: string, text: string])[]): string {
  return `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}

/** ComfyUI loads the embedding that is named behind the first; nodes of other packages load the LoRA behind the second. */
const LOADS = /embedding:|<\s*lora\s*:/i;

/**
 * A value of the type that the workflow has there: no list can become a link, and no object anything else. A number may also
 * replace a number in quotes, which stays in quotes, and a placeholder.
 */
function fitted(target: Target, value: Json, present: Json | undefined, name: string): Json {
  if (present === undefined || typeof value === 'object') throw new ParameterInvalid(name);
  const isStandIn = typeof present === 'string' && typeOfInput(present) === 'any';
  if (typeof value !== typeof present && !isStandIn) throw new ParameterInvalid(name);
  if (typeof value === 'string' && value.length > (target.max_length ?? Infinity)) throw new ParameterInvalid(name);
  if (typeof value === 'string' && target.may_load !== true && LOADS.test(value))
    throw new TaskRefused('A text must not contain "embedding:" or "<lora:": this provider would load a file.');
  if (typeof value !== 'number') return value;
  const sent = numberFor(target, value);
  if (sent === undefined) throw new ParameterInvalid(name);
  return typeof present === 'string' && isNumeric(present) ? String(sent) : sent;
}

/** The number that goes in for a value; undefined where it is out of bounds. */
function numberFor(target: Target, value: number): number | undefined {
  const { minimum = -Infinity, maximum = Infinity } = target;
  const sent = scaled(value, target);
  const fits = Number.isFinite(sent) && Math.abs(sent) <= Number.MAX_SAFE_INTEGER && sent >= minimum && sent <= maximum;
  return fits ? sent : undefined;
}
