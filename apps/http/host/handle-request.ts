import type { Logger } from 'pino';
import type { Ids } from '../../../core/ports/ids.js';
import type { ClientAddresses } from './client-addresses.js';
import { answerError } from './errors.js';
import type { HttpObserver } from './http-observer.js';
import { readRequestId, requireOneHost } from './request-headers.js';
import { readTarget } from './request-target.js';
import type { HttpContext, HttpMiddleware, HttpState } from './http-context.js';
import { SECURITY_HEADERS } from './security-headers.js';
import { cutLateBody, finishSending } from './send.js';
import type { UnauthenticatedRefusals } from './unauthenticated-refusals.js';

export interface HandlingParts {
  readonly ids: Pick<Ids, 'uuid'>;
  readonly logger: Logger;
  readonly addresses: ClientAddresses;
  readonly refusals: UnauthenticatedRefusals;
  readonly isStopping: () => boolean;
  readonly observer?: HttpObserver | undefined;
  /** How long a client may go on sending a body once it has its answer, in milliseconds. */
  readonly lingerMs: number;
}

/** Around every request: its id, the headers every answer carries, the one error handler, one line in the log. */
export function handleRequest(parts: HandlingParts): HttpMiddleware {
  const { ids, logger, observer } = parts;
  return async (ctx, next) => {
    const startedAt = performance.now();
    observer?.begun();
    const { req, res, state } = ctx;
    state.requestId = readRequestId(req) ?? ids.uuid();
    res.setHeader('X-Request-Id', state.requestId);
    for (const [name, value] of SECURITY_HEADERS) res.setHeader(name, value);
    try {
      requireOneHost(req);
      state.target = readTarget(req.url ?? '');
      await next();
    } catch (error) {
      await answerError(ctx, error, logger);
    }
    if (state.later === undefined) return finish(ctx, startedAt, parts);
    // The framework must not answer now.
    ctx.respond = false;
    void state.later
      .catch((error: unknown) => answerError(ctx, error, logger))
      .then(() => finish(ctx, startedAt, parts))
      .catch((error: unknown) => ctx.app.emit('error', error));
  };
}

/** The request has its answer: it is sent, counted and logged. */
function finish(ctx: HttpContext, startedAt: number, parts: HandlingParts): void {
  const { logger, addresses, refusals, isStopping, observer, lingerMs } = parts;
  const { req, res, state } = ctx;
  cutLateBody(ctx, lingerMs);
  if (isStopping() && !res.headersSent) res.setHeader('Connection', 'close');
  const { method = '' } = req;
  const { statusCode: status } = res;
  observer?.ended({
    method,
    route: state.route,
    status,
    code: state.refusal?.code,
    bound: state.refusal?.bound,
    durationMs: performance.now() - startedAt,
  });
  if (isUnauthenticated(status, state)) {
    state.address ??= addresses.ofRequest(req);
    state.isLeftOut = !refusals.isLogged(state.address);
  }
  const level =
    state.isLeftOut === true ? 'debug' : levelFor(status, state.hasCreated === true || state.refusal !== undefined);
  if (logger.isLevelEnabled(level)) logger[level](lineOf({ method, status, state }, startedAt), 'request');
  finishSending(ctx);
}

/** Whether a request was refused before it authenticated. The log counts what an outage refuses elsewhere. */
function isUnauthenticated(status: number, state: HttpState): boolean {
  return status >= 400 && status < 500 && state.caller === undefined && state.isLeftOut !== true;
}

function levelFor(status: number, isTold: boolean): 'error' | 'info' | 'debug' {
  if (status >= 500) return 'error';
  return status >= 400 || isTold ? 'info' : 'debug';
}

function lineOf(
  { method, status, state }: { readonly method: string; readonly status: number; readonly state: HttpState },
  startedAt: number,
): object {
  const { requestId, route, tool, caller, refusal, ids, address } = state;
  const durationMs = Math.round((performance.now() - startedAt) * 100) / 100;
  return {
    requestId,
    method,
    route,
    tool,
    status,
    ...refusal,
    ...ids,
    durationMs,
    address,
    accountId: caller?.accountId,
    credentialId: caller?.credentialId,
  };
}
