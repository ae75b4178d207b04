import { requireScope } from '../../../core/access/authenticate.js';
import type { Caller, Scope } from '../../../core/access/credential.js';
import type { Waits } from '../../../core/cancellation.js';
import type { Call, Files, Identity, Machine, Models, Money, Webhooks, Work } from '../../../core/context.js';
import type { ErrorCode } from '../../../core/errors.js';
import type { Waiting } from '../../../core/generation/wait-for-generation.js';
import { readIdempotencyKey } from '../../../core/idempotency/claims.js';
import type { Json, JsonObject } from '../../../core/json.js';
import type { PageRequest } from '../../../core/paging.js';
import type { Settings } from '../../../core/settings.js';
import {
  type Access,
  type Admission,
  admitRequest,
  type CredentialRates,
  readAdmittedBody,
  requireOwnApp,
} from '../host/authenticate.js';
import { type HttpContext, type HttpState, MAX_BODY_BYTES } from '../host/http-context.js';
import {
  declaredBytes,
  headerValues,
  preferredWait,
  readBody,
  readNoBody,
  readQuery,
  readText,
  readTime,
  readWhole,
} from '../host/request.js';
import { type Answer, sendAnswer, sendStream } from '../host/send.js';
import type { HttpHandler, HttpShared } from '../host/server.js';
import { RequestWait } from '../host/wait.js';
import { record, type TitledSchema, UUID } from '../render/schema-parts.js';

/** The path of every endpoint of the API, below that of the public URL. */
export const BASE = '/api/v1/developer';

