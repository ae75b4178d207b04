import type { ProviderPromises } from '../../../core/ports/provider.js';

/** What Replicate promises of every task. */
export const REPLICATE_PROMISES: ProviderPromises = {
  answersWithOutputs: false,
  isAskedBy: 'nothing',
  takesTokenOnce: false,
  settleMs: 60_000,
  cancels: 'running',
  keepsResultsMs: 60 * 60 * 1_000,
  isPaid: true,
};
