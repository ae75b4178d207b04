import type { Passkey } from '../../../core/people/person.js';
import { shownTime } from './shown-time.js';

export function renderPasskey({ credentialId, name, createdAt, lastUsedAt }: Passkey) {
  return {
    id: credentialId,
    name,
    created_at: shownTime(createdAt),
    /** The UTC day. */
    last_used_on: lastUsedAt === undefined ? null : shownTime(lastUsedAt),
  };
}
