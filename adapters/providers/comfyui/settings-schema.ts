import { REFERENCE_ROLES } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';

/** The pattern for the id of a node, and for the name of an input. */
export const MAX_NAME = 128;

const NODE: JsonObject = { type: 'string', minLength: 1, maxLength: MAX_NAME };
const INPUT: JsonObject = { type: 'string', minLength: 1, maxLength: MAX_NAME };

const TARGETS: JsonObject = {
  type: 'array',
  maxItems: 32,
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['node', 'input'],
    properties: {
      node: NODE,
      input: INPUT,
      times: { type: 'number' },
      plus: { type: 'number' },
      minimum: { type: 'number' },
      maximum: { type: 'number' },
      max_length: { type: 'integer', minimum: 1, maximum: 100_000 },
      may_load: { type: 'boolean' },
    },
  },
};

/** Targets, or those of each side: what is said of a list and of an object does not concern the other. */
const TARGETS_OR_SIDES: JsonObject = {
  ...TARGETS,
  type: ['array', 'object'],
  additionalProperties: false,
  required: ['width', 'height'],
  properties: { width: TARGETS, height: TARGETS },
};

/** The JSON Schema of a model's `provider_settings`. `readPlan` checks the rules that depend on the workflow. */
export const SETTINGS_SCHEMA: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['workflow', 'inputs'],
  properties: {
    workflow: { type: 'string', minLength: 1, maxLength: 500 },
    inputs: {
      type: 'object',
      maxProperties: 100,
      propertyNames: { pattern: '^[A-Za-z0-9_.-]{1,128}$' },
      properties: {
        prompt: TARGETS,
        negative_prompt: TARGETS,
        ...Object.fromEntries(REFERENCE_ROLES.map((role) => [role, TARGETS])),
      },
      additionalProperties: TARGETS_OR_SIDES,
    },
    outputs: {
      type: 'array',
      minItems: 1,
      maxItems: 100,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['node'],
        properties: { node: NODE, prefix: INPUT },
      },
    },
  },
};

/** The target of a value: an input of a node of the workflow. */
export interface Target {
  readonly node: string;
  readonly input: string;
  /** A number goes in as `value × times + plus`. */
  readonly times?: number;
  readonly plus?: number;
  /** The bounds of the number that is set. */
  readonly minimum?: number;
  readonly maximum?: number;
  /** The length of a text, in UTF-16 units. */
  readonly max_length?: number;
  /** Whether a text of a client may name files of the server to load. */
  readonly may_load?: boolean;
}

/** A parameter of the form WIDTHxHEIGHT. */
export interface SizeTargets {
  readonly width: readonly Target[];
  readonly height: readonly Target[];
}

export interface ComfyUiSettings {
  readonly workflow: string;
  readonly inputs: Readonly<Record<string, readonly Target[] | SizeTargets>> & { readonly prompt?: readonly Target[] };
  readonly outputs?: readonly { readonly node: string; readonly prefix?: string }[];
}

export function isSize(mapping: readonly Target[] | SizeTargets): mapping is SizeTargets {
  return 'width' in mapping;
}
