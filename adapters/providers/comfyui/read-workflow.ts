import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { JsonObject } from '../../../core/json.js';
import type { SettingsPlace } from '../../driver.js';
import { PlanInvalid } from './plan-invalid.js';
import { type Plan, readPlan, readSettings } from './plan.js';
import { knownKindOf } from './save-nodes.js';
import {
  MAX_WORKFLOW_BYTES,
  missingLink,
  nameOfNode,
  parseWorkflow,
  type Workflow,
  WorkflowInvalid,
} from './workflow.js';

/**
 * The plan of a model's settings, with the workflow file as it is now. `folder` is where the paths of workflows begin.
 * Throws `PlanInvalid` with one sentence.
 */
export function planOf(settings: JsonObject, folder: string): Plan {
  const read = readSettings(settings);
  const plan = readPlan(read, readWorkflow(read.workflow, folder));
  const missing = missingLink(
    plan.workflow,
    plan.outputs.map(({ node }) => node),
  );
  if (missing !== undefined) throw new PlanInvalid(`${read.workflow}: ${missing}`);
  return plan;
}

/** The sentence that says why a model like this cannot have the settings; undefined where it can. */
export function planFault(
  settings: JsonObject,
  folder: string,
  model: Omit<SettingsPlace, 'options' | 'catalogFolder'>,
): string | undefined {
  try {
    const { modality } = model;
    const plan = planOf(settings, folder);
    const { workflow, outputs } = plan;
    const lost = lostOf(plan, model);
    if (lost !== undefined) return lost;
    for (const { node: id } of outputs) {
      const node = workflow.get(id);
      const kind = node === undefined ? undefined : knownKindOf(node);
      if (node !== undefined && kind !== undefined && kind !== modality)
        return `The ${nameOfNode(node)} saves ${kind}s, and the model makes ${modality}s; name the nodes to deliver in outputs.`;
    }
    return undefined;
  } catch (error) {
    if (error instanceof PlanInvalid) return error.message;
    throw error;
  }
}

/** Parameters that clients may send and the plan has no place for. */
function lostOf(
  { prompt, parameters, negativePrompt, references }: Plan,
  model: Pick<SettingsPlace, 'parameters' | 'takesNegativePrompt' | 'referenceRoles' | 'promptRule'>,
): string | undefined {
  if (model.promptRule !== 'none' && prompt === undefined)
    return 'inputs has no prompt; give it targets, or set prompt of the model to none.';
  const parameter = model.parameters.find((name) => !parameters.has(name));
  if (parameter !== undefined)
    return `inputs has no place for the parameter ${parameter}; give it targets, or an empty list if it goes nowhere on purpose.`;
  if (model.takesNegativePrompt && negativePrompt === undefined)
    return 'inputs has no negative_prompt; give it targets, or set negative_prompt of limits to false.';
  const role = model.referenceRoles.find((one) => references[one].length === 0);
  return role === undefined
    ? undefined
    : `inputs has no ${role}; give it targets, or remove it from reference_roles of limits.`;
}

function readWorkflow(path: string, folder: string): Workflow {
  try {
    return parseWorkflow(textOf(path, folder));
  } catch (error) {
    if (error instanceof WorkflowInvalid) throw new PlanInvalid(`${path}: ${error.message}`);
    throw error;
  }
}

function textOf(path: string, folder: string): string {
  const file = resolve(folder, path);
  try {
    const { size } = statSync(file);
    if (size > MAX_WORKFLOW_BYTES)
      throw new PlanInvalid(`${path}: The file must have at most ${MAX_WORKFLOW_BYTES} bytes.`);
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  } catch (error) {
    if (error instanceof PlanInvalid) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new PlanInvalid(`There is no file ${path} in ${folder}.`);
    throw new PlanInvalid(`The file ${path} in ${folder} cannot be read.`);
  }
}
