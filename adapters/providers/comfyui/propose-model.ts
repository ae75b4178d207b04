import type { JsonObject } from '../../../core/json.js';
import { PlanInvalid } from './plan-invalid.js';
import { INSTEAD, saveNodeFault } from './save-nodes.js';
import { traceWorkflow, type TracedInput, type TracedWorkflow } from './trace-workflow.js';
import { nameOfNode, parseWorkflow, WorkflowInvalid } from './workflow.js';

/** In UTF-16 units. */
const MAX_SHOWN_TEXT = 40;

/** A line of YAML, and what its reader should check. */
type Line = readonly [text: string, check?: string];

interface ProposedParameter {
  readonly name: string;
  readonly schema: JsonObject;
  readonly targets: string;
  readonly check: string;
}

/**
 * A catalog with one model for a workflow in API format, as YAML to be read by a person: each line that was guessed says
 * so. `file` is the name of the workflow, as the catalog's folder has it. Throws `PlanInvalid` with one sentence.
 */
export function proposeCatalog(text: string, file: string): string {
  const traced = tracedFrom(text);
  const parameters = parametersOf(traced);
  const names = parameters.map(({ name }) => name);
  const lines: readonly Line[] = [
    [
      `# Proposed from ${printable(file)}. Check every line that says so, and the prices; then run darkroom catalog check.`,
    ],
    ['version: 1'],
    ['models:'],
    [`  - model_key: ${JSON.stringify(keyOf(file))}`],
    [`    display_name: ${JSON.stringify(keyOf(file))}`, 'the name that people see'],
    [`    modality: ${traced.modality}`],
    [`    operations: [${traced.modality}_generation]`],
    ['    input_schema:'],
    ['      type: object'],
    ['      additionalProperties: false'],
    [`      properties:${parameters.length === 0 ? ' {}' : ''}`],
    ...parameters.map(({ name, schema, check }): Line => [`        ${name}: ${flow(schema)}`, check]),
    [`    limits: ${flow(limitsOf(traced, names))}`],
    [`    price: ${flow(priceOf(traced, names))}`, 'what it costs'],
    ['    provider: comfyui', 'the name of the instance under providers'],
    ['    provider_settings:'],
    [`      workflow: ${JSON.stringify(file)}`],
    ['      inputs:'],
    ...textLines(traced),
    ...parameters.map(({ name, targets }): Line => [`        ${name}: ${targets}`]),
    ...referenceLines(traced),
    ...outputLines(traced),
    ['    queue_timeout_seconds: 3600'],
    [`    run_timeout_seconds: ${traced.modality === 'video' ? 3600 : 600}`, 'how long a task may take'],
    ['    max_attempts: 2'],
    ['    concurrency: 4', 'how many tasks a worker gives to the servers at once'],
    ['    concurrency_per_account: 2'],
    ['    cancel_floor_credits: 0'],
    ['    on_unknown_acceptance: resubmit'],
    ['    poll_interval_ms: 1000'],
  ];
  return (
    lines.map(([line, check]) => (check === undefined ? line : `${line} # Check: ${printable(check)}.`)).join('\n') +
    '\n'
  );
}

function tracedFrom(text: string): TracedWorkflow {
  try {
    const workflow = parseWorkflow(text);
    const traced = traceWorkflow(workflow);
    const [fault] = [...workflow.values()].flatMap((node) => saveNodeFault(node) ?? []);
    if (traced.outputs.length > 0) return traced;
    throw new PlanInvalid(fault ?? `The workflow has no node that is known to save images or videos; ${INSTEAD}.`);
  } catch (error) {
    if (error instanceof WorkflowInvalid) throw new PlanInvalid(error.message);
    throw error;
  }
}

function parametersOf({ modality, numbers, framesPerSecond }: TracedWorkflow): readonly ProposedParameter[] {
  const { width, height, count, length, steps, guidance, seed } = numbers;
  const found: ProposedParameter[] = [];
  const add = (name: string, at: TracedInput<number>, schema: JsonObject, check: string, more = '') => {
    found.push({ name, schema, targets: listOf([at], more), check });
  };
  if (width !== undefined && height !== undefined) {
    const size = `${width.value}x${height.value}`;
    found.push({
      name: 'size',
      schema: { type: 'string', enum: [size], default: size },
      targets: `{ width: ${listOf([width])}, height: ${listOf([height])} }`,
      check: 'the sizes that you offer',
    });
  }
  if (length !== undefined && framesPerSecond !== undefined) {
    const seconds = Math.max(1, Math.round((length.value - 1) / framesPerSecond));
    const schema = { type: 'integer', minimum: 1, maximum: seconds, default: seconds };
    add(
      'duration_seconds',
      length,
      schema,
      'how long videos may be, and whether the model wants one frame more',
      `, times: ${framesPerSecond}, plus: 1`,
    );
  }
  if (count !== undefined && modality === 'image')
    add(
      'n',
      count,
      { type: 'integer', minimum: 1, maximum: Math.max(4, count.value), default: count.value },
      'how many fit into the memory of the servers',
    );
  if (steps !== undefined)
    add(
      'steps',
      steps,
      { type: 'integer', minimum: 1, maximum: Math.max(50, steps.value), default: steps.value },
      'whether clients should choose it, as they do not pay for it',
    );
  if (guidance !== undefined)
    add(
      'guidance',
      guidance,
      { type: 'number', minimum: 0, maximum: Math.max(20, guidance.value), default: guidance.value },
      'whether clients should choose it',
    );
  if (seed !== undefined)
    add('seed', seed, { type: 'integer', minimum: 0, maximum: 4_294_967_295 }, 'which seeds the node takes');
  return found;
}

