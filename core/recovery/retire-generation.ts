import type { Context } from '../context.js';
import { changeGeneration } from '../generation/change-generation.js';
import type { Generation, Tombstone } from '../generation/generation.js';
import { hasUnchargedContent, mayHaveOutputs, nextRemovalAt, retentionOf } from '../generation/retention.js';
import { completeDeletion } from '../generation/delete-generation.js';
import { removeOutputs, writtenBy } from '../generation/remove-outputs.js';

/**
 * Removes the parts of a settled generation that are past their retention: its content, if nothing was charged, its
 * outputs, and finally the generation itself. Recovery may examine one too early, when it was not sure of an earlier
 * step; then it is postponed.
 */
export async function retireGeneration(context: Context, g: Generation, now: number): Promise<void> {
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
    await changeGeneration(context, g, { event: 'outputs-removed', ...retention });
    return;
  }
  if (now < taskExpiresAt) {
    await changeGeneration(context, g, { event: 'postpone', until: nextRemovalAt(g, retention) });
    return;
  }
  const { generationId, accountId, appId, version, createdAt } = g;
  const tombstone: Tombstone = {
    kind: 'expired',
    generationId,
    accountId,
    appId,
    version: version + 1,
    createdAt,
    dueAt: now + settings.tombstoneRetentionMs,
  };
  await context.generations.replace(tombstone, version);
}

/**
 * Removes a tombstone that is due. That of a deleted generation is due a first time when no worker can be writing outputs
 * any more: what one wrote late is removed, and the tombstone stays as long as any other.
 */
export async function retireTombstone(context: Context, { written, ...tombstone }: Tombstone): Promise<void> {
  const { generationId, version } = tombstone;
  if (written === undefined) {
    await context.generations.remove(generationId, version);
    return;
  }
  await removeOutputs(context, generationId, written);
  const dueAt = context.clock.now() + context.settings.tombstoneRetentionMs;
  await context.generations.replace({ ...tombstone, version: version + 1, dueAt }, version);
}
