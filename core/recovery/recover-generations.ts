import type { Context } from '../context.js';
import { StoreUnavailable } from '../errors.js';
import { changeGeneration, changeOnce } from '../generation/change-generation.js';
import { wakeAgain } from '../generation/wake.js';
import { mayBeTakenOver } from '../generation/decide.js';
import { isTerminal, type Generation, type GenerationRecord } from '../generation/generation.js';
import { settleGeneration, settleNowOrSoon } from '../generation/settle-generation.js';
import { deadlineOf, endOverdue } from '../generation/run/overdue.js';
import { lateError } from '../generation/run/unknown-model.js';
import { retireGeneration, retireTombstone } from './retire-generation.js';

/**
 * How long after it has sent the wake-up of a queued generation again recovery examines the generation again, in
 * milliseconds.
 */
const LOOK_AGAIN_MS = 60_000;
/** A step that failed is tried again after this. */
const FAILED_AGAIN_MS = 30_000;
/** After so many in a row that another process changed first, the rest of the list is left to that process as well. */
const MAX_OVERTAKEN_IN_A_ROW = 10;

export interface GenerationsRecovered {
  woken: number;
  ended: number;
  settled: number;
  retired: number;
  failed: number;
  /** Another process changed them since the list was read, and set the next time to examine them. */
  overtaken: number;
}

/**
 * Examines every generation that is due and completes its unfinished work: wakes those that no worker took or whose
 * holder is gone, ends those past their deadline, settles those that have ended, retires those past retention. One pass
 * takes at most `recoveryBatch`, and stops once `shouldContinue` returns false. Safe in many processes at the same time,
 * since every step is a versioned change. Processes that began together read the same list: one that finds itself behind
 * another leaves the rest of the list to it. Once an outage has prevented a retirement, the others are postponed: each
 * of them might wait as long, and overdue work would wait behind them.
 */
export async function recoverGenerations(
  context: Context,
  now: number,
  shouldContinue: () => boolean,
): Promise<GenerationsRecovered> {
  const done: GenerationsRecovered = { woken: 0, ended: 0, settled: 0, retired: 0, failed: 0, overtaken: 0 };
  let overtakenInARow = 0;
  let retires = true;
  const due = await context.generations.due(now, context.settings.recoveryBatch);
  for (const record of due) {
    if (!shouldContinue()) break;
    if (!retires && isToRetire(record)) {
      done.failed += 1;
      await postpone(context, record, FAILED_AGAIN_MS).catch(() => undefined);
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
      await postpone(context, record, FAILED_AGAIN_MS).catch(() => undefined);
    }
  }
  return done;
}

async function recoverOne(
  context: Context,
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
async function wakeOrEnd(context: Context, g: Generation): Promise<'woken' | 'ended' | 'overtaken'> {
  const now = context.clock.now();
  if (now > deadlineOf(g)) {
    // A worker ends its own generations; this is for those that have none, or wait for a place too long.
    const ended = await endOverdue(context, g, lateError(context, g));
    if (ended !== null) await settleNowOrSoon(context, ended);
    if (ended !== null) return 'ended';
    const newest = await context.generations.read(g.generationId);
    if (newest?.kind !== 'generation' || isTerminal(newest.status)) return 'overtaken';
    return postponeAndWake(context, newest, now);
  }
  return postponeAndWake(context, g, now);
}

async function postponeAndWake(context: Context, g: Generation, now: number): Promise<'woken' | 'overtaken'> {
  if (!(await changeOnce(context, g, { event: 'postpone', until: lookAgainAt(g, now, lookAgainMs(context, g)) })))
    return 'overtaken';
  if (mayBeTakenOver(g, now, context.boot)) wakeAgain(context, g);
  return 'woken';
}

/**
 * A worker may die with the generation in its queue, and the wake-up is lost with it. The deadline of a running one
 * keeps running meanwhile, so it gets no more than a lease to be taken over.
 */
function lookAgainMs({ settings }: Context, { status }: Generation): number {
  return status === 'running' ? Math.min(settings.leaseMs, LOOK_AGAIN_MS) : LOOK_AGAIN_MS;
}

/** After a step that failed, which may have changed the generation before it did: the newest version is put off. */
async function postpone(context: Context, record: GenerationRecord, byMs: number): Promise<void> {
  if (record.kind !== 'generation') return;
  await changeGeneration(context, record, { event: 'postpone', until: lookAgainAt(record, context.clock.now(), byMs) });
}

function lookAgainAt(g: Generation, now: number, byMs: number): number {
  return Math.max(now + 1_000, Math.min(now + byMs, isTerminal(g.status) ? Infinity : deadlineOf(g) + 1));
}
