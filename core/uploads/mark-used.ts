import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import { fieldInvalid } from '../fields.js';
import type { Upload } from './upload.js';
import { withAttention } from './upload-times.js';

const HOUR_MS = 3_600_000;
const MAX_TRIES = 10;

/**
 * Marks uploads as used before anything is held for a generation that refers to them: then nobody can delete them, and
 * retention leaves them until well after the generation has run. One used within the last hour needs no new mark, and a
 * mark that another request set at the same time is as good as ours. Throws FIELD_INVALID for one that was deleted
 * meanwhile, and `StoreUnavailable`.
 */
export async function markUsed(
  context: Pick<Context, 'uploads' | 'clock' | 'settings'>,
  uploads: readonly Upload[],
): Promise<void> {
  for (const [index, upload] of uploads.entries()) await markOne(context, upload, index);
}

async function markOne(
  { uploads, clock, settings }: Pick<Context, 'uploads' | 'clock' | 'settings'>,
  seen: Upload,
  index: number,
): Promise<void> {
  const now = clock.now();
  let upload = seen;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    if (upload.lastUsedAt !== undefined && now - upload.lastUsedAt < HOUR_MS) return;
    const used = withAttention({ ...upload, version: upload.version + 1, lastUsedAt: now }, settings);
    if ((await uploads.replace(used, upload.version)) === 'applied') return;
    const record = await uploads.read(upload.uploadId);
    if (record?.kind !== 'upload' || record.status !== 'ready')
      throw fieldInvalid(
        `/reference_upload_ids/${index}`,
        'reference_upload_ids must name completed uploads of this App.',
      );
    upload = record;
  }
  throw new ServiceError('SERVICE_UNAVAILABLE', 'An upload is being changed by too many requests; try again.', {
    retryAfterMs: 1_000,
  });
}
