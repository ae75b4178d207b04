import type { Json, JsonObject } from '../../../core/json.js';
import type { Plan } from './plan.js';
import { isSize, type Target } from './settings-schema.js';
import { isNumeric, isObject, isPlaceholder, linkOf, nameOfNode, type WorkflowNode } from './workflow.js';

/** The server's description of classes of nodes, by their names; undefined for a class that it does not have. */
export type NodeClasses = ReadonlyMap<string, JsonObject | undefined>;

/** The description of one input of a class. */
interface InputRule {
  readonly name: string;
  readonly isRequired: boolean;
  /** `INT`, `IMAGE` and the like; undefined for a choice. */
  readonly type?: string;
  /** The values that it takes, where they are listed. */
  readonly choices?: readonly Json[];
  readonly minimum?: number;
  readonly maximum?: number;
}

const MAX_FAULTS = 20;
const MAX_SHOWN_CHOICES = 5;
const TYPES: Readonly<Record<string, string>> = {
  INT: 'number',
  FLOAT: 'number',
  STRING: 'string',
  BOOLEAN: 'boolean',
};

/**
 * The parts of a workflow that a server could not run, each as the end of a sentence. Only what the server itself
 * refuses.
 */
export function graphFaults(plan: Plan, classes: NodeClasses): readonly string[] {
  const { workflow, references, parameters } = plan;
  const places = (targets: readonly Target[]) => targets.map(({ node, input }) => `${node} ${input}`);
  const uploads = new Set(Object.values(references).flatMap(places));
  const replaced = new Set(
    [...parameters.values()].flatMap((one) => places(isSize(one) ? [...one.width, ...one.height] : one)),
  );
  const faults: string[] = [];
  for (const node of workflow.values()) {
    const known = classes.get(node.classType);
    if (known === undefined) {
      faults.push(`the ${nameOfNode(node)} is of a class that the server does not have.`);
      continue;
    }
    for (const rule of rulesOf(known)) {
      if (uploads.has(`${node.id} ${rule.name}`)) continue;
      const value = Object.hasOwn(node.inputs, rule.name) ? node.inputs[rule.name] : undefined;
      // The values that a task puts in place of a placeholder are not known before.
      const isReplaced = typeof value === 'string' && isPlaceholder(value) && replaced.has(`${node.id} ${rule.name}`);
      const fault = isReplaced ? undefined : inputFault(rule, value, (id) => typesOf(workflow.get(id), classes));
      if (fault !== undefined) faults.push(`the input ${rule.name} of ${nameOfNode(node)} ${fault}.`);
    }
  }
  return faults.slice(0, MAX_FAULTS);
}

function inputFault(
  rule: InputRule,
  value: Json | undefined,
  typesOfNode: (id: string) => readonly (string | undefined)[],
): string | undefined {
  if (value === undefined) return rule.isRequired ? 'is missing' : undefined;
  const link = linkOf(value);
  if (link !== undefined) {
    const linked = typesOfNode(link.node)[link.slot];
    return linked !== undefined && rule.type !== undefined && !isSameType(linked, rule.type)
      ? `takes ${rule.type}, and is linked to ${linked}`
      : undefined;
  }
  if (rule.choices !== undefined)
    return rule.choices.includes(value)
      ? undefined
      : `is ${shown(value)}, which the server does not have; it has ${listed(rule.choices)}`;
  const type = TYPES[rule.type ?? ''];
  if (type === undefined) return undefined;
  // A server reads numbers in quotes as well.
  if (type === 'number' && typeof value === 'string' && isNumeric(value)) return undefined;
  if (typeof value !== type) return `must be of the type ${rule.type}`;
  if (typeof value === 'number' && value < (rule.minimum ?? -Infinity)) return `is ${value}, below ${rule.minimum}`;
  if (typeof value === 'number' && value > (rule.maximum ?? Infinity)) return `is ${value}, above ${rule.maximum}`;
  return undefined;
}

/** A class lists its inputs as `[type, options]`, where the type of a choice is the list of its values. */
function rulesOf(known: JsonObject): readonly InputRule[] {
  const inputs = isObject(known['input']) ? known['input'] : {};
  return (['required', 'optional'] as const).flatMap((group) =>
    Object.entries(isObject(inputs[group]) ? inputs[group] : {}).map(([name, rule]): InputRule => {
      const [type, given] = Array.isArray(rule) ? rule : [];
      const options = isObject(given) ? given : {};
      const choices = choicesOf(type, options);
      return {
        name,
        // A server fills in what a dynamic input lacks.
        isRequired: group === 'required' && !(typeof type === 'string' && type.startsWith('COMFY_')),
        ...(typeof type === 'string' && choices === undefined ? { type } : {}),
        ...(choices === undefined ? {} : { choices }),
        ...(typeof options['min'] === 'number' ? { minimum: options['min'] } : {}),
        ...(typeof options['max'] === 'number' ? { maximum: options['max'] } : {}),
      };
    }),
  );
}

/** Undefined if it is not a choice, or if the server does not list its values or does not enforce them. */
function choicesOf(type: Json | undefined, options: JsonObject): readonly Json[] | undefined {
  const choices = Array.isArray(type) ? type : type === 'COMBO' ? options['options'] : undefined;
  const isOpen = options['remote'] !== undefined || Object.keys(options).some((option) => option.endsWith('_upload'));
  return Array.isArray(choices) && !isOpen ? choices : undefined;
}

function typesOf(node: WorkflowNode | undefined, classes: NodeClasses): readonly (string | undefined)[] {
  const output = node && classes.get(node.classType)?.['output'];
  return Array.isArray(output) ? output.map((type) => (typeof type === 'string' ? type : undefined)) : [];
}

/** A type may be any, or one of several. */
function isSameType(one: string, other: string): boolean {
  const [left, right] = [one.split(','), other.split(',')];
  return (
    left.includes('*') || right.includes('*') || other.startsWith('COMFY_') || left.some((type) => right.includes(type))
  );
}

function listed(choices: readonly Json[]): string {
  if (choices.length === 0) return 'none';
  const first = choices.slice(0, MAX_SHOWN_CHOICES).map(shown).join(', ');
  return choices.length > MAX_SHOWN_CHOICES ? `${first} and ${choices.length - MAX_SHOWN_CHOICES} more` : first;
}

function shown(value: Json): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
