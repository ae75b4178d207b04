import type { JsonObject } from '../../../core/json.js';
import { JSON_TYPE } from '../host/send.js';
import { serveText } from '../host/pages.js';
import type { HttpRoute } from '../host/server.js';
import { API_ERRORS } from './errors.js';
import { API_BASE, type Endpoint } from './operation.js';

/** The route of the OpenAPI document. It is the same for everybody, and needs no key. */
export function documentRoute(endpoints: readonly Endpoint[], basePath: string): HttpRoute {
  const text = JSON.stringify(openAiDocument(endpoints, basePath));
  return serveText('/openapi.json', { 'Content-Type': JSON_TYPE, 'Cache-Control': 'no-cache' }, text);
}

/** The OpenAPI 3.1 document of the endpoints that are described here. `basePath` is the path of the public URL. */
export function openAiDocument(endpoints: readonly Endpoint[], basePath = ''): JsonObject {
  const paths: Record<string, JsonObject> = {};
  for (const endpoint of endpoints) {
    const described = OPERATIONS[nameOf(endpoint)];
    if (described === undefined) continue;
    const path = endpoint.path.replaceAll(/:(\w+)|\{\*(\w+)\}/g, '{$1$2}');
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: operationOf(endpoint, path, described) };
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Darkroom for OpenAI clients',
      version: '1',
      description: 'Images and videos as clients of OpenAI request them, priced and charged in credits.',
    },
    servers: [{ url: basePath + API_BASE }],
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: 'An API key of the account.' } },
      schemas: SCHEMAS,
    },
  };
}

export function nameOf({ method, path }: Pick<Endpoint, 'method' | 'path'>): string {
  return `${method} ${path}`;
}

interface Described {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** The bodies that it takes, by media type. */
  readonly body?: Readonly<Record<string, JsonObject>>;
  /** A body that works with the catalog of the package; of a file, its name. */
  readonly example?: JsonObject;
  readonly query?: Readonly<Record<string, JsonObject>>;
  /** The bodies of a success, by media type. */
  readonly answer: Readonly<Record<string, JsonObject>>;
}

function operationOf(
  { scope }: Endpoint,
  path: string,
  { operationId, summary, description, body, example, query = {}, answer }: Described,
): JsonObject {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => parameter(name, 'path', { type: 'string' }));
  const inQuery = Object.entries(query).map(([name, schema]) => parameter(name, 'query', schema));
  const key = parameter('Idempotency-Key', 'header', { type: 'string', minLength: 1, maxLength: 255 });
  return {
    operationId,
    summary,
    description: [description, scope === undefined ? 'Any valid key.' : `Scope: ${scope}.`]
      .filter((text) => text !== undefined)
      .join(' '),
    parameters: [...inPath, ...inQuery, ...(body === undefined ? [] : [key])],
    ...(body === undefined ? {} : { requestBody: { required: true, content: contentOf(body, example) } }),
    responses: {
      200: { description: 'Success.', content: contentOf(answer) },
      default: {
        description: 'The status and the code say what is wrong.',
        content: contentOf({ 'application/json': ref('Error') }),
      },
    },
  };
}

function parameter(name: string, place: 'path' | 'query' | 'header', schema: JsonObject): JsonObject {
  const examples = { 'model': EXAMPLE.model, 'Idempotency-Key': 'order-1' } as Readonly<Record<string, string>>;
  const example = examples[name];
  return { name, in: place, required: place === 'path', ...(example === undefined ? {} : { example }), schema };
}

function contentOf(bodies: Readonly<Record<string, JsonObject>>, example?: JsonObject): JsonObject {
  const contents = Object.entries(bodies).map(([mediaType, schema]) => [
    mediaType,
    { schema, ...(example === undefined ? {} : { example }) },
  ]);
  return Object.fromEntries(contents) as JsonObject;
}

function ref(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}

const json = (name: string): Described['answer'] => ({ 'application/json': ref(name) });
const PICTURES: Described['answer'] = { ...json('Images'), 'text/event-stream': { type: 'string' } };

const EXAMPLE = { model: 'sandbox-image', prompt: 'a lighthouse at dusk' } as const satisfies JsonObject;

/** By method and path, as the endpoints have them. */
export const OPERATIONS: Readonly<Record<string, Described>> = {
  'POST /images/generations': {
    operationId: 'createImage',
    summary: 'Create images',
    description: 'The response has the images. With `stream` it is a stream of events.',
    body: json('ImageRequest'),
    example: EXAMPLE,
    answer: PICTURES,
  },
  'POST /images/edits': {
    operationId: 'createImageEdit',
    summary: 'Edit images',
    description: 'Creates images from others.',
    body: { 'multipart/form-data': ref('ImageEditRequest') },
    example: { model: EXAMPLE.model, prompt: 'the same by night', image: 'lighthouse.png' },
    answer: PICTURES,
  },
  'POST /videos': {
    operationId: 'createVideo',
    summary: 'Create a video',
    description: 'Responds at once: request the video until its status is completed or failed.',
    body: { ...json('VideoRequest'), 'multipart/form-data': ref('VideoRequest') },
    example: { model: 'sandbox-video', prompt: EXAMPLE.prompt },
    answer: json('Video'),
  },
  'GET /videos': {
    operationId: 'listVideos',
    summary: 'List the videos of the App',
    query: {
      limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
      order: { type: 'string', enum: ['asc', 'desc'], default: 'desc' },
      after: { type: 'string' },
    },
    answer: json('VideoList'),
  },
  'GET /videos/:video_id': { operationId: 'getVideo', summary: 'Get a video', answer: json('Video') },
  'GET /videos/:video_id/content': {
    operationId: 'getVideoContent',
    summary: 'Download a video',
    description: 'The file of a completed video, or the part that a Range header names.',
    query: { variant: { type: 'string', enum: ['video'], default: 'video' } },
    answer: { 'video/mp4': { type: 'string', format: 'binary' } },
  },
  'DELETE /videos/:video_id': {
    operationId: 'deleteVideo',
    summary: 'Delete a video',
    description: 'A video that has not ended is cancelled first.',
    answer: json('DeletedVideo'),
  },
  'GET /models': { operationId: 'listModels', summary: 'List the models', answer: json('ModelList') },
  'GET /models/{*model}': { operationId: 'getModel', summary: 'Get a model', answer: json('Model') },
};

