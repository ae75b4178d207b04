import { PROVIDER_ERRORS } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';
import { OUTPUT_PROPERTIES, POINTER } from '../shared/output-settings.js';
import { FIELD_RULES_SCHEMA } from '../shared/request-fields.js';

export const STATES = ['queued', 'running', 'succeeded', 'failed', 'cancelled', 'unknown'] as const;

/** The pattern of ids without an `id_pattern`: one segment of a path. */
export const DEFAULT_ID_PATTERN = '[A-Za-z0-9._:-]{1,200}';

const PATH: JsonObject = { type: 'string', minLength: 1, maxLength: 500 };
const HEADER_NAME = '^[A-Za-z0-9-]{1,64}$';
const SCALARS: JsonObject = {
  type: 'array',
  maxItems: 50,
  items: { type: ['string', 'integer', 'boolean'], maxLength: 100 },
  default: [],
};
const STATE_WORDS: JsonObject = {
  ...SCALARS,
  items: { type: ['string', 'integer', 'boolean', 'null'], maxLength: 100 },
};
const ID_PATTERN: JsonObject = { type: 'string', minLength: 1, maxLength: 200, default: DEFAULT_ID_PATTERN };
const POINTERS: JsonObject = { ...POINTER, type: ['string', 'array'], maxItems: 8, items: POINTER };

/** A route of the API, or the JSON Pointer to its address in an answer. */
const ROUTE: JsonObject = { path: PATH, address: POINTER };

const MEANING: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['code'],
  properties: {
    code: {
      type: 'string',
      enum: [...PROVIDER_ERRORS],
    },
    because: { type: 'string', enum: ['capacity', 'not-here'] },
    may_retry: { type: 'boolean', default: true },
  },
};

const SUBMIT: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['path', 'body', 'id'],
  properties: {
    method: { type: 'string', enum: ['POST', 'PUT'], default: 'POST' },
    path: PATH,
    body: { type: 'object' },
    id: POINTER,
    id_pattern: ID_PATTERN,
    idempotency_header: { type: 'string', pattern: HEADER_NAME },
    takes_token_once: { type: 'boolean', default: false },
    seen_before: answersOf(400, 499),
    refused: answersOf(500, 599),
    error_in_success: { type: 'boolean', default: false },
  },
};

const POLL: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['state', 'states'],
  properties: {
    ...ROUTE,
    id: POINTER,
    state: POINTER,
    states: {
      type: 'object',
      additionalProperties: false,
      properties: Object.fromEntries(STATES.map((state) => [state, STATE_WORDS])),
    },
    failed_if: { ...POINTERS, default: [] },
    progress: POINTER,
    progress_maximum: { type: 'number', exclusiveMinimum: 0, maximum: 1_000_000, default: 1 },
    unknown_status: statuses(404),
  },
};

/** The JSON Schema of a model's `provider_settings`; `mappingFault` says what it cannot. */
export const SETTINGS_SCHEMA: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['submit', 'poll', 'output'],
  properties: {
    headers: {
      type: 'object',
      maxProperties: 20,
      propertyNames: { pattern: HEADER_NAME },
      additionalProperties: { type: 'string', pattern: '^[\\x20-\\x7e]{1,500}$' },
      default: {},
    },
    submit: SUBMIT,
    parameters: { ...FIELD_RULES_SCHEMA, default: {} },
    files_as: { type: 'string', enum: ['data-url', 'base64'], default: 'data-url' },
    poll: POLL,
    result: {
      type: 'object',
      additionalProperties: false,
      properties: { ...ROUTE, id: POINTER, id_pattern: ID_PATTERN },
    },
    output: {
      type: 'object',
      additionalProperties: false,
      required: ['media_type', 'at'],
      properties: {
        ...OUTPUT_PROPERTIES,
        as: { type: 'string', enum: ['address', 'base64'], default: 'address' },
        sends_key: { type: 'boolean', default: false },
        withheld: { ...POINTERS, default: [] },
      },
    },
    cancel: {
      type: 'object',
      additionalProperties: false,
      required: ['stops'],
      properties: {
        ...ROUTE,
        method: { type: 'string', enum: ['POST', 'PUT', 'DELETE'], default: 'POST' },
        stops: { type: 'string', enum: ['queued', 'running'] },
        only_in: { type: 'array', minItems: 1, maxItems: 2, items: { type: 'string', enum: ['queued', 'running'] } },
        ended_status: statuses(404, 409, 410, 422),
      },
    },
    recover: {
      type: 'object',
      additionalProperties: false,
      required: ['path', 'id'],
      properties: { path: PATH, found: POINTER, id: POINTER, token: POINTER, missing_status: statuses() },
    },
    errors: {
      type: 'object',
      additionalProperties: false,
      default: {},
      properties: {
        code: { ...POINTERS, default: [] },
        codes: { type: 'object', maxProperties: 200, additionalProperties: MEANING, default: {} },
        success_codes: SCALARS,
        cancelled_codes: SCALARS,
        message: { ...POINTERS, default: [] },
        messages: {
          type: 'array',
          maxItems: 50,
          items: {
            ...MEANING,
            required: ['code', 'contains'],
            properties: {
              ...(MEANING['properties'] as JsonObject),
              contains: { type: 'string', minLength: 3, maxLength: 200 },
            },
          },
          default: [],
        },
        statuses: {
          type: 'object',
          propertyNames: { pattern: '^[45]\\d\\d$' },
          additionalProperties: MEANING,
          default: {},
        },
      },
    },
    cost: {
      type: 'object',
      additionalProperties: false,
      default: {},
      properties: {
        seconds: POINTER,
        input_tokens: POINTER,
        output_tokens: POINTER,
        money: POINTER,
        currency: { type: 'string', pattern: '^[A-Z]{3}$' },
      },
    },
    settle_seconds: { type: 'number', minimum: 1, maximum: 3_600, default: 60 },
    keeps_results_seconds: { type: 'integer', minimum: 1, maximum: 31_536_000 },
    is_paid: { type: 'boolean', default: true },
    check_path: PATH,
    check_status: statuses(),
  },
};

function statuses(...byDefault: readonly number[]): JsonObject {
  return {
    type: 'array',
    maxItems: 20,
    items: { type: 'integer', minimum: 400, maximum: 499 },
    default: [...byDefault],
  };
}

/** Answers to a submission, by their status and the code of their error. */
function answersOf(minimum: number, maximum: number): JsonObject {
  return {
    type: 'array',
    maxItems: 20,
    default: [],
    items: {
      type: 'object',
      additionalProperties: false,
      required: ['status'],
      properties: {
        status: { type: 'integer', minimum, maximum },
        code: { type: 'string', minLength: 1, maxLength: 100 },
      },
    },
  };
}
