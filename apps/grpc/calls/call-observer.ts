import type { Bound, ErrorCode } from '../../../core/errors.js';

export interface EndedCall {
  /** The full name of the method, as `darkroom.v1.Generations/GetGeneration`. */
  readonly method: string;
  /** The error code, when it was refused; one of gRPC's own two when its caller did not wait for the answer. */
  readonly code: ErrorCode | 'CANCELLED' | 'DEADLINE_EXCEEDED' | undefined;
  /** What there is as much of as there may be, when it was refused for that. */
  readonly bound?: Bound | undefined;
  readonly durationMs: number;
}

/** Told of what the gRPC front does. Must not throw. */
export interface CallObserver {
  begun(): void;
  /** Once for every `begun`. */
  ended(call: EndedCall): void;
}
