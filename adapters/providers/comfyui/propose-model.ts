import { isFrame } from '../../../core/generation/generation.js';
import type { Json, JsonObject } from '../../../core/json.js';
import type { TracedInput, TracedNumber } from './graph-walk.js';
import { PlanInvalid } from './plan-invalid.js';
import { readPlan, readSettings } from './plan.js';
import { GENERAL_CHECKS, guessChecks, placeholderChecks } from './proposal-checks.js';
import { INSTEAD, knownKindOf, saveNodeFault } from './save-nodes.js';
import { traceWorkflow } from './trace-workflow.js';
import type { TracedNumbers, TracedWorkflow } from './traced.js';
import {
  linkOf,
  MAX_WORKFLOW_BYTES,
  missingLink,
  nameOfNode,
  parseWorkflow,
  type Workflow,
  WorkflowInvalid,
  type WorkflowNode,
} from './workflow.js';

/** The parameters that a client may choose, and their targets. */
interface ProposedParameter {
  readonly name: string;
  readonly schema: JsonObject;
  readonly targets: Json;
}

/** The most that a request may ask for, whatever the workflow has. */
const MAX_COUNT = 100;
/** In place of what a placeholder stands for. */
const GUESSES = { side: 1_024, steps: 20, guidance: 7, count: 1 };

/**
 * A catalog with one model for a workflow in API format, as YAML to be read by a person. It ends with what was guessed,
 * one comment for each guess. `file` is the name of the workflow, as the catalog's folder has it. The proposal passes
 * `catalog check` beside an instance that is called comfyui. Throws `PlanInvalid` with one sentence.
 */
export function proposeCatalog(text: string, file: string): string {
  const workflow = workflowFrom(text);
  const traced = tracedFrom(workflow);
  const parameters = parametersOf(traced);
  const names = parameters.map(({ name }) => name);
  const settings = settingsOf(traced, parameters, file);
  const inputs = settings['inputs'] as JsonObject;
  // A fault that the service would find is found here, before anything is written.
  readPlan(readSettings(settings), workflow);
  const lines = [
    `# Proposed from ${printable(file)}. Read what was guessed, at the end of this file, before you use it.`,
    'version: 1',
    'models:',
    `  - model_key: ${JSON.stringify(keyOf(file))}`,
    ...(parameters.length === 0 ? [] : ['    input_schema:', '      properties:']),
    ...parameters.map(({ name, schema }) => `        ${name}: ${flow(schema)}`),
    ...(traced.prompt.length === 0 ? ['    prompt: none'] : []),
    ...limitLines(traced, names),
    `    price: ${flow(priceOf(traced, names))}`,
    '    provider: comfyui',
    '    provider_settings:',
    `      workflow: ${JSON.stringify(file)}`,
    `      inputs:${Object.keys(inputs).length === 0 ? ' {}' : ''}`,
    ...Object.entries(inputs).map(([name, targets]) => `        ${name}: ${flow(targets)}`),
    ...(settings['outputs'] === undefined ? [] : [`      outputs: ${flow(settings['outputs'])}`]),
    '    on_unknown_acceptance: resubmit',
    '',
    ...[
      ...traced.checks,
      ...guessChecks(traced, parameters),
      ...placeholderChecks(workflow, settings),
      ...GENERAL_CHECKS,
    ].map((check) => `# Check: ${printable(check)}.`),
  ];
  return `${lines.join('\n')}\n`;
}

function workflowFrom(text: string): Workflow {
  if (Buffer.byteLength(text) > MAX_WORKFLOW_BYTES)
    throw new PlanInvalid(`The workflow must have at most ${MAX_WORKFLOW_BYTES} bytes.`);
  try {
    return parseWorkflow(text);
  } catch (error) {
    if (error instanceof WorkflowInvalid) throw new PlanInvalid(error.message);
    throw error;
  }
}

