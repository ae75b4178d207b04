import { create } from '@bufbuild/protobuf';
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  type ServerUnaryCall,
  type ServerWritableStream,
} from '@grpc/grpc-js';
import type { Logger } from 'pino';
import type { Scope } from '../../core/access/credential.js';
import { CallOver, type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import { type Bound, type ErrorCode, ServiceError } from '../../core/errors.js';
import type { Clock } from '../../core/ports/machine.js';
import { loggedIds, loggedRefusal, type LoggedRefusal, safeRequestId } from '../logging/logged-fields.js';
import { asServiceError, levelOf } from '../service-errors.js';
import {
  type ActingFor,
  authenticate,
  type CallerRates,
  identify,
  requireCurrent,
  requireServiceScope,
  type ServiceCallers,
} from './callers.js';
import { accessTokenOf, type TokenCallers } from './token-callers.js';
import { byteSizeOf } from './request-bytes.js';
import { errorStatus, GRPC_STATUSES, REQUEST_ID_KEY } from './error-status.js';
import type { GrpcContext, ServedMethod, ServedStream } from './method.js';

export interface EndedCall {
  /** The full name of the method, as `darkroom.v1.Generations/GetGeneration`. */
  readonly method: string;
  /** The error code if it was refused; one of gRPC's own two if its caller did not wait for the response. */
  readonly code: ErrorCode | 'CANCELLED' | 'DEADLINE_EXCEEDED' | undefined;
  /** The limit that was reached, if the call was refused for that reason. */
  readonly bound?: Bound | undefined;
  readonly durationMs: number;
}

/** Receives the events of the gRPC front. Must not throw. */
export interface CallObserver {
  started(): void;
  /** Called once for every `started`. */
  ended(call: EndedCall): void;
}

/** Replaces the request of a call that is refused because of it, or before it is read. */
export class RefusedRequest {
  constructor(readonly refusal: ServiceError) {}
}

export type AnyCall = ServerUnaryCall<never, object> | ServerWritableStream<never, object>;

/**
 * A gRPC call in the form that use cases and stores use: over when its caller cancels it or has disconnected, or its
 * deadline has passed.
 */
class ServedCancellation implements Cancellation {
  readonly deadline: number;

  constructor(private readonly call: AnyCall) {
    this.deadline = Number(call.getDeadline());
  }

  get isOver(): boolean {
    // A stream that ended before it had a listener is destroyed and emits no further event.
    return this.call.cancelled || ('destroyed' in this.call && this.call.destroyed) || this.isLate;
  }

  onOver(tell: () => void): () => void {
    this.call.once('cancelled', tell);
    return () => {
      this.call.off('cancelled', tell);
    };
  }

  /** How the call ended for its caller, when it is over. */
  get status(): 'DEADLINE_EXCEEDED' | 'CANCELLED' {
    return this.isLate ? 'DEADLINE_EXCEEDED' : 'CANCELLED';
  }

  private get isLate(): boolean {
    return Date.now() >= this.deadline;
  }
}

export interface ServingCalls {
  /**
   * With a place for a call: a copy that gets one more member than it had takes a microsecond, and every call needs
   * one.
   */
  readonly context: GrpcContext & { readonly call: Cancellation | undefined };
  readonly callers: ServiceCallers;
  readonly rates: CallerRates;
  readonly actingFor: ActingFor;
  /** Absent where no OAuth tokens are taken. */
  readonly tokens?: TokenCallers | undefined;
  readonly logger: Logger;
  readonly observer?: CallObserver | undefined;
  /** Throws what refuses a call that the stores could not answer anyway. */
  readonly requireStores: () => void;
  /** Aborted when the server starts to stop: a stream could last longer than the grace period. */
  readonly stopping: AbortSignal;
}

/** How often to check that a caller that does not read may still watch. */
const ASK_EVERY_MS = 1_000;

export function serveUnary(served: ServedMethod, parts: ServingCalls): handleUnaryCall<never, object> {
  return (call, send) => {
    around(
      call,
      served,
      parts,
      async (asked, about) => {
        const requireAllowed = () => requireStillAllowed(call, served.scope, parts);
        const answered = await served.answer({ ...asked, requireAllowed } as never);
        about.createdId = served.createdId?.(answered as never);
        const answer = create(served.method.output, answered);
        throwIfAborted(about.scope);
        call.sendMetadata(headOf(about.requestId));
        send(null, answer);
      },
      send,
    ).catch(lastResort(parts));
  };
}

/**
 * Sends each part of a stream as soon as the client reads it, until the stream ends or the caller has disconnected.
 */
export function serveStream(served: ServedStream, parts: ServingCalls): handleServerStreamingCall<never, object> {
  return (call) => {
    let isTold = false;
    around(
      call,
      served,
      parts,
      async (asked, { scope, requestId }) => {
        // A caller that was revoked or has expired in the meantime receives no further messages.
        const requireAllowed = () => requireStillAllowed(call, served.scope, parts);
        const over = new AbortController();
        const end = (): void => over.abort();
        const listenNoMore = scope.onOver(end);
        parts.stopping.addEventListener('abort', end);
        if (parts.stopping.aborted) end();
        try {
          for await (const message of served.answer({ ...asked, signal: over.signal, requireAllowed } as never)) {
            throwIfAborted(scope);
            if (!isTold) call.sendMetadata(headOf(requestId));
            isTold = true;
            if (call.write(create(served.method.output, message))) continue;
            await untilReadOr(call, over.signal, parts.context.clock, requireAllowed);
          }
        } finally {
          listenNoMore();
          parts.stopping.removeEventListener('abort', end);
        }
        throwIfAborted(scope);
        if (parts.stopping.aborted)
          throw new ServiceError('SERVICE_UNAVAILABLE', 'This process is stopping; watch again.', {
            retryAfterMs: 1_000,
          });
        call.end();
      },
      (status) => call.emit('error', status),
    ).catch(lastResort(parts));
  };
}

/** Throws the refusal of a caller that was revoked or has expired since the call began. */
async function requireStillAllowed(
  call: AnyCall,
  scope: ServedMethod['scope'],
  { tokens, callers, context }: ServingCalls,
): Promise<void> {
  const token = tokens && accessTokenOf(call.metadata);
  if (token !== undefined) await tokens?.requireCurrent(token);
  else if (scope !== undefined) requireServiceScope(authenticate(callers, context.clock, call), scope);
}

/**
 * Around every call: its id, the checks of its method in order, of which the first that fails is reported, and one line
 * in the log.
 */
async function around(
  call: AnyCall,
  served: Pick<ServedMethod, 'scope' | 'acts' | 'bodyField'> & { readonly method: { readonly name: string } },
  parts: ServingCalls,
  /** Throws `CallOver` when the answer was not delivered. */
  serve: (asked: object, about: AboutCall) => Promise<void>,
  refuse: (status: ReturnType<typeof errorStatus>) => void,
): Promise<void> {
  const { context, logger, observer } = parts;
  const startedAt = performance.now();
  const requestId = readRequestId(call.metadata) ?? context.ids.uuid();
  const scope = new ServedCancellation(call);
  observer?.started();
  const about: AboutCall = { requestId, scope, caller: undefined, accountId: undefined, createdId: undefined };
  let code: EndedCall['code'];
  let refused: LoggedRefusal | undefined;
  try {
    await serve(await admit(call, served, parts, about), about);
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

/** A call, and details of it that are found while it is served, for the log. */
interface AboutCall {
  readonly requestId: string;
  readonly scope: Cancellation;
  caller: string | undefined;
  accountId: string | undefined;
  /** Id of the generation that the call created. */
  createdId: string | undefined;
}

/** The arguments of the method, once the caller may call it. Throws the refusal of the caller, and `CallOver`. */
async function admit(
  call: AnyCall,
  { scope, acts }: Pick<ServedMethod, 'scope' | 'acts'>,
  { context, callers, rates, actingFor, tokens, requireStores }: ServingCalls,
  about: AboutCall,
): Promise<object> {
  const request: unknown = call.request;
  const ofThisCall: GrpcContext = { ...context, call: about.scope };
  throwIfAborted(about.scope);
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
    throwIfAborted(about.scope);
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
  throwIfAborted(about.scope);
  return { request, context: ofThisCall, caller };
}

function levelFor(code: EndedCall['code']): 'error' | 'info' | 'debug' {
  if (code === undefined) return 'debug';
  if (code === 'CANCELLED' || code === 'DEADLINE_EXCEEDED') return 'info';
  return [GRPC_STATUSES.SERVICE_UNAVAILABLE, GRPC_STATUSES.INTERNAL_ERROR].includes(GRPC_STATUSES[code])
    ? 'error'
    : 'info';
}

/**
 * While a caller does not read, its permission to watch is checked every second, so that it cannot keep what it
 * watches after losing it.
 */
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

/** The caller's own request id, if it can safely be returned. */
function readRequestId(metadata: Metadata): string | undefined {
  const [value, ...others] = metadata.get(REQUEST_ID_KEY);
  return others.length === 0 ? safeRequestId(value) : undefined;
}

export interface Guard {
  /** The paths of our methods that are public, and of those for authenticated services. */
  readonly open: ReadonlySet<string>;
  readonly closed: ReadonlySet<string>;
  readonly callers: ServiceCallers;
  readonly clock: Pick<Clock, 'now'>;
  /** The maximum time from the start of a call until its request has arrived, in milliseconds. */
  readonly requestTimeoutMs: number;
}

/**
 * Checks a call before any of its request is read. The library decompresses every message, and a compressed message
 * of a hundred bytes can expand to the maximum message size: so no request of an unauthenticated caller is read where
 * only services may call, and no compressed request elsewhere. An OAuth token is looked up in the stores, which takes
 * longer. A refused call is passed to its method without its request, and is refused there like any other.
 */
export function guardCalls({ open, closed, callers, clock, requestTimeoutMs }: Guard): ServerInterceptor {
  return ({ path, requestStream }, call) => {
    const isOurs = open.has(path) || closed.has(path);
    const refusalOf = (metadata: Metadata): ServiceError | undefined =>
      closed.has(path) && accessTokenOf(metadata) === undefined ? strangeness(call, metadata) : compression(call);
    return new GuardedCall(call, { refusalOf, isOurs, timeoutMs: requestStream ? undefined : requestTimeoutMs });
  };

  function strangeness(call: ServerInterceptingCallInterface, metadata: Metadata): ServiceError | undefined {
    try {
      authenticate(callers, clock, { metadata, getAuthContext: () => call.getAuthContext() });
      return undefined;
    } catch (error) {
      return asServiceError(error);
    }
  }
}

/** The library removes the header before handlers see it, and keeps its value. */
function compression(call: ServerInterceptingCallInterface): ServiceError | undefined {
  const encoding: unknown = Reflect.get(call, 'incomingEncoding');
  return encoding === 'identity'
    ? undefined
    : new ServiceError('MEDIA_TYPE_UNSUPPORTED', 'Send messages of this method uncompressed.');
}

interface Looks {
  refusalOf(metadata: Metadata): ServiceError | undefined;
  readonly isOurs: boolean;
  /** Absent where messages may come at any time. */
  readonly timeoutMs: number | undefined;
}

type Listener = Parameters<ServerInterceptingCall['start']>[0];

class GuardedCall extends ServerInterceptingCall {
  private listener: Listener | undefined;
  private refusal: ServiceError | undefined;
  private isAnswered = false;
  private hasMessage = false;
  private arrival: NodeJS.Timeout | undefined;

  constructor(
    private readonly guarded: ServerInterceptingCallInterface,
    private readonly looks: Looks,
  ) {
    super(guarded);
  }

  override start(listener: Listener): void {
    this.listener = listener;
    super.start({
      onReceiveMetadata: (metadata) => {
        // Not earlier: for a call that has already ended the library reports nothing at all, not even its end.
        if (this.looks.timeoutMs !== undefined)
          this.arrival = setTimeout(() => this.giveUp(), this.looks.timeoutMs).unref();
        this.refusal = this.looks.refusalOf(metadata);
        listener.onReceiveMetadata(metadata);
      },
      onReceiveMessage: (message: unknown) => {
        this.hasMessage = true;
        listener.onReceiveMessage(message);
      },
      onReceiveHalfClose: () => {
        clearTimeout(this.arrival);
        if (!this.isAnswered) listener.onReceiveHalfClose();
      },
      onCancel: () => {
        clearTimeout(this.arrival);
        listener.onCancel();
      },
    });
  }

  override startRead(): void {
    if (this.refusal === undefined) super.startRead();
    else this.refuse(this.refusal);
  }

  private refuse(refusal: ServiceError): void {
    if (this.isAnswered) return;
    this.isAnswered = true;
    clearTimeout(this.arrival);
    if (!this.looks.isOurs || this.hasMessage) {
      this.guarded.sendStatus({ code: GRPC_STATUSES[refusal.code], details: refusal.message });
      return;
    }
    this.listener?.onReceiveMessage(new RefusedRequest(refusal));
    this.listener?.onReceiveHalfClose();
  }

  private giveUp(): void {
    this.refusal = new ServiceError('REQUEST_TIMEOUT');
    this.refuse(this.refusal);
  }
}

/** Counts the calls of our own services in progress, and passes them on to another observer. */
export class CallsUnderWay implements CallObserver {
  private count = 0;
  private readonly waiting = new Set<() => void>();

  constructor(private readonly next: CallObserver | undefined) {}

  started(): void {
    this.count += 1;
    this.next?.started();
  }

  ended(call: EndedCall): void {
    this.count -= 1;
    this.next?.ended(call);
    if (this.count > 0) return;
    for (const tell of this.waiting) tell();
    this.waiting.clear();
  }

  get isNone(): boolean {
    return this.count === 0;
  }

  /** Resolves once there is none. */
  none(): Promise<void> {
    return this.isNone
      ? Promise.resolve()
      : new Promise((resolve) => {
          this.waiting.add(resolve);
        });
  }
}
