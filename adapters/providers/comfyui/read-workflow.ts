import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { JsonObject } from '../../../core/json.js';
import type { SettingsPlace } from '../../driver.js';
import { readPlan, readSettings, type Plan } from './plan.js';
import { PlanInvalid } from './plan-invalid.js';
import { knownKindOf } from './save-nodes.js';
import { MAX_WORKFLOW_BYTES, nameOfNode, parseWorkflow, WorkflowInvalid, type Workflow } from './workflow.js';

/**
 * The plan of a model's settings, with the workflow file as it is now. `folder` is where the paths of workflows begin.
 * Throws `PlanInvalid` with one sentence.
 */
export function planOf(settings: JsonObject, folder: string): Plan {
  const read = readSettings(settings);
  return readPlan(read, readWorkflow(read.workflow, folder));
}

/** The sentence that says why a model like this cannot have the settings; undefined where it can. */
export function planFault(
  settings: JsonObject,
  folder: string,
  { modality, parameters: names }: Pick<SettingsPlace, 'modality' | 'parameters'>,
): string | undefined {
  try {
    const { workflow, outputs, parameters } = planOf(settings, folder);
    const lost = names.find((name) => !parameters.has(name));
    if (lost !== undefined)
      return `inputs has no place for the parameter ${lost}; give it targets, or an empty list if it goes nowhere on purpose.`;
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