function tracedFrom(workflow: Workflow): TracedWorkflow {
  const traced = traceWorkflow(workflow);
  if (traced !== undefined) return traced;
  const nodes = [...workflow.values()];
  const fault = nodes.map(saveNodeFault).find((sentence) => sentence !== undefined);
  const broken = nodes.filter((node) => knownKindOf(node) !== undefined).map((node) => brokenSaver(workflow, node))[0];
  if (fault === undefined && broken !== undefined) throw new PlanInvalid(broken);
  const unknown = nodes.find(
    ({ classType, inputs }) =>
      (/save/i.test(classType) || 'filename_prefix' in inputs) && Object.values(inputs).some(linkOf),
  );
  const preview = nodes.find(({ classType }) => /preview/i.test(classType));
  const about =
    unknown !== undefined
      ? `: what the ${nameOfNode(unknown)} saves, and under which names, is not known`
      : preview === undefined
        ? ''
        : `: the ${nameOfNode(preview)} only shows them`;
  throw new PlanInvalid(
    fault ?? `The workflow has no node that is known to save images or videos${about}; ${INSTEAD}.`,
  );
}

/** Why a node of a known class saves nothing. */
function brokenSaver(workflow: Workflow, node: WorkflowNode): string {
  const why = node.isOff ? 'is muted or bypassed' : 'is linked to nothing that it could save, as after a bypassed node';
  return missingLink(workflow, [node.id]) ?? `The ${nameOfNode(node)} ${why}, so the workflow saves nothing.`;
}

// ---- what clients choose

function parametersOf(traced: TracedWorkflow): readonly ProposedParameter[] {
  const taken = new Set([...traced.prompt, ...traced.negativePrompt].map(placeOf));
  return candidatesOf(traced).flatMap(({ inputs, ...parameter }) => {
    // Two parameters cannot go to one input.
    if (inputs.some((input) => taken.has(placeOf(input)))) return [];
    for (const input of inputs) taken.add(placeOf(input));
    return [parameter];
  });
}

type Candidate = ProposedParameter & { readonly inputs: readonly TracedInput[] };

function candidatesOf({ size, count, frames, seconds, steps, guidance, seed }: TracedWorkflow): readonly Candidate[] {
  const found: Candidate[] = [];
  const add = (name: string, { at }: Pick<TracedNumbers, 'at'>, schema: JsonObject, more: JsonObject = {}) =>
    found.push({ name, schema, targets: targetsOf(at, more), inputs: at });
  if (size !== undefined) found.push(sizeParameter(size));
  if (frames !== undefined) add('duration_seconds', frames, ...framesParameter(frames));
  else if (seconds?.value !== undefined)
    add('duration_seconds', seconds, { type: 'integer', enum: [seconds.value], default: seconds.value });
  if (count !== undefined) {
    const value = Math.min(count.value ?? GUESSES.count, MAX_COUNT);
    add('n', count, { type: 'integer', minimum: 1, maximum: Math.max(4, value), default: value });
  }
  if (steps !== undefined) {
    const value = Math.max(1, Math.round(steps.value ?? GUESSES.steps));
    add('steps', steps, { type: 'integer', minimum: 1, maximum: Math.max(50, value), default: value });
  }
  if (guidance !== undefined) {
    const value = guidance.value ?? GUESSES.guidance;
    add('guidance', guidance, {
      type: 'number',
      minimum: Math.min(0, value),
      maximum: Math.max(20, value),
      default: value,
    });
  }
  if (seed !== undefined) add('seed', seed, { type: 'integer', minimum: 0, maximum: highestSeed(seed.at) });
  return found;
}

function sizeParameter(size: NonNullable<TracedWorkflow['size']>): Candidate {
  if ('text' in size) {
    const { text } = size;
    return { name: 'size', schema: sizeSchema(text.value), targets: targetsOf([text]), inputs: [text] };
  }
  const { width, height } = size;
  return {
    name: 'size',
    schema: sizeSchema(`${width.value ?? GUESSES.side}x${height.value ?? GUESSES.side}`),
    targets: { width: targetsOf([width]), height: targetsOf([height]) },
    inputs: [width, height],
  };
}

function sizeSchema(size: string): JsonObject {
  return { type: 'string', enum: [size], default: size };
}

