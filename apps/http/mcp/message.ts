import { ServiceError } from '../../../core/errors.js';
import type { Json, JsonObject } from '../../../core/json.js';
import type { PostedResponse } from './client-requests.js';

/** What is looked at of a message before the protocol's library reads it. */
export interface Message {
  readonly body: JsonObject;
  readonly method: string | undefined;
  readonly params: JsonObject;
}

/** Throws BODY_INVALID for anything but one message: none of the revisions that are served has batches. */
export function asMessage(body: Json): Message {
  if (body === null || typeof body !== 'object' || Array.isArray(body))
    throw new ServiceError('BODY_INVALID', 'Send one JSON-RPC message as a JSON object.');
  const { method, params } = body;
  return { body, method: typeof method === 'string' ? method : undefined, params: objectOf(params) };
}

/** The answer to a request of ours, if the message is one. */
export function asResponse({ body, method }: Message): PostedResponse | undefined {
  const { id, result } = body;
  const isAnswer = method === undefined && ('result' in body || 'error' in body);
  if (!isAnswer || (typeof id !== 'string' && typeof id !== 'number')) return undefined;
  return { id, result };
}

export function objectOf(value: Json | undefined): JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {};
}
