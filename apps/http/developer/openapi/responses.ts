import { ERRORS, type ErrorCode } from '../../../../core/errors.js';
import type { JsonObject } from '../../../../core/json.js';
import { messageOf } from '../../../requests/message-of.js';
import type { Route } from '../operation.js';
import { HTTP_MESSAGES } from '../../host/messages.js';
import { STATUSES } from '../../host/statuses.js';
import { errorCodesOf } from './error-codes.js';
import { linksOf } from './links.js';

const REQUEST_ID_HEADER: JsonObject = { 'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' } };

/** The responses of one route: its success, and one entry a status for everything it can refuse with. */
export function responsesOf(route: Route, routes: readonly Route[]): JsonObject {
  const codesByStatus = new Map<number, ErrorCode[]>();
  for (const code of errorCodesOf(route)) {
    const status = STATUSES[code];
    codesByStatus.set(status, [...(codesByStatus.get(status) ?? []), code]);
  }
  const responses: JsonObject = { [route.operation.status]: success(route, linksOf(route, routes)) };
  if ('canFollow' in route.operation) responses['204'] = { description: 'The client has received the last event.' };
  if (route.scope === undefined) responses['304'] = { description: 'Not modified since the ETag that was sent.' };
  for (const [status, codes] of [...codesByStatus].toSorted(([a], [b]) => a - b))
    responses[status] = refusal(status, codes);
  return responses;
}

function success(route: Route, links: JsonObject): JsonObject {
  const { operation } = route;
  const replay = route.scope !== undefined && route.needsKey === true;
  return {
    description: 'Success.',
    headers: {
      ...REQUEST_ID_HEADER,
      ...(replay ? { 'Idempotency-Replayed': { $ref: '#/components/headers/Idempotency-Replayed' } } : {}),
      ...('canWait' in operation
        ? {
            'Preference-Applied': { $ref: '#/components/headers/Preference-Applied' },
            'Darkroom-Progress': { $ref: '#/components/headers/Darkroom-Progress' },
          }
        : {}),
      ...('hasLocation' in operation ? { Location: { $ref: '#/components/headers/Location' } } : {}),
    },
    ...(Object.keys(links).length === 0 ? {} : { links }),
    content: {
      ...contentOf(operation),
      ...('hasCsv' in operation ? { 'text/csv': { schema: { type: 'string' } } } : {}),
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
