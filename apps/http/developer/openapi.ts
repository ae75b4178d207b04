import { fileURLToPath } from 'node:url';
import { type ErrorCode, ERRORS } from '../../../core/errors.js';
import type { Json, JsonObject } from '../../../core/json.js';
import type { Settings } from '../../../core/settings.js';
import { messageOf } from '../../service-errors.js';
import { HTTP_MESSAGES, INVALID_CREDENTIAL, STATUSES } from '../host/errors.js';
import { BuiltFiles } from '../host/built-files.js';
import { serveText } from '../host/pages.js';
import { JSON_TYPE } from '../host/send.js';
import type { HttpRoute, RoutedContext } from '../host/server.js';
import { pageRoute } from '../pages/page.js';
import { EXAMPLE_REQUEST } from './generations.js';
import { BASE, type RequestBody, type Route } from './operation.js';
import { ROUTES } from './routes.js';

/**
 * The OpenAPI 3.1 document of the routes, built from the very schemas that requests are checked against and the
 * installation's limits. `basePath` is the path of the public URL.
 */
export function openApiDocument(routes: readonly Route[], settings: Settings, basePath = ''): JsonObject {
  const paths: Record<string, JsonObject> = {};
  for (const route of routes) {
    const path = openApiPath(BASE + route.path);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, routes) };
  }
  return {
    openapi: '3.1.1',
    info: { title: 'Darkroom', version: '1', description: 'Asynchronous image and video generation, paid in credits.' },
    servers: [{ url: basePath === '' ? '/' : basePath }],
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: SECURITY,
      headers: HEADERS,
      parameters: PARAMETERS,
      schemas: schemasOf(routes, settings),
    },
  };
}

function openApiPath(path: string): string {
  return path.replaceAll(/:([a-z_]+)/g, '{$1}');
}

function operationOf(route: Route, routes: readonly Route[]): JsonObject {
  const { operation } = route;
  const { body } = operation;
  const isProtected = route.scope !== undefined;
  return {
    operationId: operation.operationId,
    tags: [tagOf(route)],
    summary: operation.summary,
    description: [operation.description, isProtected ? `Scope: ${route.scope}.` : undefined]
      .filter((text) => text !== undefined)
      .join(' '),
    ...(isProtected ? {} : { security: [] }),
    parameters: parametersOf(route),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: body.required,
            content: {
              'application/json': {
                schema: { $ref: `#/components/schemas/${body.schemaName}` },
                example: body.example,
              },
            },
          },
        }),
    responses: responsesOf(route, routes),
  };
}

/** The resource a path is about: its first word. */
function tagOf({ path }: Route): string {
  return path.split('/')[1] ?? 'other';
}

function parametersOf(route: Route): JsonObject[] {
  const inPath = [...route.path.matchAll(/:([a-z_]+)/g)].map(([, name = '']): JsonObject => ({
    name,
    in: 'path',
    required: true,
    ...(name === 'model_key' ? { example: EXAMPLE_REQUEST.model_key } : {}),
    schema: { type: 'string', ...(name.endsWith('_id') && name !== 'webhook_id' ? { format: 'uuid' } : {}) },
  }));
  const headers =
    route.scope === undefined ? ['RequestId'] : [...(route.operation.headers ?? []), 'RequestId', 'AppId'];
  const inQuery = Object.entries(route.operation.query ?? {}).map(
    ([name, { description, example, ...schema }]): JsonObject => ({
      name,
      in: 'query',
      required: false,
      description,
      ...(example === undefined ? {} : { example }),
      schema,
    }),
  );
  return [...inPath, ...inQuery, ...headers.map((name) => ({ $ref: `#/components/parameters/${name}` }))];
}

const OUR_FAULTS: readonly ErrorCode[] = ['SERVICE_UNAVAILABLE', 'INTERNAL_ERROR'];
const CREDENTIAL: readonly ErrorCode[] = [
  'DEVELOPER_TOKEN_REQUIRED',
  ...INVALID_CREDENTIAL,
  'RATE_LIMITED',
  'DEVELOPER_SCOPE_INSUFFICIENT',
];
const KEY: readonly ErrorCode[] = ['IDEMPOTENCY_KEY_REQUIRED', 'IDEMPOTENCY_KEY_INVALID'];
const BODY: readonly ErrorCode[] = ['BODY_TOO_LARGE', 'REQUEST_TIMEOUT', 'MEDIA_TYPE_UNSUPPORTED', 'BODY_INVALID'];
/** A body that is sent to an operation without one is still read, and must be empty. */
const NO_BODY: readonly ErrorCode[] = [...BODY, 'FIELD_INVALID'];

