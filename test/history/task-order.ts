import { canonical } from './values.js';

const RANK: ReadonlyMap<unknown, number> = new Map([
  ['queued', 0],
  ['running', 1],
  ['succeeded', 2],
  ['failed', 2],
  ['cancelled', 2],
]);

export const ENDED_RANK = 2;

/** How far on a status is; -1 for what is none. */
export function rankOf(status: unknown): number {
  return RANK.get(status) ?? -1;
}

/** What a client was shown of a generation, as far as it must not go back. */
export interface Shown {
  readonly rank: number;
  readonly charged: number;
  /** Milliseconds. */
  readonly updatedAt: number;
  /** One text of what never changes. Absent for a generation that is gone. */
  readonly constant?: string;
  /** One text of what no longer changes once the generation has ended. */
  readonly end: string;
}

/** The members of a task that never change. */
export function constantOf(task: {
  readonly estimated: unknown;
  readonly reserved: unknown;
  readonly createdAt: unknown;
  readonly modelKey: unknown;
  readonly traceId: unknown;
}): string {
  const { estimated, reserved, createdAt, modelKey, traceId } = task;
  return canonical([estimated, reserved, createdAt, modelKey, traceId]);
}

/**
 * The invariant (3, 7 or 8) that `after` breaks if it was shown to a client that asked when `before` was known. Which
 * view counts as known is for the caller to say: the simulation has the order of all events, fault runs the times of
 * clients.
 */
export function brokenBy(before: Shown, after: Shown): 3 | 7 | 8 | undefined {
  if (before.constant !== undefined && after.constant !== before.constant) return 3;
  if (before.rank === ENDED_RANK && after.rank === ENDED_RANK && after.end !== before.end) return 7;
  return after.rank < before.rank || after.charged < before.charged || after.updatedAt < before.updatedAt
    ? 8
    : undefined;
}
