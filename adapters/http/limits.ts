/** The bounds of one request and its answer. Each is positive. */
export interface HttpLimits {
  /** Until the request's first byte: waiting for a free connection, name resolution, TCP and TLS. */
  readonly connectTimeoutMs: number;
  /** From the last piece of the request to the end of the answer's headers. */
  readonly headersTimeoutMs: number;
  /** Between two pieces of the answer's body, while the next one is being waited for. */
  readonly idleTimeoutMs: number;
  /**
   * The same until the body's first byte other than white space; `idleTimeoutMs` when absent. Servers send headers, and
   * spaces to keep a connection alive, long before they have computed what they answer.
   */
  readonly firstByteTimeoutMs?: number;
  /** From the call to the last byte of the answer's body, redirects included. */
  readonly totalTimeoutMs: number;
  /** The limit for the answer's body, both as it is sent and after decompression. */
  readonly maxBodyBytes: number;
  /** Decompressed bytes for each byte received, once a body has 64 KiB. */
  readonly maxDecompressionRatio: number;
}

export const DEFAULT_HTTP_LIMITS: HttpLimits = {
  connectTimeoutMs: 10_000,
  headersTimeoutMs: 30_000,
  idleTimeoutMs: 15_000,
  totalTimeoutMs: 120_000,
  maxBodyBytes: 1024 * 1024,
  maxDecompressionRatio: 100,
};

/** The longest a timer can run. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** Throws a `RangeError` for a limit that is none. */
export function requireLimits(limits: HttpLimits): void {
  for (const [name, value] of Object.entries(limits) as [string, number][]) {
    const most = name.endsWith('TimeoutMs') ? MAX_TIMEOUT_MS : Number.MAX_SAFE_INTEGER;
    if (!(value > 0 && value <= most)) throw new RangeError(`${name} must be above 0 and at most ${most}.`);
  }
}
