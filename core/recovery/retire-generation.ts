import type { Context } from '../context.js';
import { changeGeneration } from '../generation/change-generation.js';
import type { Generation, Remnant } from '../generation/generation.js';
import { removeCollected } from '../generation/run/collect-outputs.js';

/**
 * Removes the outputs of a settled generation whose retention is over, and later the generation itself. Recovery may look
 * at one before its time, when it was not sure of an earlier step; then it is put off.
 */
export async function retireGeneration(context: Context, g: Generation, now: number): Promise<void> {
  const { settings } = context;
  const endedAt = g.completedAt ?? g.updatedAt;
  const outputsExpireAt = endedAt + settings.outputRetentionMs;
  const taskExpiresAt = endedAt + settings.taskRetentionMs;
  if (g.outputsRemovedAt === undefined && g.attemptsMade > 0) {
    if (now < outputsExpireAt) {
      await changeGeneration(context, g, { event: 'postpone', until: outputsExpireAt });
      return;
    }
    await removeOutputs(context, g);
    await changeGeneration(context, g, { event: 'outputs-removed', taskExpiresAt });
    return;
  }
  if (now < taskExpiresAt) {
    await changeGeneration(context, g, { event: 'postpone', until: taskExpiresAt });
    return;
  }
  const { generationId, accountId, appId, version, createdAt } = g;
  const remnant: Remnant = {
    kind: 'expired', generationId, accountId, appId, version: version + 1, createdAt,
    attentionAt: now + settings.remnantRetentionMs,
  };
  await context.generations.replace(remnant, version);
}

/** Every key a worker may have written to, whether or not it became an output: fences and outputs are both bounded. */
async function removeOutputs(context: Context, g: Generation): Promise<void> {
  for (let fence = 1; fence <= g.fence; fence += 1) await removeCollected(context, g, fence);
}
