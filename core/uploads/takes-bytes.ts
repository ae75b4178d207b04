import { isUuid } from '../ids.js';
import type { Ports } from '../ports/ports.js';
import { isUnfinished } from './upload.js';

const STAGING_KEY = /^staging\/([^/]+)\//;

/**
 * Whether bytes sent to this key are still needed: the upload whose target it is exists and is not completed. For
 * object stores whose signed addresses we serve ourselves; the expiry of the address is checked separately.
 */
export async function takesBytes({ uploads }: Pick<Ports, 'uploads'>, key: string): Promise<boolean> {
  const uploadId = STAGING_KEY.exec(key)?.[1] ?? '';
  const record = isUuid(uploadId) ? await uploads.read(uploadId) : null;
  return record?.kind === 'upload' && record.stagingKey === key && isUnfinished(record);
}
