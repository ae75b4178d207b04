import { assert } from '../assert.js';
import type { Machine, Money, Webhooks, Work } from '../context.js';
import { busy, ServiceError } from '../errors.js';
import { announceState } from '../webhooks/deliveries.js';
import { decide, type GenerationCommand, type GenerationRefusal, retentionOf } from './decide.js';
import { type Generation, isTerminal } from './generation.js';
import { wake } from './wake.js';

/** How long after a failed try a worker tries again to settle a generation, in milliseconds. */
const SETTLE_AGAIN_MS = 1_000;

/**
 * Ends the hold of a generation that has ended: charges what it owes, releases the rest, creates the deliveries of its
 * end, then marks it settled. May be repeated by anyone at any time; the presence of the hold ensures that the money
 * moves once. With `mayWait`, and if nothing is released, the charge may be written with the next change of the
 * account.
 */
export async function settleGeneration(
  context: Money & Work & Webhooks & Machine,
  generation: Generation,
  mayWait = false,
): Promise<Generation> {
  assert(isTerminal(generation.status), 'only an ended generation is settled');
  if (generation.settledAt !== undefined) return generation;
  const { generationId, accountId, chargedCredits: charge } = generation;
  const releasesNothing = charge === generation.reservedCredits;
  const paid = context.accountWriter.execute(
    accountId,
    { kind: 'settle', generationId, charge, failed: generation.status === 'failed' },
    mayWait && releasesNothing,
  );
  await Promise.all([paid, announceState(context, generation)]);
  const retention = retentionOf(generation, context.settings);
  const changed = await tryChange(context, generation, { event: 'settle', ...retention });
  // Another process has settled it, and its client deleted it.
  if (changed === null) return generation;
  const { generation: settled, refused } = changed;
  if (refused === undefined) {
    context.outcomeCounts.settled(settled);
    logEnd(context, settled);
  }
  return settled;
}

/**
 * The same for a caller whose own work is done. If settling fails, for example because other processes keep changing the
 * account, a wake-up has a worker try again soon; without it the credits would stay reserved until recovery looks.
 */
export async function settleNowOrSoon(
  context: Money & Work & Webhooks & Machine,
  generation: Generation,
  mayWait = false,
): Promise<Generation> {
  try {
    return await settleGeneration(context, generation, mayWait);
  } catch (error) {
    const { generationId } = generation;
    context.log.warn('generation not settled yet', { generationId, error });
    wake(context, generationId, context.clock.now() + SETTLE_AGAIN_MS);
    return generation;
  }
}

/**
 * Called by the process that settled the generation, so that each end is logged once, after the credits have moved. Logs
 * nothing of the generation's content.
 */
function logEnd({ log }: Machine, generation: Generation): void {
  const { generationId, accountId, modelKey, status, chargedCredits, attemptsMade: attempts, error } = generation;
  const code = error === undefined ? {} : { code: error.code };
  const durationMs = (generation.completedAt ?? generation.updatedAt) - generation.createdAt;
  const about = { generationId, accountId, modelKey, status, ...code, chargedCredits, attempts, durationMs };
  log.info('generation ended', about);
}

const MAX_TRIES = 10;

export type Changed = { readonly generation: Generation; readonly refused?: GenerationRefusal };

/**
 * Decides a command on the newest version and writes it. Tries again when another process was faster, a bounded number
 * of times. Returns the resulting generation, with the reason if nothing was written. Throws GENERATION_JOB_NOT_FOUND for
 * one that was removed meanwhile, and SERVICE_UNAVAILABLE.
 */
export async function changeGeneration(
  context: Work & Machine,
  generation: Generation,
  command: GenerationCommand,
): Promise<Changed> {
  const changed = await tryChange(context, generation, command);
  if (changed === null) throw new ServiceError('GENERATION_JOB_NOT_FOUND');
  return changed;
}

/** The same; null for one that was removed meanwhile. */
export async function tryChange(
  { generations, clock, boot }: Work & Machine,
  generation: Generation,
  command: GenerationCommand,
): Promise<Changed | null> {
  let current = generation;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const decision = decide(current, command, clock.now(), boot);
    if ('refused' in decision) {
      // The version read before may be stale; only the newest version may refuse.
      const newest = tries === 0 ? await reload(generations, current) : current;
      if (newest === null) return null;
      if (newest.version === current.version) return { generation: current, refused: decision.refused };
      current = newest;
      continue;
    }
    if ((await generations.replace(decision.next, current.version)) === 'applied') return { generation: decision.next };
    const newest = await reload(generations, current);
    if (newest === null) return null;
    current = newest;
  }
  throw changedTooOften();
}

export function changedTooOften(): ServiceError {
  return busy('The generation is being changed by too many processes at the same time; try again.');
}

/**
 * Decides a command on the version that was read, and writes it only if that still is the newest. Returns the resulting
 * generation; undefined if nothing was written.
 */
export async function changeOnce(
  { generations, clock, boot }: Work & Machine,
  generation: Generation,
  command: GenerationCommand,
): Promise<Generation | undefined> {
  const decision = decide(generation, command, clock.now(), boot);
  if ('refused' in decision) return undefined;
  return (await generations.replace(decision.next, generation.version)) === 'applied' ? decision.next : undefined;
}

async function reload(generations: Work['generations'], known: Generation): Promise<Generation | null> {
  const record = await generations.read(known.generationId);
  return record?.kind === 'generation' ? record : null;
}