/** Models that make frames in groups want one more than whole seconds have. */
function framesParameter({ value = 1, perSecond }: NonNullable<TracedWorkflow['frames']>): [JsonObject, JsonObject] {
  const plus = value % perSecond === 0 && (value - 1) % 4 !== 0 ? 0 : 1;
  const seconds = Math.max(1, Math.floor((value - plus) / perSecond + 1e-9));
  return [
    { type: 'integer', minimum: 1, maximum: seconds, default: seconds },
    { times: perSecond, ...(plus === 0 ? {} : { plus }) },
  ];
}

/** Nodes of ComfyUI take 64 bits; others may take 32 with a sign. */
function highestSeed(at: readonly TracedNumber[]): number {
  return at.every(({ node }) => /sampler|noise|seed|primitive|^int|easy/i.test(node.classType))
    ? 4_294_967_295
    : 2_147_483_647;
}

// ---- parts of the model

function settingsOf(traced: TracedWorkflow, parameters: readonly ProposedParameter[], file: string): JsonObject {
  const { prompt, negativePrompt, references, output, namesOutput } = traced;
  const roles = [...new Set(references.map(({ role }) => role))];
  return {
    workflow: file,
    inputs: {
      ...(prompt.length === 0 ? {} : { prompt: targetsOf(prompt) }),
      ...(negativePrompt.length === 0 ? {} : { negative_prompt: targetsOf(negativePrompt) }),
      ...Object.fromEntries(parameters.map(({ name, targets }) => [name, targets])),
      ...Object.fromEntries(
        roles.map((role) => [role, targetsOf(references.filter((one) => one.role === role).map(({ at }) => at))]),
      ),
    },
    ...(namesOutput
      ? { outputs: [{ node: output.node.id, ...(output.prefix === undefined ? {} : { prefix: output.prefix }) }] }
      : {}),
  };
}

/** The limits that differ from the defaults. A workflow that loads a picture requires it. */
function limitLines({ references, negativePrompt, batch }: TracedWorkflow, names: readonly string[]): string[] {
  const all = references.map(({ role }) => role);
  const roles = [...new Set(all)];
  const required = all.filter((role, index) => !isFrame(role) || all.indexOf(role) === index);
  const limits: JsonObject = {
    ...(roles.length === 0 ? {} : { reference_roles: roles }),
    ...(references.length === roles.length ? {} : { max_reference_uploads: references.length }),
    ...(roles.length === 0 ? {} : { max_upload_bytes: 20 * 1024 * 1024 }),
    ...(names.includes('n') || batch === 1 ? {} : { max_outputs: Math.min(batch, MAX_COUNT) }),
    ...(negativePrompt.length > 0 ? { negative_prompt: true } : {}),
  };
  return [
    ...(Object.keys(limits).length === 0 ? [] : [`    limits: ${flow(limits)}`]),
    ...(required.length === 0 ? [] : [`    required_roles: ${flow(required)}`]),
  ];
}

function priceOf({ modality }: TracedWorkflow, names: readonly string[]): JsonObject {
  const isBySecond = names.includes('duration_seconds');
  return {
    ...(isBySecond ? { unit: 'second' } : modality === 'video' ? { unit: 'video' } : {}),
    credits_per_unit: 10,
    ...(isBySecond ? { duration_parameter: 'duration_seconds' } : {}),
    ...(names.includes('n') ? { count_parameter: 'n' } : {}),
    ...(names.includes('size') ? { size_parameter: 'size' } : {}),
  };
}

function placeOf({ node, input }: Pick<TracedInput, 'node' | 'input'>): string {
  return JSON.stringify([node.id, input]);
}

// ---- text

function targetsOf(inputs: readonly TracedInput[], more: JsonObject = {}): Json[] {
  return inputs.map(({ node, input }) => ({ node: node.id, input, ...more }));
}

/** JSON is YAML; names of fields need no quotes. */
function flow(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{ ${Object.entries(value)
    .map(([name, field]) => `${name}: ${flow(field)}`)
    .join(', ')} }`;
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

/** For a comment, which ends with its line; node and file names may have any characters. */
function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?');
}
