import { isLeftByAnother } from '../boot.js';
import type { Erasing, Files, Identity, Machine, Models, Money, Webhooks, Work } from '../context.js';
import { carryOutErasures, NO_ERASURES } from '../erasure/carry-out.js';
import { StoreUnavailable } from '../errors.js';
import { voidGeneration } from '../generation/create-generation.js';
import {
  hasUnchargedContent,
  mayBeTakenOver,
  mayHaveOutputs,
  nextRemovalAt,
  retentionOf,
} from '../generation/decide.js';
import { completeDeletion, removeOutputs, tombstoneOf, writtenBy } from '../generation/end-generation.js';
import { type Generation, type GenerationRecord, isTerminal, type Tombstone } from '../generation/generation.js';
import { deadlineOf, endOverdue, lateError } from '../generation/run/executions.js';
import { changeGeneration, changeOnce, settleGeneration, settleNowOrSoon } from '../generation/settle-generation.js';
import { wakeAgain } from '../generation/wake.js';
import { REMOVE_AGAIN_MS, removeUpload } from '../uploads/manage-uploads.js';
import { removalAt, sweepAt, type Upload, type UploadRecord, withAttention } from '../uploads/upload.js';
import { decideDelivery } from '../webhooks/decide.js';
import { wakeDelivery } from '../webhooks/deliveries.js';
import { type Delivery, isOpen } from '../webhooks/delivery.js';
import { openGenerations } from './earlier-tasks.js';

/** If the clock advances further than this between two passes of one process, one pass is skipped. */
const MAX_STEP_MS = 3_600_000;

/** Every kind of finding, and none of any. */
export const NOTHING = {
  generations: {
    woken: 0,
    ended: 0,
    settled: 0,
    retired: 0,
    failed: 0,
    /** Another process changed them since the list was read, and set the next time to examine them. */
    overtaken: 0,
  },
  holds: { released: 0, settled: 0, failed: 0 },
  /** `swept`: bytes at targets that have expired. */
  uploads: { swept: 0, removed: 0, failed: 0 },
  deliveries: { woken: 0, removed: 0, failed: 0 },
  claimsRemoved: 0,
  /** Records of requests without a key, and leases of processes. */
  fingerprintsRemoved: 0,
  /** Sessions, sign-in links, codes and tokens past their time. */
  artefactsRemoved: 0,
  /** `advanced`: a part was done, and the next one may be at once. */
  erasures: NO_ERASURES,
};

export interface Recovered extends Readonly<typeof NOTHING> {
  readonly holds: HoldsRecovered;
}

export interface HoldsRecovered extends Readonly<typeof NOTHING.holds> {
  /** The cursor at which the next pass continues; absent if this one saw the last hold. */
  readonly nextCursor?: string;
}

type GenerationsRecovered = Recovered['generations'];

/**
 * Whether there may be more to do: one part of the pass reached its limit. Holds that belong to open generations do not
 * count as work: if there are many thousands, successive passes check them in turn, and only a pass that found a lost
 * hold is followed immediately by another.
 */
export function mayBeMore(
  {
    generations: g,
    holds,
    uploads,
    deliveries,
    claimsRemoved,
    fingerprintsRemoved,
    artefactsRemoved,
    erasures,
  }: Recovered,
  batch: number,
): boolean {
  const generations = g.woken + g.ended + g.settled + g.retired + g.failed + g.overtaken;
  const moreHolds = holds.nextCursor !== undefined && holds.released + holds.settled > 0;
  return (
    generations >= batch ||
    moreHolds ||
    uploads.swept + uploads.removed >= batch ||
    deliveries.woken + deliveries.removed + deliveries.failed >= batch ||
    claimsRemoved >= batch ||
    fingerprintsRemoved >= batch ||
    artefactsRemoved >= batch ||
    erasures.advanced > 0
  );
}

