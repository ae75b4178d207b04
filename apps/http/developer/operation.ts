import type { Caller, Scope } from '../../../core/access/credential.js';
import type { Context } from '../../../core/context.js';
import type { ErrorCode } from '../../../core/errors.js';
import type { Waiting } from '../../../core/generation/wait-for-generation.js';
import type { Json, JsonObject } from '../../../core/json.js';
import type { Waits } from '../../../core/memory-budget.js';
import type { PageRequest } from '../../../core/paging.js';
import type { Settings } from '../../../core/settings.js';
import type { Answer, NoContent, StreamedAnswer } from '../host/answer.js';
import { readText, readWhole } from '../host/request.js';
import type { HttpRoute } from '../host/routing.js';
import type { TitledSchema } from '../render/schema-parts.js';

/** What the OpenAPI document says of an operation. */
export interface Description {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** Of a success; the envelope as JSON when absent. An event stream has `data` in each event. */
  readonly mediaType?: 'text/event-stream';
  /** The status of a success. */
  readonly status: 200 | 201 | 202;
  /** Schema of the envelope's `data`. */
  readonly data: TitledSchema;
  /** The codes the use case may refuse with; those of the checks before it follow from the route. */
  readonly errors: readonly ErrorCode[];
}

/** A request that passed the checks of its route. */
export interface Call {
  readonly context: Context;
  readonly caller: Caller;
  readonly params: Readonly<Record<string, string>>;
  /** The query parameters that were sent, of those that the operation takes. */
  readonly query: Readonly<Record<string, string>>;
  /** Empty where the operation takes none. */
  readonly idempotencyKey: string;
  /** How long the client prefers to wait for the end of the generation, where the operation can. */
  readonly wait?: Waiting | undefined;
  /** Where the client wants the end of the one generation told, where the operation takes that. */
  readonly webhookUrl?: string | undefined;
  /** Where the operation streams events: what the client has received, and when the stream is to end. */
  readonly following?: { readonly lastEventId: string | undefined; readonly until: Waits } | undefined;
  /** Whether the client prefers CSV, where the operation has it. */
  readonly wantsCsv?: boolean;
  /** An empty object where the operation takes no body, or an optional one was not sent. */
  readonly body: Json;
}

/** What an operation takes as its body. */
export interface RequestBody {
  /** What bodies are checked against. */
  readonly schema: JsonObject;
  readonly schemaName: string;
  readonly required: boolean;
  /** One that works, with the catalog that comes with the program. */
  readonly example: JsonObject;
  /** For the OpenAPI document: the schema with what is checked after the shape, as the limits with codes of their own are. */
  readonly limited?: (settings: Settings) => JsonObject;
}

/**
 * What an operation takes in the query: the schema of each parameter by its name, with an example that works unless only an
 * earlier answer can give one. All of them may be left out.
 */
export type QueryParameters = Readonly<
  Record<string, JsonObject & { readonly description: string; readonly example?: string | number }>
>;

export interface ProtectedOperation extends Description {
  /** Without it the query is ignored. */
  readonly query?: QueryParameters;
  readonly body?: RequestBody;
  /** Whether it waits for the end of a generation where the client prefers that (`Prefer: wait`). */
  readonly canWait?: true;
  /** Whether the answer names the address of what was created. */
  readonly hasLocation?: true;
  /** Whether it takes the header Darkroom-Webhook-Url. */
  readonly takesWebhookUrl?: true;
  /** Whether it streams events for as long as the client listens. */
  readonly canFollow?: true;
  /** Whether it answers CSV, as text of its own, where the client prefers that (`Accept: text/csv`). */
  readonly hasCsv?: true;
  answer(call: Call): Promise<Answer | StreamedAnswer | NoContent>;
}

export interface PublicOperation extends Description {
  answer(context: Context, params: Call['params']): Promise<Answer>;
}

export type PublicRoute = {
  readonly method: 'GET';
  readonly path: string;
  readonly operation: PublicOperation;
  readonly scope?: undefined;
};

export interface ProtectedRoute {
  readonly method: Exclude<HttpRoute['method'], 'any'>;
  /** Under `BASE`. */
  readonly path: string;
  readonly operation: ProtectedOperation;
  readonly scope: Scope;
  /** Which of the credential's two rates the request counts against. */
  readonly rate: 'reads' | 'writes';
  readonly needsKey?: boolean;
}

export type Route = PublicRoute | ProtectedRoute;

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;
const MAX_CURSOR = 2_000;

/** Query parameters of every list. */
export const LIMIT = {
  type: 'integer',
  minimum: 1,
  maximum: MAX_LIMIT,
  default: DEFAULT_LIMIT,
  example: 50,
  description: 'How many a page may hold.',
} as const;
export const CURSOR = {
  type: 'string',
  minLength: 1,
  maxLength: MAX_CURSOR,
  description: 'The `next_cursor` of the page before, with the same other parameters; the first page without it.',
} as const;

/** The page that a query asks for; its cursor is the token of the list. Throws FIELD_INVALID. */
export function readPage(query: Call['query']): PageRequest {
  const limit = readWhole(query, 'limit', { min: 1, max: MAX_LIMIT, absent: DEFAULT_LIMIT });
  const cursor = readText(query, 'cursor', MAX_CURSOR);
  return cursor === undefined ? { limit } : { limit, cursor };
}
