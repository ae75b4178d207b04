import type { JsonObject } from '../../../core/json.js';
import type { ProviderCapabilities } from '../../../core/ports/provider.js';
import { TASK_CACHE_LIMITS } from './task-cache.js';

/** What the sandbox promises of every task. */
const SANDBOX_PROMISES: ProviderCapabilities = {
  answersWithOutputs: false,
  isAskedBy: 'token',
  takesTokenOnce: true,
  settleMs: 0,
  cancels: 'running',
  keepsResultsMs: TASK_CACHE_LIMITS.keepReadMs,
  isPaid: false,
};

/** Only what paints pictures can keep a part of one. */
export function sandboxCapabilities({ painter }: JsonObject): ProviderCapabilities {
  return painter === 'image' || painter === 'test' ? { ...SANDBOX_PROMISES, maxMaskedReferences: 1 } : SANDBOX_PROMISES;
}
