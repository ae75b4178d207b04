import type { Context } from '../context.js';
import type { ApiKey } from './credential.js';

const DAY_MS = 86_400_000;

/**
 * Writes the UTC day on the key, so that operators can see which keys are unused. A key is written once a day, however
 * many processes see it. No request waits for the write; if it fails or loses a race, the next use writes again. A
 * stored day in the future was written by a clock that was ahead, or by a process already past midnight: one day ahead
 * is left alone, so that two clocks never overwrite each other's day.
 */
export function noteUse({ credentials, clock }: Pick<Context, 'credentials' | 'clock'>, key: ApiKey): void {
  const today = Math.floor(clock.now() / DAY_MS) * DAY_MS;
  const { lastUsedAt = -Infinity } = key;
  if (lastUsedAt >= today && lastUsedAt <= today + DAY_MS) return;
  credentials.replaceKey({ ...key, lastUsedAt: today, version: key.version + 1 }, key.version).catch(() => undefined);
}
