import type { ServerResponse } from 'node:http';
import type { Caller } from '../../../core/access/credential.js';
import type { Cancellation } from '../../../core/cancellation.js';
import type { Call, Files, Machine, Models, Money, Webhooks, Work } from '../../../core/context.js';
import { ServiceError } from '../../../core/errors.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { Repetition } from '../../../core/waiting.js';
import type { HttpState } from '../host/http-context.js';
import { canShowForms, type PostedResponse } from './elicitation.js';

/** One message and its answer: what tools need to know of the request that brought it. */
export interface Exchange {
  /** What the tools and the methods of tasks use together, with the cancellation of this request. */
  readonly context: Money & Work & Files & Models & Webhooks & Machine & Call;
  /** Over with this request, when its credential is no longer valid, and when this process is to stop. */
  readonly waits: Cancellation;
  readonly caller: Caller;
  /** The session id that the client sent, of the revisions of 2025. */
  readonly sessionId: string | undefined;
  /** Throws as authentication does once the credential is no longer valid. For after a wait. */
  readonly requireAllowed: () => Promise<void>;
  /** For the line of the request in the log. */
  readonly state: HttpState;
}

const ASKS = 'asks-';

/**
 * The revisions of 2025 tell what a client can do with its first message alone, and no process remembers it: the session
 * id, which the client sends with every later one, says it again. Undefined for a client of which nothing need be known.
 */
export function sessionIdFor(capabilities: unknown, uuid: string): string | undefined {
  return canShowForms(capabilities) ? `${ASKS}${uuid}` : undefined;
}

/** Whether the client of a session can ask a person. It says so of itself, and may as well. */
export function asksPeople(sessionId: string | undefined): boolean {
  return sessionId?.startsWith(ASKS) === true;
}

const LOOK_EVERY_MS = 1_000;

/**
 * Ends a stream that a client listens to when its credential is no longer valid, and when this process is to stop. No
 * event is sent on it, but clients may listen, and the library would keep it open.
 */
export function watchStream({ context, waits, requireAllowed }: Exchange, res: ServerResponse): Repetition {
  return new Repetition(context.clock, LOOK_EVERY_MS, async () => {
    if (!waits.isOver && (await isAllowed(requireAllowed))) return;
    res.end();
  });
}

function isAllowed(requireAllowed: () => Promise<void>): Promise<boolean> {
  return requireAllowed().then(
    () => true,
    () => false,
  );
}

/** The fields of a message that are read before the protocol's library reads it. */
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

/** The response to one of our requests, if the message is one. */
export function asResponse({ body, method }: Message): PostedResponse | undefined {
  const { id, result } = body;
  const isAnswer = method === undefined && ('result' in body || 'error' in body);
  if (!isAnswer || (typeof id !== 'string' && typeof id !== 'number')) return undefined;
  return { id, result };
}

export function objectOf(value: Json | undefined): JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {};
}