/** Completes interrupted work. Runs on a schedule in every worker, and by hand; one pass per process at a time. */
export class Recovery {
  private holdsCursor: string | undefined;
  private lastPassAt: number | undefined;
  private isStopped = false;
  private hasResumed = false;

  /**
   * Without `takeOver`, as where nothing is run, what an earlier boot was running is left until its leases have lapsed.
   */
  constructor(
    private readonly context: Money & Work & Files & Identity & Models & Webhooks & Erasing & Machine,
    private readonly takeOver?: TakeOver,
  ) {}

  /**
   * Takes over, once, what an earlier boot was running, if that boot is known to have ended. Throws `StoreUnavailable`;
   * the next pass tries again.
   */
  async resume(): Promise<void> {
    if (!this.takeOver || !this.hasToResume) return;
    await resumeRuns(this.context, this.takeOver, () => !this.isStopped);
    this.hasResumed = true;
  }

  private get hasToResume(): boolean {
    return this.context.boot.isExclusive && !this.hasResumed;
  }

  /**
   * One bounded pass over everything. Throws `StoreUnavailable` when a list cannot be read, once everything else has
   * been done; the next pass starts over. After a clock jump one pass does nothing: if the clock is wrong, retention
   * would remove data for good, and if it is right, the next pass does the same work.
   */
  async pass(): Promise<Recovered> {
    const { context } = this;
    const now = context.clock.now();
    const hasLeapt = this.lastPassAt !== undefined && now - this.lastPassAt > MAX_STEP_MS;
    this.lastPassAt = now;
    if (hasLeapt) {
      context.log.warn('recovery pass skipped after a clock jump', {});
      return NOTHING;
    }
    const failures: unknown[] = [];
    const evenIfOthersFail = <T>(part: () => Promise<T>, nothing: T): Promise<T> => {
      if (this.isStopped) return Promise.resolve(nothing);
      return part().catch((error: unknown) => {
        failures.push(error);
        return nothing;
      });
    };
    const shouldContinue = () => !this.isStopped;
    if (this.hasToResume) await evenIfOthersFail(() => this.resume(), undefined);
    // Permanent removals use the time that was checked above: the clock may jump while the pass runs.
    const generations = await evenIfOthersFail(
      () => recoverGenerations(context, now, shouldContinue),
      NOTHING.generations,
    );
    const holds = await evenIfOthersFail<HoldsRecovered>(
      () => recoverHolds(context, this.holdsCursor, shouldContinue),
      NOTHING.holds,
    );
    this.holdsCursor = holds.nextCursor;
    const uploads = await evenIfOthersFail(() => recoverUploads(context, now, shouldContinue), NOTHING.uploads);
    const deliveries = await evenIfOthersFail(
      () => recoverDeliveries(context, now, shouldContinue),
      NOTHING.deliveries,
    );
    const claimsRemoved = await evenIfOthersFail(
      () => context.claims.removeExpired(now, context.settings.recoveryBatch),
      0,
    );
    const fingerprintsRemoved = await evenIfOthersFail(
      () => context.fingerprints.removeExpired(now, context.settings.recoveryBatch),
      0,
    );
    const artefactsRemoved = await evenIfOthersFail(
      () => context.artefacts.removeExpired(now, context.settings.recoveryBatch),
      0,
    );
    // Last: open generations that it waits for may have ended in this pass.
    const erasures = await evenIfOthersFail(() => carryOutErasures(context, now, shouldContinue), NO_ERASURES);
    if (failures.length > 0) throw failures[0];
    return {
      generations,
      holds,
      uploads,
      deliveries,
      claimsRemoved,
      fingerprintsRemoved,
      artefactsRemoved,
      erasures,
    };
  }

  /** Ends a running pass after its current item, and makes later ones do nothing. */
  stop(): void {
    this.isStopped = true;
  }
}

/**
 * Removes the parts of a settled generation that are past their retention: its content, if nothing was charged, its
 * outputs, and finally the generation itself. Recovery may examine one too early, when it was not sure of an earlier
 * step; then it is postponed.
 */
