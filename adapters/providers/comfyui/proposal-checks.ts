import type { Json, JsonObject } from '../../../core/json.js';
import type { TracedNumber } from './graph-walk.js';
import type { TracedWorkflow } from './traced.js';
import { nameOfNode, placeholdersIn, type Workflow } from './workflow.js';

/** The points to check in every proposal. */
export const GENERAL_CHECKS: readonly string[] = [
  'the name that people see, display_name; the price; and how long a task may take, run_timeout_seconds',
  'provider is the name of the instance in the configuration; concurrency is how many tasks a worker gives to its servers at once',
];

/** Defaults that stand in for placeholders. */
export function guessChecks(
  { size, count, steps, guidance }: TracedWorkflow,
  parameters: readonly { readonly name: string; readonly schema: JsonObject }[],
): readonly string[] {
  const sides = size === undefined || 'text' in size ? [] : [size.width, size.height];
  const guessed: readonly (readonly [string, readonly TracedNumber[]])[] = [
    ['size', sides],
    ['n', count?.at ?? []],
    ['steps', steps?.at ?? []],
    ['guidance', guidance?.at ?? []],
  ];
  return guessed.flatMap(([name, at]) => {
    const open = at.filter(({ value }) => value === undefined);
    const parameter = parameters.find((one) => one.name === name);
    if (open.length === 0 || parameter === undefined) return [];
    return [
      `the default of ${name}, ${JSON.stringify(parameter.schema['default'])}, is a guess: ${open.map(({ node, input }) => `${nameOfNode(node)}.${input}`).join(', ')} has a placeholder`,
    ];
  });
}

/** Placeholders that nothing replaces: a server would get them as they are. */
export function placeholderChecks(workflow: Workflow, settings: JsonObject): readonly string[] {
  const taken = new Set(placesIn(settings['inputs'] ?? null));
  const left = [...workflow.values()].flatMap((node) =>
    Object.entries(node.inputs).flatMap(([input, value]) => {
      const isPrefix = /prefix/i.test(input);
      if (typeof value !== 'string' || isPrefix || taken.has(placeOf(node.id, input))) return [];
      return placeholdersIn(value).map((placeholder) => `${placeholder} in ${nameOfNode(node)}.${input}`);
    }),
  );
  if (left.length === 0) return [];
  return [`nothing replaces ${left.slice(0, 12).join(', ')}: write values into the workflow file`];
}

function placesIn(inputs: Json): readonly string[] {
  if (typeof inputs !== 'object' || inputs === null) return [];
  const { node, input } = inputs as { node?: Json; input?: Json };
  if (typeof node === 'string' && typeof input === 'string') return [placeOf(node, input)];
  return Object.values(inputs).flatMap((one) => placesIn(one));
}

function placeOf(node: string, input: string): string {
  return JSON.stringify([node, input]);
}
