/** How much may go wrong in one run, and how long it may get. Everything is counted over all processes together. */
export interface Bounds {
  /** The most choices in a row. */
  readonly depth: number;
  readonly crashes: number;
  /** Calls that end with `StoreUnavailable`, whether or not they took effect. */
  readonly lost: number;
  /** How often time moves on past every lease. */
  readonly leaps: number;
  /** Requests that clients send again. */
  readonly retries: number;
  /** Recovery passes of the worker. */
  readonly recoveries: number;
  /** How often the worker's wake-ups are delivered. */
  readonly wakes: number;
}

export const DEFAULT_BOUNDS: Bounds = { depth: 14, crashes: 1, lost: 0, leaps: 1, retries: 0, recoveries: 1, wakes: 1 };

export type Spent = { -readonly [K in Exclude<keyof Bounds, 'depth'>]: number };

export function nothingSpent(): Spent {
  return { crashes: 0, lost: 0, leaps: 0, retries: 0, recoveries: 0, wakes: 0 };
}
