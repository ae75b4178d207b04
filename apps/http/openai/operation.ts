import type { Logger } from 'pino';
import { requireScope } from '../../../core/access/authenticate.js';
import type { Caller, Scope } from '../../../core/access/credential.js';
import type { Call, Files, Machine, Models, Money, Webhooks, Work } from '../../../core/context.js';
import { ServiceError } from '../../../core/errors.js';
import {
  type Access,
  type Admission,
  admitRequest,
  type CredentialRates,
  readAdmittedBody,
  requireOwnApp,
} from '../host/authenticate.js';
import { type HttpState, MAX_BODY_BYTES } from '../host/http-context.js';
import { isForm, readBody } from '../host/request.js';
import type { HttpRoute, HttpShared, RoutedContext } from '../host/server.js';
import { RequestWait } from '../host/wait.js';
import type { Beats } from './beats.js';
import { type Fields, withoutNulls } from './fields.js';
import type { Spool } from './spool.js';

/** The path of every endpoint of this API, below that of the public URL. */
export const API_BASE = '/v1';

export type ApiContext = Money & Work & Files & Models & Webhooks & Machine & Call;

/** How long requests wait for the end of their generation, in milliseconds. */
export interface WaitTimes {
  /** How long a response is silent, so that fast refusals keep their status. */
  readonly silentMs: number;
  /** How often something is sent after that: proxies and clients give up a response that is silent for 30 s or more. */
  readonly beatMs: number;
  /** How long a request waits at most. */
  readonly mostMs: number;
}

export const WAIT_TIMES: WaitTimes = { silentMs: 25_000, beatMs: 15_000, mostMs: 600_000 };

export interface ApiParts extends Pick<HttpShared, 'isStopping' | 'onStopping'> {
  readonly context: ApiContext;
  readonly access: Access;
  readonly rates: CredentialRates;
  /** How long a JSON body may take to arrive once its headers are here, in milliseconds. */
  readonly bodyTimeoutMs: number;
  readonly waitTimes: WaitTimes;
  readonly beats: Beats;
  readonly logger: Logger;
  /** The address of this service for clients, without a slash at the end. */
  readonly publicUrl: () => string;
  /** How long any request may take to arrive, in milliseconds. */
  readonly requestTimeoutMs: number;
  /** The disk for forms. */
  readonly spool: Spool;
}

/** An admitted request. */
export interface ApiRequest extends RoutedContext {
  readonly state: HttpState & { parts: ApiParts; admission: Admission; caller: Caller };
}

export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'DELETE' | 'any';
  readonly path: string;
  /** The scope that a credential needs; any valid one when absent. */
  readonly scope?: Scope;
  /** The rate of the credential that the request counts against. */
  readonly rate: 'reads' | 'writes';
  /** May set `state.later`, and continue after it has returned. */
  readonly serve: (ctx: ApiRequest) => Promise<void>;
}

/** The checks of a request in the order in which their errors take precedence, and then its endpoint. */
export function toRoute({ method, path, scope, rate, serve }: Endpoint, parts: ApiParts): HttpRoute {
  const rules = {
    access: parts.access,
    clock: parts.context.clock,
    rateLimit: parts.rates[rate],
    maxBodyBytes: MAX_BODY_BYTES,
  };
  // The files of a form are not counted by their size.
  const rulesOfForms = { ...rules, maxBodyBytes: 0 };
  return {
    method,
    path,
    async serve(routed) {
      const ctx = routed as ApiRequest;
      const { state } = ctx;
      const admission = await admitRequest(routed, isForm(ctx.req) ? rulesOfForms : rules);
      if (scope !== undefined) requireScope(admission.caller, scope);
      requireOwnApp(ctx.req, admission.caller);
      Object.assign(state, { parts, admission });
      await serve(ctx);
    },
  };
}

/** The fields of a JSON body. Throws `invalid_body` and what `readBody` of the host throws. */
export async function readFields(ctx: ApiRequest): Promise<Fields> {
  const { parts, admission } = ctx.state;
  const rules = { timeoutMs: parts.bodyTimeoutMs, maxBytes: MAX_BODY_BYTES, required: true };
  const body = await readAdmittedBody(ctx, admission, (arrived) => readBody(ctx.req, { ...rules, arrived }));
  if (body === null || typeof body !== 'object' || Array.isArray(body))
    throw new ServiceError('BODY_INVALID', 'The request body must be a JSON object.');
  return withoutNulls(body);
}

/**
 * Continues after the handler has returned, so that it holds no memory while the request waits. `leave` gives up its place
 * among the lasting calls.
 */
export function answerLater(ctx: ApiRequest, leave: () => void, work: (until: RequestWait) => Promise<void>): void {
  const { parts } = ctx.state;
  const wait = new RequestWait(ctx, parts, (onRefused) => parts.access.follow(ctx, onRefused));
  ctx.state.later = work(wait).finally(() => {
    wait.end();
    leave();
  });
}
