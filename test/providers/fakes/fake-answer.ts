export interface FakeAnswer {
  /** 200 when absent. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; instead of `body`. */
  readonly json?: unknown;
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
}
