import type { JsonObject } from '../../../core/json.js';
import type { ImportOptions, RecordedModel } from '../../../adapters/model-import/proposal.js';

/** Small answers of vendors, written after the shapes that their APIs have. */

export const OPTIONS: ImportOptions = { all: false, set: {}, dollarCredits: 100, markup: 1.3, today: '2026-11-28' };

const FILE: JsonObject = {
  type: 'object',
  properties: { url: { type: 'string' }, content_type: { type: 'string', default: 'image/jpeg' } },
  required: ['url'],
};

/** The answer of fal about one model. `output` is by the names of its members. */
export function falAnswer(
  id: string,
  input: JsonObject,
  {
    category = 'text-to-image',
    output = { images: { type: 'array', items: FILE } },
    more = {},
  }: {
    readonly category?: string;
    readonly output?: JsonObject;
    /** Further components. */
    readonly more?: JsonObject;
  } = {},
): JsonObject {
  const ref = (name: string) => ({
    content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } },
  });
  const openapi = {
    openapi: '3.0.4',
    components: { schemas: { TaskInput: input, TaskOutput: { type: 'object', properties: output }, ...more } },
    paths: {
      [`/${id}`]: { post: { requestBody: ref('TaskInput') } },
      [`/${id}/requests/{request_id}/status`]: { get: { responses: { '200': ref('Status') } } },
      [`/${id}/requests/{request_id}`]: { get: { responses: { '200': ref('TaskOutput') } } },
    },
  };
  const metadata = { display_name: 'Painter One', category, description: 'Paints quickly.', status: 'active' };
  return { models: [{ endpoint_id: id, metadata, openapi }], has_more: false };
}

export const VIDEO_FILE: JsonObject = {
  video: { allOf: [{ type: 'object', properties: { url: { type: 'string' } } }] },
};

const IMAGE_SIZE: JsonObject = {
  type: 'object',
  properties: {
    width: { type: 'integer', maximum: 14_142, exclusiveMinimum: 0, default: 512 },
    height: { type: 'integer', maximum: 14_142, exclusiveMinimum: 0, default: 512 },
  },
};

export const FAL_SIZE: JsonObject = {
  anyOf: [{ $ref: '#/components/schemas/Size' }, { type: 'string', enum: ['square_hd', 'square', 'landscape_4_3'] }],
  default: 'landscape_4_3',
};

/** A text-to-image model as fal describes its own. */
export const PAINTER: RecordedModel = {
  vendor: 'fal',
  id: 'fal-ai/painter/one',
  document: falAnswer(
    'fal-ai/painter/one',
    {
      'type': 'object',
      'properties': {
        seed: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
        prompt: { type: 'string', description: 'What to paint.' },
        num_images: { type: 'integer', minimum: 1, maximum: 4, default: 1 },
        image_size: FAL_SIZE,
        output_format: { type: 'string', enum: ['jpeg', 'png'], default: 'jpeg' },
        sync_mode: { type: 'boolean', default: false },
        enable_safety_checker: { type: 'boolean', default: true },
        num_inference_steps: { type: 'integer', minimum: 1, maximum: 12, default: 4 },
      },
      'required': ['prompt'],
      'x-fal-order-properties': ['prompt', 'image_size', 'num_images', 'seed'],
    },
    {
      output: {
        images: { type: 'array', items: { $ref: '#/components/schemas/Picture' } },
        has_nsfw_concepts: { type: 'array', items: { type: 'boolean' } },
      },
      more: { Size: IMAGE_SIZE, Picture: FILE },
    },
  ),
  price: { unitPrice: '0.003', unit: 'megapixels', currency: 'USD' },
};