function textLines({ prompt, negativePrompt, otherTexts }: TracedWorkflow): readonly Line[] {
  const shown = (texts: readonly TracedInput<string>[]) =>
    texts.map(({ node, value }) => `${nameOfNode(node)} with ${quoted(value)}`).join(', ');
  const others = otherTexts.length === 0 ? '' : `; these texts stay as they are: ${shown(otherTexts)}`;
  return [
    prompt.length === 0
      ? ['        prompt: []', 'no text was found; name the node and the input that the prompt goes to']
      : [`        prompt: ${listOf(prompt)}`, `this is ${shown(prompt)}${others}`],
    ...(negativePrompt.length === 0
      ? []
      : [[`        negative_prompt: ${listOf(negativePrompt)}`, `this is ${shown(negativePrompt)}`] as const]),
  ];
}

function referenceLines({ references }: TracedWorkflow): readonly Line[] {
  const roles = [...new Set(references.map(({ role }) => role))];
  return roles.map((role) => {
    const slots = references.filter((reference) => reference.role === role).map(({ at }) => at);
    return [
      `        ${role}: ${listOf(slots)}`,
      'whether clients give this file; if not, remove the line and the role in limits',
    ];
  });
}

function outputLines({ outputs, hasOtherSaves }: TracedWorkflow): readonly Line[] {
  if (!hasOtherSaves) return [];
  return [
    [
      `      outputs: [${outputs.map(({ id }) => `{ node: ${JSON.stringify(id)} }`).join(', ')}]`,
      'which files are delivered',
    ],
  ];
}

function limitsOf({ references, negativePrompt, outputs }: TracedWorkflow, names: readonly string[]): JsonObject {
  const takesFiles = references.length > 0;
  return {
    max_reference_uploads: references.length,
    reference_roles: [...new Set(references.map(({ role }) => role))],
    upload_media_types: takesFiles ? ['image/png', 'image/jpeg', 'image/webp'] : [],
    max_upload_bytes: takesFiles ? 20 * 1024 * 1024 : 1,
    max_outputs: names.includes('n') ? 4 : outputs.length,
    negative_prompt: negativePrompt.length > 0,
  };
}

function priceOf({ modality }: TracedWorkflow, names: readonly string[]): JsonObject {
  const size: JsonObject = names.includes('size') ? { size_parameter: 'size' } : {};
  if (names.includes('duration_seconds'))
    return {
      version: '1',
      unit: 'second',
      credits_per_unit: 10,
      duration_parameter: 'duration_seconds',
      ...size,
      minimum_credits: 10,
      maximum_credits: 1_000,
    };
  const count: JsonObject = names.includes('n') ? { count_parameter: 'n' } : {};
  return {
    version: '1',
    unit: modality,
    credits_per_unit: 10,
    ...count,
    ...size,
    minimum_credits: 10,
    maximum_credits: 1_000,
  };
}

function listOf(inputs: readonly TracedInput[], more = ''): string {
  const targets = inputs.map(
    ({ node, input }) => `{ node: ${JSON.stringify(node.id)}, input: ${JSON.stringify(input)}${more} }`,
  );
  return `[${targets.join(', ')}]`;
}

/** JSON is YAML; names of fields need no quotes. */
function flow(value: JsonObject): string {
  const fields = Object.entries(value).map(([name, field]) => `${name}: ${JSON.stringify(field)}`);
  return `{ ${fields.join(', ')} }`;
}

function keyOf(file: string): string {
  const stem =
    file
      .split('/')
      .at(-1)
      ?.replace(/\.json$/i, '') ?? '';
  const key = stem
    .toLowerCase()
    .replaceAll(/[^a-z0-9._]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, 128);
  return key === '' ? 'workflow' : key;
}

/** The beginning of a text, on one line. */
function quoted(text: string): string {
  return JSON.stringify(text.length > MAX_SHOWN_TEXT ? `${text.slice(0, MAX_SHOWN_TEXT)}...` : text);
}

/** For a comment, which ends with its line; node and file names may have any characters. */
function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?');
}
