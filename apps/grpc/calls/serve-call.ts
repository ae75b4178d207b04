import { create } from '@bufbuild/protobuf';
import {
  Metadata,
  type handleServerStreamingCall,
  type handleUnaryCall,
  type ServerWritableStream,
} from '@grpc/grpc-js';
import type { Logger } from 'pino';
import type { Scope } from '../../../core/access/credential.js';
import { CallOver, requireWanted, type Cancellation } from '../../../core/cancellation.js';
import type { Context } from '../../../core/context.js';
import type { Clock } from '../../../core/ports/clock.js';
import { ServiceError } from '../../../core/errors.js';
import { safeRequestId } from '../../requests/request-id.js';
import { loggedIds, loggedRefusal, type LoggedRefusal } from '../../logging/logged-fields.js';
import { asServiceError, levelOf } from '../../requests/service-error.js';
import type { ActingFor } from '../callers/acting-for.js';
import { authenticate, identify, requireCurrent, requireServiceScope } from '../callers/authenticate.js';
import type { CallObserver, EndedCall } from './call-observer.js';
import type { CallerRates } from '../callers/caller-rates.js';
import { accessTokenOf, type TokenCallers } from '../callers/token-callers.js';
import { errorStatus, REQUEST_ID_KEY } from '../error-status.js';
import type { ServedMethod, ServedStream } from '../method.js';
import { RefusedRequest } from './refused-request.js';
import { byteSizeOf } from './request-bytes.js';
import { ServedCancellation, type AnyCall } from './served-cancellation.js';
import type { ServiceCallers } from '../callers/service-callers.js';
import { GRPC_STATUSES } from '../statuses.js';

export interface ServingCalls {
  /**
   * With a place for a call: a copy that gets one more member than it had takes a microsecond, and every call needs
   * one.
   */
  readonly context: Context & { readonly call: Cancellation | undefined };
  readonly callers: ServiceCallers;
  readonly rates: CallerRates;
  readonly actingFor: ActingFor;
  /** Absent where no OAuth tokens are taken. */
  readonly tokens?: TokenCallers | undefined;
  readonly logger: Logger;
  readonly observer?: CallObserver | undefined;
  /** Throws what refuses a call that the stores could not answer anyway. */
  readonly requireStores: () => void;
  /** Aborted when the server is asked to stop: a stream could last longer than the grace period. */
  readonly stopping: AbortSignal;
}

/** How often a caller that does not read is asked whether it may still watch. */
const ASK_EVERY_MS = 1_000;

/** Whether the answer was delivered. */
type Heard = 'heard' | 'unheard';

export function serveUnary(served: ServedMethod, parts: ServingCalls): handleUnaryCall<never, object> {
  return (call, send) => {
    around(
      call,
      served,
      parts,
      async (asked, scope, { requestId, about }) => {
        const answered = await served.answer(asked as never);
        about.createdId = served.createdId?.(answered as never);
        const answer = create(served.method.output, answered);
        if (scope.isOver) return 'unheard';
        call.sendMetadata(headOf(requestId));
        send(null, answer);
        return 'heard';
      },
      send,
    ).catch(lastResort(parts));
  };
}

/** What a stream yields is sent as fast as it is read, until it ends or the caller has gone. */
export function serveStream(served: ServedStream, parts: ServingCalls): handleServerStreamingCall<never, object> {
  return (call) => {
    let isTold = false;
    around(
      call,
      served,
      parts,
      async (asked, scope, { requestId }) => {
        // A caller that was revoked or has expired meanwhile gets no further messages.
        const requireAllowed = async (): Promise<void> => {
          const token = parts.tokens && accessTokenOf(call.metadata);
          if (token === undefined)
            requireServiceScope(authenticate(parts.callers, parts.context.clock, call), served.scope);
          else await parts.tokens?.requireCurrent(token);
        };
        const over = new AbortController();
        const end = (): void => over.abort();
        const listenNoMore = scope.onOver(end);
        parts.stopping.addEventListener('abort', end);
        if (parts.stopping.aborted) end();
        try {
          for await (const message of served.answer({ ...asked, signal: over.signal, requireAllowed } as never)) {
            if (scope.isOver) return 'unheard';
            if (!isTold) call.sendMetadata(headOf(requestId));
            isTold = true;
            if (call.write(create(served.method.output, message))) continue;
            await untilReadOr(call, over.signal, parts.context.clock, requireAllowed);
          }
        } finally {
          listenNoMore();
          parts.stopping.removeEventListener('abort', end);
        }
        if (scope.isOver) return 'unheard';
        if (parts.stopping.aborted)
          throw new ServiceError('SERVICE_UNAVAILABLE', 'This process is stopping; watch again.', {
            retryAfterMs: 1_000,
          });
        call.end();
        return 'heard';
      },
      (status) => {
        call.emit('error', status);
      },
    ).catch(lastResort(parts));
  };
}

/**
 * Around every call: its id, the checks of its method in order, of which the first that fails is reported, and one line
 * in the log.
 */
