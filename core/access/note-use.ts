import type { Context } from '../context.js';
import type { ApiKey } from './credential.js';

const DAY_MS = 86_400_000;

/**
 * Writes the UTC day on the key, for operators to see which keys nobody uses. A key is written once a day however many
 * processes see it; nobody waits for the write, and one that fails or loses a race is left to the next use. A day that
 * is stored and yet to come was written by a clock that was ahead, or by a process beyond midnight: one day ahead is
 * left alone, so that two clocks never write against each other.
 */
export function noteUse({ credentials, clock }: Pick<Context, 'credentials' | 'clock'>, key: ApiKey): void {
  const today = Math.floor(clock.now() / DAY_MS) * DAY_MS;
  const { lastUsedAt = -Infinity } = key;
  if (lastUsedAt >= today && lastUsedAt <= today + DAY_MS) return;
  credentials.replaceKey({ ...key, lastUsedAt: today, version: key.version + 1 }, key.version).catch(() => undefined);
}