/** The OpenAPI description of an operation. */
interface Description {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** The media type of a success, if it is not the JSON envelope. `data` is then the schema of an event's data. */
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

/**
 * Its use case, with the state of the request, whose checks have passed. Returns what the envelope of a success has, or
 * nothing if it has answered by itself.
 */
type Answering<C extends HttpContext> = (state: C['state'], ctx: C) => Promise<Answer | void>;

export interface ProtectedOperation<C = RestContext> extends Description {
  readonly answer: Answering<ApiContext<C>>;
}

export interface PublicOperation<C = RestContext> extends Description {
  readonly answer: Answering<PublicContext<C>>;
}

export interface PublicRoute<C = RestContext> {
  readonly method: 'GET';
  /** Under `BASE`. */
  readonly path: string;
  readonly operation: PublicOperation<C>;
  readonly scope?: undefined;
}

export interface ProtectedRoute<C = RestContext> {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Under `BASE`. */
  readonly path: string;
  readonly operation: ProtectedOperation<C>;
  readonly scope: Scope;
  /** The rate of the credential that the request counts against. */
  readonly rate: 'reads' | 'writes';
}

/** `C` names the capabilities that the use case takes. */
export type Route<C = RestContext> = PublicRoute<C> | ProtectedRoute<C>;

export function publicRoute<C>(path: string, operation: PublicOperation<C>): PublicRoute<C> {
  return { method: 'GET', path, operation };
}

type Protected = <C>(
  ...given: [method: ProtectedRoute['method'], path: string, scope: Scope, operation: ProtectedOperation<C>]
) => ProtectedRoute<C>;

/** A route whose requests count against the reads of their credential. */
export const read: Protected = (method, path, scope, operation) => ({ method, path, scope, operation, rate: 'reads' });
/** A route whose requests count against the writes of their credential. */
export const write: Protected = (method, path, scope, operation) => ({
  ...read(method, path, scope, operation),
  rate: 'writes',
});

/** The capabilities that the routes use together. */
export type RestContext = Money & Work & Files & Identity & Models & Webhooks & Machine & Call;

/** The parts that the handlers of one front of the API share. */
export interface Api extends Pick<HttpShared, 'isStopping' | 'onStopping'> {
  readonly context: RestContext;
  readonly access: Access;
  readonly rates: CredentialRates;
  /** The path of every endpoint for clients: `BASE` below the path of the public URL. */
  readonly basePath: string;
  /** The address of this process for clients, without a slash at the end. */
  readonly publicUrl: () => string;
  /** How long a JSON body may take to arrive once its headers are here, in milliseconds. */
  readonly bodyTimeoutMs: number;
}

/** The state of a request that passed the checks of its route. */
export interface ApiState<C = unknown> extends HttpState {
  api: Omit<Api, 'context'>;
  context: C;
  caller: Caller;
  admission: Admission;
  operation: Description;
  /** The query parameters that were sent; none where the operation takes none. */
  query: Readonly<Record<string, string>>;
}

/** The parameters in the paths of routes. A use case reads those of its own path, which are there. */
type PathParameter = 'model_key' | 'generation_id' | 'upload_id' | 'webhook_id' | 'delivery_id';
type PathParameters = { readonly params: Readonly<Record<PathParameter, string>> };

export type ApiContext<C = unknown> = HttpContext & PathParameters & { readonly state: ApiState<C> };
/** The context of a request without a credential. */
export type PublicContext<C> = HttpContext & PathParameters & { readonly state: HttpState & { context: C } };

/** The checks of a protected route, in the order in which their errors take precedence, and then its use case. */
export function serveProtected({ operation, scope, rate }: ProtectedRoute, api: Api): HttpHandler {
  const { context, access, rates } = api;
  const rules = { access, clock: context.clock, rateLimit: rates[rate], maxBodyBytes: MAX_BODY_BYTES };
  const parameters = operation.query && Object.keys(operation.query);
  return async (routed) => {
    const ctx = routed as ApiContext<RestContext>;
    const { req, state, params } = ctx;
    state.ids = { generationId: params['generation_id'], uploadId: params['upload_id'] };
    const admission = await admitRequest(ctx, rules);
    requireScope(admission.caller, scope);
    requireOwnApp(req, admission.caller);
    state.api = api;
    state.context = context;
    state.admission = admission;
    state.operation = operation;
    state.query = parameters === undefined ? NO_QUERY : readQuery(state.target.query, parameters);
    if (operation.body === undefined && declaredBytes(req) !== 0) await readEmptyBody(ctx);
    const answer = await operation.answer(state, ctx);
    if (answer !== undefined) await sendAnswer(ctx, operation.status, answer);
  };
}

const NO_QUERY: ApiState['query'] = {};

/** Reads the body of a public route, which takes none, and then calls its use case. */
export function servePublic({ operation }: PublicRoute, { context, bodyTimeoutMs }: Api): HttpHandler {
  return async (ctx) => {
    await readNoBody(ctx.req, { timeoutMs: bodyTimeoutMs });
    const answer = await operation.answer(Object.assign(ctx.state, { context }), ctx as PublicContext<RestContext>);
    if (answer !== undefined) await sendAnswer(ctx, operation.status, answer);
  };
}

/** The JSON body of a request; `{}` if it has none and none is required. Throws as `readBody` of the host does. */
export function readJson(ctx: ApiContext, required = true): Promise<Json> {
  const { api, admission } = ctx.state;
  const rules = { timeoutMs: api.bodyTimeoutMs, maxBytes: MAX_BODY_BYTES, required };
  return readAdmittedBody(ctx, admission, (arrived) => readBody(ctx.req, { ...rules, arrived }));
}

/** Reads the body of a request that takes none. Throws as `readNoBody` of the host does. */
async function readEmptyBody(ctx: ApiContext): Promise<void> {
  const { api, admission } = ctx.state;
  const rules = { timeoutMs: api.bodyTimeoutMs };
  await readAdmittedBody(ctx, admission, (arrived) => readNoBody(ctx.req, { ...rules, arrived }));
}

/** Throws IDEMPOTENCY_KEY_REQUIRED and IDEMPOTENCY_KEY_INVALID. */
export function readKey({ req }: ApiContext): string {
  return readIdempotencyKey(headerValues(req, 'idempotency-key'));
}

/**
 * Answers with what `answer` returns. If the client prefers to wait for the end of a generation (`Prefer: wait`), the
 * request continues after its handler has returned, so that the handler holds no memory meanwhile.
 */
export async function answerOrWait(
  ctx: ApiContext,
  answer: (wait: Waiting | undefined) => Promise<Answer>,
): Promise<Answer | void> {
  const seconds = preferredWait(ctx.req);
  if (seconds === undefined) return answer(undefined);
  ctx.state.later = duringRequest(ctx, async (until) => {
    const answered = await answer({ waitMs: seconds * 1_000, until });
    // The credential may have been revoked in the meantime.
    await ctx.state.api.access.authenticate(ctx);
    ctx.res.setHeader('Preference-Applied', `wait=${seconds}`);
    await sendAnswer(ctx, ctx.state.operation.status, answered);
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

/** The answer of an operation that removes something: its id. */
export function removedSchema(title: string, name: string): TitledSchema {
  return record(title, { [name]: UUID });
}
