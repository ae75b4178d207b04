import type { Caller } from '../access/credential.js';
import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import { cancelDeliveries } from '../webhooks/announce.js';
import { changedTooOften, changeGeneration, type Changed } from './change-generation.js';
import { isTerminal, type Generation, type Tombstone } from './generation.js';
import { getRecord } from './get-generation.js';
import { removeOutputs, writtenBy } from './remove-outputs.js';
import { retentionOf } from './retention.js';
import { settleGeneration } from './settle-generation.js';

/** After so long no worker can still be writing outputs: those that one wrote late are removed then, in milliseconds. */
const SWEPT_AGAIN_MS = 86_400_000;
const MAX_TRIES = 10;

/**
 * Deletes the caller's own generation that has ended: what was asked for and its outputs. Its ledger entries stay. It is
 * settled first, as a deletion before its charge would make it free. First the record is marked and loses its content,
 * so that nobody is shown it any more; then the outputs of every fence are removed, and then the record. Recovery
 * completes one that is cut. Throws TASK_NOT_FOUND, GENERATION_JOB_NOT_FOUND for one that was deleted or is past its
 * retention, and CONFLICT for one that has not ended.
 */
export async function deleteGeneration(context: Context, caller: Caller, generationId: string): Promise<void> {
  const found = await getRecord(context, caller, generationId);
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

async function mark(context: Context, found: Generation): Promise<Changed> {
  const marked = await changeGeneration(context, found, { event: 'delete' });
  if (marked.refused !== 'NOT_ALLOWED') return marked;
  const settled = await settleGeneration(context, marked.generation);
  return changeGeneration(context, settled, { event: 'delete' });
}

/**
 * Removes what is left of a generation that is marked as deleted. May be repeated, and done by several processes. The
 * record of one that was not charged stays as long as it counts for its account; it has no content any more.
 */
export async function completeDeletion(context: Context, marked: Generation): Promise<void> {
  await cancelDeliveries(context, marked);
  await removeOutputs(context, marked.generationId, writtenBy(marked));
  const { contentExpiresAt } = retentionOf(marked, context.settings);
  if (marked.unchargedBytes !== undefined && context.clock.now() < contentExpiresAt) {
    await changeGeneration(context, marked, { event: 'postpone', until: contentExpiresAt });
    return;
  }
  let current = marked;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    if ((await context.generations.replace(tombstoneOf(context, current), current.version)) === 'applied') return;
    const newest = await context.generations.read(current.generationId);
    if (newest?.kind !== 'generation') return;
    current = newest;
  }
  throw changedTooOften();
}

function tombstoneOf({ clock }: Pick<Context, 'clock'>, g: Generation): Tombstone {
  const { generationId, accountId, appId, version, createdAt, fence } = g;
  return {
    kind: 'expired',
    generationId,
    accountId,
    appId,
    version: version + 1,
    createdAt,
    ...(fence === 0 ? {} : { written: writtenBy(g) }),
    dueAt: clock.now() + SWEPT_AGAIN_MS,
  };
}
