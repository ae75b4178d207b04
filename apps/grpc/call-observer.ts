export interface EndedCall {
  /** The full name of the method, as `darkroom.v1.Generations/GetGeneration`. */
  readonly method: string;
  /** The error code, when it was refused. */
  readonly code: string | undefined;
  readonly durationMs: number;
}

/** Told of what the gRPC front does. Must not throw. */
export interface CallObserver {
  begun(): void;
  /** Once for every `begun`. */
  ended(call: EndedCall): void;
}