async function retireGeneration(context: Work & Files & Webhooks & Machine, g: Generation, now: number): Promise<void> {
  if (g.deletedAt !== undefined) return completeDeletion(context, g);
  const { settings } = context;
  const retention = retentionOf(g, settings);
  const { contentExpiresAt, outputsExpireAt, taskExpiresAt } = retention;
  if (hasUnchargedContent(g) && now >= contentExpiresAt && now < taskExpiresAt) {
    await changeGeneration(context, g, { event: 'content-removed', ...retention });
    return;
  }
  if (mayHaveOutputs(g) && now >= outputsExpireAt) {
    await removeOutputs(context, g.generationId, writtenBy(g));
    // Onto this version alone: a thumbnail that was recorded meanwhile is removed by the next pass.
    await changeOnce(context, g, { event: 'outputs-removed', ...retention });
    return;
  }
  if (now < taskExpiresAt) {
    await changeGeneration(context, g, { event: 'postpone', until: nextRemovalAt(g, retention) });
    return;
  }
  await context.generations.replace(tombstoneOf(g, now + settings.tombstoneRetentionMs), g.version);
}

/**
 * Removes a tombstone that is due. The tombstone of a deleted generation first becomes due when no worker can be
 * writing outputs any more: outputs that were written late are removed, and the tombstone is then kept as long as any
 * other.
 */
async function retireTombstone(context: Work & Files & Machine, { written, ...tombstone }: Tombstone): Promise<void> {
  const { generationId, version } = tombstone;
  if (written === undefined) {
    await context.generations.remove(generationId, version);
    return;
  }
  await removeOutputs(context, generationId, written);
  const dueAt = context.clock.now() + context.settings.tombstoneRetentionMs;
  await context.generations.replace({ ...tombstone, version: version + 1, dueAt }, version);
}

/**
 * How long after it has sent the wake-up of a queued generation again recovery examines the generation again, in
 * milliseconds.
 */
const GENERATION_AGAIN_MS = 60_000;
/** A step that failed is tried again after this. */
const FAILED_AGAIN_MS = 30_000;
/**
 * After this many in a row that another process changed first, the rest of the list is left to that process as well.
 */
const MAX_OVERTAKEN_IN_A_ROW = 10;

/**
 * Examines every generation that is due and completes its unfinished work: wakes those that no worker took or whose
 * holder is gone, ends those past their deadline, settles those that have ended, retires those past retention. One pass
 * takes at most `recoveryBatch`, and stops once `shouldContinue` returns false. Safe in many processes at the same time,
 * since every step is a versioned change. Processes that began together read the same list: one that finds itself behind
 * another leaves the rest of the list to it. Once an outage has prevented a retirement, the others are postponed: each
 * of them might wait as long, and overdue work would wait behind them.
 */
export async function recoverGenerations(
  context: Money & Work & Files & Models & Webhooks & Machine,
  now: number,
  shouldContinue: () => boolean,
): Promise<GenerationsRecovered> {
  const done = { ...NOTHING.generations };
  let overtakenInARow = 0;
  let retires = true;
  const due = await context.generations.due(now, context.settings.recoveryBatch);
  for (const record of due) {
    if (!shouldContinue()) break;
    if (!retires && isToRetire(record)) {
      done.failed += 1;
      await postponeGeneration(context, record, FAILED_AGAIN_MS).catch(() => undefined);
      continue;
    }
    try {
      const outcome = await recoverOne(context, record, now);
      done[outcome] += 1;
      overtakenInARow = outcome === 'overtaken' ? overtakenInARow + 1 : 0;
      if (overtakenInARow === MAX_OVERTAKEN_IN_A_ROW) break;
    } catch (error) {
      done.failed += 1;
      if (error instanceof StoreUnavailable && isToRetire(record)) retires = false;
      context.log.warn('generation not recovered', { generationId: record.generationId, error });
      await postponeGeneration(context, record, FAILED_AGAIN_MS).catch(() => undefined);
    }
  }
  return done;
}

