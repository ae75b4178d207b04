import type { IncomingMessage } from 'node:http';
import {
  type ApiContext,
  BASE,
  type ProtectedRoute,
  type RestContext,
} from '../../../apps/http/developer/operation.js';
import { ROUTES } from '../../../apps/http/developer/routes.js';
import { readQuery } from '../../../apps/http/host/request.js';
import type { Caller } from '../../../core/access/credential.js';
import type { Context } from '../../../core/context.js';
import type { Json, JsonObject } from '../../../core/json.js';

export interface RestCall {
  readonly context: Context;
  readonly caller: Caller;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly idempotencyKey?: string | undefined;
  readonly body?: Json | undefined;
}

/** The protected route of an operation. */
export function routeOf(operationId: string): ProtectedRoute {
  const route = ROUTES.find(({ operation }) => operation.operationId === operationId);
  if (route?.scope === undefined) throw new Error(`There is no protected route ${operationId}.`);
  return route;
}

/**
 * Calls the use case of a REST operation without a socket, and returns what a client would read. No real time passes.
 * Throws the error that the host would render.
 */
export async function callRest(
  { operation }: ProtectedRoute,
  { context, caller, params = {}, query = '', idempotencyKey, body }: RestCall,
): Promise<{ readonly data: JsonObject; readonly replayed: boolean }> {
  const { clock } = context;
  const access = { authenticate: () => Promise.resolve(caller), follow: () => () => undefined };
  const state: ApiContext<RestContext>['state'] = {
    requestId: 'simulated',
    target: { path: '/', query },
    context,
    caller,
    operation,
    query: readQuery(query, Object.keys(operation.query ?? {})),
    admission: {
      rules: { access, clock, rateLimit: undefined, maxBodyBytes: 0 },
      caller,
      authenticatedAt: clock.now(),
    },
    api: {
      access,
      rates: {},
      publicUrl: () => '',
      basePath: BASE,
      bodyTimeoutMs: 1_000,
      isStopping: () => false,
      onStopping: () => () => undefined,
    },
  };
  const bytes = Buffer.from(body === undefined ? '' : JSON.stringify(body));
  const rawHeaders = idempotencyKey === undefined ? [] : ['Idempotency-Key', idempotencyKey];
  const ctx = {
    req: requestOf(bytes, rawHeaders),
    res: { setHeader: () => undefined },
    params,
    state,
    method: 'POST',
  } as unknown as ApiContext<RestContext>;
  const answer = await operation.answer(state, ctx);
  if (answer === undefined) throw new Error(`${operation.operationId} sent no envelope.`);
  const text = typeof answer.data === 'string' ? answer.data : JSON.stringify(answer.data);
  return { data: JSON.parse(text) as JsonObject, replayed: answer.replayed === true };
}

/** A request that has arrived whole: its body is read within the call that subscribes to it. */
function requestOf(bytes: Buffer, rawHeaders: readonly string[]): IncomingMessage {
  const req = {
    headers: { 'content-type': 'application/json', 'content-length': String(bytes.byteLength) },
    rawHeaders,
    complete: true,
    destroyed: false,
    on(event: string, listener: (chunk?: Buffer) => void) {
      if (event === 'data') listener(bytes);
      if (event === 'end') listener();
      return req;
    },
    off: () => req,
  };
  return req as unknown as IncomingMessage;
}
