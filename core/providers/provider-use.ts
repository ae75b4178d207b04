import { isFarAhead } from '../settings.js';

/** How much of one connected provider may be used, by all processes together; without a bound where absent. */
export interface ProviderLimits {
  /** Tasks that are submitted and have not ended; at least 1. */
  readonly maxConcurrent?: number;
  /** Submissions in any 60 seconds; at least 1. */
  readonly maxSubmissionsPerMinute?: number;
}

/** `trying`: one task is submitted, to see whether the provider works again. `paused`: none is before `pausedUntil`. */
export const CIRCUITS = ['closed', 'trying', 'paused'] as const;
export type Circuit = (typeof CIRCUITS)[number];

/** Why a provider is paused or tried again. */
export interface ProviderFault {
  /** `silent`: calls had no usable answer. `full`: tasks were refused for lack of capacity. */
  readonly kind: 'silent' | 'full';
  /** How many in a row. */
  readonly count: number;
  /** When the first of them failed. */
  readonly since: number;
}

/** The state of a provider as last seen by one worker. */
export interface ProviderHealth {
  readonly circuit: Circuit;
  readonly pausedUntil?: number;
  /** The newest failure of a call, for operators; it may name the provider's address. */
  readonly lastError?: { readonly at: number; readonly message: string };
  /** The median time of the newest submissions, in milliseconds. */
  readonly medianSubmitMs?: number;
  /** Absent while the circuit is closed. */
  readonly fault?: ProviderFault;
  /** When a call last ended; absent before the first one. */
  readonly lastCallAt?: number;
}

/** The part of a provider that one worker may use until `expiresAt`. */
export interface WorkerShare {
  readonly worker: string;
  /** Tasks that it may have at the provider. */
  readonly slots: number;
  /** The number of these that are in use. */
  readonly inUse: number;
  /** Tasks that it has at the provider, and those that wait in it. */
  readonly wanted: number;
  readonly health: ProviderHealth;
  readonly renewedAt: number;
  readonly expiresAt: number;
}

/** The state of a provider as last seen by a worker without a share, which uses nothing now or is gone. */
export interface IdleWorker extends Pick<WorkerShare, 'worker' | 'health'> {
  readonly seenAt: number;
}

/** The use of one provider, shared by all workers. */
export interface ProviderUse {
  /** The provider's name in the configuration. */
  readonly provider: string;
  readonly version: number;
  readonly shares: readonly WorkerShare[];
  /** Workers idle in the last hour, the newest last, at most 32; absent if there are none. */
  readonly idle?: readonly IdleWorker[];
  /**
   * Submissions that may be given out, in thousandths, as of `refilledAt`: milliseconds that the use has counted, of which
   * only differences mean something.
   */
  readonly submissions: { readonly thousandths: number; readonly refilledAt: number };
  /**
   * The newest renewal of all: the time that the use had counted then, and its worker's wall clock, which earlier releases
   * read.
   */
  readonly newest?: { readonly worker: string; readonly counted: number; readonly own: number };
}

/** How long a worker may use what it was given before it renews it, in milliseconds. */
export const SHARE_MS = 10_000;
const MINUTE_MS = 60_000;
/** How long a worker without a share is remembered, in milliseconds, and how many are. */
const REMEMBERED_MS = 60 * MINUTE_MS;
const MAX_IDLE = 32;

export interface ShareRequest extends Pick<WorkerShare, 'worker' | 'inUse' | 'wanted' | 'health'> {
  /** Tasks that have a slot and are to be submitted once more. */
  readonly again: number;
  /** Submissions that it was given before and may still make. */
  readonly left: number;
  /** Whether those that wait may not submit now, though they had slots. */
  readonly isPaused: boolean;
  /** The worker's newest renewal that is known to be stored; absent before the first one of its process. */
  readonly last?: LastRenewal;
}

export interface LastRenewal {
  /** The time that the use had counted then. */
  readonly counted: number;
  /** How long ago it was, by the monotonic clock. */
  readonly passedMs: number;
}

export interface ShareTerms {
  readonly limits: ProviderLimits;
  /** The current time, by the worker's wall clock. */
  readonly now: number;
  /** The shares of other workers that are not over: their slots are taken. */
  readonly others: readonly WorkerShare[];
}

export interface Given {
  readonly next: ProviderUse;
  readonly slots: number;
  /** More submissions, which the worker may make before its share expires. */
  readonly submissions: number;
  /** Another worker wants a slot and has none: a slot that becomes free is offered to it first. */
  readonly isShort: boolean;
  /** There are fewer submissions than the worker could use at once. */
  readonly isDry: boolean;
  /** The time that the use has counted, for the worker's next renewal. */
  readonly counted: number;
}

/**
 * Renews one worker's share. All shares together never have more slots than the limit, and no 60 seconds see more
 * submissions than the limit: unused submissions are lost. If workers want more slots than there are, each gets an
 * equal part, as slots become free. A worker that wants and uses nothing has no share; its view of the provider is kept
 * for operators.
 */