async function recoverOne(
  context: Money & Work & Files & Models & Webhooks & Machine,
  record: GenerationRecord,
  now: number,
): Promise<keyof GenerationsRecovered> {
  if (record.kind !== 'generation') {
    await retireTombstone(context, record);
    return 'retired';
  }
  if (!isTerminal(record.status)) return wakeOrEnd(context, record);
  if (record.settledAt === undefined) {
    await settleGeneration(context, record);
    return 'settled';
  }
  await retireGeneration(context, record, now);
  return 'retired';
}

/** Ended and settled: nothing is left to be done but to remove it in time. */
function isToRetire(record: GenerationRecord): boolean {
  return record.kind === 'generation' && isTerminal(record.status) && record.settledAt !== undefined;
}

/**
 * First postpones, then wakes; only the process whose write postponed it wakes it. So several processes that have read
 * the same list wake each generation once between them, and one that was leased meanwhile keeps the time its worker
 * set. If this process dies in between, recovery examines the generation again after the time by which it was
 * postponed.
 */
async function wakeOrEnd(
  context: Money & Work & Models & Webhooks & Machine,
  g: Generation,
): Promise<'woken' | 'ended' | 'overtaken'> {
  const now = context.clock.now();
  if (now > deadlineOf(g)) {
    // A worker ends its own generations; this is for those that have none, or wait for a place too long.
    const ended = await endOverdue(context, g, lateError(context, g));
    if (ended !== null) {
      await settleNowOrSoon(context, ended);
      return 'ended';
    }
    const newest = await context.generations.read(g.generationId);
    if (newest?.kind !== 'generation' || isTerminal(newest.status)) return 'overtaken';
    return postponeAndWake(context, newest, now);
  }
  return postponeAndWake(context, g, now);
}

async function postponeAndWake(context: Work & Machine, g: Generation, now: number): Promise<'woken' | 'overtaken'> {
  if (!(await changeOnce(context, g, { event: 'postpone', until: lookAgainAt(g, now, lookAgainMs(context, g)) })))
    return 'overtaken';
  if (mayBeTakenOver(g, now, context.boot)) wakeAgain(context, g);
  return 'woken';
}

/**
 * A worker may die with the generation in its queue, and the wake-up is lost with it. The deadline of a running one
 * keeps running meanwhile, so it gets no more than a lease to be taken over.
 */
function lookAgainMs({ settings }: Machine, { status }: Generation): number {
  return status === 'running' ? Math.min(settings.leaseMs, GENERATION_AGAIN_MS) : GENERATION_AGAIN_MS;
}

/** After a step that failed, which may have changed the generation before it did: the newest version is put off. */
async function postponeGeneration(context: Work & Machine, record: GenerationRecord, byMs: number): Promise<void> {
  if (record.kind !== 'generation') return;
  await changeGeneration(context, record, { event: 'postpone', until: lookAgainAt(record, context.clock.now(), byMs) });
}

function lookAgainAt(g: Generation, now: number, byMs: number): number {
  return Math.max(now + 1_000, Math.min(now + byMs, isTerminal(g.status) ? Infinity : deadlineOf(g) + 1));
}

/**
 * Examines holds older than any request may take. A hold without a generation belongs to an interrupted create: its id
 * is precluded, then the hold released, in that order, so that the create has no effect if it continues after all. One
 * pass takes at most `recoveryBatch`; give its cursor to the next. Ends early once `shouldContinue` returns false.
 */