/** Every code a route can answer with: those of its checks, then those of its use case. */
export function errorCodesOf(route: Route): readonly ErrorCode[] {
  if (route.scope === undefined) return [...NO_BODY, ...route.operation.errors, ...OUR_FAULTS];
  return [
    ...CREDENTIAL,
    ...(route.operation.headers?.includes('IdempotencyKey') === true ? KEY : []),
    ...(route.operation.body ? BODY : NO_BODY),
    ...route.operation.errors,
    ...OUR_FAULTS,
  ];
}

/** Links from the ids of a created resource: a tool that follows them reaches every operation on it. */
export function linksOf(route: Route, routes: readonly Route[]): JsonObject {
  if (route.method !== 'POST' || idsIn(route).length > 0) return {};
  const created = Object.keys((route.operation.data['properties'] ?? {}) as JsonObject);
  const reached = routes.filter((other) => idsIn(other).length > 0 && idsIn(other).every((id) => created.includes(id)));
  return Object.fromEntries(
    reached.map((other) => [
      other.operation.operationId,
      {
        operationId: other.operation.operationId,
        parameters: Object.fromEntries(idsIn(other).map((id) => [id, `$response.body#/data/${id}`])),
      },
    ]),
  );
}

function idsIn({ path }: Route): string[] {
  return [...path.matchAll(/:(\w+_id)/g)].map(([, name = '']) => name);
}

const REQUEST_ID_HEADER: JsonObject = { 'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' } };

/** The responses of one route: its success, and one entry a status for everything it can refuse with. */
function responsesOf(route: Route, routes: readonly Route[]): JsonObject {
  const codesByStatus = new Map<number, ErrorCode[]>();
  for (const code of errorCodesOf(route)) {
    const status = STATUSES[code];
    codesByStatus.set(status, [...(codesByStatus.get(status) ?? []), code]);
  }
  const responses: JsonObject = { [route.operation.status]: success(route, linksOf(route, routes)) };
  if (route.operation.mediaType === 'text/event-stream')
    responses['204'] = { description: 'The client has received the last event.' };
  if (route.scope === undefined) responses['304'] = { description: 'Not modified since the ETag that was sent.' };
  for (const [status, codes] of [...codesByStatus].toSorted(([a], [b]) => a - b))
    responses[status] = refusal(status, codes);
  return responses;
}

function success(route: Route, links: JsonObject): JsonObject {
  const { operation } = route;
  const ownHeaders = operation.responseHeaders?.map((name) => [name, { $ref: `#/components/headers/${name}` }]) ?? [];
  return {
    description: 'Success.',
    headers: { ...REQUEST_ID_HEADER, ...Object.fromEntries(ownHeaders) },
    ...(Object.keys(links).length === 0 ? {} : { links }),
    content: {
      ...contentOf(operation),
      ...(operation.otherMediaType === undefined ? {} : { [operation.otherMediaType]: { schema: { type: 'string' } } }),
    },
  };
}

function contentOf({ data, mediaType }: Route['operation']): JsonObject {
  // There is no schema for a stream of events; that of an event's data is among the components.
  if (mediaType !== undefined) return { [mediaType]: { schema: { type: 'string' } } };
  return {
    'application/json': {
      schema: {
        type: 'object',
        required: ['success', 'code', 'message', 'request_id', 'data'],
        properties: {
          success: { const: true },
          code: { const: 'OK' },
          message: { type: 'string' },
          request_id: { type: 'string' },
          data: { $ref: `#/components/schemas/${data.title}` },
        },
      },
    },
  };
}

function refusal(status: number, codes: readonly ErrorCode[]): JsonObject {
  const mayWait = status === 429 || status === 503 || status === 409;
  return {
    description: codes.map((code) => `${code}: ${messageOf({ code, ...ERRORS[code] }, HTTP_MESSAGES)}`).join('\n\n'),
    headers: {
      ...REQUEST_ID_HEADER,
      ...(status === 402
        ? { 'Darkroom-Credits-Available': { $ref: '#/components/headers/Darkroom-Credits-Available' } }
        : {}),
      ...(mayWait ? { 'Retry-After': { $ref: '#/components/headers/Retry-After' } } : {}),
    },
    content: {
      'application/json': {
        schema: {
          allOf: [{ $ref: '#/components/schemas/Error' }],
          properties: { code: { enum: [...codes] } },
        },
      },
    },
  };
}

function schemasOf(routes: readonly Route[], settings: Settings): JsonObject {
  const schemas: JsonObject = { Error: ERROR_SCHEMA };
  for (const { operation } of routes) {
    schemas[operation.data.title] = operation.data;
    if (operation.body) schemas[operation.body.schemaName] = requestSchema(operation.body, settings);
  }
  return schemas;
}

/** The schema of a request body for clients: with the limits of this installation, and null wherever a field is optional. */
function requestSchema({ schema, limited }: RequestBody, settings: Settings): JsonObject {
  const shown = limited?.(settings) ?? schema;
  const required = shown['required'] as readonly string[] | undefined;
  const properties = Object.entries(shown['properties'] as JsonObject).map(([name, property]): [string, Json] => [
    name,
    required?.includes(name) === true ? property : orNull(property as JsonObject),
  ]);
  return { ...shown, properties: Object.fromEntries(properties) };
}

