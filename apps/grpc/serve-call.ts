import { create } from '@bufbuild/protobuf';
import { Metadata, type handleServerStreamingCall, type handleUnaryCall, type ServerUnaryCall, type ServerWritableStream } from '@grpc/grpc-js';
import type { Logger } from 'pino';
import type { Context } from '../../core/context.js';
import { ServiceError } from '../../core/errors.js';
import { safeRequestId } from '../request-id.js';
import { asServiceError } from '../service-error.js';
import type { ActingFor } from './acting-for.js';
import { authenticate, requireServiceScope } from './authenticate.js';
import type { CallObserver } from './call-observer.js';
import { errorStatus } from './error-status.js';
import type { ServedMethod, ServedStream } from './method.js';
import type { ServiceCallers } from './service-callers.js';
import { GRPC_STATUSES } from './statuses.js';

export interface ServingCalls {
  readonly context: Context;
  readonly callers: ServiceCallers;
  readonly actingFor: ActingFor;
  readonly logger: Logger;
  readonly observer?: CallObserver | undefined;
  /** Aborted when the server is asked to stop: a stream could go on for longer than anybody waits. */
  readonly stopping: AbortSignal;
}

type AnyCall = ServerUnaryCall<never, object> | ServerWritableStream<never, object>;

export function serveUnary(served: ServedMethod, parts: ServingCalls): handleUnaryCall<never, object> {
  return (call, send) => {
    void around(call, served, parts, async (asked) => {
      send(null, create(served.method.output, await served.answer(asked as never)));
    }, send);
  };
}

/** What a stream yields is sent as fast as it is read, until it ends or the caller has gone. */
export function serveStream(served: ServedStream, parts: ServingCalls): handleServerStreamingCall<never, object> {
  return (call) => {
    const gone = new AbortController();
    const over = new AbortController();
    const end = (): void => over.abort();
    gone.signal.addEventListener('abort', end);
    parts.stopping.addEventListener('abort', end);
    call.on('cancelled', () => gone.abort());
    // What ended before there was anybody to hear of it is not told any more.
    if (call.destroyed || Number(call.getDeadline()) <= Date.now()) gone.abort();
    void around(call, served, parts, async (asked) => {
      try {
        for await (const message of served.answer({ ...asked, signal: over.signal } as never)) {
          if (gone.signal.aborted) return;
          if (!call.write(create(served.method.output, message))) await untilReadOr(call, over.signal);
        }
      } finally {
        parts.stopping.removeEventListener('abort', end);
      }
      if (parts.stopping.aborted) throw new ServiceError('SERVICE_UNAVAILABLE', 'This process is stopping; watch again.', { retryAfterMs: 1_000 });
      call.end();
    }, (status) => { call.emit('error', status); });
  };
}

/** Around every call: its id, the checks of its method in the order in which the first that fails is told, one line in the log. */
async function around(
  call: AnyCall,
  { method, scope, acts, bodyField = '' }: Pick<ServedMethod, 'scope' | 'acts' | 'bodyField'> & { readonly method: { readonly name: string } },
  { context, callers, actingFor, logger, observer }: ServingCalls,
  serve: (asked: object) => Promise<void>,
  refuse: (status: ReturnType<typeof errorStatus>) => void,
): Promise<void> {
  const startedAt = performance.now();
  observer?.begun();
  const requestId = readRequestId(call.metadata) ?? context.ids.uuid();
  let refusal: ServiceError | undefined;
  try {
    const sent = new Metadata();
    sent.set('x-request-id', requestId);
    call.sendMetadata(sent);
    const { request } = call;
    if (scope === undefined) await serve({ context, request });
    else {
      const service = authenticate(callers, context.clock, call);
      requireServiceScope(service, scope);
      await serve(acts ? { context, request, caller: await actingFor.caller(service, call.metadata) } : { context, request });
    }
  } catch (error) {
    refusal = asServiceError(error);
    if (refusal !== error) logger.error({ requestId, method: method.name, code: refusal.code, err: error }, 'request failed');
    refuse(errorStatus(refusal, { requestId, bodyField }));
  }
  const durationMs = Math.round((performance.now() - startedAt) * 100) / 100;
  observer?.ended({ method: call.getPath().slice(1), code: refusal?.code, durationMs });
  const level = levelFor(refusal?.code);
  if (!logger.isLevelEnabled(level)) return;
  logger[level]({ requestId, method: call.getPath(), durationMs, ...(refusal ? { code: refusal.code } : {}) }, 'request');
}

function levelFor(code: ServiceError['code'] | undefined): 'error' | 'info' | 'debug' {
  if (code === undefined) return 'debug';
  return [GRPC_STATUSES.SERVICE_UNAVAILABLE, GRPC_STATUSES.INTERNAL_ERROR].includes(GRPC_STATUSES[code]) ? 'error' : 'info';
}

function untilReadOr(call: ServerWritableStream<never, object>, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      call.off('drain', end);
      over.removeEventListener('abort', end);
      resolve();
    };
    call.on('drain', end);
    over.addEventListener('abort', end);
  });
}

/** The caller's own id of the request, when it can be given back safely. */
function readRequestId(metadata: Metadata): string | undefined {
  const [value, ...others] = metadata.get('x-request-id');
  return others.length === 0 ? safeRequestId(value) : undefined;
}
