import type { Caller } from '../access/credential.js';
import { throwIfAborted } from '../cancellation.js';
import type { Call, Files, Machine, Money, Webhooks, Work } from '../context.js';
import { busy, orThrow, ServiceError } from '../errors.js';
import { cancelDeliveries, removeDeliveriesOf } from '../webhooks/deliveries.js';
import { retentionOf } from './decide.js';
import { type Generation, isTerminal, outputCountOf, thumbnailBytesOf, type Tombstone } from './generation.js';
import { findGeneration, findOwn } from './read-generations.js';
import { outputKey } from './run/collect-outputs.js';
import { thumbnailKeysOf } from './thumbnails.js';
import {
  type Changed,
  changedTooOften,
  changeGeneration,
  settleGeneration,
  settleNowOrSoon,
  tryChange,
} from './settle-generation.js';
import { wake } from './wake.js';

/**
 * Cancels the caller's own generation. A queued one ends immediately and costs nothing. A running one is asked to stop
 * and may still be running in the response. One that has ended stays as it is. Throws TASK_NOT_FOUND, also for one past
 * its retention, because there is nothing left to cancel.
 */
export async function cancelGeneration(
  context: Money & Work & Webhooks & Machine & Call,
  caller: Caller,
  generationId: string,
): Promise<Generation> {
  const found = await findOwn(context, caller, generationId);
  const isKept = !(found instanceof ServiceError) && found.deletedAt === undefined;
  const cancelled = isKept ? await tryCancel(context, found) : null;
  if (cancelled === null) throw new ServiceError('TASK_NOT_FOUND');
  return cancelled;
}

/**
 * The same for a generation that has been read, without a check of its owner. Throws GENERATION_JOB_NOT_FOUND if it has
 * been removed meanwhile.
 */
async function cancelFound(context: Money & Work & Webhooks & Machine, found: Generation): Promise<Generation> {
  const cancelled = await tryCancel(context, found);
  if (cancelled === null) throw new ServiceError('GENERATION_JOB_NOT_FOUND');
  return cancelled;
}

async function tryCancel(context: Money & Work & Webhooks & Machine, found: Generation): Promise<Generation | null> {
  const changed = await tryChange(context, found, { event: 'cancel' });
  if (changed === null) return null;
  const { generation, refused } = changed;
  if (refused) return generation;
  if (generation.status === 'running') wake(context, generation.generationId, context.clock.now());
  if (generation.status !== 'cancelled') return generation;
  return settleNowOrSoon(context, generation);
}

/**
 * Cancels any generation as its client would. Throws as `findGeneration` does, and `CallOver` before it writes for a
 * call that is over.
 */
export async function cancelAnyGeneration(
  context: Money & Work & Webhooks & Machine & Call,
  generationId: string,
): Promise<Generation> {
  const found = await findGeneration(context, generationId);
  throwIfAborted(context.call);
  return cancelFound(context, found);
}

/** How many are cancelled concurrently; their settlements are then written together. */
const AT_ONCE = 20;

export interface CancelledWork {
  /** Ended by this call. */
  readonly cancelled: number;
  /** Asked to stop, and still running. */
  readonly stopping: number;
  /**
   * Held, but without a generation to cancel yet: a create is in progress, or was interrupted and recovery will release
   * the hold.
   */
  readonly unfinished: number;
}

/**
 * Cancels every open generation of an account, as their clients could. The account's holds list them, so that on a
 * suspended account none is missed, and their cap bounds the work. Safe to repeat, which completes an interrupted call.
 * Throws NOT_FOUND, and `CallOver` between two of them.
 */
export async function cancelOpenGenerations(
  context: Money & Work & Webhooks & Machine & Call,
  accountId: string,
): Promise<CancelledWork> {
  const account = await context.accounts.read(accountId);
  if (!account) throw new ServiceError('NOT_FOUND', `There is no account ${accountId}.`);
  const ids = [...account.holds.keys()];
  const done = { cancelled: 0, stopping: 0, unfinished: 0 };
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    throwIfAborted(context.call);
    const outcomes = await Promise.all(
      ids.slice(at, at + AT_ONCE).map((generationId) => cancelOpen(context, generationId)),
    );
    for (const outcome of outcomes) if (outcome !== 'ended before') done[outcome] += 1;
  }
  return done;
}

async function cancelOpen(
  context: Money & Work & Webhooks & Machine,
  generationId: string,
): Promise<keyof CancelledWork | 'ended before'> {
  const record = await context.generations.read(generationId);
  if (record?.kind !== 'generation') return 'unfinished';
  if (isTerminal(record.status)) return 'ended before';
  const { status } = await cancelFound(context, record);
  if (status === 'cancelled') return 'cancelled';
  return status === 'running' ? 'stopping' : 'ended before';
}

/** Under which keys there may be outputs. */
export type Written = NonNullable<Tombstone['written']>;

export function writtenBy(g: Generation): Written {
  const thumbnails = thumbnailBytesOf(g) === undefined ? {} : ({ hasThumbnails: true } as const);
  return { fence: g.fence, outputs: outputCountOf(g), ...thumbnails };
}

