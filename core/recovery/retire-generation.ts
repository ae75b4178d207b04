import type { Context } from '../context.js';
import { changeGeneration } from '../generation/change-generation.js';
import type { Generation, Tombstone } from '../generation/generation.js';
import { hasUnchargedContent, mayHaveOutputs, nextRemovalAt, retentionOf } from '../generation/retention.js';
import { removeCollected } from '../generation/run/collect-outputs.js';

/**
 * Removes the parts of a settled generation that are past their retention: its content, if nothing was charged, its
 * outputs, and finally the generation itself. Recovery may examine one too early, when it was not sure of an earlier
 * step; then it is postponed.
 */
export async function retireGeneration(context: Context, g: Generation, now: number): Promise<void> {
  const { settings } = context;
  const retention = retentionOf(g, settings);
  const { contentExpiresAt, outputsExpireAt, taskExpiresAt } = retention;
  if (hasUnchargedContent(g) && now >= contentExpiresAt && now < taskExpiresAt) {
    await changeGeneration(context, g, { event: 'content-removed', ...retention });
    return;
  }
  if (mayHaveOutputs(g) && now >= outputsExpireAt) {
    await removeOutputs(context, g);
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

/** Every key a worker may have written to, whether or not it became an output: fences and outputs are both bounded. */
async function removeOutputs(context: Context, g: Generation): Promise<void> {
  for (let fence = 1; fence <= g.fence; fence += 1) await removeCollected(context, g, fence);
}
