import { requireScope } from '../../../core/access/authenticate.js';
import type { Caller, Scope } from '../../../core/access/credential.js';
import type { Waits } from '../../../core/cancellation.js';
import type { Context } from '../../../core/context.js';
import type { ErrorCode } from '../../../core/errors.js';
import type { Waiting } from '../../../core/generation/wait-for-generation.js';
import type { Json, JsonObject } from '../../../core/json.js';
import type { PageRequest } from '../../../core/paging.js';
import type { Settings } from '../../../core/settings.js';
import { loggedIds } from '../../logging/logged-fields.js';
import { pointsOf } from '../../rate-limit.js';
import { type CredentialRates, requireOwnApp, type ShownRateLimit } from '../host/authenticate.js';
import { type HttpState, MAX_BODY_BYTES } from '../host/http-context.js';
import { declaredBytes, readBody, readNoBody } from '../host/read-body.js';
import { preferredWait, readQuery, readText, readTime, readWhole } from '../host/request.js';
import { type Answer, sendAnswer, sendStream } from '../host/send.js';
import type { HttpHandler, HttpShared, RoutedContext } from '../host/server.js';
import { RequestWait } from '../host/wait.js';
import type { TitledSchema } from '../render/schema-parts.js';

/** The OpenAPI description of an operation. */
interface Description {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** The media type of a success, if it is not the JSON envelope. Of an event stream, `data` is the schema of an event's data. */
  readonly mediaType?: 'text/event-stream';
  /** The media type that `Accept` may ask for in place of the envelope. */
  readonly otherMediaType?: 'text/csv';
  /** The status of a success. */
  readonly status: 200 | 201 | 202;
  /** Schema of the envelope's `data`. */
  readonly data: TitledSchema;
  /** The error codes of the use case; those of the checks before it follow from the route. */
  readonly errors: readonly ErrorCode[];
  /** The headers that the operation reads, by their names among the document's parameters. */
  readonly headers?: readonly ('IdempotencyKey' | 'Prefer' | 'WebhookUrl' | 'LastEventId')[];
  /** The headers that a success may have. */
  readonly responseHeaders?: readonly (
    | 'Idempotency-Replayed'
    | 'Preference-Applied'
    | 'Darkroom-Progress'
    | 'Location'
  )[];
  /** The query parameters, which are all optional. Without it the query is ignored. */
  readonly query?: QueryParameters;
  readonly body?: RequestBody;
}

/** The schema of each query parameter by its name, with an example that works unless it must come from an earlier response. */
export type QueryParameters = Readonly<
  Record<string, JsonObject & { readonly description: string; readonly example?: string | number }>
>;

/** The body of an operation. */
export interface RequestBody {
  /** The schema that bodies are checked against. */
  readonly schema: JsonObject;
  readonly schemaName: string;
  readonly required: boolean;
  /** A body that works with the catalog of the package. */
  readonly example: JsonObject;
  /** The schema for the OpenAPI document, with the limits that have error codes of their own. */
  readonly limited?: (settings: Settings) => JsonObject;
}

export interface ProtectedOperation extends Description {
  readonly serve: (ctx: ApiContext) => Promise<void>;
}

export interface PublicOperation extends Description {
  readonly serve: (ctx: RoutedContext, context: Context) => Promise<void>;
}

export interface PublicRoute {
  readonly method: 'GET';
  /** Under `BASE`. */
  readonly path: string;
  readonly operation: PublicOperation;
  readonly scope?: undefined;
}

export interface ProtectedRoute {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Under `BASE`. */
  readonly path: string;
  readonly operation: ProtectedOperation;
  readonly scope: Scope;
  /** The rate of the credential that the request counts against. */
  readonly rate: 'reads' | 'writes';
}

export type Route = PublicRoute | ProtectedRoute;

/** How a front of the API authenticates requests. */
export interface Access {
  /** The sender of the request. Throws the error that refuses it. */
  authenticate(ctx: RoutedContext): Promise<Caller>;
  /** Calls `onRefused`, until the returned function is called, when the sender would no longer be authenticated. */
  follow(ctx: RoutedContext, onRefused: () => void): () => void;
}

/** What the handlers of one front of the API share. */
export interface Api extends Pick<HttpShared, 'isStopping' | 'onStopping'> {
  readonly context: Context;
  readonly access: Access;
  readonly rates: CredentialRates;
  readonly bodyTimeoutMs: number;
}

/** The state of a request that passed the checks of its route. */
export interface ApiState extends HttpState {
  readonly api: Api;
  readonly context: Context;
  readonly caller: Caller;
  readonly rateLimit: ShownRateLimit | undefined;
  readonly authenticatedAt: number;
}

export type ApiContext = RoutedContext & { readonly state: ApiState };

/** The checks of a protected route, in the order in which their errors take precedence, and then its handler. */
export function serveProtected({ operation, scope, rate }: ProtectedRoute, api: Api): HttpHandler {
  const { context, access, rates } = api;
  const rateLimit = rates[rate];
  return async (ctx) => {
    const { req, res, state, params } = ctx;
    state.ids = loggedIds({ generationId: params['generation_id'], uploadId: params['upload_id'] });
    const caller = await access.authenticate(ctx);
    Object.assign(state, { api, context, caller, rateLimit, authenticatedAt: context.clock.now() });
    const points = pointsOf(Math.min(declaredBytes(req) ?? 0, MAX_BODY_BYTES));
    if (rateLimit) await rateLimit.take(caller.credentialId, res, points);
    requireScope(caller, scope);
    requireOwnApp(req, caller);
    await operation.serve(ctx as ApiContext);
  };
}