/**
 * Every key a worker may have written to, whether or not it became an output, and every thumbnail: fences and outputs are both
 * bounded.
 */
export async function removeOutputs(
  { objects }: Files,
  generationId: string,
  { fence: last, outputs, hasThumbnails }: Written,
): Promise<void> {
  for (let fence = 1; fence <= last; fence += 1) {
    for (let index = 0; index < outputs; index += 1) {
      const key = outputKey(generationId, fence, index);
      await objects.remove(key);
      if (hasThumbnails === true) await Promise.all(thumbnailKeysOf(key).map((one) => objects.remove(one)));
    }
  }
}

/**
 * The time after which no worker can still be writing outputs, in milliseconds. Outputs that were written late are then
 * removed.
 */
const SWEPT_AGAIN_MS = 86_400_000;
const MAX_TRIES = 10;

/**
 * Deletes the caller's own generation that has ended: its request and its outputs. Its ledger entries stay. It is
 * settled first, as a deletion before its charge would make it free. First the record is marked and loses its content,
 * so that it is no longer shown to anybody; then the outputs of every fence are removed, and then the record. Recovery
 * completes an interrupted deletion. Throws TASK_NOT_FOUND, GENERATION_JOB_NOT_FOUND for one that was deleted or is
 * past its retention, and CONFLICT for one that has not ended.
 */
export async function deleteGeneration(
  context: Money & Work & Files & Webhooks & Machine & Call,
  caller: Caller,
  generationId: string,
): Promise<void> {
  const found = orThrow(await findOwn(context, caller, generationId));
  if (!isTerminal(found.status))
    throw new ServiceError(
      'CONFLICT',
      `The generation is ${found.status}; only one that has ended can be deleted. Cancel it, and wait for its end.`,
    );
  const { generation: marked, refused } = await mark(context, found);
  if (refused === 'NOT_ALLOWED') throw new ServiceError('CONFLICT', 'The generation is not settled yet; try again.');
  await completeDeletion(context, marked);
  const { accountId } = marked;
  if (refused === undefined) context.log.info('generation deleted', { generationId: marked.generationId, accountId });
}

async function mark(context: Money & Work & Webhooks & Machine, found: Generation): Promise<Changed> {
  const marked = await changeGeneration(context, found, { event: 'delete' });
  if (marked.refused !== 'NOT_ALLOWED') return marked;
  const settled = await settleGeneration(context, marked.generation);
  return changeGeneration(context, settled, { event: 'delete' });
}

/**
 * Removes the rest of a generation that is marked as deleted. May be repeated, and done by several processes. The
 * record of one that was not charged is kept while it counts towards its account's limit, without content.
 */
export async function completeDeletion(context: Work & Files & Webhooks & Machine, marked: Generation): Promise<void> {
  await removeContent(context, marked);
  const { contentExpiresAt } = retentionOf(marked, context.settings);
  if (marked.unchargedBytes !== undefined && context.clock.now() < contentExpiresAt) {
    await changeGeneration(context, marked, { event: 'postpone', until: contentExpiresAt });
    return;
  }
  await bury(context, marked, SWEPT_AGAIN_MS);
}

async function removeContent(context: Files & Webhooks & Machine, marked: Generation): Promise<void> {
  await cancelDeliveries(context, marked);
  await removeOutputs(context, marked.generationId, writtenBy(marked));
}

/** Puts a tombstone in place of a deleted generation; late outputs are removed after `sweptAgainMs`. */
async function bury(context: Work & Machine, marked: Generation, sweptAgainMs: number): Promise<void> {
  let current = marked;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const gone = tombstoneOf(current, context.clock.now() + sweptAgainMs);
    const tombstone = current.fence === 0 ? gone : { ...gone, written: writtenBy(current) };
    if ((await context.generations.replace(tombstone, current.version)) === 'applied') return;
    const newest = await context.generations.read(current.generationId);
    if (newest?.kind !== 'generation') return;
    current = newest;
  }
  throw changedTooOften();
}

/** Half a day, so that outputs that were written late are gone within a day of the request too. */
const ERASED_SWEPT_AGAIN_MS = 43_200_000;

/**
 * Erases a generation that has ended, whether or not it counts towards its account's limit: its request, its outputs, its
 * trace id and its deliveries. It is settled first, as a deletion before its charge would make it free. May be
 * repeated, and done by several processes.
 */
export async function eraseGeneration(
  context: Money & Work & Files & Webhooks & Machine,
  found: Generation,
): Promise<void> {
  const { generation: marked, refused } = await mark(context, found);
  if (refused === 'NOT_ALLOWED') throw busy('The generation is not settled yet.');
  await removeContent(context, marked);
  await removeDeliveriesOf(context, marked);
  await bury(context, marked, ERASED_SWEPT_AGAIN_MS);
}

/** The record in place of a generation that is gone. */
export function tombstoneOf(g: Generation, dueAt: number): Tombstone {
  const { generationId, accountId, appId, version, createdAt } = g;
  return { kind: 'expired', generationId, accountId, appId, version: version + 1, createdAt, dueAt };
}