function orNull(property: JsonObject): JsonObject {
  return { ...property, type: [property['type'] as string, 'null'] };
}

const SECURITY: JsonObject = { bearer: { type: 'http', scheme: 'bearer', description: 'An API key of the account.' } };

const HEADERS: JsonObject = {
  'X-Request-Id': { description: 'The request_id of the envelope.', schema: { type: 'string' } },
  'Retry-After': { description: 'Seconds to wait before trying again.', schema: { type: 'integer', minimum: 1 } },
  'Idempotency-Replayed': {
    description:
      'Present if an earlier request with this key was accepted. A repeated create returns the current state of the generation, a repeated prepare the same upload.',
    schema: { const: 'true' },
  },
  'Preference-Applied': {
    description: 'Present if the request waited, or would have: `wait` and for how many seconds at most.',
    schema: { type: 'string', pattern: '^wait=\\d+$' },
  },
  'Darkroom-Credits-Available': {
    description: 'What the account has available, for credentials with credits:read.',
    schema: { type: 'integer', minimum: 0 },
  },
  'Darkroom-Progress': {
    description:
      'How much of a running generation is done, 0 to 1, where its provider says. For one that is queued after a wait, how many are before it: an Item of RFC 9651 with the parameter position.',
    schema: { type: 'string', pattern: '^(0;position=\\d+|0(\\.\\d+)?|1)$' },
  },
  'Location': { description: 'URL of what was created.', schema: { type: 'string' } },
};

const PARAMETERS: JsonObject = {
  IdempotencyKey: {
    ...header('Idempotency-Key', true),
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
    example: 'order-1',
    description: 'Use the same key for retries of one request, and a new key for a new request.',
  },
  Prefer: {
    ...header('Prefer'),
    schema: { type: 'string' },
    example: 'wait=30',
    description:
      '`wait=N` (RFC 7240): the answer comes when the generation has ended, at the latest after N seconds, 1 to 60. Any other preference is ignored.',
  },
  WebhookUrl: {
    ...header('Darkroom-Webhook-Url'),
    schema: { type: 'string', format: 'uri' },
    example: 'https://app.example/webhooks/one',
    description:
      'An address that is told of the end of this generation, besides the webhooks of the App. Needs the scope webhooks:manage, and the App its default secret.',
  },
  LastEventId: {
    ...header('Last-Event-ID'),
    schema: { type: 'string' },
    description: 'The id of the last event that was received; all events are sent without it.',
  },
  RequestId: {
    ...header('X-Request-Id'),
    schema: { type: 'string' },
    example: 'order-1:first-try',
    description:
      'Returned as request_id if it is 1 to 128 characters of A-Z a-z 0-9 . _ : -; for any other value the service creates an id.',
  },
  AppId: {
    ...header('X-App-Id'),
    schema: { type: 'string', format: 'uuid' },
    description: 'If sent, it must be the App of the credential.',
  },
};

function header(name: string, required = false): JsonObject {
  return { name, in: 'header', required };
}

const ERROR_SCHEMA: JsonObject = {
  type: 'object',
  required: ['success', 'code', 'message', 'request_id'],
  properties: {
    success: { const: false },
    code: { type: 'string' },
    message: { type: 'string', description: 'What is wrong, and what would be accepted.' },
    request_id: { type: 'string' },
  },
};

/** The pages of the reference load scripts, styles and fonts of this server, and nothing else. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/** The API's description as a document, and as pages that the build has made. */
export function docsRoutes(settings: Settings, basePath: string): readonly HttpRoute[] {
  const files = new BuiltFiles(fileURLToPath(new URL('../../../reference/', import.meta.url)));
  const document = JSON.stringify(openApiDocument(ROUTES, settings, basePath));
  const page = async (ctx: RoutedContext, name: string): Promise<void> => {
    ctx.set('Content-Security-Policy', POLICY);
    await files.send(ctx, `${name}.html`, 'checked');
  };
  return [
    serveText('/openapi.json', { 'Content-Type': JSON_TYPE, 'Cache-Control': 'no-cache' }, document),
    pageRoute('GET', '/docs', (ctx) => page(ctx, 'index')),
    pageRoute('GET', '/docs/:page', (ctx) => page(ctx, ctx.params['page'] ?? '')),
    pageRoute('GET', '/docs/guides/:page', (ctx) => page(ctx, `guides/${ctx.params['page'] ?? ''}`)),
    {
      method: 'GET',
      path: '/docs/assets/:file',
      serve: (ctx) => files.send(ctx, `assets/${ctx.params['file'] ?? ''}`, 'hashed'),
    },
  ];
}
