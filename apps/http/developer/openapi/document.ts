import type { JsonObject } from '../../../../core/json.js';
import type { Settings } from '../../../../core/settings.js';
import type { QueryParameters, Route } from '../operation.js';
import { BASE } from '../routes.js';
import { EXAMPLE_REQUEST } from './example-request.js';
import { requestSchema } from './request-schema.js';
import { responsesOf } from './responses.js';

/**
 * The OpenAPI 3.1 document of the routes, built from the very schemas that requests are checked against and the
 * installation's limits.
 */
export function openApiDocument(routes: readonly Route[], settings: Settings): JsonObject {
  const paths: Record<string, JsonObject> = {};
  for (const route of routes) {
    const path = openApiPath(BASE + route.path);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, routes) };
  }
  return {
    openapi: '3.1.1',
    info: { title: 'Darkroom', version: '1', description: 'Asynchronous image and video generation, paid in credits.' },
    servers: [{ url: '/' }],
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
    name: 'Idempotency-Key',
    in: 'header',
    required: true,
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
    example: 'order-1',
    description: 'Use the same key for retries of one request, and a new key for a new request.',
  },
  Prefer: {
    name: 'Prefer',
    in: 'header',
    required: false,
    schema: { type: 'string' },
    example: 'wait=30',
    description:
      '`wait=N` (RFC 7240): the answer comes when the generation has ended, at the latest after N seconds, 1 to 60. Any other preference is ignored.',
  },
  WebhookUrl: {
    name: 'Darkroom-Webhook-Url',
    in: 'header',
    required: false,
    schema: { type: 'string', format: 'uri' },
    example: 'https://app.example/webhooks/one',
    description:
      'An address that is told of the end of this generation, besides the webhooks of the App. Needs the scope webhooks:manage, and the App its default secret.',
  },
  LastEventId: {
    name: 'Last-Event-ID',
    in: 'header',
    required: false,
    schema: { type: 'string' },
    description: 'The id of the last event that was received; all events are sent without it.',
  },
  RequestId: {
    name: 'X-Request-Id',
    in: 'header',
    required: false,
    schema: { type: 'string' },
    example: 'order-1:first-try',
    description:
      'Returned as request_id if it is 1 to 128 characters of A-Z a-z 0-9 . _ : -; for any other value the service creates an id.',
  },
  AppId: {
    name: 'X-App-Id',
    in: 'header',
    required: false,
    schema: { type: 'string', format: 'uuid' },
    description: 'If sent, it must be the App of the credential.',
  },
};

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

function openApiPath(path: string): string {
  return path.replaceAll(/:([a-z_]+)/g, '{$1}');
}

function operationOf(route: Route, routes: readonly Route[]): JsonObject {
  const { operation } = route;
  const body = 'body' in operation ? operation.body : undefined;
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
    route.scope === undefined
      ? ['RequestId']
      : [
          ...(route.needsKey === true ? ['IdempotencyKey'] : []),
          ...(route.operation.canWait === true ? ['Prefer'] : []),
          ...(route.operation.takesWebhookUrl === true ? ['WebhookUrl'] : []),
          ...(route.operation.canFollow === true ? ['LastEventId'] : []),
          'RequestId',
          'AppId',
        ];
  const inQuery = Object.entries(queryOf(route)).map(([name, { description, example, ...schema }]): JsonObject => ({
    name,
    in: 'query',
    required: false,
    description,
    ...(example === undefined ? {} : { example }),
    schema,
  }));
  return [...inPath, ...inQuery, ...headers.map((name) => ({ $ref: `#/components/parameters/${name}` }))];
}

function queryOf({ operation }: Route): QueryParameters {
  return 'query' in operation ? (operation.query ?? {}) : {};
}

function schemasOf(routes: readonly Route[], settings: Settings): JsonObject {
  const schemas: JsonObject = { Error: ERROR_SCHEMA };
  for (const { operation } of routes) {
    schemas[operation.data.title] = operation.data;
    if ('body' in operation && operation.body)
      schemas[operation.body.schemaName] = requestSchema(operation.body, settings);
  }
  return schemas;
}
