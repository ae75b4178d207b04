import type { FailureName } from '../shared/sentences.js';
import type { Plan } from './plan.js';
import { isSize, type Target } from './settings-schema.js';
import { isObject } from './workflow.js';

/** Why a graph was refused. `parameter`: the one whose value the server did not take. */
export interface RefusedGraph {
  readonly failure: FailureName;
  readonly parameter?: string;
  /** For the log: the server's names of the faults, each with its node and input. */
  readonly faults: readonly string[];
}

interface NodeFault {
  readonly type: string;
  readonly node: string;
  readonly input: string;
}

const MAX_FAULTS = 10;
/** Types of faults are names in the server's code; its texts are not repeated. */
const NAME = /^[\w.:() -]{1,100}$/;

/**
 * Why the server refused a graph, by the JSON of its answer. Where every fault is at an input that the client's values
 * go to, the values are at fault; else the workflow is, or the server lacks a node or a model that it needs.
 */
export function refusedGraph(body: unknown, plan: Plan): RefusedGraph {
  const faults = nodeFaultsOf(body);
  const told = faults.map(({ type, node, input }) => `${type} at node ${node}${input === '' ? '' : `.${input}`}`);
  const error = isObject(body) ? body['error'] : undefined;
  const type = isObject(error) ? name(error['type']) : '';
  const shown = [...(type === '' ? [] : [type]), ...told].slice(0, MAX_FAULTS);
  const parameters = faults.map((fault) => parameterAt(plan, fault));
  const [first] = parameters;
  if (first !== undefined && parameters.every((parameter) => parameter !== undefined))
    return { failure: 'input invalid', parameter: first, faults: shown };
  return { failure: 'model missing', faults: shown };
}

function nodeFaultsOf(body: unknown): readonly NodeFault[] {
  const nodes = isObject(body) ? body['node_errors'] : undefined;
  if (!isObject(nodes)) return [];
  return Object.entries(nodes).flatMap(([node, of]) => {
    const errors: unknown = isObject(of) ? of['errors'] : undefined;
    return (Array.isArray(errors) ? errors : []).map((error: unknown): NodeFault => {
      const { type, extra_info: extra } = isObject(error) ? error : {};
      return { type: name(type), node: name(node), input: name(isObject(extra) ? extra['input_name'] : undefined) };
    });
  });
}

/** The parameter, or the role of a reference, whose value goes to the input of a fault. */
function parameterAt(plan: Plan, { node, input }: NodeFault): string | undefined {
  const isAt = (targets: readonly Target[]) => targets.some((target) => target.node === node && target.input === input);
  if (isAt(plan.prompt)) return 'prompt';
  if (plan.negativePrompt !== undefined && isAt(plan.negativePrompt)) return 'negative_prompt';
  for (const [role, slots] of Object.entries(plan.references)) if (isAt(slots)) return role;
  for (const [parameter, mapping] of plan.parameters)
    if (isAt(isSize(mapping) ? [...mapping.width, ...mapping.height] : mapping)) return parameter;
  return undefined;
}

function name(value: unknown): string {
  return typeof value === 'string' && NAME.test(value) ? value : '';
}
