import {
  ServerInterceptingCall,
  type Metadata,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
} from '@grpc/grpc-js';
import { ServiceError } from '../../../core/errors.js';
import type { Clock } from '../../../core/ports/clock.js';
import { asServiceError } from '../../requests/service-error.js';
import { authenticate } from '../callers/authenticate.js';
import { accessTokenOf } from '../callers/token-callers.js';
import { RefusedRequest } from './refused-request.js';
import type { ServiceCallers } from '../callers/service-callers.js';
import { GRPC_STATUSES } from '../statuses.js';

export interface Guard {
  /** The paths of our own methods that are public, and of those for authenticated services. */
  readonly open: ReadonlySet<string>;
  readonly closed: ReadonlySet<string>;
  readonly callers: ServiceCallers;
  readonly clock: Pick<Clock, 'now'>;
  /** How long a request may take to arrive after its call has begun, in milliseconds. */
  readonly requestTimeoutMs: number;
}

/**
 * Checks a call before any of its request is read. The library decompresses every message, and a compressed message of
 * a hundred bytes can expand to the maximum size of a message: so no request of an unauthenticated caller is read where
 * only services may call, and no compressed one elsewhere. An OAuth token is looked up in the stores, which takes longer. A refused call is passed to its method without its request,
 * and is refused there like any other.
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
