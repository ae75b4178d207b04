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
import { RefusedRequest } from './refused-request.js';
import type { ServiceCallers } from '../callers/service-callers.js';
import { GRPC_STATUSES } from '../statuses.js';

export interface Guard {
  /** The paths of our own methods that anybody may call, and of those that services may. */
  readonly open: ReadonlySet<string>;
  readonly closed: ReadonlySet<string>;
  readonly callers: ServiceCallers;
  readonly clock: Pick<Clock, 'now'>;
  /** How long a request may take to arrive once its call is there, in milliseconds. */
  readonly requestTimeoutMs: number;
}

/**
 * Looks at a call before anything is read of it. The library unpacks whatever comes, and a compressed message of a
 * hundred bytes takes all that a message may have: so nothing is read of strangers where services alone may call, and
 * nothing compressed elsewhere. What is refused here goes on to its method without its request, to be refused there as
 * everything is.
 */
export function guardCalls({ open, closed, callers, clock, requestTimeoutMs }: Guard): ServerInterceptor {
  return ({ path, requestStream }, call) => {
    const isOurs = open.has(path) || closed.has(path);
    const refusalOf = (metadata: Metadata): ServiceError | undefined =>
      closed.has(path) ? strangeness(call, metadata) : compression(call);
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

/** The library takes the header away before anybody sees it, and keeps what it said. */
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
        // Not before: of a call that has ended by now the library tells nothing at all, not even its end.
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
