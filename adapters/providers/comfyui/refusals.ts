import type { FailureName } from '../shared/sentences.js';
import type { Plan } from './plan.js';
import { isSize, type Target } from './settings-schema.js';
import { isObject, nameOfNode, type Workflow } from './workflow.js';

/** Why a graph was refused. `parameter`: the one whose value the server did not take. */
export interface RefusedGraph {
  readonly failure: FailureName;
  readonly parameter?: string;
  /** For the log: names of faults, each with its node and input. */
  readonly faults: readonly string[];
}

interface NodeFault {
  readonly type: string;
  readonly node: string;
  /** Empty where the fault is at none that the workflow has. */
  readonly input: string;
}

const MAX_FAULTS = 10;

/** The server's names of faults. Anything else it says is not repeated: it may be what was sent. */
const TYPES: readonly string[] = [
  'bad_linked_input',
  'custom_validation_failed',
  'dependency_cycle',
  'exception_during_inner_validation',
  'exception_during_validation',
  'invalid_input_type',
  'invalid_prompt',
  'invalid_prompt_id',
  'missing_node_type',
  'no_prompt',
  'prompt_no_outputs',
  'prompt_outputs_failed_validation',
  'required_input_missing',
  'return_type_mismatch',
  'value_bigger_than_max',
  'value_not_in_list',
  'value_smaller_than_min',
];

/**
 * Why the server refused a graph, by the JSON of its answer. If every fault is at an input that receives the client's
 * values, the values are at fault; else the workflow is, or the server lacks a node or a model that it needs.
 */
export function refusedGraph(body: unknown, plan: Plan): RefusedGraph {
  const faults = nodeFaultsOf(body, plan.workflow);
  const told = faults.map(({ type, node, input }) => `${type} at node ${node}${input === '' ? '' : `.${input}`}`);
  const error = isObject(body) ? body['error'] : undefined;
  const shown = [...(isObject(error) ? [graphFaultOf(error, plan.workflow)] : []), ...told].slice(0, MAX_FAULTS);
  const parameters = faults.map((fault) => parameterAt(plan, fault));
  const [first] = parameters;
  if (first !== undefined && parameters.every((parameter) => parameter !== undefined))
    return { failure: 'input invalid', parameter: first, faults: shown };
  return { failure: 'model missing', faults: shown };
}

/** The fault of the whole graph; with the node of a class that the server does not have, which it names in its details. */
function graphFaultOf({ type, details }: Readonly<Record<string, unknown>>, workflow: Workflow): string {
  const [, id = ''] = (typeof details === 'string' && /^Node ID '#(.{1,64})'$/.exec(details)) || [];
  const node = workflow.get(id);
  return node === undefined ? typeOf(type) : `${typeOf(type)} at ${nameOfNode(node)}`;
}

function nodeFaultsOf(body: unknown, workflow: Workflow): readonly NodeFault[] {
  const nodes = isObject(body) ? body['node_errors'] : undefined;
  if (!isObject(nodes)) return [];
  return [...workflow.values()].flatMap(({ id: node, inputs }) => {
    const of = Object.hasOwn(nodes, node) ? nodes[node] : undefined;
    const errors: unknown = isObject(of) ? of['errors'] : undefined;
    return (Array.isArray(errors) ? errors : []).map((error: unknown): NodeFault => {
      const { type, extra_info: extra } = isObject(error) ? error : {};
      const input: unknown = isObject(extra) ? extra['input_name'] : undefined;
      return {
        type: typeOf(type),
        node,
        input: typeof input === 'string' && Object.hasOwn(inputs, input) ? input : '',
      };
    });
  });
}

/** The parameter, or the role of a reference, whose value goes to the input of a fault. */
function parameterAt(plan: Plan, { node, input }: NodeFault): string | undefined {
  const isAt = (targets: readonly Target[]) => targets.some((target) => target.node === node && target.input === input);
  if (plan.prompt !== undefined && isAt(plan.prompt)) return 'prompt';
  if (plan.negativePrompt !== undefined && isAt(plan.negativePrompt)) return 'negative_prompt';
  for (const [role, slots] of Object.entries(plan.references)) if (isAt(slots)) return role;
  for (const [parameter, mapping] of plan.parameters)
    if (isAt(isSize(mapping) ? [...mapping.width, ...mapping.height] : mapping)) return parameter;
  return undefined;
}

function typeOf(type: unknown): string {
  return TYPES.find((known) => known === type) ?? 'another fault';
}
