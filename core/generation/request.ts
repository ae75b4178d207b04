import { fieldInvalid, NOT_BLANK, readBody, type Wording } from '../fields.js';
import { escapePointerToken, type Json, type JsonObject } from '../json.js';
import type { Ports } from '../ports/tokens.js';
import type { Operation } from './generation.js';

export const MAX_REFERENCE_UPLOADS = 8;

/** The body of create and estimate. What a model itself accepts is checked later, against the catalog. */
export const GENERATION_REQUEST_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['model_key', 'operation', 'prompt'],
  properties: {
    model_key: {
      type: 'string',
      minLength: 1,
      maxLength: 128,
      description: 'Exact key of a model in the catalog.',
    },
    operation: {
      type: 'string',
      enum: ['image_generation', 'video_generation'],
      description: 'Operation; the model must support it.',
    },
    prompt: {
      type: 'string',
      minLength: 1,
      maxLength: 8000,
      pattern: NOT_BLANK,
      description: 'Prompt, not only white space. Lengths count Unicode code points.',
    },
    negative_prompt: {
      type: 'string',
      maxLength: 8000,
      description: 'Negative prompt, for models that support it.',
    },
    parameters: { type: 'object', description: "Parameters, as the model's input_schema describes them." },
    reference_upload_ids: {
      type: 'array',
      maxItems: MAX_REFERENCE_UPLOADS,
      items: { type: 'string', format: 'uuid' },
      description:
        'Ids of completed uploads, without repetition. Transparent areas of a reference image are generated anew; a model without masks refuses it.',
    },
    client_trace_id: {
      type: 'string',
      maxLength: 128,
      pattern: '^[A-Za-z0-9._:-]+$',
      description: 'Trace id of your choice, returned with the task.',
    },
  },
} as const satisfies JsonObject;

const WORDING = {
  '/client_trace_id': 'client_trace_id must be 1 to 128 characters of A-Z, a-z, 0-9 and . _ : - alone.',
} as const;

export interface GenerationRequest {
  /** The body without null fields: what the digest under an idempotency key is of. */
  readonly content: JsonObject;
  readonly modelKey: string;
  readonly operation: Operation;
  readonly prompt: string;
  readonly negativePrompt?: string;
  readonly parameters: JsonObject;
  readonly referenceUploadIds: readonly string[];
  readonly clientTraceId?: string;
  /** Sent beside the body. */
  readonly webhookUrl?: string;
}

interface Body {
  model_key: string;
  operation: Operation;
  prompt: string;
  negative_prompt?: string;
  parameters?: JsonObject;
  reference_upload_ids?: string[];
  client_trace_id?: string;
}

/** The catalog is for hints in refusals alone. */
type RequestPorts = Pick<Ports, 'jsonSchemas'> & Partial<Pick<Ports, 'catalog'>>;

/**
 * What is said of fields that need words of their own: of an unknown one that is a parameter of the model that was asked
 * for, too.
 */
export function requestWording(ports: RequestPorts, body: Json): Wording {
  return { ...WORDING, ...misplacedParameters(ports, body) };
}

function misplacedParameters({ catalog }: RequestPorts, body: Json): Wording {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return {};
  const modelKey = body['model_key'];
  if (typeof modelKey !== 'string') return {};
  const misplaced = Object.keys(catalog?.find(modelKey)?.inputSchema['properties'] ?? {}).filter(
    (name) => Object.hasOwn(body, name) && !Object.hasOwn(GENERATION_REQUEST_SCHEMA.properties, name),
  );
  return Object.fromEntries(
    misplaced.map((name) => [
      `/${escapePointerToken(name)}`,
      `${name} is not a field; it is a parameter of ${modelKey}: send it in parameters.`,
    ]),
  );
}

/** Reads the body, or throws FIELD_REQUIRED or FIELD_INVALID for the first thing wrong with it. */
export function readGenerationRequest(ports: RequestPorts, body: Json): GenerationRequest {
  const fields = readBody<Body>(ports, GENERATION_REQUEST_SCHEMA, body, requestWording(ports, body));
  const ids = (fields.reference_upload_ids ?? []).map((id) => id.toLowerCase());
  ids.forEach((id, index) => {
    if (ids.indexOf(id) !== index)
      throw fieldInvalid(`/reference_upload_ids/${index}`, 'reference_upload_ids must not name an upload twice.');
  });
  return {
    content: fields,
    modelKey: fields.model_key,
    operation: fields.operation,
    prompt: fields.prompt,
    ...(fields.negative_prompt === undefined ? {} : { negativePrompt: fields.negative_prompt }),
    parameters: fields.parameters ?? {},
    referenceUploadIds: ids,
    ...(fields.client_trace_id === undefined ? {} : { clientTraceId: fields.client_trace_id }),
  };
}
