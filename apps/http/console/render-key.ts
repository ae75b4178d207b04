import type { ApiKey } from '../../../core/access/credential.js';
import { shownTime } from './shown-time.js';

/** A key as the page shows it: never its secret, nor the digest of it. */
export function renderKey(
  { keyId, appId, name, scopes, monthlyCap, createdAt, expiresAt, revokedAt, lastUsedAt }: ApiKey,
  {
    appName,
    used,
    isOver,
  }: { readonly appName: string | null; readonly used: number | null; readonly isOver: boolean },
): object {
  return {
    id: keyId,
    name,
    app: { id: appId, name: appName },
    scopes,
    monthly_cap: monthlyCap ?? null,
    used_this_month: used,
    created_at: shownTime(createdAt),
    expires_at: shownTime(expiresAt),
    revoked_at: shownTime(revokedAt),
    last_used_on: shownTime(lastUsedAt),
    is_over: isOver,
  };
}
