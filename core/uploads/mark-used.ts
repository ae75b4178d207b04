import type { Context } from '../context.js';
import type { Upload } from './upload.js';
import { withAttention } from './upload-times.js';

const HOUR_MS = 3_600_000;
const MAX_TRIES = 3;

/**
 * Marks uploads as used, so that retention leaves them until well after the generation has run. One used within the
 * last hour needs no new mark, and a mark that another request set at the same time is as good as ours. Any other
 * concurrent change, such as the sweep of its target, sets no mark. Never throws: a generation whose references are
 * gone after all fails without charge.
 */
export async function markUsed(
  context: Pick<Context, 'uploads' | 'clock' | 'settings' | 'log'>,
  uploads: readonly Upload[],
): Promise<void> {
  for (const upload of uploads) {
    await markOne(context, upload).catch((error: unknown) =>
      context.log.warn('upload not marked as used', { uploadId: upload.uploadId, error }),
    );
  }
}

async function markOne(
  { uploads, clock, settings }: Pick<Context, 'uploads' | 'clock' | 'settings'>,
  seen: Upload,
): Promise<void> {
  const now = clock.now();
  let upload = seen;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    if (upload.lastUsedAt !== undefined && now - upload.lastUsedAt < HOUR_MS) return;
    const used = withAttention({ ...upload, version: upload.version + 1, lastUsedAt: now }, settings);
    if ((await uploads.replace(used, upload.version)) === 'applied') return;
    const record = await uploads.read(upload.uploadId);
    if (record?.kind !== 'upload' || record.status !== 'ready') return;
    upload = record;
  }
}
