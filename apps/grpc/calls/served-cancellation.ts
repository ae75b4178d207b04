import type { ServerUnaryCall, ServerWritableStream } from '@grpc/grpc-js';
import type { Cancellation } from '../../../core/cancellation.js';

export type AnyCall = ServerUnaryCall<never, object> | ServerWritableStream<never, object>;

/**
 * A gRPC call as use cases and stores know it: over when its caller cancels it or has gone, or its deadline has passed.
 */
export class ServedCancellation implements Cancellation {
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
