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

export const URI: JsonObject = { type: 'string', format: 'uri' };

/** The answer of Replicate about a model: enums are components, and official models have a version, too. */
export function replicateAnswer(
  id: string,
  input: JsonObject,
  {
    output = URI,
    enums = {},
    isOfficial = true,
  }: { readonly output?: JsonObject; readonly enums?: JsonObject; readonly isOfficial?: boolean } = {},
): JsonObject {
  const [owner = '', name = ''] = id.split('/');
  const schemas = {
    Input: { type: 'object', title: 'Input', ...input },
    Output: { title: 'Output', ...output },
    ...enums,
  };
  return {
    owner,
    name,
    description: 'Makes pictures and more.',
    is_official: isOfficial,
    latest_version: { id: '5c7d'.repeat(16), openapi_schema: { openapi: '3.0.2', components: { schemas } } },
  };
}

/** A model at Replicate that makes pictures from words and up to four pictures. */
export const EDITOR: RecordedModel = {
  vendor: 'replicate',
  id: 'studio/editor-2',
  document: replicateAnswer(
    'studio/editor-2',
    {
      properties: {
        seed: { 'type': 'integer', 'nullable': true, 'x-order': 3 },
        prompt: { 'type': 'string', 'x-order': 0 },
        aspect_ratio: {
          'allOf': [{ $ref: '#/components/schemas/aspect_ratio' }],
          'default': 'match_input_image',
          'x-order': 1,
        },
        image_input: {
          'type': 'array',
          'items': URI,
          'default': [],
          'description': 'Up to 4 images to edit.',
          'x-order': 2,
        },
        image: { ...URI, deprecated: true },
        output_format: { allOf: [{ $ref: '#/components/schemas/output_format' }], default: 'webp' },
        disable_safety_checker: { type: 'boolean', default: true },
        safety_tolerance: { type: 'integer', minimum: 1, maximum: 6, default: 2 },
      },
      required: ['prompt'],
    },
    {
      enums: {
        aspect_ratio: {
          type: 'string',
          description: 'An enumeration.',
          enum: ['match_input_image', '1:1', '16:9', 'custom'],
        },
        output_format: { type: 'string', enum: ['webp', 'jpg', 'png', 'gif'] },
      },
    },
  ),
};

/** A model at fal that makes a video from its first frame, and counts in frames. */
export const ANIMATOR: RecordedModel = {
  vendor: 'fal',
  id: 'studio/animator/v2/image-to-video',
  document: falAnswer(
    'studio/animator/v2/image-to-video',
    {
      type: 'object',
      properties: {
        prompt: { type: 'string', maxLength: 2_000 },
        negative_prompt: { type: 'string', default: 'blurry' },
        image_url: { 'type': 'string', 'description': 'The first frame.', 'x-fal': { max_file_size: 5_000_000 } },
        tail_image_url: { anyOf: [{ type: 'string' }, { type: 'null' }] },
        num_frames: { type: 'integer', minimum: 17, maximum: 161, default: 81 },
        frames_per_second: { type: 'integer', minimum: 4, maximum: 60, default: 16 },
        resolution: { type: 'string', enum: ['480p', '720p'], default: '720p', description: '720p costs 2x more.' },
        generate_audio: { type: 'boolean', default: true },
        loras: { type: 'array', items: { type: 'object' }, default: [] },
      },
      required: ['prompt', 'image_url', 'loras'],
    },
    { category: 'image-to-video', output: { ...VIDEO_FILE, frames_zip: FILE } },
  ),
  price: { unitPrice: '0.05', unit: 'seconds', currency: 'USD' },
};

/** A container of Cog that takes a picture apart, without a prompt. */
export const UPSCALER: RecordedModel = {
  vendor: 'cog',
  id: 'http://127.0.0.1:5000',
  document: {
    openapi: '3.0.2',
    components: {
      schemas: {
        Input: {
          type: 'object',
          required: ['image'],
          properties: {
            image: { ...URI, description: 'The picture.' },
            mask: { ...URI, description: 'Black areas are kept, white areas are inpainted.' },
            scale: { type: 'number', exclusiveMinimum: 0, maximum: 10, default: 4 },
          },
        },
        Output: { type: 'array', items: URI },
      },
    },
  },
};

export const GPT: RecordedModel = {
  vendor: 'openai',
  id: 'gpt-image-9',
  document: { id: 'gpt-image-9', object: 'model', created: 1_790_000_000, owned_by: 'openai', shutdown_date: null },
};

export const ANSWERS: readonly RecordedModel[] = [PAINTER, EDITOR, ANIMATOR, UPSCALER, GPT];

/** The answer of the smallest container of Cog: a prompt gives one file. */
export const CONTAINER: JsonObject = {
  openapi: '3.0.2',
  components: {
    schemas: {
      Input: { type: 'object', properties: { prompt: { type: 'string' } }, required: ['prompt'] },
      Output: { type: 'string', format: 'uri' },
    },
  },
};
