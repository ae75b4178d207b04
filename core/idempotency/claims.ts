import { isLeftByAnother } from '../boot.js';
import type { Machine, Work } from '../context.js';
import { ServiceError } from '../errors.js';
import { isFarAhead, type Settings } from '../settings.js';
import type { Claim, ClaimKey } from './claim.js';

const VISIBLE_ASCII = /^[\x21-\x7e]{1,255}$/;

/** The key of a request that must carry one. `values` holds every value that was sent for it, in order. */
export function readIdempotencyKey(values: readonly string[]): string {
  const [value, ...others] = values;
  if (value === undefined) throw new ServiceError('IDEMPOTENCY_KEY_REQUIRED');
  if (others.length > 0 || !VISIBLE_ASCII.test(value)) throw new ServiceError('IDEMPOTENCY_KEY_INVALID');
  return value;
}

/** The subject of a claim, as the claiming operation handles it: a generation, or an upload. */
export interface ClaimTarget {
  /** Returns a new id for the subject. */
  mint(): string;
  /** Whether the effect of this claim exists. */
  exists(subjectId: string, claim: Claim): Promise<boolean>;
  /** Precludes the effect permanently, unless it exists: then answers `exists`. */
  preclude(subjectId: string): Promise<'precluded' | 'exists'>;
}

export interface ClaimRequest {
  readonly key: ClaimKey;
  readonly digest: string;
}

type Claiming = Pick<Work, 'claims'> & Pick<Machine, 'clock' | 'ids' | 'boot' | 'settings'>;

export type Claimed = { readonly mine: Claim } | { readonly replayOf: string };

const MAX_ROUNDS = 4;

/**
 * Claims a key before anything else is done under it. The first process mints the subject's id and is the only one that
 * ever acts on it; a duplicate request receives the first one's result, or has to wait. When the first one's lease has
 * lapsed, or its process is known to be dead, its subject is precluded before a new id is minted, so that the first one
 * can have no effect, however late it continues.
 *
 * Refuses with IDEMPOTENCY_PAYLOAD_MISMATCH, IDEMPOTENCY_REPLAY_EXPIRED and IDEMPOTENCY_IN_PROGRESS, in that order.
 */
export async function claim(
  context: Claiming,
  request: ClaimRequest,
  target: ClaimTarget,
): Promise<Claimed | ServiceError> {
  const { claims, settings } = context;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const fresh = freshClaim(context, request, target.mint());
    const now = fresh.createdAt;
    const outcome = await claims.insert(fresh);
    if (outcome.inserted) return { mine: fresh };

    const { existing } = outcome;
    if (existing.digest !== request.digest) return new ServiceError('IDEMPOTENCY_PAYLOAD_MISMATCH');
    if (await target.exists(existing.subjectId, existing)) return replay(existing, settings, now);
    if (isLeased(context, existing, now)) return inProgress(existing.leaseExpiresAt - now);

    if ((await target.preclude(existing.subjectId)) === 'exists') return replay(existing, settings, now);
    // The effect is yet to come, so its answer is replayed for a window that starts now.
    const next: Claim = { ...fresh, version: existing.version + 1 };
    if ((await claims.replace(next, existing.version)) === 'applied') return { mine: next };
  }
  return inProgress(1_000);
}

/** The first claim of a key: its lease starts now. */
export function freshClaim(
  { clock, ids, boot, settings }: Omit<Claiming, 'claims'>,
  { key, digest }: ClaimRequest,
  subjectId: string,
): Claim {
  const now = clock.now();
  return {
    // A key that was freed can be claimed again. If versions started at 1 each time, a late process would mistake the new
    // claim for the old one, and free it or take it over.
    version: ids.random(6).reduce((version, byte) => version * 256 + byte, 0),
    digest,
    subjectId,
    createdAt: now,
    leaseExpiresAt: now + settings.claimLeaseMs,
    bootId: boot.id,
    removeAt: now + settings.claimRetentionMs,
    // Placed last, because an object that starts as a copy and then grows is slow to create and to pass on.
    ...key,
  };
}

/**
 * Frees a key whose request was refused. `taken-over` means that we were so slow that another process has the key now,
 * and may have answered under it: then we must not return the refusal. The same applies if the store does not respond:
 * it then throws `StoreUnavailable`, and the lease frees the key later.
 */
export async function freeClaim({ claims }: Pick<Work, 'claims'>, mine: Claim): Promise<'freed' | 'taken-over'> {
  return (await claims.remove(mine, mine.version)) === 'applied' ? 'freed' : 'taken-over';
}

/** Frees the key of a request that is refused. Returns the refusal that may be given. */
export async function refusedUnder(
  context: Pick<Work, 'claims'>,
  mine: Claim,
  refusal: ServiceError,
): Promise<ServiceError> {
  return (await freeClaim(context, mine)) === 'taken-over' ? takenOver() : refusal;
}

/** Does work under a claim. The key is freed when the work is refused, and when it fails. */
export async function orFree<T>(
  context: Pick<Work, 'claims'>,
  mine: Claim,
  work: () => Promise<T | ServiceError>,
): Promise<T | ServiceError> {
  let outcome: T | ServiceError;
  try {
    outcome = await work();
  } catch (failure) {
    if ((await freeClaim(context, mine)) === 'taken-over') return takenOver();
    throw failure;
  }
  return outcome instanceof ServiceError ? refusedUnder(context, mine, outcome) : outcome;
}

/**
 * Marks a claim as succeeded, for an operation whose subject may also be created under another key: its existence does
 * not prove that this key's request succeeded. The answer may be given only if this returns `finished`, as with a
 * refusal. The key is removed at `removeAt`. Throws `StoreUnavailable`.
 */
export async function finishClaim(
  { claims }: Pick<Work, 'claims'>,
  mine: Claim,
  removeAt: number,
): Promise<'finished' | 'taken-over'> {
  const outcome = await claims.replace(
    { ...mine, version: mine.version + 1, leaseExpiresAt: 0, removeAt },
    mine.version,
  );
  return outcome === 'applied' ? 'finished' : 'taken-over';
}

export function isFinished({ leaseExpiresAt }: Claim): boolean {
  return leaseExpiresAt === 0;
}

/** A lease that ends later than any given now would was left by a clock that has been set back: it has lapsed. */
function isLeased({ boot, settings }: Claiming, { leaseExpiresAt, bootId }: Claim, now: number): boolean {
  return (
    !isLeftByAnother(boot, bootId) && leaseExpiresAt > now && !isFarAhead(leaseExpiresAt - settings.claimLeaseMs, now)
  );
}

function replay(existing: Claim, settings: Settings, now: number): Claimed | ServiceError {
  if (now > existing.createdAt + settings.replayWindowMs) return new ServiceError('IDEMPOTENCY_REPLAY_EXPIRED');
  return { replayOf: existing.subjectId };
}

/**
 * For a process so slow that another one has its key now and answers under it, with success or refusal: a retry finds
 * out which.
 */
export function takenOver(): ServiceError {
  return inProgress(1_000);
}

function inProgress(leaseLeftMs: number): ServiceError {
  return new ServiceError('IDEMPOTENCY_IN_PROGRESS', undefined, { retryAfterMs: Math.min(leaseLeftMs, 2_000) });
}