/** The JSON body of a request; `{}` if it has none and none is required. Throws as `readBody` of the host does. */
export async function readJson(ctx: ApiContext, required = true): Promise<Json> {
  const body = await readBody(ctx.req, { ...bodyRules(ctx), maxBytes: MAX_BODY_BYTES, required });
  await requireStillValid(ctx);
  return body;
}

/** Reads the body of a request that takes none. Throws as `readNoBody` of the host does. */
export async function readEmptyBody(ctx: ApiContext): Promise<void> {
  if (declaredBytes(ctx.req) === 0) return;
  await readNoBody(ctx.req, bodyRules(ctx));
  await requireStillValid(ctx);
}

/** The size of a body that comes in chunks counts against the rate once it is known. */
function bodyRules({ req, res, state }: ApiContext) {
  const { api, rateLimit, caller } = state;
  const isChunked = declaredBytes(req) === undefined;
  return {
    timeoutMs: api.bodyTimeoutMs,
    arrived: async (byteSize: number): Promise<void> => {
      if (rateLimit && isChunked) await rateLimit.take(caller.credentialId, res, pointsOf(byteSize), pointsOf(0));
    },
  };
}

const STALE_AFTER_MS = 1_000;

/** A body may take long to arrive, and the credential may have been revoked meanwhile. */
async function requireStillValid(ctx: ApiContext): Promise<void> {
  const { api, context, authenticatedAt } = ctx.state;
  if (context.clock.now() - authenticatedAt > STALE_AFTER_MS) await api.access.authenticate(ctx);
}

/**
 * Sends what `answer` returns. If the client prefers to wait for the end of a generation (`Prefer: wait`), the request
 * continues after its handler has returned, so that the handler holds no memory meanwhile.
 */
export async function sendOrWait(
  ctx: ApiContext,
  status: number,
  answer: (wait: Waiting | undefined) => Promise<Answer>,
): Promise<void> {
  const seconds = preferredWait(ctx.req);
  if (seconds === undefined) return sendAnswer(ctx, status, await answer(undefined));
  ctx.state.later = duringRequest(ctx, async (until) => {
    const answered = await answer({ waitMs: seconds * 1_000, until });
    // The credential may have been revoked meanwhile.
    await ctx.state.api.access.authenticate(ctx);
    ctx.res.setHeader('Preference-Applied', `wait=${seconds}`);
    await sendAnswer(ctx, status, answered);
  });
}

/** An event or a comment is sent at least this often: a proxy closes a connection that is silent for long. */
export const BEAT_MS = 15_000;

/** Streams server-sent events for as long as the client listens and its credential is valid. */
export function sendEvents(ctx: ApiContext, frames: (until: Waits) => AsyncIterable<string>): Promise<void> {
  return duringRequest(ctx, (until) => {
    until.streams(BEAT_MS);
    return sendStream(ctx, {
      stream: () => frames(until),
      mediaType: 'text/event-stream; charset=utf-8',
      // nginx must not buffer events, which would delay them.
      headers: { 'X-Accel-Buffering': 'no' },
    });
  });
}

async function duringRequest(ctx: ApiContext, work: (until: RequestWait) => Promise<void>): Promise<void> {
  const { api } = ctx.state;
  const until = new RequestWait(ctx, api, (onRefused) => api.access.follow(ctx, onRefused));
  try {
    await work(until);
  } finally {
    until.end();
  }
}

/** The query parameters that were sent. Throws FIELD_INVALID for one that the operation does not take. */
export function readParameters({ state }: ApiContext, taken: QueryParameters): Readonly<Record<string, string>> {
  return readQuery(state.target.query, Object.keys(taken));
}

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;
const MAX_CURSOR = 2_000;

/** Query parameters of every list. */
export const PAGE_PARAMETERS = {
  limit: {
    type: 'integer',
    minimum: 1,
    maximum: MAX_LIMIT,
    default: DEFAULT_LIMIT,
    example: 50,
    description: 'How many a page may hold.',
  },
  cursor: {
    type: 'string',
    minLength: 1,
    maxLength: MAX_CURSOR,
    description: 'The `next_cursor` of the page before, with the same other parameters; the first page without it.',
  },
} as const;

/** The page that a query asks for; its cursor is the token of the list. Throws FIELD_INVALID. */
export function readPage(query: Readonly<Record<string, string>>): PageRequest {
  const limit = readWhole(query, 'limit', { min: 1, max: MAX_LIMIT, absent: DEFAULT_LIMIT });
  const cursor = readText(query, 'cursor', MAX_CURSOR);
  return cursor === undefined ? { limit } : { limit, cursor };
}

/** A time in filters and ranges. */
export const EXAMPLE_TIME = '2026-01-31T12:00:00Z';
const TIME = { type: 'string', format: 'date-time' } as const;

/** Query parameters of lists of what was created within a time. */
export const CREATED_BETWEEN = {
  created_after: { ...TIME, example: EXAMPLE_TIME, description: 'Those created at this time or later.' },
  created_before: { ...TIME, example: '2030-01-31T12:00:00Z', description: 'Those created before this time.' },
} as const;

/** Throws FIELD_INVALID. */
export function readCreatedBetween(query: Readonly<Record<string, string>>) {
  return { createdFrom: readTime(query, 'created_after'), createdBefore: readTime(query, 'created_before') };
}
