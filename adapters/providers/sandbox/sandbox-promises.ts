import type { ProviderPromises } from '../../../core/ports/provider.js';
import { TASK_CACHE_LIMITS } from './task-cache.js';

/** What the sandbox promises of every task. */
export const SANDBOX_PROMISES: ProviderPromises = {
  answersWithOutputs: false,
  isAskedBy: 'token',
  takesTokenOnce: true,
  settleMs: 0,
  cancels: 'running',
  keepsResultsMs: TASK_CACHE_LIMITS.keepReadMs,
  isPaid: false,
};