export async function recoverHolds(
  context: Money & Work & Webhooks & Machine,
  cursor: string | undefined,
  shouldContinue: () => boolean,
): Promise<HoldsRecovered> {
  const { accounts, clock, settings } = context;
  const done = { ...NOTHING.holds };
  const heldBefore = clock.now() - settings.claimLeaseMs - settings.recoveryGraceMs;
  const page = await accounts.holdsBefore(heldBefore, {
    limit: settings.recoveryBatch,
    ...(cursor === undefined ? {} : { cursor }),
  });
  for (const hold of page.items) {
    if (!shouldContinue()) break;
    try {
      const outcome = await recoverHold(context, hold.accountId, hold.generationId);
      if (outcome) done[outcome] += 1;
    } catch (error) {
      done.failed += 1;
      context.log.warn('hold not recovered', { accountId: hold.accountId, generationId: hold.generationId, error });
    }
  }
  return page.nextCursor === undefined ? done : { ...done, nextCursor: page.nextCursor };
}

async function recoverHold(
  context: Money & Work & Webhooks & Machine,
  accountId: string,
  generationId: string,
): Promise<'released' | 'settled' | null> {
  const known = await context.generations.read(generationId);
  const standing = known ?? (await voidGeneration(context, { generationId, accountId, appId: '' }));
  if (standing.kind !== 'generation') {
    await context.accountWriter.execute(accountId, { kind: 'settle', generationId, charge: 0 });
    return 'released';
  }
  if (!isTerminal(standing.status)) return null;
  if (standing.settledAt === undefined) await settleGeneration(context, standing);
  else {
    const { chargedCredits: charge, status } = standing;
    await context.accountWriter.execute(accountId, {
      kind: 'settle',
      generationId,
      charge,
      failed: status === 'failed',
    });
  }
  return 'settled';
}

/** The most queued generations that are resumed, and held in memory for it. Recovery finds the others. */
const MAX_QUEUED = 10_000;

/** Makes this process take over a generation; it is queued, or has its place, when the call returns. */
export type TakeOver = (generation: Generation) => Promise<void>;

/**
 * Hands over the generations that an earlier boot had leased, and then those that it had queued, instead of waiting
 * until recovery examines them, because no wake-up is stored for generations that a boot starts at once. Reads all that
 * have not ended, page by page, until `shouldContinue` returns false. Nothing is written: recovery handles those that
 * are not taken over after all.
 */
async function resumeRuns(
  context: Money & Work & Machine,
  takeOver: TakeOver,
  shouldContinue: () => boolean,
): Promise<void> {
  const notTakenOver = (generationId: string, error: unknown): void =>
    context.log.warn('interrupted run not taken over', { generationId, error });
  const resume = (generation: Generation): void => {
    takeOver(generation).catch((error: unknown) => notTakenOver(generation.generationId, error));
  };
  const queued: Generation[] = [];
  for await (const page of openGenerations(context, notTakenOver)) {
    if (!shouldContinue()) return;
    for (const generation of page) {
      if (generation.lease && isLeftByAnother(context.boot, generation.lease.bootId)) resume(generation);
      else if (generation.status === 'queued' && queued.length < MAX_QUEUED) queued.push(generation);
    }
  }
  if (shouldContinue()) for (const generation of queued) resume(generation);
}

/** When one that was woken is looked at again, in milliseconds: it may wait in a worker's queue. */
const DELIVERY_AGAIN_MS = 10 * 60_000;

/**
 * Wakes deliveries whose wake-up was lost, and removes those whose log is kept no longer. One pass takes at most
 * `recoveryBatch`. Ends early once `shouldContinue` returns false.
 */
async function recoverDeliveries(
  context: Work & Webhooks & Machine,
  now: number,
  shouldContinue: () => boolean,
): Promise<Recovered['deliveries']> {
  const done = { ...NOTHING.deliveries };
  for (const delivery of await context.deliveries.due(now, context.settings.recoveryBatch)) {
    if (!shouldContinue()) break;
    try {
      const outcome = isOpen(delivery) ? await recoverDelivery(context, delivery) : await remove(context, delivery);
      if (outcome) done[outcome] += 1;
    } catch (error) {
      done.failed += 1;
      context.log.warn('delivery not recovered', { deliveryId: delivery.deliveryId, error });
    }
  }
  return done;
}

