const BASE_MS = 250;
const CAP_MS = 8_000;

/** How often a call is made at most, the first time included. */
export const MAX_TRIES = 6;

/** Milliseconds before try number `tries` + 1 if the server does not say: doubled each time, with random jitter. */
export function backOffMs(tries: number): number {
  return Math.min(CAP_MS, BASE_MS * 2 ** (tries - 1)) * (0.5 + Math.random() / 2);
}
