import type { Context } from '../context.js';
import type { Upload } from './upload.js';
import { withAttention } from './upload-times.js';

const HOUR_MS = 3_600_000;

/**
 * Marks uploads as used, so that retention leaves them until well after the generation has run. One used within the last
 * hour needs no new mark, and a mark that another request set at the same time is as good as ours. Never throws: a
 * generation whose references are gone after all fails without charge.
 */
export async function markUsed(context: Pick<Context, 'uploads' | 'clock' | 'settings' | 'log'>, uploads: readonly Upload[]): Promise<void> {
  const now = context.clock.now();
  for (const upload of uploads) {
    if (upload.lastUsedAt !== undefined && now - upload.lastUsedAt < HOUR_MS) continue;
    const used = withAttention({ ...upload, version: upload.version + 1, lastUsedAt: now }, context.settings);
    await context.uploads.replace(used, upload.version).catch((error: unknown) => {
      context.log.warn('upload not marked as used', { uploadId: upload.uploadId, error });
    });
  }
}