/** First postpones, then wakes: of several processes that read the same list, one wakes it. */
async function recoverDelivery(context: Work & Webhooks & Machine, delivery: Delivery): Promise<'woken' | null> {
  const { deliveries, clock } = context;
  const now = clock.now();
  const decision = decideDelivery(delivery, { event: 'postpone', until: now + DELIVERY_AGAIN_MS }, now);
  if ('refused' in decision) return null;
  if ((await deliveries.replace(decision.next, delivery.version)) === 'conflict') return null;
  wakeDelivery(context, delivery, now);
  return 'woken';
}

async function remove({ deliveries }: Webhooks, { deliveryId, version }: Delivery): Promise<'removed' | null> {
  return (await deliveries.remove(deliveryId, version)) === 'applied' ? 'removed' : null;
}

/**
 * Removes the bytes sent to targets that have expired, and uploads past retention with their bytes. One pass takes at
 * most `recoveryBatch`. It ends at the first upload that an outage prevents from being removed, as the others would
 * wait for the store too, or once `shouldContinue` returns false. A failed removal is postponed: bytes that cannot be
 * removed must not block all others in every pass.
 */
async function recoverUploads(
  context: Files & Machine,
  now: number,
  shouldContinue: () => boolean,
): Promise<Recovered['uploads']> {
  const done = { ...NOTHING.uploads };
  for (const record of await context.uploads.due(now, context.settings.recoveryBatch)) {
    if (!shouldContinue()) break;
    try {
      const outcome = await recoverUpload(context, record, now);
      if (outcome) done[outcome] += 1;
    } catch (error) {
      done.failed += 1;
      context.log.warn('upload not removed', { uploadId: record.uploadId, error });
      await postponeUpload(context, record).catch(() => undefined);
      if (error instanceof StoreUnavailable) break;
    }
  }
  return done;
}

/** Does nothing if the failed step had postponed the upload before it started. */
async function postponeUpload({ uploads, clock }: Files & Machine, record: UploadRecord): Promise<void> {
  await uploads.replace(
    { ...record, version: record.version + 1, dueAt: clock.now() + REMOVE_AGAIN_MS },
    record.version,
  );
}

async function recoverUpload(
  context: Files & Machine,
  record: UploadRecord,
  now: number,
): Promise<'swept' | 'removed' | null> {
  const { settings } = context;
  if (record.kind !== 'upload') {
    await context.uploads.remove(record.uploadId, record.version);
    return 'removed';
  }
  if (record.status === 'removing' || now >= removalAt(record, settings)) {
    await removeUpload(context, record);
    return 'removed';
  }
  if (record.stagingRemovedAt === undefined && now >= sweepAt(record, settings)) {
    await sweepStaging(context, record);
    return 'swept';
  }
  // Written under other settings: by those of today it is kept for longer.
  await context.uploads.replace(withAttention({ ...record, version: record.version + 1 }, settings), record.version);
  return null;
}

/**
 * Removes the bytes sent to the target, and every copy of them that did not become the upload. A completion so slow
 * that it is still running must not succeed without its bytes: the version is raised first, so its last write fails.
 */
async function sweepStaging(context: Files & Machine, record: Upload): Promise<void> {
  const { uploads, objects, clock, settings } = context;
  let swept = record;
  const copies = [...(record.abandonedKeys ?? [])];
  if (record.status === 'prepared' && record.objectKey !== undefined) {
    copies.push(record.objectKey);
    swept = { ...record, version: record.version + 1, dueAt: clock.now() + REMOVE_AGAIN_MS };
    if ((await uploads.replace(swept, record.version)) === 'conflict') return;
  }
  for (const key of [record.stagingKey, ...copies]) await objects.remove(key);
  await uploads.replace(
    withAttention({ ...swept, version: swept.version + 1, stagingRemovedAt: clock.now() }, settings),
    swept.version,
  );
}
