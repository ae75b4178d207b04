export const UP = { status: 'up' } as const;
export const READY = { status: 'ready' } as const;

export interface ReadinessParts {
  /** Whether the process's database responds. The object store is not checked: much works without it. */
  readonly readiness: () => Promise<boolean>;
  readonly isStopping: () => boolean;
}

/** A probe treats a database that does not respond within this time as not ready. */
const READINESS_TIMEOUT_MS = 4_000;

/**
 * Whether requests should be sent to this process: not before its database responds, and not once it is stopping. However
 * many unauthenticated clients probe, the database is checked once at a time.
 */
export function readyWhile({ readiness, isStopping }: ReadinessParts): () => Promise<boolean> {
  const isReady = singleFlight(readiness, READINESS_TIMEOUT_MS);
  return async () => !isStopping() && (await isReady().catch(() => false));
}

/** Makes one check for all concurrent callers, and resolves to false when it takes longer than `timeoutMs`. */
export function singleFlight(check: () => Promise<boolean>, timeoutMs: number): () => Promise<boolean> {
  let inFlight: Promise<boolean> | undefined;
  return () => {
    inFlight ??= withTimeout(check, timeoutMs).finally(() => {
      inFlight = undefined;
    });
    return inFlight;
  };
}

function withTimeout(check: () => Promise<boolean>, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(false), timeoutMs);
    timer.unref();
    check()
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}
