import type { Generation } from '../../core/generation/generation.js';
import type { JsonObject } from '../../core/json.js';
import type { Finding } from './finding.js';
import { asObject, canonical, textOf } from './values.js';

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
  /** One text of what no longer changes once the generation has ended, outputs aside. */
  readonly end: string;
  /** One text of its outputs. Absent where they may have gone with their retention. */
  readonly delivered?: string;
}

/** A task as a client is shown it. Addresses of outputs are signed anew for every look. */
export function shownTask(data: JsonObject): Shown {
  const { status, completed_at: completedAt, charged_credits: charged, outputs, error } = data;
  const delivered = Array.isArray(outputs) ? outputs.map((output) => ({ ...asObject(output), url: undefined })) : [];
  const { estimated_credits: estimated, reserved_credits: reserved, created_at: createdAt } = data;
  return {
    rank: rankOf(status),
    charged: Number(charged),
    updatedAt: Date.parse(textOf(data['updated_at'])),
    constant: canonical([estimated, reserved, createdAt, data['model_key'], data['client_trace_id']]),
    end: canonical([status, completedAt, charged, error]),
    delivered: canonical(delivered),
  };
}

/** A record as clients are to be shown it. */
export function shownRecord(generation: Generation): Shown {
  const { status, createdAt, updatedAt, completedAt, estimatedCredits, reservedCredits, chargedCredits } = generation;
  const { modelKey, clientTraceId, error, outputs } = generation;
  const completed = completedAt === undefined ? undefined : timestamp(completedAt);
  const delivered = outputs.map(({ mediaId, kind, widthPx, heightPx, durationMs }) => ({
    media_id: mediaId,
    media_type: kind,
    width: widthPx,
    height: heightPx,
    duration_ms: durationMs,
  }));
  return {
    rank: rankOf(status),
    charged: chargedCredits,
    updatedAt,
    constant: canonical([estimatedCredits, reservedCredits, timestamp(createdAt), modelKey, clientTraceId]),
    end: canonical([status, completed, chargedCredits, error]),
    delivered: canonical(delivered),
  };
}

function hasOtherOutputs({ delivered }: Shown, other: Shown): boolean {
  return delivered !== undefined && other.delivered !== undefined && delivered !== other.delivered;
}

function timestamp(at: number): string {
  return new Date(at).toISOString();
}

/**
 * Invariants 3 and 15: what a client is shown is what is on record: what never changes, and, once it has ended, the
 * end.
 */
export function* checkShown(told: string, shown: Shown, record: Shown): Iterable<Finding> {
  if (shown.constant !== record.constant)
    yield { invariant: 3, sentence: `${told} showed ${shown.constant}, and ${record.constant} is on record` };
  if (shown.rank !== ENDED_RANK) return;
  if (shown.end !== record.end)
    yield { invariant: 15, sentence: `${told} showed the end ${shown.end}, and ${record.end} is on record` };
  if (hasOtherOutputs(shown, record))
    yield {
      invariant: 15,
      sentence: `${told} showed outputs ${shown.delivered}, and ${record.delivered} are on record`,
    };
}

/**
 * The invariant (3, 7 or 8) that `after` breaks if it was shown to a client that asked when `before` was known. Which
 * view counts as known is for the caller to say: the simulation has the order of all events, fault runs the times of
 * clients.
 */
export function brokenBy(before: Shown, after: Shown): 3 | 7 | 8 | undefined {
  if (before.constant !== undefined && after.constant !== before.constant) return 3;
  const isOver = before.rank === ENDED_RANK && after.rank === ENDED_RANK;
  if (isOver && (after.end !== before.end || hasOtherOutputs(before, after))) return 7;
  return after.rank < before.rank || after.charged < before.charged || after.updatedAt < before.updatedAt
    ? 8
    : undefined;
}