export function renewShare(use: ProviderUse, request: ShareRequest, terms: ShareTerms): Given {
  const { now, limits } = terms;
  const others = terms.others.filter(({ slots, wanted }) => slots > 0 || wanted > 0);
  const own = use.shares.find(({ worker }) => worker === request.worker);
  const isShort = others.some(({ slots, wanted }) => slots === 0 && wanted > 0);
  const slots = slotsFor(request, { others, held: own?.slots ?? 0, ...limits });
  const counted = countedBy(use, request);
  const { thousandths, refilledAt } = refilled(use.submissions, { limits, now: counted });
  const { worker, inUse, wanted, again, left, isPaused, health } = request;
  // Submissions that are given and not used until the share expires are lost.
  const useful = Math.max(0, again + (isPaused ? 0 : Math.max(0, Math.min(wanted, slots) - inUse)) - left);
  const submissions = Math.min(useful, Math.floor(thousandths / 1_000));
  const share: WorkerShare = { worker, slots, inUse, wanted, health, renewedAt: now, expiresAt: now + SHARE_MS };
  const shares = wanted === 0 && inUse === 0 && slots === 0 ? others : [...others, share];
  const idle = idleWorkers(use, shares, { ...share, seenAt: now });
  return {
    slots,
    submissions: limits.maxSubmissionsPerMinute === undefined ? Infinity : submissions,
    isShort,
    isDry: submissions < useful && limits.maxSubmissionsPerMinute !== undefined,
    counted,
    next: {
      provider: use.provider,
      version: use.version + 1,
      shares,
      ...(idle.length === 0 ? {} : { idle }),
      submissions: { thousandths: thousandths - 1_000 * submissions, refilledAt },
      newest: { worker, counted, own: now },
    },
  };
}

/** A time by both clocks of one process, in milliseconds. */
export interface Moment {
  readonly wall: number;
  readonly monotonic: number;
}

export function newProviderUse(provider: string, { limits, now }: Pick<ShareTerms, 'limits' | 'now'>): ProviderUse {
  return { provider, version: 0, shares: [], submissions: { thousandths: capacityOf(limits), refilledAt: now } };
}

/** Those that were known before, and the worker that reports now, without those that have a share. */
function idleWorkers(
  { shares: before, idle = [] }: ProviderUse,
  shares: readonly WorkerShare[],
  reporting: IdleWorker,
): readonly IdleWorker[] {
  const known = new Map<string, IdleWorker>();
  const seen = before.map((share) => ({ ...share, seenAt: Math.min(share.renewedAt, reporting.seenAt) }));
  for (const { worker, health, seenAt } of [...idle, ...seen, reporting]) known.set(worker, { worker, health, seenAt });
  for (const { worker } of shares) known.delete(worker);
  return [...known.values()]
    .filter(({ seenAt }) => seenAt + REMEMBERED_MS > reporting.seenAt && !isFarAhead(seenAt, reporting.seenAt))
    .toSorted((one, other) => one.seenAt - other.seenAt)
    .slice(-MAX_IDLE);
}

interface SlotSituation extends ProviderLimits {
  readonly others: readonly WorkerShare[];
  readonly held: number;
}

function slotsFor({ inUse, wanted }: ShareRequest, { others, held, maxConcurrent }: SlotSituation): number {
  if (maxConcurrent === undefined) return wanted;
  const free = Math.max(0, maxConcurrent - others.reduce((sum, { slots }) => sum + slots, 0));
  const isContended = others.some((other) => other.wanted > other.slots);
  const part = Math.floor(maxConcurrent / (others.length + 1));
  // With more workers than slots, one that has none may take one, and one that has a free one gives it up.
  const fair = isContended ? Math.max(part, held === 0 ? 1 : 0) : maxConcurrent;
  return Math.min(free, Math.max(Math.min(wanted, fair), Math.min(inUse, held)));
}

/**
 * The time that the use has counted at a worker's renewal: between any two renewals at most the time that passed
 * between them plus `SHARE_MS`. A worker counts the time that passed by its own monotonic clock since its newest
 * renewal. If that is longer than a share and another worker has renewed since, and at the first renewal of a process,
 * it counts nothing: only wall clocks could show how much others have not counted, and any of them may have been set.
 */
function countedBy({ submissions, newest }: ProviderUse, { worker, last }: ShareRequest): number {
  if (newest === undefined) return submissions.refilledAt;
  if (last === undefined || (newest.worker !== worker && last.passedMs > SHARE_MS)) return newest.counted;
  return Math.max(newest.counted, last.counted + last.passedMs);
}

/**
 * A bucket that holds an eighth of a minute's submissions and refills so slowly that, with what workers were given before
 * and have yet to use, no minute sees more than the limit.
 */
function refilled(
  { thousandths, refilledAt }: ProviderUse['submissions'],
  { limits, now }: Pick<ShareTerms, 'limits' | 'now'>,
): ProviderUse['submissions'] {
  const limit = limits.maxSubmissionsPerMinute;
  if (limit === undefined) return { thousandths, refilledAt: now };
  const capacity = capacityOf(limits);
  // In thousandths a millisecond. A minute sees less than one more than the limit: a full bucket, and the refill of that
  // minute, of the time in which what was given is used, and of what may be counted late.
  const rate = ((limit + 1) * 1_000 - 1 - capacity) / (MINUTE_MS + 2 * SHARE_MS);
  const added = Math.floor((now - refilledAt) * rate);
  if (thousandths + added >= capacity) return { thousandths: capacity, refilledAt: now };
  // The time that earned less than a thousandth is not lost.
  return { thousandths: thousandths + added, refilledAt: Math.min(now, refilledAt + Math.ceil(added / rate)) };
}

function capacityOf({ maxSubmissionsPerMinute: limit = 0 }: ProviderLimits): number {
  return Math.max(1, Math.floor(limit / 8)) * 1_000;
}