async function around(
  call: AnyCall,
  served: Pick<ServedMethod, 'scope' | 'acts' | 'bodyField'> & { readonly method: { readonly name: string } },
  parts: ServingCalls,
  serve: (
    asked: object,
    scope: Cancellation,
    known: { readonly requestId: string; readonly about: AboutCall },
  ) => Promise<Heard>,
  refuse: (status: ReturnType<typeof errorStatus>) => void,
): Promise<void> {
  const { context, logger, observer } = parts;
  const startedAt = performance.now();
  const requestId = readRequestId(call.metadata) ?? context.ids.uuid();
  const scope = new ServedCancellation(call);
  observer?.begun();
  const about: AboutCall = { scope, caller: undefined, accountId: undefined, createdId: undefined };
  let code: EndedCall['code'];
  let refused: LoggedRefusal | undefined;
  try {
    if ((await serve(await admit(call, served, parts, about), scope, { requestId, about })) === 'unheard')
      code = scope.status;
  } catch (error) {
    if (error instanceof CallOver) code = scope.status;
    else {
      const refusal = asServiceError(error);
      refused = loggedRefusal(refusal);
      ({ code } = refused);
      if (refusal !== error)
        logger[levelOf(error)]({ requestId, method: served.method.name, code, err: error }, 'request failed');
      refuse(errorStatus(refusal, { requestId, bodyField: served.bodyField ?? '' }));
    }
  }
  const durationMs = Math.round((performance.now() - startedAt) * 100) / 100;
  observer?.ended({ method: call.getPath().slice(1), code, bound: refused?.bound, durationMs });
  const isExpected =
    code === undefined ? about.createdId !== undefined : parts.stopping.aborted && code === 'SERVICE_UNAVAILABLE';
  const level = isExpected ? 'info' : levelFor(code);
  if (!logger.isLevelEnabled(level)) return;
  const { caller, accountId } = about;
  logger[level](
    {
      requestId,
      method: call.getPath(),
      durationMs,
      caller,
      accountId,
      ...(code === undefined ? {} : { code }),
      ...refused,
      ...idsOf(call, about),
    },
    'request',
  );
}

function idsOf({ request }: { readonly request: unknown }, { createdId }: AboutCall): object {
  const { generationId, uploadId } = (request ?? {}) as {
    readonly generationId?: unknown;
    readonly uploadId?: unknown;
  };
  return loggedIds({ generationId: createdId ?? generationId, uploadId });
}

/** No call may end the process, whatever fails here. */
function lastResort({ logger }: ServingCalls): (error: unknown) => void {
  return (error) => logger.error({ err: error }, 'request failed');
}

/**
 * Throws the refusal that a request got before its call was served; as over REST, that comes after authentication and
 * rate limits.
 */
function requireRequest(request: unknown): unknown {
  if (request instanceof RefusedRequest) throw request.refusal;
  return request;
}

/** What is learned of a call on its way, for the log. */
interface AboutCall {
  readonly scope: Cancellation;
  caller: string | undefined;
  accountId: string | undefined;
  /** Id of the generation that the call created. */
  createdId: string | undefined;
}

/** What the method is asked with, once the caller may call it. Throws what refuses the caller, and `CallOver`. */
async function admit(
  call: AnyCall,
  { scope, acts }: Pick<ServedMethod, 'scope' | 'acts'>,
  { context, callers, rates, actingFor, tokens, requireStores }: ServingCalls,
  about: AboutCall,
): Promise<object> {
  const request: unknown = call.request;
  const ofThisCall: Context = { ...context, call: about.scope };
  requireWanted(about.scope);
  if (scope === undefined) return { request: requireRequest(request), context: ofThisCall };
  const token = acts ? accessTokenOf(call.metadata) : undefined;
  if (token !== undefined && tokens !== undefined) {
    requireStores();
    // A method that acts has a scope of the API, not of operators.
    const asked = { scope: scope as Scope, byteSize: byteSizeOf(call.request), metadata: call.metadata };
    const caller = await tokens.caller(token, asked);
    about.caller = caller.credentialId;
    about.accountId = caller.accountId;
    requireRequest(request);
    requireWanted(about.scope);
    return { request, context: ofThisCall, caller };
  }
  const service = identify(callers, call);
  about.caller = service.name;
  requireCurrent(service, context.clock);
  await rates.take(service, scope, byteSizeOf(call.request));
  requireServiceScope(service, scope);
  requireRequest(request);
  requireStores();
  if (!acts) return { request, context: ofThisCall };
  const caller = await actingFor.caller(service, call.metadata);
  about.accountId = caller.accountId;
  requireWanted(about.scope);
  return { request, context: ofThisCall, caller };
}

function levelFor(code: EndedCall['code']): 'error' | 'info' | 'debug' {
  if (code === undefined) return 'debug';
  if (code === 'CANCELLED' || code === 'DEADLINE_EXCEEDED') return 'info';
  return [GRPC_STATUSES.SERVICE_UNAVAILABLE, GRPC_STATUSES.INTERNAL_ERROR].includes(GRPC_STATUSES[code])
    ? 'error'
    : 'info';
}

/** A caller that does not read is asked each second whether it may still watch: then it must not keep what it watches. */
async function untilReadOr(
  call: ServerWritableStream<never, object>,
  over: AbortSignal,
  clock: Pick<Clock, 'after'>,
  requireAllowed: () => Promise<void>,
): Promise<void> {
  for (;;) {
    const isOver = await new Promise<boolean>((resolve) => {
      const answer = (value: boolean) => (): void => {
        cancelTimer();
        call.off('drain', end);
        over.removeEventListener('abort', end);
        resolve(value);
      };
      const end = answer(true);
      const cancelTimer = clock.after(ASK_EVERY_MS, answer(false));
      call.on('drain', end);
      over.addEventListener('abort', end);
    });
    if (isOver) return;
    await requireAllowed();
  }
}

/**
 * The headers before an answer, never before a refusal: a client's library may retry a call by itself only if it
 * received nothing but the status.
 */
function headOf(requestId: string): Metadata {
  const head = new Metadata();
  head.set(REQUEST_ID_KEY, requestId);
  return head;
}

/** The caller's own id of the request, when it can be given back safely. */
function readRequestId(metadata: Metadata): string | undefined {
  const [value, ...others] = metadata.get(REQUEST_ID_KEY);
  return others.length === 0 ? safeRequestId(value) : undefined;
}