const STRING: JsonObject = { type: 'string' };
const SECONDS: JsonObject = { type: 'integer', description: 'Seconds since 1970.' };
const FILE: JsonObject = { type: 'string', format: 'binary' };
const OR_NULL: JsonObject = { type: ['string', 'null'] };

function object(properties: JsonObject, required: readonly string[] = Object.keys(properties)): JsonObject {
  return { type: 'object', required: [...required], properties };
}

/** Also the parameters of the model's input_schema, which differ from model to model. */
function request(properties: JsonObject, required: readonly string[]): JsonObject {
  const note = 'Parameters of the model can be sent too; see its input_schema. Other fields are refused.';
  return { ...object(properties, required), description: note };
}

const SHARED: JsonObject = {
  model: { type: 'string', description: 'A model_key.' },
  prompt: STRING,
  negative_prompt: STRING,
  size: {
    type: 'string',
    description:
      'One of the sizes of the model, or auto. Where an aspect ratio and a resolution give the size, an exact size selects both.',
  },
  user: { type: 'string', description: 'The end user. It is stored as a hash.' },
  safety_identifier: { type: 'string', description: 'The same; used in place of user.' },
};
const IMAGE_FIELDS: JsonObject = {
  ...SHARED,
  n: { type: 'integer', minimum: 1, default: 1 },
  response_format: { type: 'string', enum: ['b64_json', 'url'], default: 'b64_json' },
  output_format: { type: 'string', description: 'A file format of the model.' },
  stream: { type: 'boolean', default: false },
};

const DARKROOM = object({
  generation_id: { type: 'string', format: 'uuid' },
  charged_credits: { type: 'integer', minimum: 0 },
});
const ERROR = object({
  message: STRING,
  type: { type: 'string', enum: [...new Set(API_ERRORS.map(({ type }) => type))].sort() },
  param: OR_NULL,
  code: { type: 'string', enum: [...new Set(API_ERRORS.map(({ code }) => code))].sort() },
});
const VIDEO = object({
  id: STRING,
  object: { const: 'video' },
  created_at: SECONDS,
  status: { type: 'string', enum: ['queued', 'in_progress', 'completed', 'failed'] },
  model: STRING,
  progress: { type: 'integer', minimum: 0, maximum: 100 },
  prompt: OR_NULL,
  seconds: OR_NULL,
  size: OR_NULL,
  completed_at: { type: ['integer', 'null'] },
  expires_at: { type: ['integer', 'null'] },
  error: { anyOf: [ERROR, { type: 'null' }] },
  remixed_from_video_id: { type: 'null' },
  darkroom: DARKROOM,
});
const MODEL = object({ id: STRING, object: { const: 'model' }, created: SECONDS, owned_by: STRING });

const SCHEMAS: JsonObject = {
  ImageRequest: request(IMAGE_FIELDS, ['model', 'prompt']),
  ImageEditRequest: request(
    { ...IMAGE_FIELDS, 'image': FILE, 'image[]': { type: 'array', items: FILE }, 'mask': FILE },
    ['model', 'prompt'],
  ),
  Images: object(
    {
      created: SECONDS,
      data: { type: 'array', items: object({ b64_json: STRING, url: STRING }, []) },
      size: STRING,
      usage: { type: 'object', description: 'Always zero: tokens are not a unit of this service.' },
      darkroom: DARKROOM,
    },
    ['created', 'data', 'usage', 'darkroom'],
  ),
  VideoRequest: request(
    {
      ...SHARED,
      seconds: { type: ['string', 'integer'], description: 'The duration.' },
      input_reference: {
        description: 'In a form, a picture; in JSON, an object with an image_url of the scheme data.',
      },
    },
    ['model', 'prompt'],
  ),
  Video: VIDEO,
  VideoList: object({
    object: { const: 'list' },
    data: { type: 'array', items: ref('Video') },
    first_id: OR_NULL,
    last_id: OR_NULL,
    has_more: { type: 'boolean' },
  }),
  DeletedVideo: object({ id: STRING, object: { const: 'video.deleted' }, deleted: { const: true } }),
  Model: MODEL,
  ModelList: object({ object: { const: 'list' }, data: { type: 'array', items: ref('Model') } }),
  Error: object({ error: ERROR }),
};
